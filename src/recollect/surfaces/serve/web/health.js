// Health: how the store is, and what nobody uses.

import { ask, twin } from "/ui/api.js";
import { fill, h } from "/ui/dom.js";
import { address, bytes, card, day, head, loaded, number, project, row } from "/ui/parts.js";
import { T } from "/ui/text.js";

const SHOWN = 10;

export function render(root) {
  const [stats, doctor, recalled, used, unanswered] = Array.from({ length: 5 }, () => h("div", { class: "wait" }));
  const given = { project: project() };
  fill(
    root,
    head(T.health.title, twin("stats", given)),
    stats,
    doctor,
    h("div", { class: "grid" }, card([T.health.unanswered, json({ report: "unanswered" })], unanswered), card([T.health.neverUsed, json({ report: "never-used" })], used), card([T.health.neverRecalled, json({ report: "never-recalled" })], recalled)),
  );
  loaded(stats, (signal) => ask("stats", given, signal), counts);
  loaded(doctor, (signal) => ask("doctor", given, signal), findings);
  loaded(recalled, readNeverRecalled, neverRecalled);
  loaded(used, readNeverUsed, neverUsed);
  loaded(unanswered, (signal) => ask("log", { report: "unanswered", limit: SHOWN, ...given }, signal), withoutAnswer);

  function json(values) {
    return h("a", { class: "json", href: twin("log", { ...values, ...given }), target: "_blank", title: T.jsonAbout }, T.json);
  }

  function counts(told) {
    return [
      h(
        "div",
        { class: "tiles" },
        tile(T.health.memories, number(told.memories), [told.superseded ? `${number(told.superseded)} ${T.health.superseded}` : "", told.forgotten ? `${number(told.forgotten)} ${T.health.forgotten}` : ""].filter(Boolean).join(", ")),
        told.bytes ? tile(T.health.size, bytes(told.bytes), h("span", { title: told.store }, told.store.split("/").at(-1))) : null,
        vectors(told),
        tile(T.health.backup, told.last_backup ? day(told.last_backup.at) : "–", told.last_backup ? h("span", { title: told.last_backup.path }, told.last_backup.path.split("/").at(-1)) : T.health.noBackup),
        tile(T.health.log, T.health.logged(told.log.recalls, number(told.log.recalls)), told.log.oldest ? [T.search.since, " ", day(told.log.oldest)] : ""),
      ),
      h("div", { class: "grid" }, card(T.health.types, bars(told.types, "type")), Object.keys(told.projects).length > 1 ? card(T.health.projects, bars(told.projects, "project")) : null),
    ];
  }

  function vectors({ vectors: made, vectors_waiting: waiting }) {
    if (waiting) return tile(T.health.vectors, number(made), [T.health.vectorsWaiting(waiting, number(waiting)), h("progress", { max: made + waiting, value: made, "aria-label": T.health.vectors })]);
    return made ? tile(T.health.vectors, "✓", T.health.vectorsDone) : tile(T.health.vectors, "–", T.health.vectorsNone);
  }

  function tile(name, value, more) {
    return h("div", { class: "tile" }, h("div", { class: "muted" }, name), h("div", { class: "tile-value" }, value), h("div", { class: "muted small-text" }, more));
  }

  function bars(table, filter) {
    const most = Math.max(...Object.values(table), 1);
    return h("ul", { class: "bars" }, Object.entries(table).sort((one, other) => other[1] - one[1]).slice(0, SHOWN).map(([name, count]) => h("li", {}, h("a", { href: address("search", { [filter]: name }) }, name), h("span", { class: "track" }, h("span", { css: { width: `${(count / most) * 100}%` } })), h("span", { class: "count" }, number(count)))));
  }

  function findings(told) {
    return h(
      "section",
      { class: `notice ${told.healthy ? "good" : "bad"}` },
      h("strong", {}, told.healthy ? T.health.healthy : T.health.unhealthy),
      lines(told.problems),
      told.advice ? lines(told.advice) : null,
      told.privacy ? h("details", {}, h("summary", {}, T.health.privacy), lines(told.privacy)) : null,
    );
  }

  const lines = (texts) => (texts.length ? h("ul", {}, texts.map((each) => h("li", {}, each))) : null);

  async function readNeverRecalled(signal) {
    const { ids } = await ask("log", { report: "never-recalled", limit: SHOWN + 1, ...given }, signal);
    return { memories: await memoriesOf(ids.slice(0, SHOWN), signal), more: ids.length > SHOWN };
  }

  function neverRecalled({ memories, more }) {
    if (!memories.length) return h("p", { class: "muted" }, T.health.neverRecalledNone);
    return [h("div", { class: "rows" }, memories.map((memory) => row(memory))), more ? h("p", { class: "muted small-text" }, T.health.andMore) : null];
  }

  async function readNeverUsed(signal) {
    const told = (await ask("log", { report: "never-used", ...given }, signal)).memories.slice(0, SHOWN);
    return { memories: await memoriesOf(told.map((each) => each.id), signal), shown: new Map(told.map((each) => [each.id, each.shown])) };
  }

  function neverUsed({ memories, shown }) {
    if (!memories.length) return h("p", { class: "muted" }, T.health.neverUsedNone);
    return h("div", { class: "rows" }, memories.map((memory) => row(memory, h("span", { class: "muted small-text" }, T.health.shown(shown.get(memory.id))))));
  }

  async function memoriesOf(ids, signal) {
    if (!ids.length) return [];
    const found = await ask("show", { id: ids, ...given }, signal);
    return found.results || [found];
  }

  function withoutAnswer({ queries }) {
    if (!queries.length) return h("p", { class: "muted" }, T.health.unansweredNone);
    return h("div", { class: "rows" }, queries.map((each) => h("div", { class: "row" }, h("a", { class: "row-text", href: address("search", { q: each.query }) }, each.query), h("span", { class: "row-more" }, h("span", { class: "muted small-text" }, T.health.times(each.times)), h("a", { class: "small-text", href: address("add", { text: each.query }), "aria-label": `${T.health.teach}: ${each.query}` }, T.health.teach)))));
  }

  return {};
}
