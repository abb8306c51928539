// Search: as you type, with all of its state in the address.

import { ask, twin } from "/ui/api.js";
import { fill, h, highlighted } from "/ui/dom.js";
import { bar, explanation, whyNot } from "/ui/explain.js";
import { address, attempt, button, card, empty, failed, field, heading, meta, place, select, step } from "/ui/parts.js";
import { T } from "/ui/text.js";

const MANY = ["type", "tag", "source", "kind", "fact_type"];
const ONE = ["since", "until", "lens", "profile", "mode"];
const FLAGS = ["include_superseded", "precise"];
const LIMIT = 20;
const MOST_FACETS = 8;
const FIRST = 8;

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
  let number = 0;
  let running = null;
  let later = 0;
  let opened = new Set((place().values.get("why") || "").split(",").filter(Boolean));

  const input = h("input", { type: "search", id: "q", autocomplete: "off", spellcheck: "false", enterkeyhint: "search", "aria-label": T.search.label, placeholder: T.search.placeholder, value: state.query, oninput: typed });
  const json = h("a", { class: "json", target: "_blank", title: T.jsonAbout, href: "#" }, T.json);
  const status = h("p", { class: "status", role: "status" });
  const notices = h("div", { class: "notices" });
  const list = h("ol", { class: "hits", "aria-label": T.views.search });
  const after = h("div", { class: "after" });
  const side = h("aside", { class: "facets", "aria-label": T.search.filters });
  const toggle = button(T.search.filters, () => { side.classList.toggle("open"); toggle.setAttribute("aria-expanded", String(side.classList.contains("open"))); }, { kind: "facet-toggle quiet", "aria-expanded": "false" });

  fill(
    root,
    h("h1", { class: "unseen" }, T.views.search),
    h("div", { class: "ask" }, h("span", { class: "ask-icon", "aria-hidden": "true" }), input, h("kbd", { "aria-hidden": "true" }, "/")),
    h("div", { class: "under" }, status, h("div", { class: "head-more" }, toggle, json)),
    h("div", { class: "split" }, h("div", { class: "results" }, notices, list, after), side),
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
    change();
  }

  // Search, and write the state into the address, without a new entry in the history for each letter.
  function change() {
    search();
    history.replaceState(null, "", address("search", written(state, { limit: limit === LIMIT ? "" : limit, why: [...opened].join(",") })));
  }

  function set(more) {
    state = { ...state, ...more };
    limit = LIMIT;
    drawControls();
    change();
  }

  async function search() {
    const mine = ++number;
    running?.abort();
    clearTimeout(later);
    running = new AbortController();
    const values = { ...state, explain: true, limit };
    json.href = twin("search", { ...values, facets: true });
    list.setAttribute("aria-busy", "true");
    try {
      const reply = await ask("search", values, running.signal);
      if (mine !== number) return; // a newer question was asked meanwhile
      draw(reply, mine);
      performance.mark("recollect-results");
      later = setTimeout(() => count(mine), 180);
    } catch (error) {
      if (mine === number && error.name !== "AbortError") fill(notices, failed(error, search));
    } finally {
      if (mine === number) list.removeAttribute("aria-busy");
    }
  }

  // Count the whole match set, once nobody types.
  async function count(mine) {
    try {
      const reply = await ask("search", { ...state, facets: true, limit: 1, include_facts: false }, running.signal);
      if (mine === number) drawCounts(reply.facets);
    } catch (error) {
      if (mine === number && error.name !== "AbortError") fill(counts, failed(error));
    }
  }

  // --- the answer ------------------------------------------------------------------------------

  function draw(reply, mine) {
    const top = reply.hits[0]?.score || 0;
    const browsing = !state.query.trim();
    const narrowed = MANY.some((name) => state[name].length) || ONE.some((name) => state[name]) || FLAGS.some((name) => state[name]);
    fill(
      status,
      browsing ? T.search.newest(reply.hits.length) : [h("span", { class: `outcome ${reply.outcome}` }, T.search.outcome[reply.outcome]), ` · ${T.search.results(reply.hits.length, reply.timings_ms.total)}`],
      reply.evidence && reply.outcome !== "none" ? h("span", { class: "sure" }, ` · ${T.search.sure(reply.evidence.sure)}`) : null,
    );
    const chosen = [...list.children].indexOf(document.activeElement);
    fill(notices, told(reply, narrowed));
    fill(list, reply.hits.slice(0, FIRST).map((hit) => drawHit(hit, top)));
    // What lies below the window is drawn in the next frame, so that no key waits for it.
    if (reply.hits.length > FIRST) requestAnimationFrame(() => setTimeout(() => { if (mine === number) list.append(...reply.hits.slice(FIRST).map((hit) => drawHit(hit, top))); }));
    if (chosen >= 0) (list.children[chosen] || input).focus(); // a late answer does not take the place away
    fill(after, browsing && !reply.hits.length ? null : below(reply, browsing));
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

  function below(reply, browsing) {
    return [
      reply.hits.length >= limit && limit < 200 ? button(T.more, () => { limit += LIMIT; change(); }, { kind: "quiet" }) : null,
      browsing ? null : expected(),
    ];
  }

  function expected() {
    const answer = h("div", { "aria-live": "polite" });
    const id = h("input", { inputmode: "numeric", placeholder: "#26", "aria-label": T.search.whyNotLabel, size: "6" });
    const form = h("form", { class: "inline", onsubmit: (event) => { event.preventDefault(); attempt(() => whyNot(answer, id.value, state)); } }, id, h("button", {}, T.search.whyNotAsk));
    return h("details", { class: "whynot" }, h("summary", {}, T.search.hint), h("p", {}, T.search.whyNotAbout), form, answer);
  }

  function drawHit(hit, top) {
    const { memory } = hit;
    const said = highlighted(hit.snippet, memory.content);
    const more = h("div", { class: "hit-more", id: `why-${hit.id}` });
    const toggle = button(T.search.explain, explain, { kind: "quiet small", "aria-expanded": "false", "aria-controls": more.id, "data-why": true });
    const item = h(
      "li",
      { class: "hit", tabindex: "0", "data-item": true, "data-id": hit.id, onkeydown: keys },
      h("div", { class: "hit-head" }, h("a", { class: `hit-title ${memory.title ? "" : "plain"}`, href: address(`memory/${hit.id}`) }, memory.title || said), hit.explain.shares.length ? bar(hit, top) : null),
      memory.title ? h("p", { class: "snippet" }, said) : null,
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
      history.replaceState(null, "", address("search", written(state, { limit: limit === LIMIT ? "" : limit, why: [...opened].join(",") })));
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
    const chosen = MANY.flatMap((name) => state[name].map((value) => chip(`${T.search.facets[name]}: ${value.split("/").slice(-2).join("/")}`, () => set({ [name]: state[name].filter((each) => each !== value) }))));
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
    return field(label, h("input", { type: "date", value: state[name] || "", onchange: (event) => set({ [name]: event.target.value || undefined }) }));
  }

  function check(name, label) {
    return h("label", { class: "check" }, h("input", { type: "checkbox", checked: state[name], onchange: (event) => set({ [name]: event.target.checked || undefined }) }), label);
  }

  async function loadLenses() {
    const found = await attempt(() => ask("lens", { action: "list", project: state.project }));
    if (!found?.lenses.length) return;
    const choices = { "": T.search.noLens, ...Object.fromEntries(found.lenses.map((lens) => [lens.name, lens.name])) };
    fill(lenses, field(T.search.lens, select(T.search.lens, choices, state.lens || "", (lens) => set({ lens: lens || undefined }))));
  }

  function drawCounts(facets) {
    const groups = MANY.filter((name) => name !== "kind" && Object.keys(facets[name] || {}).length);
    fill(
      counts,
      histogram(facets.month || {}),
      groups.map((name) => card(T.search.facets[name], h("ul", { class: "facet" }, Object.entries(facets[name]).slice(0, MOST_FACETS).map(([value, many]) => facet(name, value, many))))),
    );
  }

  function facet(name, value, many) {
    const on = state[name].includes(value);
    const short = name === "source" ? value.split("/").slice(-2).join("/") : value;
    return h("li", {}, h("button", { type: "button", class: "facet-value", title: value, "aria-pressed": String(on), onclick: () => set({ [name]: on ? state[name].filter((each) => each !== value) : [...state[name], value] }) }, h("span", {}, short), h("span", { class: "count" }, String(many))));
  }

  function histogram(months) {
    const known = Object.keys(months).sort();
    if (!known.length) return null;
    const shown = between(known[0], known.at(-1)).slice(-36);
    const most = Math.max(...Object.values(months));
    const bars = shown.map((month) => h("button", {
      type: "button", class: "month", title: T.search.month(month, months[month] || 0), "aria-label": T.search.month(month, months[month] || 0), disabled: !months[month],
      onclick: () => set({ since: `${month}-01`, until: lastDay(month) }),
    }, h("span", { css: { height: `${((months[month] || 0) / most) * 100}%` } })));
    return card(T.search.histogram, h("div", { class: "months", role: "group", "aria-label": T.search.histogram }, bars), h("div", { class: "ends muted" }, h("span", {}, shown[0]), h("span", {}, shown.at(-1))));
  }

  return {
    focus: () => { input.focus(); input.select(); },
    escape: () => input.focus(),
    step: (by) => (by < 0 && list.querySelector("[data-item]") === document.activeElement ? (input.focus(), true) : step([...list.querySelectorAll("[data-item]")], by)),
    enter: () => { if (document.activeElement === input) list.querySelector("[data-item]")?.focus(); },
    leave: () => { number += 1; running?.abort(); clearTimeout(later); },
  };
}

export const profiles = ["default", "cortex", "oro", "boocode", "nornicdb", "engram"];

function between(first, last) {
  const months = [];
  let [year, month] = first.split("-").map(Number);
  const [lastYear, lastMonth] = last.split("-").map(Number);
  while ((year < lastYear || (year === lastYear && month <= lastMonth)) && months.length < 2400) {
    months.push(`${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}`);
    month += 1;
    if (month > 12) [year, month] = [year + 1, 1];
  }
  return months;
}

function lastDay(month) {
  const [year, number] = month.split("-").map(Number);
  return `${month}-${String(new Date(Date.UTC(year, number, 0)).getUTCDate()).padStart(2, "0")}`;
}
