// The frame of the page: which view the address names, the keys, the token, the project.

import { ask, dropToken, hasToken, keepToken, onToken } from "/ui/api.js";
import { dialog, fill, h, s } from "/ui/dom.js";
import { address, attempt, field, loaded, place, say, select, undoLast } from "/ui/parts.js";
import { render as search } from "/ui/search.js";
import { T } from "/ui/text.js";

const VIEWS = {
  __proto__: null, // an address may name anything
  search: async () => search,
  memory: async () => (await import("/ui/memory.js")).render,
  today: async () => (await import("/ui/today.js")).render,
  review: async () => (await import("/ui/review.js")).render,
  health: async () => (await import("/ui/health.js")).render,
  compare: async () => (await import("/ui/compare.js")).render,
  add: async () => (await import("/ui/add.js")).render,
};
const ICONS = {
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.4 10.4 14 14",
  today: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.8V8l2.4 1.6",
  review: "m2.5 8.6 3.6 3.6 7.4-8.2",
  health: "M1.5 8h3l2-4.5 3 9 2-4.5h3",
  compare: "M2 4h3c4 0 2 8 6 8h3M2 12h3c4 0 2-8 6-8h3",
  add: "M8 3v10M3 8h10",
};
const MOST_OPTIONS = 30;
const root = document.getElementById("main");
const foot = document.getElementById("foot");
let view = {};
let shown = "";
let going = false;

// --- views -------------------------------------------------------------------------------------

async function show() {
  const { view: name, id } = place();
  const moved = shown !== "" && shown !== `${name}/${id}`;
  view.leave?.();
  view = {};
  document.querySelectorAll("dialog[open]").forEach((each) => each.close());
  document.title = `${T.views[name] || (name === "memory" ? T.memory.title(id) : "")} · recollect`;
  drawNav(name);
  const render = await VIEWS[name]?.();
  if (place().view !== name || place().id !== id) return;
  shown = `${name}/${id}`;
  root.className = `view-${name}`;
  if (!render) {
    fill(root, h("div", { class: "empty" }, h("p", { class: "empty-title" }, T.notFound), h("a", { class: "button", href: address("search") }, T.toSearch)));
    return;
  }
  if (moved) scrollTo(0, 0);
  view = render(root, id) || {};
  if (moved && document.activeElement === document.body) root.focus({ preventScroll: true }); // else the person has gone elsewhere
}

function drawNav(current) {
  fill(document.getElementById("nav"), Object.entries(T.views).map(([name, label]) => h("a", { href: address(name), class: `nav-${name}`, "aria-current": name === current ? "page" : null }, s("svg", { class: "nav-icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: ICONS[name] })), h("span", {}, label))));
}

const chooser = h("span", {});
const keys = h("button", { type: "button", class: "quiet small", onclick: help }, T.keys, h("kbd", { "aria-hidden": "true" }, "?"));
const forget = h("button", { type: "button", class: "quiet small", onclick: () => { dropToken(); location.reload(); } }, T.token.forget);

function drawFoot() {
  const chosen = place().values.get("project") || "";
  fill(foot, chooser, keys, hasToken() ? forget : null);
  loaded(chooser, (signal) => attempt(() => ask("stats", {}, signal)), (stats) => {
    const names = [...new Set([...Object.keys(stats?.projects || {}), chosen])].filter(Boolean).sort();
    if (names.length < 2 && !chosen) return null;
    return field(T.project, names.length > MOST_OPTIONS ? typedChoice(names, chosen) : select(T.project, { "": T.allProjects, ...Object.fromEntries(names.map((name) => [name, name])) }, chosen, choose));
  });
}

// Return a field that suggests the *names* that hold what is typed: nobody scrolls through thousands.
function typedChoice(names, chosen) {
  const input = h("input", { list: "projects", autocomplete: "off", value: chosen, placeholder: T.allProjects, "data-key": T.project, onchange: () => {
    const name = input.value.trim();
    if (!name || names.includes(name)) choose(name);
    else say(T.noProject(name));
  } });
  return [input, h("datalist", { id: "projects" }, names.map((name) => h("option", { value: name })))];
}

function choose(project) {
  const { view: name, id, values } = place();
  values.delete("project");
  if (project) values.set("project", project);
  location.hash = `/${name}${id ? `/${id}` : ""}${values.size ? `?${values}` : ""}`;
}

// --- the token ---------------------------------------------------------------------------------

onToken((error) => new Promise((resolve) => {
  const input = h("input", { type: "password", autocomplete: "off", required: true, "aria-label": T.token.label });
  const box = dialog(T.token.title, h("form", { class: "form", method: "dialog", onsubmit: (event) => { event.preventDefault(); keepToken(input.value.trim()); box.close(); resolve(); drawFoot(); } }, h("p", { class: "muted" }, T.token.about), hasToken() ? h("p", { class: "bad", role: "alert" }, error.message) : null, field(T.token.label, input), h("div", { class: "actions end" }, h("button", { class: "primary" }, T.token.enter))));
  box.addEventListener("cancel", (event) => event.preventDefault());
  input.focus();
}));

// --- keys --------------------------------------------------------------------------------------

function help() {
  const box = dialog(T.help.title, h("dl", { class: "keys" }, T.help.keys.map(([key, about]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, about)])), h("form", { method: "dialog", class: "actions end" }, h("button", { class: "primary" }, T.close)));
  box.querySelector("button").focus();
}

const writing = (element) => element?.matches("textarea, select, [contenteditable]") || (element?.matches("input") && !["checkbox", "radio", "button"].includes(element.type));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const inField = writing(event.target);
  const search = event.target.matches?.("input[type=search]");
  if (event.key === "Escape" && inField) {
    event.preventDefault(); // the browser would empty the field, and the hits would stay
    event.target.blur();
    return;
  }
  if ((event.key === "ArrowDown" || event.key === "ArrowUp") && (!inField || search)) {
    if (view.step?.(event.key === "ArrowDown" ? 1 : -1)) event.preventDefault();
    return;
  }
  if (search && event.key === "Enter") { view.enter?.(); return; }
  if (inField) return;
  const act = pressed(event.key);
  if (act) { event.preventDefault(); act(); }
});

function pressed(key) {
  if (going) {
    going = false;
    const name = Object.entries(T.viewKeys).find(([, each]) => each === key)?.[0];
    if (name) return () => { location.hash = address(name).slice(1); };
  }
  const known = {
    "/": toSearch,
    "?": help,
    Escape: view.escape,
    j: view.step && (() => view.step(1)),
    k: view.step && (() => view.step(-1)),
    z: undoLast,
    g: () => { going = true; },
  };
  return view.keys?.[key] || known[key];
}

function toSearch() {
  if (view.focus) view.focus();
  else location.hash = address("search").slice(1);
}

document.getElementById("skip").addEventListener("click", (event) => { event.preventDefault(); root.focus(); });
addEventListener("hashchange", () => { show(); drawFoot(); });
show();
drawFoot();
