// One memory: all that is known of it, and everything that can be done to it.

import { ask, twin } from "/ui/api.js";
import { dialog, fill, h, s } from "/ui/dom.js";
import { address, attempt, badge, button, card, clock, day, empty, field, head, heading, loaded, meta, project, row, say } from "/ui/parts.js";
import { T } from "/ui/text.js";

const FIELDS = ["title", "type", "tag", "confidence", "date"];

export function render(root, id) {
  const number = Number(id);
  let memory = null;
  const body = h("div", {}, h("p", { class: "muted" }, T.loading));
  const [related, recalls, chain] = [h("div", { class: "rows" }), h("div", {}), h("div", {})];
  const values = (more = {}) => ({ id: number, project: project(), ...more });
  const hidden = () => memory.deleted_at !== null || memory.superseded_by !== null;
  fill(root, body);
  load();

  async function load() {
    if (!(await loaded(body, read, draw)) || !memory) return;
    loaded(related, (signal) => ask("related", values({ limit: 8 }), signal), drawRelated);
    loaded(recalls, (signal) => ask("log", { report: "recent", memory: number, limit: 10, project: project() }, signal), drawRecalls);
    loaded(chain, readChain, (line) => (line.length > 1 ? card(T.memory.chain, chainDrawing(line)) : null));
  }

  function read(signal) {
    return ask("show", values(), signal).catch((error) => { if (error.status === 404) return null; throw error; });
  }

  // --- what is shown ---------------------------------------------------------------------------

  function draw(found) {
    memory = found;
    if (!memory) return [head(T.memory.title(id)), empty(T.memory.unknown, T.memory.unknownNext, h("a", { class: "button", href: address("search") }, T.toSearch))];
    document.title = `${heading(memory)} · recollect`;
    return [
      h("div", { class: "head" }, h("h1", { class: "memory-title" }, memory.title || T.memory.title(id)), h("div", { class: "head-more" }, h("a", { class: "json", href: twin("show", values()), target: "_blank", title: T.jsonAbout }, T.json))),
      meta(memory),
      actions(),
      h(
        "div",
        { class: "split" },
        h(
          "div",
          { class: "results" },
          card(null, h("div", { class: "content", dir: "auto", "aria-label": T.memory.content, role: "group" }, memory.content)),
          chain,
          memory.passages?.length > 1 ? card(T.memory.passages, h("p", { class: "muted" }, T.memory.passageAbout), h("ol", { class: "passages" }, memory.passages.map(([from, to]) => h("li", {}, [...memory.content].slice(from, to).join(""))))) : null,
          memory.wordings.length ? card(T.memory.wordings, h("ul", {}, memory.wordings.map((each) => h("li", {}, each)))) : null,
          card(T.memory.facts, memory.facts.length ? facts() : h("p", { class: "muted" }, T.memory.noFacts)),
          card(T.memory.related, related),
        ),
        h("aside", { class: "facets" }, card(null, details()), card(T.memory.feedback, feedback()), card(T.memory.history, history()), card(T.memory.recalls, recalls)),
      ),
    ];
  }

  function actions() {
    const labels = T.memory.actions;
    return h(
      "div",
      { class: "actions", role: "group", "aria-label": T.memory.title(id) },
      button(labels.edit, edit, { key: "e", "data-key": "edit" }),
      button(memory.pinned ? labels.unpin : labels.pin, pin, { key: "p", "data-key": "pin" }),
      button(hidden() ? labels.restore : labels.forget, forget, { key: "f", "data-key": "forget" }),
      memory.superseded_by === null ? button(labels.supersede, supersede, { key: "x", "data-key": "supersede" }) : null,
      button(labels.purge, purge, { kind: "danger quiet", "data-key": "purge" }),
    );
  }

  function facts() {
    return h("ul", { class: "facts" }, memory.facts.map((fact) => h("li", {}, h("span", { class: "muted" }, `${fact.subject} · ${fact.predicate}`), h("span", {}, fact.object), h("span", { class: "muted small-text" }, T.memory.confidence(fact.confidence)))));
  }

  function details() {
    const tags = h("div", { class: "chips" }, memory.tags.map((tag) => h("button", { type: "button", class: "chip", "aria-label": T.memory.removeTag(tag), onclick: () => tagged([], [tag]) }, tag, h("span", { "aria-hidden": "true" }, " ×"))), newTag());
    const known = [
      [T.memory.tags, tags],
      [T.memory.type, memory.type],
      [T.memory.project, memory.project],
      [T.memory.source, memory.source ? h("span", { class: "path" }, memory.source, memory.line ? `, ${T.memory.line(memory.line)}` : "") : T.memory.noSource],
      [T.memory.section, memory.section],
      [T.memory.date, memory.observed_at ? day(memory.observed_at) : null],
      [T.memory.created, day(memory.created_at)],
      [T.memory.updated, memory.updated_at === memory.created_at ? null : day(memory.updated_at)],
      [T.explain.factors.confidence[0], T.memory.confidence(memory.confidence)],
      [T.memory.externalId, memory.external_id],
      ...Object.entries(memory.metadata).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]),
    ];
    return h("dl", {}, known.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  function newTag() {
    const input = h("input", { class: "tag-input", placeholder: T.memory.addTag, "aria-label": T.memory.addTag, size: "9", "data-key": "tag" });
    return h("form", { onsubmit: (event) => { event.preventDefault(); if (input.value.trim()) tagged([input.value], []); input.value = ""; } }, input);
  }

  function feedback() {
    return h("div", { class: "actions" }, Object.entries(T.memory.verdicts).map(([verdict, name]) => button(name, () => attempt(async () => {
      await ask("feedback", values({ verdict }));
      say(T.memory.feedbackGiven(name));
      load();
    }), { kind: "small", "data-key": verdict })));
  }

  function history() {
    return h("ol", { class: "events" }, [...memory.events].reverse().map((event) => h("li", {}, h("span", { class: "event-verb" }, T.memory.events[event.verb] || event.verb), detail(event.detail), h("div", { class: "muted small-text" }, day(event.at), ` ${clock(event.at)}`))));
  }

  function detail(told) {
    const words = T.memory.eventDetail;
    const parts = [];
    if (told.changed?.length) parts.push(words.changed(told.changed.join(", ")));
    if (told.verdict) parts.push(told.verdict);
    const other = told.of ?? told.proposes;
    if (other) parts.push([`${words.decision(told.decision)} `, h("a", { href: address(`memory/${other}`) }, `#${other}`)]);
    if (told.into) parts.push(h("a", { href: address(`memory/${told.into}`) }, words.into(told.into)));
    if (told.by && Number.isInteger(told.by)) parts.push(h("a", { href: address(`memory/${told.by}`) }, words.by(told.by)));
    const before = typeof told.content === "string" && told.content !== memory.content ? told.content : "";
    return [parts.map((part, at) => [at ? ", " : words.separator, part]), before ? h("blockquote", { class: "muted small-text" }, words.before(before)) : null];
  }

  function drawRelated(found) {
    if (!found.related.length) return h("p", { class: "muted" }, T.memory.noRelated);
    return found.related.map((each) => row(each.memory, each.reasons.map((reason) => badge(reason))));
  }

  function drawRecalls(found) {
    if (!found.recalls.length) return h("p", { class: "muted" }, T.memory.noRecalls);
    return h("ul", { class: "events" }, found.recalls.map((recall) => {
      const mine = recall.hits.find((hit) => hit.id === number);
      return h("li", {}, h("a", { href: address("search", { q: recall.query }) }, recall.query), h("div", { class: "muted small-text" }, [mine?.shown ? T.memory.shown(mine.rank) : T.memory.missed, recall.session, clock(recall.at)].filter(Boolean).join(" · "), " · ", day(recall.at)));
    }));
  }

  // Read the chain of what superseded what, oldest first.
  async function readChain(signal) {
    const found = await ask("search", { query: memory.content.slice(0, 300), include_superseded: true, limit: 40, include_facts: false, project: project() }, signal);
    const known = new Map(found.hits.map((hit) => [hit.id, hit.memory]));
    const older = new Map(found.hits.filter((hit) => hit.older).map((hit) => [hit.id, hit.older]));
    known.set(number, memory);
    const line = [memory];
    const has = (id) => line.some((each) => each.id === id);
    const load = async (id) => known.get(id) || ask("show", { id, project: project() }, signal).catch(() => null);
    for (let next = memory; next && line.length < 20;) {
      const id = next.superseded_by ?? [...older].find(([, old]) => old === next.id)?.[0];
      next = id && !has(id) ? await load(id) : null;
      if (next) line.push(next);
    }
    for (let first = memory; first && line.length < 20;) {
      const id = [...known.values()].find((each) => each.superseded_by === first.id)?.id ?? older.get(first.id);
      first = id && !has(id) ? await load(id) : null;
      if (first) line.unshift(first);
    }
    return line;
  }

  function chainDrawing(line) {
    return h("ol", { class: "chain", "aria-label": T.memory.chainAbout }, line.map((each, at) => h(
      "li",
      { class: each.id === number ? "here" : "" },
      s("svg", { class: "chain-mark", "aria-hidden": "true" }, at < line.length - 1 ? s("path", { d: "M12 17 V2000" }) : null, at ? s("path", { d: "M12 0 V7" }) : null, s("circle", { cx: "12", cy: "12", r: "5", class: at === line.length - 1 ? "now" : "" })),
      h("div", {}, h("a", { href: address(`memory/${each.id}`), "aria-current": each.id === number ? "true" : null }, heading(each)), h("div", { class: "muted small-text" }, day(each.observed_at || each.created_at), ` · #${each.id}`)),
    )));
  }

  // --- what is done ----------------------------------------------------------------------------

  // Do an operation, say so, and offer to undo it by another.
  function change(operation, given, text, back) {
    return attempt(async () => {
      await ask(operation, values(given));
      await load();
      say(text, back ? async () => { await ask(back[0], values(back[1])); await load(); } : null);
    });
  }

  function pin() {
    const off = memory.pinned;
    change("pin", { off }, off ? T.memory.done.unpin : T.memory.done.pin, ["pin", { off: !off }]);
  }

  function forget() {
    if (!hidden()) change("forget", {}, T.memory.done.forget, ["restore", {}]);
    else if (memory.superseded_by !== null) change("restore", {}, T.memory.done.restore, ["supersede", { by: memory.superseded_by }]);
    else change("restore", {}, T.memory.done.restore, ["forget", {}]);
  }

  function tagged(add, remove) {
    change("tag", { add, remove }, T.memory.done.tag, ["tag", { add: remove, remove: add }]);
  }

  function edit() {
    const before = { title: memory.title, type: memory.type, tag: memory.tags.join(", "), confidence: String(memory.confidence), date: (memory.observed_at || "").slice(0, 10), content: memory.content };
    const inputs = { content: h("textarea", { rows: "8", value: before.content }) };
    for (const name of FIELDS) inputs[name] = h("input", { type: name === "date" ? "date" : "text", value: before[name] });
    const labels = T.memory.edit.fields;
    const box = dialog(
      T.memory.edit.title,
      h(
        "form",
        { method: "dialog", class: "form", onsubmit: (event) => { event.preventDefault(); save(); } },
        field(labels.content, inputs.content),
        h("div", { class: "two" }, FIELDS.map((name) => field(labels[name], inputs[name]))),
        h("p", { class: "muted" }, T.memory.edit.about),
        h("div", { class: "actions end" }, button(T.cancel, () => box.close()), h("button", { class: "primary" }, T.save)),
      ),
    );
    inputs.content.focus();

    function save() {
      const now = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]));
      const changed = Object.keys(now).filter((name) => now[name] !== before[name]);
      box.close();
      if (!changed.length) return say(T.memory.edit.nothing);
      return change("edit", edited(changed, now), T.memory.edit.done, ["edit", edited(changed, before)]);
    }
  }

  function edited(names, from) {
    const read = { tag: (text) => text.split(",").map((each) => each.trim()).filter(Boolean), confidence: Number };
    const told = names.filter((name) => from[name] !== "" || name === "title"); // a day or tags cannot be blank
    return Object.fromEntries(told.map((name) => [name, (read[name] || String)(from[name])]));
  }

  function supersede() {
    const by = h("input", { inputmode: "numeric", required: true, placeholder: "#26", "aria-label": T.memory.supersede.label });
    const find = h("input", { type: "search", placeholder: T.memory.supersede.find, "aria-label": T.memory.supersede.find, oninput: look });
    const found = h("div", { class: "rows" });
    const box = dialog(
      T.memory.supersede.title,
      h(
        "form",
        { class: "form", method: "dialog", onsubmit: (event) => { event.preventDefault(); took(by.value); } },
        h("p", { class: "muted" }, T.memory.supersede.about),
        field(T.memory.supersede.label, by),
        find,
        found,
        h("div", { class: "actions end" }, button(T.cancel, () => box.close()), h("button", { class: "primary" }, T.memory.actions.supersede)),
      ),
    );
    by.focus();

    function look() {
      return loaded(found, (signal) => ask("search", { query: find.value, limit: 6, include_facts: false, project: project() }, signal), (reply) => reply.hits.filter((hit) => hit.id !== number).map((hit) => button(`#${hit.id} ${heading(hit.memory)}`, () => { by.value = String(hit.id); by.focus(); }, { kind: "pick", "data-key": hit.id })));
    }

    function took(text) {
      box.close();
      const newer = Number(text.replace("#", ""));
      change("supersede", { by: newer }, T.memory.supersede.done(newer), ["restore", {}]);
    }
  }

  function purge() {
    const counts = h("p", { class: "muted" });
    const erase = h("button", { class: "danger", disabled: true }, T.memory.purge.action);
    const sure = h("input", { type: "checkbox", onchange: () => { erase.disabled = !sure.checked; } });
    const box = dialog(
      T.memory.purge.title,
      h(
        "form",
        { class: "form", method: "dialog", onsubmit: (event) => { event.preventDefault(); done(); } },
        h("p", { class: "notice bad" }, T.memory.purge.about),
        h("blockquote", {}, heading(memory)),
        counts,
        h("label", { class: "check" }, sure, T.memory.purge.sure),
        h("div", { class: "actions end" }, button(T.cancel, () => box.close()), erase),
      ),
    );

    loaded(counts, (signal) => ask("purge", { ids: [String(number)], dry_run: true, project: project() }, signal), (planned) => {
      const named = Object.entries(planned).filter(([, count]) => Number.isInteger(count) && count > 0).map(([name, count]) => T.memory.purge.count(count, name.replaceAll("_", " ")));
      return named.length ? T.memory.purge.counts(named.join(", ")) : null;
    });

    async function done() {
      box.close();
      await attempt(async () => {
        await ask("purge", { ids: [String(number)], yes: true, project: project() });
        say(T.memory.purge.done);
        location.hash = address("search").slice(1);
      });
    }
  }

  return { keys: { e: () => memory && edit(), p: () => memory && pin(), f: () => memory && forget(), x: () => memory && memory.superseded_by === null && supersede() } };
}
