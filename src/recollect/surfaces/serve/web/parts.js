// Parts that several views share: addresses, dates, badges, messages, what can be undone.

import { ApiError } from "/ui/api.js";
import { fill, h } from "/ui/dom.js";
import { T } from "/ui/text.js";

// --- addresses ---------------------------------------------------------------------------------

// Return the view and the values that the address names: #/memory/12?project=web.
export function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view = "", id = ""] = path.split("/");
  return { view: view || "search", id, values: new URLSearchParams(query) };
}

// Return the address of a view; values that are blank are left out, and the project stays.
export function address(view, values = {}) {
  const query = new URLSearchParams();
  const project = place().values.get("project");
  for (const [name, value] of Object.entries({ ...(project ? { project } : {}), ...values })) {
    for (const each of [value].flat()) if (each !== null && each !== undefined && each !== "" && each !== false) query.append(name, String(each));
  }
  return `#/${view}${query.size ? `?${query}` : ""}`;
}

export const project = () => place().values.get("project") || undefined;

// --- dates and numbers -------------------------------------------------------------------------

const DAY = new Intl.DateTimeFormat("en", { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" });
const CLOCK = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hour12: false });
const NUMBER = new Intl.NumberFormat("en");

export const number = (value) => NUMBER.format(value);
export const clock = (at) => CLOCK.format(new Date(at));

export function day(at) {
  return h("time", { datetime: at, title: at }, DAY.format(new Date(at)));
}

export function bytes(size) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const step = size ? Math.min(units.length - 1, Math.floor(Math.log10(size) / 3)) : 0;
  return `${NUMBER.format(Number((size / 1000 ** step).toFixed(step ? 1 : 0)))} ${units[step]}`;
}

const LONGEST_PATH = 40;

// --- memories ----------------------------------------------------------------------------------

// Return the headings above a memory, or its title, or its first line.
export function heading(memory) {
  if (memory.section || memory.title) return memory.section || memory.title;
  const line = memory.content.trim().split("\n")[0];
  return line.length > 90 ? `${line.slice(0, 89)}…` : line;
}

export function badge(text, kind = "") {
  return h("span", { class: `badge ${kind}` }, text);
}

export function origin(memory) {
  const trust = memory.origin || "owner";
  return trust === "owner" ? null : badge(T.memory.trust[trust], `trust-${trust}`);
}

// Return the last two names of a path, and of a long one its end.
export function shortPath(path) {
  const short = path.split("/").slice(-2).join("/");
  return short.length > LONGEST_PATH ? `…${short.slice(1 - LONGEST_PATH)}` : short;
}

// Return where a memory comes from, in short: the end of its path, and its line.
export function source(memory) {
  if (!memory.source) return null;
  return h("span", { class: "source", title: memory.source }, shortPath(memory.source), memory.line ? `:${memory.line}` : "");
}

export function meta(memory) {
  return h(
    "div",
    { class: "meta" },
    badge(memory.type, "type"),
    memory.pinned ? badge(T.memory.pinned, "pinned") : null,
    memory.deleted_at ? badge(T.memory.forgotten, "gone") : null,
    memory.superseded_by !== null ? badge(T.memory.superseded, "gone") : null,
    origin(memory),
    day(memory.observed_at || memory.created_at),
    memory.project === "default" ? null : h("span", {}, memory.project),
    source(memory),
    h("span", { class: "id" }, `#${memory.id}`),
  );
}

// Return a memory as one line that leads to it.
export function row(memory, ...more) {
  return h("a", { class: "row", href: address(`memory/${memory.id}`) }, h("span", { class: "row-text" }, heading(memory)), h("span", { class: "row-more" }, more));
}

// --- views -------------------------------------------------------------------------------------

export function head(title, json, ...more) {
  return h(
    "div",
    { class: "head" },
    h("h1", {}, title),
    h("div", { class: "head-more" }, more, json ? h("a", { class: "json", href: json, target: "_blank", title: T.jsonAbout }, T.json) : null),
  );
}

export function card(title, ...children) {
  return h("section", { class: "card" }, title ? h("h2", {}, title) : null, children);
}

// Return what stands where nothing is: what it means, and what to do next.
export function empty(title, next, ...actions) {
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), next ? h("p", {}, next) : null, actions.length ? h("p", { class: "actions" }, actions) : null);
}

export function button(label, act, { kind = "", key = "", ...more } = {}) {
  return h("button", { type: "button", class: kind, onclick: act, ...more }, label, key ? h("kbd", { "aria-hidden": "true" }, key) : null);
}

export function field(label, input) {
  return h("label", { class: "field" }, h("span", {}, label), input);
}

export function select(label, choices, chosen, change) {
  const input = h("select", { "aria-label": label, "data-key": label, onchange: () => change(input.value) }, Object.entries(choices).map(([value, name]) => h("option", { value, selected: value === chosen }, name)));
  return input;
}

export function failed(error, again = null) {
  return h(
    "div",
    { class: "notice bad", role: "alert" },
    h("strong", {}, T.failed),
    h("p", {}, error.message, error instanceof ApiError && error.hint ? `; ${error.hint}` : ""),
    again ? button(T.retry, again) : null,
  );
}

const reads = new Map();

// Read for *place* and fill it with what *draw* makes of the reply, or with what went wrong; return whether a reply was drawn.
// Only the newest read of a place is drawn, and only while the place is on the page: older requests are aborted, and a reply
// that comes all the same changes nothing. Every view reads through this.
export async function loaded(place, read, draw) {
  for (const [other, each] of reads) {
    if (other !== place && other.isConnected) continue;
    each.abort();
    reads.delete(other);
  }
  const mine = new AbortController();
  reads.set(place, mine);
  place.setAttribute("aria-busy", "true");
  let reply;
  let error = null;
  try {
    reply = await read(mine.signal);
  } catch (caught) {
    error = caught;
  }
  if (reads.get(place) !== mine || !place.isConnected) return false;
  reads.delete(place);
  place.removeAttribute("aria-busy");
  fill(place, error ? failed(error, () => loaded(place, read, draw)) : draw(reply));
  return !error;
}

// --- messages and undo -------------------------------------------------------------------------

let last = null;

// Say what was done; *back* undoes it.
export function say(text, back = null) {
  const toast = h("div", { class: "toast" }, h("span", {}, text));
  const undo = back && (async () => {
    last = null;
    toast.remove();
    await back();
    say(T.undone);
  });
  if (undo) toast.append(button(T.undo, () => attempt(undo), { key: "z" }));
  last = undo;
  fill(document.getElementById("toasts"), toast);
  setTimeout(() => toast.remove(), undo ? 12000 : 4000);
}

export const undoLast = () => last && attempt(last);

// Do *work*; say what went wrong, if anything.
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError") say(`${error.message}${error.hint ? `; ${error.hint}` : ""}`);
    return undefined;
  }
}

// --- lists by keyboard -------------------------------------------------------------------------

// Move the focus in a list of elements by *step*; return whether there was anything to move to.
export function step(items, by) {
  if (!items.length) return false;
  const at = items.indexOf(document.activeElement?.closest("[data-item]"));
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.max(0, Math.min(items.length - 1, at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}
