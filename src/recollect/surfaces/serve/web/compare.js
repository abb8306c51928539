// Compare: two profiles on one question with the moved places drawn, and on judged questions with their measures.

import { ask, twin } from "/ui/api.js";
import { fill, h, s } from "/ui/dom.js";
import { address, attempt, card, empty, field, head, heading, loaded, place, project, select } from "/ui/parts.js";
import { profiles } from "/ui/search.js";
import { T } from "/ui/text.js";

const SHOWN = 10;
const HEIGHT = 64;

export function render(root) {
  const { values } = place();
  const state = { q: values.get("q") || "", left: values.get("left") || "default", right: values.get("right") || "cortex" };
  const result = h("div", { class: "wait" });
  const status = h("p", { class: "status", role: "status" });
  const links = h("span", { class: "head-more" });
  const names = Object.fromEntries(profiles.map((name) => [name, name]));
  const input = h("input", { type: "search", value: state.q, "aria-label": T.compare.question, placeholder: T.compare.question, oninput: () => set({ q: input.value }) });
  const chosen = (name) => select(T.compare[name], names, state[name], (profile) => set({ [name]: profile }));
  fill(
    root,
    head(T.compare.title, null, links),
    h("p", { class: "lead" }, T.compare.about),
    h("div", { class: "ask" }, h("span", { class: "ask-icon", "aria-hidden": "true" }), input),
    h("div", { class: "sides" }, field(T.compare.left, chosen("left")), status, field(T.compare.right, chosen("right"))),
    result,
    judged(state, names),
    evaluated(),
  );
  run();

  function set(more) {
    Object.assign(state, more);
    history.replaceState(null, "", address("compare", state));
    run();
  }

  function run() {
    const sides = ["left", "right"].map((side) => ({ query: state.q, profile: state[side], limit: SHOWN, include_facts: false, project: project() }));
    fill(links, ["left", "right"].map((side, at) => h("a", { class: "json", href: twin("search", sides[at]), target: "_blank", title: T.jsonAbout }, `${T.json} ${T.compare[side].toLowerCase()}`)));
    const asked = state.q.trim() ? sides : [];
    return loaded(result, (signal) => Promise.all(asked.map((each) => ask("search", each, signal))), ([left, right]) => {
      fill(status, left ? T.compare.moved(moved(left.hits, right.hits)) : "");
      return left ? drawing(left.hits, right.hits) : empty(T.compare.start);
    });
  }

  // Count the hits on the left that have another place on the right, or none.
  function moved(left, right) {
    return left.filter((hit, at) => right[at]?.id !== hit.id).length;
  }

  function drawing(left, right) {
    const places = new Map(right.map((hit, at) => [hit.id, at]));
    const joined = left.map((hit, at) => [at, places.get(hit.id)]).filter(([, to]) => to !== undefined);
    const rows = Math.max(left.length, right.length, 1);
    const lines = s("svg", { class: "moves", viewBox: `0 0 100 ${rows * HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, joined.map(([from, to]) => s("path", { class: from === to ? "same" : to < from ? "up" : "down", d: curve(from, to), "vector-effect": "non-scaling-stroke" })));
    lines.style.height = `${rows * HEIGHT}px`;
    return h("div", { class: "versus" }, column(left, right, state.left), lines, column(right, left, state.right));
  }

  function curve(from, to) {
    const [one, other] = [from, to].map((at) => at * HEIGHT + HEIGHT / 2);
    return `M0 ${one} C 50 ${one}, 50 ${other}, 100 ${other}`;
  }

  function column(hits, others, name) {
    const known = new Map(others.map((hit) => [hit.id, hit.rank]));
    return h("ol", { class: "column", "aria-label": name }, hits.length ? hits.map((hit) => {
      const by = known.has(hit.id) ? known.get(hit.id) - hit.rank : null;
      return h("li", {}, h("span", { class: "place" }, String(hit.rank)), h("a", { href: address(`memory/${hit.id}`) }, heading(hit.memory)), h("span", { class: `moved ${by === null ? "only" : by > 0 ? "up" : by < 0 ? "down" : ""}` }, by === null ? T.compare.only : by > 0 ? `▲ ${by}` : by < 0 ? `▼ ${-by}` : ""));
    }) : h("li", { class: "muted" }, T.compare.nothing));
  }

  return { focus: () => input.focus() };
}

// Ask judged questions of both profiles and tell how well each answers.
function judged(state, names) {
  const text = h("textarea", { rows: "4", placeholder: T.compare.judgedExample, "aria-label": T.compare.judged });
  const told = h("div", { "aria-live": "polite" });
  return card(T.compare.judged, h("p", { class: "muted" }, T.compare.judgedAbout), h("form", { class: "form", onsubmit: (event) => { event.preventDefault(); loaded(told, measure, (found) => report(...found)); } }, text, h("div", { class: "actions" }, h("button", { class: "primary" }, T.compare.run))), told);

  async function measure(signal) {
    const questions = [];
    for (const [at, line] of text.value.split("\n").entries()) {
      if (!line.trim()) continue;
      const found = /^(.+?)[\t ]+#?(\d+)\s*$/.exec(line);
      if (!found) throw new Error(T.compare.bad(at + 1));
      questions.push({ query: found[1], id: Number(found[2]) });
    }
    const sides = [state.left, state.right];
    const ranks = sides.map(() => []);
    for (const [at, question] of questions.entries()) {
      fill(told, h("p", { class: "muted" }, T.compare.measuring(at, questions.length)));
      const replies = await Promise.all(sides.map((profile) => ask("search", { query: question.query, profile, limit: SHOWN, include_facts: false, project: project() }, signal)));
      replies.forEach((reply, side) => ranks[side].push((reply.hits.find((hit) => hit.id === question.id) || { rank: Infinity }).rank));
    }
    return [sides, ranks, questions];
  }

  function report(sides, ranks, questions) {
    const mean = (each) => (each.length ? each.reduce((sum, value) => sum + value, 0) / each.length : 0);
    const rows = {
      hit1: ranks.map((each) => mean(each.map((rank) => Number(rank === 1)))),
      hit5: ranks.map((each) => mean(each.map((rank) => Number(rank <= 5)))),
      mrr: ranks.map((each) => mean(each.map((rank) => 1 / rank))),
    };
    const cells = (values, best) => values.map((value) => h("td", { class: `number ${value === best && values[0] !== values[1] ? "best" : ""}` }, value.toFixed(3)));
    return h(
      "table",
      { class: "table" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, `${T.compare.measures.questions}: ${questions.length}`), sides.map((name) => h("th", { scope: "col", class: "number" }, names[name])))),
      h("tbody", {}, Object.entries(rows).map(([name, values]) => h("tr", {}, h("th", { scope: "row" }, T.compare.measures[name]), cells(values, Math.max(...values))))),
      h("tbody", {}, questions.map((question, at) => h("tr", {}, h("th", { scope: "row", class: "muted" }, question.query), ranks.map((each) => h("td", { class: "number muted" }, Number.isFinite(each[at]) ? String(each[at]) : "–"))))),
    );
  }
}

// Show the report of `recollect eval --json`, chosen from a file.
function evaluated() {
  const told = h("div", { "aria-live": "polite" });
  const input = h("input", { type: "file", accept: ".json,application/json", "aria-label": T.compare.report, onchange: () => attempt(read) });
  return card(T.compare.report, h("p", { class: "muted" }, T.compare.reportAbout), input, told);

  async function read() {
    let report;
    try { report = JSON.parse(await input.files[0].text()); } catch { report = {}; }
    if (!Array.isArray(report.runs)) throw new Error(T.compare.noReport);
    const measures = [...new Set(report.runs.flatMap((run) => Object.keys(run.measures)))];
    const best = Object.fromEntries(measures.map((name) => [name, Math.max(...report.runs.map((run) => run.measures[name] ?? 0))]));
    fill(
      told,
      h("div", { class: "wide" }, h(
        "table",
        { class: "table" },
        h("thead", {}, h("tr", {}, [T.compare.columns.set, T.compare.columns.profile, T.compare.columns.queries, ...measures].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, report.runs.map((run) => h("tr", {}, h("th", { scope: "row" }, run.dataset), h("td", {}, `${run.profile}, ${run.mode}`), h("td", { class: "number" }, run.queries), measures.map((name) => h("td", { class: `number ${run.measures[name] === best[name] ? "best" : ""}` }, Number(run.measures[name] ?? 0).toFixed(3)))))),
      )),
      (report.comparisons || []).map((each) => h("p", {}, T.compare.difference(each.baseline, each.new, each))),
    );
  }
}
