// Today and before: what was learned, changed, recalled and told to agents, live; and all memories by date.

import { ask, follow, twin } from "/ui/api.js";
import { fill, h } from "/ui/dom.js";
import { address, badge, button, clock, empty, field, head, heading, loaded, origin, place, project, select, source, step } from "/ui/parts.js";
import { T } from "/ui/text.js";

const PAGE = 40;

export function render(root) {
  const { values } = place();
  const state = { tab: values.get("tab") || "activity", what: values.get("what") || "", by: values.get("by") || "", limit: Number(values.get("limit")) || 100 };
  const ending = new AbortController();
  const list = h("div", { class: "timeline" });
  const live = h("span", { class: "live", role: "status" });
  let entries = [];
  let agents = new Set();
  const filters = h("div", { class: "filters" });
  const activity = state.tab === "activity";
  const asked = { limit: state.limit, project: project() };

  fill(
    root,
    head(T.today.title, activity ? twin("activity", asked) : twin("list", { limit: PAGE, project: project() }), activity ? live : null),
    h("div", { class: "tabs", role: "group", "aria-label": T.today.title }, tab("activity", T.today.activity), tab("memories", T.today.memories)),
    filters,
    list,
  );
  if (activity) start();
  else more(null);

  function tab(name, label) {
    return h("a", { class: "tab", href: address("today", { tab: name === "activity" ? "" : name }), "aria-current": state.tab === name ? "page" : null }, label);
  }

  // --- what happened ---------------------------------------------------------------------------

  async function start() {
    follow({ project: project() }, (entry) => { entries = [entry, ...entries]; draw(entry.key); }, (now) => fill(live, h("span", { class: `pulse ${now}` }), T.today[now]), ending.signal).catch(() => fill(live, T.today.waiting));
    await read();
  }

  function read() {
    return loaded(list, (signal) => ask("activity", asked, signal), (found) => {
      const known = new Set(found.entries.map((entry) => entry.key));
      entries = [...entries.filter((entry) => !known.has(entry.key)), ...found.entries];
      return lines();
    });
  }

  function narrow(more) {
    Object.assign(state, more);
    history.replaceState(null, "", address("today", { what: state.what, by: state.by, limit: state.limit === 100 ? "" : state.limit }));
    draw();
  }

  const draw = (fresh = null) => fill(list, lines(fresh));

  function lines(fresh = null) {
    const before = agents.size;
    agents = new Set(entries.map((entry) => entry.by).filter(Boolean));
    if (agents.size !== before || !filters.childElementCount) drawFilters();
    const shown = entries.filter((entry) => (!state.what || entry.what === state.what) && (!state.by || entry.by === state.by));
    if (!entries.length) return empty(T.today.none, T.today.noneNext, h("a", { class: "button primary", href: address("add") }, T.search.emptyAction));
    if (!shown.length) return empty(T.today.noneHere);
    return [days(shown.map((entry) => [entry.at, line(entry, entry.key === fresh)])), entries.length >= state.limit ? button(T.more, () => { asked.limit = state.limit += 100; narrow({}); read(); }, { kind: "quiet", "data-key": "more" }) : null];
  }

  function drawFilters() {
    const names = Object.fromEntries([...agents].map((name) => [name, T.memory.by[name] || name]));
    fill(
      filters,
      h("div", { class: "chips", role: "group", "aria-label": T.today.activity }, Object.entries({ "": T.today.all, ...T.today.what }).map(([name, label]) => h("button", { type: "button", class: "chip", "data-key": `what-${name}`, "aria-pressed": String(state.what === name), onclick: () => { state.what = name; drawFilters(); narrow({}); } }, label))),
      field(T.today.agent, select(T.today.agent, { "": T.today.agentAll, ...names }, state.by, (by) => narrow({ by }))),
    );
  }

  function line(entry, fresh) {
    const asking = entry.what === "recalled" || entry.what === "injected";
    const to = asking ? address("search", { q: entry.text }) : address(`memory/${entry.ids[0]}`);
    const verb = asking ? (entry.ids.length ? T.today.found(entry.ids.length) : T.today.nothing) : T.memory.events[entry.verb] || entry.verb;
    return h(
      "a",
      { class: `entry ${fresh ? "fresh" : ""}`, href: to, "data-item": true, "data-key": entry.key },
      h("time", { class: "muted", datetime: entry.at }, clock(entry.at)),
      badge(T.today.what[entry.what], `what-${entry.what}`),
      h("span", { class: "row-text" }, asking ? `“${entry.text}”` : entry.text),
      h("span", { class: "muted small-text" }, [verb, T.memory.by[entry.by] || entry.by, entry.project && entry.project !== "default" ? entry.project : ""].filter(Boolean).join(" · ")),
    );
  }

  // --- all memories ----------------------------------------------------------------------------

  let shown = [];

  function more(cursor) {
    return loaded(list, (signal) => ask("list", { limit: PAGE, cursor, project: project() }, signal), (found) => {
      shown = [...shown, ...found.memories.map((memory) => [memory.observed_at || memory.created_at, item(memory)])];
      if (!shown.length) return empty(T.search.empty, T.search.emptyNext, h("a", { class: "button primary", href: address("add") }, T.search.emptyAction));
      return [days(shown), found.next_cursor ? button(T.more, () => more(found.next_cursor), { kind: "quiet", "data-key": "more" }) : null, h("p", { class: "muted" }, T.health.of(shown.length, found.total))];
    });
  }

  function item(memory) {
    return h("a", { class: "entry", href: address(`memory/${memory.id}`), "data-item": true, "data-key": memory.id }, badge(memory.type, "type"), h("span", { class: "row-text" }, heading(memory)), h("span", { class: "muted small-text" }, origin(memory), source(memory)));
  }

  return { step: (by) => step([...list.querySelectorAll("[data-item]")], by), leave: () => ending.abort() };
}

// Return lines under the day they belong to.
function days(lines) {
  const groups = new Map();
  for (const [at, line] of lines) {
    const name = dayName(new Date(at));
    groups.set(name, [...(groups.get(name) || []), line]);
  }
  return [...groups].map(([name, group]) => h("section", {}, h("h2", { class: "day" }, name), h("div", { class: "rows" }, group)));
}

function dayName(at) {
  const ago = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86400000);
  if (ago === 0) return T.today.today;
  if (ago === 1) return T.today.yesterday;
  return at.toLocaleDateString("en", { weekday: "short", year: "numeric", month: "long", day: "numeric" });
}
