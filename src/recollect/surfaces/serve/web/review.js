// Review: what needs a person, each decided with one key.

import { ask, twin } from "/ui/api.js";
import { fill, h } from "/ui/dom.js";
import { address, attempt, badge, button, empty, head, loaded, meta, place, project, say, step } from "/ui/parts.js";
import { T } from "/ui/text.js";

const MOST_SHOWN = 100;
const gone = (newer, older) => ({ act: ["supersede", { id: older, by: newer }], back: ["restore", { id: older }] });
const merged = (newer, older) => ({ act: ["supersede", { id: newer, by: older, keep_wording: true }], back: ["restore", { id: newer }] });
const forgotten = (id) => ({ act: ["forget", { id }], back: ["restore", { id }] });

// Return what can be decided about an item: a key, a name, what is done, what undoes it.
function decisions(item) {
  const [first, second] = item.memories?.map((memory) => memory.id) || [];
  const table = {
    conflict: { n: ["keepNewer", gone(first, second)], o: ["keepOlder", gone(second, first)], b: ["both"] },
    merge: { m: ["merge", merged(first, second)], b: ["apart"] },
    update: { a: ["accept", gone(first, second)], f: ["reject", forgotten(first)], b: ["both"] },
    trust: { a: ["fine"], f: ["forget", forgotten(first)] },
    secret: { a: ["fine"], f: ["forget", forgotten(first)] },
    import: { d: ["seen"] },
  };
  return Object.entries(table[item.kind]).map(([key, [name, work]]) => ({ key, name, ...work }));
}

export function render(root) {
  const list = h("ol", { class: "inbox" }, h("li", { class: "muted" }, T.loading));
  const count = h("span", { class: "muted", role: "status" });
  const chosen = place().values.get("kind") || "";
  const filters = h("div", { class: "chips", role: "group", "aria-label": T.review.title });
  const deciding = new Set();
  let items = [];
  fill(root, head(T.review.title, twin("review", { action: "list", project: project() }), count), h("p", { class: "lead" }, T.review.about), filters, list);
  load();

  async function load() {
    await loaded(list, (signal) => ask("review", { action: "list", project: project() }, signal), (found) => {
      items = found.items;
      return questions();
    });
    choose(0);
  }

  // Put the focus on a question, unless the person has it on something else.
  function choose(at) {
    if (![document.body, root].includes(document.activeElement)) return;
    const all = list.querySelectorAll("[data-item]");
    all[Math.min(at, all.length - 1)]?.focus({ preventScroll: at === 0 });
  }

  function questions() {
    const kinds = [...new Set(items.map((item) => item.kind))];
    fill(filters, kinds.length > 1 ? [["", T.today.all], ...kinds.map((kind) => [kind, T.review.kinds[kind]])].map(([kind, name]) => h("a", { class: "chip", href: address("review", { kind }), "aria-current": kind === chosen ? "true" : null }, name, kind ? h("span", { class: "count" }, ` ${items.filter((item) => item.kind === kind).length}`) : null)) : null);
    const shown = items.filter((item) => !chosen || item.kind === chosen);
    fill(count, shown.length ? T.review.left(shown.length) : "");
    return shown.length ? shown.slice(0, MOST_SHOWN).map(drawItem) : h("li", {}, empty(T.review.none, T.review.noneNext, h("a", { class: "button", href: address("search") }, T.toSearch)));
  }

  function drawItem(item) {
    const choices = decisions(item);
    const ofTrust = item.kind === "trust";
    const kind = ofTrust ? T.memory.trust[item.memories[0].origin] : T.review.kinds[item.kind];
    const element = h(
      "li",
      { class: "question", tabindex: "0", "data-item": true, "data-key": item.key, "aria-label": ofTrust ? item.about : `${kind}. ${item.about}`, onkeydown: keys },
      h("div", { class: "question-head" }, badge(kind, `kind-${item.kind}`), ofTrust ? null : h("span", { class: "muted" }, item.about)),
      item.memories ? h("div", { class: item.memories.length > 1 ? "two" : "" }, item.memories.map((memory, at) => side(memory, item.memories.length > 1 ? [T.review.newer, T.review.older][at] : ""))) : null,
      h("div", { class: "actions" }, choices.map((choice) => button(T.review[choice.name], () => decide(item, choice), { key: choice.key, kind: choice === choices[0] ? "primary" : "" }))),
    );
    return element;

    function keys(event) {
      if (event.target !== element || event.ctrlKey || event.metaKey || event.altKey) return;
      const choice = choices.find((each) => each.key === event.key);
      if (choice) { event.preventDefault(); event.stopPropagation(); decide(item, choice); }
      else if (event.key === "Enter" && item.memories) location.hash = address(`memory/${item.memories[0].id}`).slice(1);
    }
  }

  function side(memory, label) {
    return h("div", { class: "side-card" }, label ? h("span", { class: "muted small-text" }, label) : null, h("p", { class: "snippet" }, memory.title ? h("strong", {}, `${memory.title} `) : null, memory.content.length > 400 ? `${memory.content.slice(0, 400)}…` : memory.content), h("div", { class: "hit-foot" }, meta(memory), h("a", { href: address(`memory/${memory.id}`), class: "small-text", "aria-label": `${T.search.open} #${memory.id}` }, T.search.open)));
  }

  async function decide(item, choice) {
    if (deciding.has(item.key)) return; // the key was pressed twice
    deciding.add(item.key);
    await attempt(async () => {
      const at = [...list.querySelectorAll("[data-item]")].findIndex((each) => each.dataset.key === item.key);
      if (choice.act) await ask(choice.act[0], { ...choice.act[1], project: project() });
      await ask("review", { action: "done", key: item.key, project: project() });
      items = items.filter((each) => each.key !== item.key);
      if (list.hasAttribute("aria-busy")) await load(); // what is being read may be from before the decision
      else if (list.isConnected) fill(list, questions());
      choose(Math.max(0, at));
      say(T.review.done[choice.name], async () => {
        await ask("review", { action: "again", key: item.key, project: project() });
        if (choice.back) await ask(choice.back[0], { ...choice.back[1], project: project() });
        await load();
      });
    });
    deciding.delete(item.key);
  }

  return { step: (by) => step([...list.querySelectorAll("[data-item]")], by) };
}
