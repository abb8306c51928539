// Search: as you type, with all of its state in the address.

import { ask, twin } from "/ui/api.js";
import { fill, h, highlighted } from "/ui/dom.js";
import { bar, explanation, whyNot } from "/ui/explain.js";
import { address, attempt, button, card, empty, field, heading, loaded, meta, place, select, shortPath, step } from "/ui/parts.js";
import { T } from "/ui/text.js";

const MANY = ["type", "tag", "source", "kind", "fact_type"];
const ONE = ["since", "until", "lens", "profile", "mode"];
const FLAGS = ["include_superseded", "precise"];
const LIMIT = 20;
const MOST_FACETS = 8;
const MOST_MONTHS = 36;
const FIRST = 8;
const COUNT_DELAY_MS = 180;

// Return what is asked, as the address says it.
function asked(values) {
  const state = { query: values.get("q") || "", project: values.get("project") || undefined };
  for (const name of MANY) state[name] = values.getAll(name);
  for (const name of ONE) state[name] = values.get(name) || undefined;
  for (const name of FLAGS) state[name] = values.get(name) ? true : undefined;
  return state;
}

// Return the values of an address that says *state*.
function written(state, more = {}) {
  const { query, project: _, ...rest } = state;
  return { q: query, ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, value === true ? "1" : value])), ...more };
}

