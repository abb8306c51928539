// Where a score comes from: a bar of its shares, and the whole of it in plain words.

import { h } from "/ui/dom.js";
import { ask } from "/ui/api.js";
import { T } from "/ui/text.js";
import { loaded, project } from "/ui/parts.js";

const KNOWN = ["words", "vector", "neighbours", "expansion"];
const named = (table, name) => table[name] || table[name.split(":")[0]] || [name.replaceAll("_", " "), ""];
const kind = (name) => (KNOWN.includes(name.split(":")[0]) ? name.split(":")[0] : "other");
const points = (value) => value.toFixed(4);
const percent = (factor) => Math.abs((factor - 1) * 100).toFixed(Math.abs(factor - 1) < 0.1 ? 1 : 0);

const sum = (shares) => shares.reduce((all, share) => all + share.points, 0);

// Return the shares of a hit as one bar, as long as the hit is strong beside *top*.
export function bar(hit, top) {
  const shares = hit.explain.shares.filter((share) => share.points > 0);
  const whole = sum(shares);
  const strength = top > 0 ? Math.max(0.02, Math.min(1, hit.score / top)) : 0;
  const told = shares.map((share) => `${named(T.explain.rankings, share.ranking)[0]} ${Math.round((share.points / whole) * 100)} %`).join(", ");
  return h(
    "span",
    { class: "bar", role: "img", "aria-label": shares.length ? `${T.explain.bar(told)}; ${T.explain.strength(Math.round(strength * 100))}` : T.explain.none, title: told },
    h(
      "span",
      { class: "bar-fill", css: { width: `${strength * 100}%` } },
      shares.map((share) => h("span", { class: `share share-${kind(share.ranking)}`, css: { "flex-grow": String(share.points / whole) } })),
    ),
  );
}

// Return the whole explanation: shares, their sum, each factor, the score.
export function explanation(hit) {
  const { shares, factors } = hit.explain;
  if (!shares.length) return h("div", { class: "explain" }, h("p", {}, T.explain.none));
  const rows = shares.map((share) => {
    const [name, about] = named(T.explain.rankings, share.ranking);
    return line("share", [h("span", { class: `dot share-${kind(share.ranking)}` }), name], [about, share.rank ? `, ${T.explain.rank(share.rank)}` : ""], points(share.points));
  });
  rows.push(line("sum", T.explain.sum, "", points(sum(shares))));
  for (const [name, factor] of Object.entries(factors)) {
    const [title, about] = named(T.explain.factors, name);
    const effect = Math.abs(factor - 1) < 0.0005 ? T.explain.unchanged : factor > 1 ? T.explain.raises(percent(factor)) : T.explain.lowers(percent(factor));
    rows.push(line("factor", title, `${about}: ${effect}`, `× ${points(factor)}`));
  }
  rows.push(line("score", T.explain.score, "", points(hit.score)));
  return h("div", { class: "explain" }, h("table", {}, h("tbody", {}, rows)));
}

function line(kind, name, about, value) {
  return h("tr", { class: kind }, h("th", { scope: "row" }, name), h("td", { class: "about" }, about), h("td", { class: "number" }, value));
}

// Ask why a memory was not found, and say it in *place*.
export function whyNot(place, id, values) {
  return loaded(place, (signal) => ask("why", { ...values, id, project: project() }, signal), drawWhy);
}

function drawWhy(told) {
  const lists = told.lists.map((each) => T.why.list(named(T.explain.rankings, each.ranking)[0], each.rank ?? "–", each.score === null ? "–" : each.score.toFixed(3)));
  return h(
    "div",
    { class: "why" },
    h("p", {}, h("strong", {}, told.found ? T.why.found(told.rank) : T.why.blocked[told.blocked_by])),
    told.surfaces_if ? h("p", {}, T.why.surfaces(told.surfaces_if)) : null,
    lists.length ? h("ul", {}, lists.map((each) => h("li", {}, each))) : null,
  );
}
