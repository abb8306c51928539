// Add and import: by typing, by pasting, by dropping files.

import { ask, twin, upload } from "/ui/api.js";
import { fill, h } from "/ui/dom.js";
import { address, attempt, bytes, button, card, field, head, place, project, say } from "/ui/parts.js";
import { T } from "/ui/text.js";

const TYPES = ["note", "decision", "fact", "gotcha", "preference", "procedure"];

export function render(root) {
  const text = h("textarea", { rows: "6", required: true, placeholder: T.add.placeholder, value: place().values.get("text") || "" });
  const type = h("select", { "aria-label": T.add.type }, TYPES.map((name) => h("option", { value: name }, name)));
  const tags = h("input", { autocomplete: "off" });
  const title = h("input", { autocomplete: "off" });
  const told = h("div", { class: "told", "aria-live": "polite" });
  const done = h("ul", { class: "uploads", "aria-live": "polite" });
  const files = h("input", { type: "file", multiple: true, class: "unseen", id: "files", onchange: () => { send([...files.files]); files.value = ""; } });
  const zone = h(
    "div",
    { class: "drop" },
    h("p", { class: "drop-title" }, T.add.drop),
    h("p", { class: "muted" }, T.add.or, " ", h("label", { class: "button", for: "files" }, T.add.choose), files),
    h("p", { class: "muted small-text" }, T.add.dropAbout),
  );
  const form = h(
    "form",
    { class: "form", onsubmit: (event) => { event.preventDefault(); attempt(remember); } },
    field(T.add.text, text),
    h("div", { class: "three" }, field(T.add.titleField, title), field(T.add.type, type), field(T.add.tags, tags)),
    h("div", { class: "actions" }, h("button", { class: "primary" }, T.add.remember, h("kbd", { "aria-hidden": "true" }, "Ctrl ↵"))),
    told,
  );
  text.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(); });
  fill(root, head(T.add.title, twin("list", { limit: 20, project: project() })), card(T.add.write, form), card(T.add.files, zone, done));
  text.focus({ preventScroll: true });

  let sending = null;
  const over = (event) => { if (event.dataTransfer?.types.includes("Files")) { event.preventDefault(); zone.classList.add("over"); } };
  const out = () => zone.classList.remove("over");
  const dropped = (event) => { if (event.dataTransfer?.files.length) { event.preventDefault(); out(); send([...event.dataTransfer.files]); } };
  document.addEventListener("dragover", over);
  document.addEventListener("dragleave", out);
  document.addEventListener("drop", dropped);

  async function remember() {
    const sent = text.value;
    if (sent === sending) return; // the key was pressed twice
    sending = sent;
    const result = await ask("add", { text: sent, type: type.value, title: title.value || undefined, tag: tags.value.split(",").map((each) => each.trim()).filter(Boolean), project: project() }).finally(() => { sending = null; });
    fill(told, h("p", { class: "notice good" }, T.add.decisions[result.decision], " ", h("a", { href: address(`memory/${result.id}`) }, `#${result.id}`), result.redacted ? ` ${T.add.redacted(result.redacted)}` : ""));
    say(T.add.decisions[result.decision], result.decision === "distinct" || result.decision === "updates" ? () => ask("forget", { id: result.id, project: project() }) : null);
    if (text.value !== sent || !form.isConnected) return; // the next one is being written
    text.value = title.value = tags.value = "";
    text.focus();
  }

  async function send(chosen) {
    const waiting = chosen.map((file) => ({ file, ...line(file) }));
    for (const each of waiting) await one(each);
  }

  function line(file) {
    const state = h("span", { class: "muted" });
    const progress = h("progress", { max: "1", value: "0", "aria-label": file.name });
    const more = h("div", { class: "small-text" });
    done.prepend(h("li", { "data-file": file.name }, h("div", { class: "upload-head" }, h("strong", {}, file.name), h("span", { class: "muted small-text" }, bytes(file.size)), state), progress, more));
    return { state, progress, more };
  }

  async function one({ file, state, progress, more }) {
    try {
      fill(state, T.add.sending);
      const result = await upload(file, project(), (share) => { progress.value = share; if (share === 1) fill(state, T.add.reading); });
      const nothing = !result.memories.new && !result.memories.unchanged;
      fill(state, nothing ? T.add.empty : T.add.result(result.memories), ` (${result.format})`);
      fill(
        more,
        result.redacted ? h("p", {}, T.add.redacted(result.redacted)) : null,
        Object.entries(result.left_out).map(([what, count]) => h("p", { class: "muted" }, T.add.skipped(what, count))),
        result.errors.map((each) => h("p", { class: "bad" }, each.reason)),
        nothing ? null : h("a", { href: address("search", { source: file.name }) }, T.add.show),
      );
    } catch (error) {
      fill(state, h("span", { class: "bad" }, T.add.problem));
      fill(more, h("p", { class: "bad" }, error.message, error.hint ? `; ${error.hint}` : ""));
    }
    progress.value = 1;
    progress.remove();
  }

  return {
    leave: () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragleave", out);
      document.removeEventListener("drop", dropped);
    },
  };
}