export function render(root) {
  let state = asked(place().values);
  let limit = Number(place().values.get("limit")) || LIMIT;
  let opened = new Set((place().values.get("why") || "").split(",").filter(Boolean));

  const input = h("input", { type: "search", id: "q", autocomplete: "off", spellcheck: "false", enterkeyhint: "search", "aria-label": T.search.label, placeholder: T.search.placeholder, value: state.query, oninput: typed });
  const json = h("a", { class: "json", target: "_blank", title: T.jsonAbout, href: "#" }, T.json);
  const status = h("p", { class: "status", role: "status" });
  const results = h("div", { class: "results" });
  let drawn = null; // whether the reply to the newest question was drawn, once that is known
  let answer = h("div", { "aria-live": "polite" });
  const expected = whyNotForm();
  const side = h("aside", { class: "facets", "aria-label": T.search.filters });
  const toggle = button(T.search.filters, () => { side.classList.toggle("open"); toggle.setAttribute("aria-expanded", String(side.classList.contains("open"))); }, { kind: "facet-toggle quiet", "aria-expanded": "false" });

  fill(
    root,
    h("h1", { class: "unseen" }, T.views.search),
    h("div", { class: "ask" }, h("span", { class: "ask-icon", "aria-hidden": "true" }), input, h("kbd", { "aria-hidden": "true" }, "/")),
    h("div", { class: "under" }, status, h("div", { class: "head-more" }, toggle, json)),
    h("div", { class: "split" }, results, side),
  );
  const controls = h("div", {});
  const counts = h("div", { class: "counts" });
  const lenses = h("span", {});
  fill(side, controls, counts);
  drawControls();
  search();
  loadLenses();
  if (!matchMedia("(pointer: coarse)").matches) input.focus({ preventScroll: true });

  function typed() {
    state = { ...state, query: input.value };
    limit = LIMIT;
    opened = new Set();
    const blank = h("div", { "aria-live": "polite" });
    answer.replaceWith(blank); // it was about the question before
    answer = blank;
    change();
  }

  // Search, and write the state into the address, without a new entry in the history for each letter.
  function change() {
    search();
    writeAddress();
  }

  function writeAddress() {
    history.replaceState(null, "", address("search", written(state, { limit: limit === LIMIT ? "" : limit, why: [...opened].join(",") })));
  }

  function set(more) {
    state = { ...state, ...more };
    limit = LIMIT;
    drawControls();
    change();
  }

  async function search() {
    const values = { ...state, explain: true, limit };
    json.href = twin("search", { ...values, facets: true });
    let inResults = false;
    drawn = loaded(results, (signal) => ask("search", values, signal), (reply) => {
      inResults = results.contains(document.activeElement);
      return draw(reply, inResults);
    });
    loaded(counts, count, (reply) => drawCounts(reply.facets));
    if (await drawn) performance.mark("recollect-results");
    if (inResults && document.activeElement === document.body) input.focus(); // the hit that had the focus is gone
  }

  // Count all matches, once the hits are drawn and nobody types.
  async function count(signal) {
    await drawn;
    await new Promise((resolve) => { setTimeout(resolve, COUNT_DELAY_MS); });
    signal.throwIfAborted();
    return ask("search", { ...state, facets: true, limit: 1, include_facts: false }, signal);
  }

  // --- the answer ------------------------------------------------------------------------------

  function draw(reply, atOnce) {
    const top = reply.hits[0]?.score || 0;
    const browsing = !state.query.trim();
    const narrowed = MANY.some((name) => state[name].length) || ONE.some((name) => state[name]) || FLAGS.some((name) => state[name]);
    fill(
      status,
      browsing ? T.search.newest(reply.hits.length) : [h("span", { class: `outcome ${reply.outcome}` }, T.search.outcome[reply.outcome]), ` · ${T.search.results(reply.hits.length, reply.timings_ms.total)}`],
      reply.evidence && reply.outcome !== "none" ? h("span", { class: "sure" }, ` · ${T.search.sure(reply.evidence.sure)}`) : null,
    );
    const first = atOnce ? reply.hits.length : FIRST;
    const list = h("ol", { class: "hits", "aria-label": T.views.search }, reply.hits.slice(0, first).map((hit) => drawHit(hit, top)));
    // Draw what is below the window in the next frame, so that no key waits for it.
    if (reply.hits.length > first) requestAnimationFrame(() => setTimeout(() => { if (list.isConnected) list.append(...reply.hits.slice(first).map((hit) => drawHit(hit, top))); }));
    const more = reply.hits.length >= limit && limit < 200 ? button(T.more, () => { limit += LIMIT; change(); }, { kind: "quiet", "data-key": "more" }) : null;
    return [h("div", { class: "notices" }, told(reply, narrowed)), list, h("div", { class: "after" }, more, browsing ? null : expected)];
  }

  function told(reply, narrowed) {
    const blank = reply.reason?.code === "empty_store";
    const against = reply.evidence?.against || [];
    return [
      reply.degraded ? h("div", { class: "notice" }, T.search.degraded[reply.degraded] || reply.degraded) : null,
      reply.outcome === "weak" ? h("div", { class: "notice weak" }, h("strong", {}, T.search.weak), reply.reason ? h("p", {}, reply.reason.message) : null, against.length ? h("p", {}, `${T.search.against}: ${against.join("; ")}.`) : null) : null,
      reply.suggestions.length ? h("p", { class: "instead" }, `${T.search.instead}: `, reply.suggestions.map((each) => button(each, () => { input.value = each; typed(); input.focus(); }, { kind: "chip" }))) : null,
      !reply.hits.length && blank ? empty(T.search.empty, T.search.emptyNext, h("a", { class: "button primary", href: address("add") }, T.search.emptyAction)) : null,
      !reply.hits.length && !blank
        ? empty(T.search.nothing, [reply.reason ? `${reply.reason.message[0].toUpperCase()}${reply.reason.message.slice(1)}. ` : "", T.search.nothingNext], narrowed ? button(T.search.clear, clear, { kind: "primary" }) : null, h("a", { class: "button", href: address("add", { text: state.query }) }, T.health.teach))
        : null,
    ];
  }

  function whyNotForm() {
    const id = h("input", { inputmode: "numeric", placeholder: "#26", "aria-label": T.search.whyNotLabel, size: "6", "data-key": "why-not" });
    const form = h("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); whyNot(answer, id.value, state); } }, id, h("button", {}, T.search.whyNotAsk));
    return h("details", { class: "whynot" }, h("summary", { "data-key": "why-not-summary" }, T.search.hint), h("p", {}, T.search.whyNotAbout), form, answer);
  }

  function drawHit(hit, top) {
    const { memory } = hit;
    const title = memory.section || memory.title;
    const said = highlighted(hit.snippet, memory.content);
    const more = h("div", { class: "hit-more", id: `why-${hit.id}` });
    const toggle = button(T.search.explain, explain, { kind: "quiet small", "aria-expanded": "false", "aria-controls": more.id, "data-key": more.id });
    const item = h(
      "li",
      { class: "hit", tabindex: "0", "data-item": true, "data-key": hit.id, onkeydown: keys },
      h("div", { class: "hit-head" }, h("a", { class: `hit-title ${title ? "" : "plain"}`, href: address(`memory/${hit.id}`) }, title || said), hit.explain.shares.length ? bar(hit, top) : null),
      title ? h("p", { class: "snippet" }, said) : null,
      exchange(hit),
      hit.older ? h("p", { class: "older" }, `${T.search.older}: `, h("a", { href: address(`memory/${hit.id}`), "data-older": hit.older }, `#${hit.older}`)) : null,
      hit.conflicts ? h("p", { class: "older bad" }, `${T.search.conflicts} `, hit.conflicts.map((id, at) => [at ? ", " : "", h("a", { href: address(`memory/${id}`) }, `#${id}`)])) : null,
      h("div", { class: "hit-foot" }, meta(memory), hit.explain.shares.length ? toggle : null),
      more,
    );
    if (hit.older) attempt(() => older(item, hit.older));
    if (opened.has(String(hit.id))) show(true);
    return item;

    function show(on) {
      fill(more, on ? explanation(hit) : null);
      toggle.setAttribute("aria-expanded", String(on));
    }

    function explain() {
      const id = String(hit.id);
      if (opened.has(id)) opened.delete(id);
      else opened.add(id);
      show(opened.has(id));
      writeAddress();
    }

    function keys(event) {
      if (event.target !== item) return;
      if (event.key === "Enter") location.hash = address(`memory/${hit.id}`).slice(1);
      if (event.key === "e") explain();
    }
  }

  // Say what the older memory said.
  async function older(item, id) {
    const memory = await ask("show", { id, project: state.project });
    const link = item.querySelector("[data-older]");
    fill(link, heading(memory));
    link.after(h("span", { class: "muted" }, ` #${id}`));
  }

  function exchange(hit) {
    if (!hit.exchange?.length) return null;
    return h("ul", { class: "exchange" }, hit.exchange.map((turn) => h("li", {}, h("span", { class: "muted" }, `${turn.before ? T.search.before : T.search.after}: `), turn.speaker ? h("strong", {}, `${turn.speaker}: `) : null, turn.id ? h("a", { href: address(`memory/${turn.id}`) }, turn.text) : turn.text)));
  }

  // --- filters ---------------------------------------------------------------------------------

  function drawControls() {
    const chosen = MANY.flatMap((name) => state[name].map((value) => chip(`${T.search.facets[name]}: ${shortPath(value)}`, () => set({ [name]: state[name].filter((each) => each !== value) }))));
    fill(
      controls,
      chosen.length ? h("div", { class: "chips" }, chosen, button(T.search.clear, clear, { kind: "quiet small" })) : null,
      field(T.search.mode, select(T.search.mode, T.search.modes, state.mode || "", (mode) => set({ mode: mode || undefined }))),
      field(T.search.profile, select(T.search.profile, { "": T.search.ownProfile, ...Object.fromEntries(profiles.map((each) => [each, each])) }, state.profile || "", (profile) => set({ profile: profile || undefined }))),
      lenses,
      h("div", { class: "dates" }, date("since", T.search.since), date("until", T.search.until)),
      check("precise", T.search.precise),
      check("include_superseded", T.search.superseded),
    );
  }

  function clear() {
    set({ ...Object.fromEntries(MANY.map((name) => [name, []])), ...Object.fromEntries([...ONE, ...FLAGS].map((name) => [name, undefined])) });
    loadLenses();
  }

  function chip(text, act) {
    return h("button", { type: "button", class: "chip chosen", onclick: act }, text, h("span", { "aria-hidden": "true" }, " ×"));
  }

  function date(name, label) {
    return field(label, h("input", { type: "date", "data-key": name, value: state[name] || "", onchange: (event) => set({ [name]: event.target.value || undefined }) }));
  }

  function check(name, label) {
    return h("label", { class: "check" }, h("input", { type: "checkbox", "data-key": name, checked: state[name], onchange: (event) => set({ [name]: event.target.checked || undefined }) }), label);
  }

  function loadLenses() {
    return loaded(lenses, (signal) => ask("lens", { action: "list", project: state.project }, signal), (found) => {
      if (!found.lenses.length) return null;
      const choices = { "": T.search.noLens, ...Object.fromEntries(found.lenses.map((lens) => [lens.name, lens.name])) };
      return field(T.search.lens, select(T.search.lens, choices, state.lens || "", (lens) => set({ lens: lens || undefined })));
    });
  }

  function drawCounts(facets) {
    const groups = MANY.filter((name) => name !== "kind" && Object.keys(facets[name] || {}).length);
    return [
      histogram(facets.month || {}),
      groups.map((name) => card(T.search.facets[name], h("ul", { class: "facet" }, Object.entries(facets[name]).slice(0, MOST_FACETS).map(([value, many]) => facet(name, value, many))))),
    ];
  }

  function facet(name, value, many) {
    const on = state[name].includes(value);
    const short = name === "source" ? shortPath(value) : value;
    return h("li", {}, h("button", { type: "button", class: "facet-value", title: value, "data-key": `${name}:${value}`, "aria-pressed": String(on), onclick: () => set({ [name]: on ? state[name].filter((each) => each !== value) : [...state[name], value] }) }, h("span", {}, short), h("span", { class: "count" }, String(many))));
  }

  function histogram(months) {
    const shown = Object.keys(months).sort().slice(-MOST_MONTHS); // months without a memory are left out
    if (!shown.length) return null;
    const most = Math.max(...Object.values(months));
    const bars = shown.map((month) => h("button", {
      type: "button", class: "month", title: T.search.month(month, months[month]), "aria-label": T.search.month(month, months[month]), "data-key": month,
      onclick: () => set({ since: `${month}-01`, until: lastDay(month) }),
    }, h("span", { css: { height: `${(months[month] / most) * 100}%` } })));
    return card(T.search.histogram, h("div", { class: "months", role: "group", "aria-label": T.search.histogram }, bars), h("div", { class: "ends muted" }, h("span", {}, shown[0]), h("span", {}, shown.at(-1))));
  }

  function hits() {
    return [...results.querySelectorAll("[data-item]")];
  }

  // Go from the box to the hits: those of what is typed there, once they are drawn.
  function toHits(go) {
    if (document.activeElement !== input || !results.hasAttribute("aria-busy")) return go();
    drawn.then((isDrawn) => { if (isDrawn && (document.activeElement === input || results.contains(document.activeElement))) go(); });
    return true;
  }

  return {
    focus: () => { input.focus(); input.select(); },
    escape: () => input.focus(),
    step: (by) => toHits(() => (by < 0 && hits()[0] === document.activeElement ? (input.focus(), true) : step(hits(), by))),
    enter: () => toHits(() => hits()[0]?.focus()),
  };
}

export const profiles = ["default", "cortex", "oro", "boocode", "nornicdb", "engram"];

function lastDay(month) {
  const [year, number] = month.split("-").map(Number);
  return `${month}-${String(new Date(Date.UTC(year, number, 0)).getUTCDate()).padStart(2, "0")}`;
}
