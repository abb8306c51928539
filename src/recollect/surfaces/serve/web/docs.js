"use strict";

const byId = (id) => document.getElementById(id);

/** Return an element with what it holds; texts are only ever texts. */
function made(name, attributes, ...held) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...held);
  return element;
}

function headers(more) {
  const token = byId("token").value.trim();
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

/** Return a schema with its references followed, a few steps deep. */
function resolved(schema, all, depth = 3) {
  if (Array.isArray(schema)) return schema.map((each) => resolved(each, all, depth));
  if (schema === null || typeof schema !== "object") return schema;
  if (schema.$ref) {
    const name = schema.$ref.split("/").pop();
    return depth > 0 ? resolved(all[name], all, depth - 1) : name;
  }
  return Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, resolved(value, all, depth)]));
}

function kindOf(schema) {
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.anyOf) return schema.anyOf.map(kindOf).join(" | ");
  return schema.type === "array" ? `${kindOf(schema.items)}[]` : schema.type || "any";
}

function parameterTable(schema) {
  const rows = Object.entries(schema.properties || {}).map(([name, each]) =>
    made("tr", {},
      made("td", {}, made("code", {}, name), (schema.required || []).includes(name) ? " *" : ""),
      made("td", {}, kindOf(each)),
      made("td", {}, each.description || "")));
  const head = made("tr", {}, made("th", {}, "name"), made("th", {}, "type"), made("th", {}, "about"));
  return made("table", {}, head, ...rows);
}

function trial(path, media, example) {
  const body = made("textarea", { "aria-label": `body for ${path}` });
  body.value = example;
  const answer = made("pre", {});
  const button = made("button", {}, "Send");
  button.addEventListener("click", async () => {
    answer.textContent = "…";
    try {
      const response = await fetch(path, { method: "POST", headers: headers({ "Content-Type": media }), body: body.value });
      const text = await response.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* lines, not one value */ }
      answer.textContent = `${response.status} ${response.statusText}\n${shown}`;
    } catch (error) {
      answer.textContent = String(error);
    }
  });
  return [made("h4", {}, "Try it"), body, button, answer];
}

function operation(path, item, all) {
  const told = item.post || item.get;
  const methods = Object.keys(item).join(" ").toUpperCase();
  const [[media, content]] = Object.entries(told.requestBody.content);
  const done = Object.values(told.responses["200"].content || {})[0] || {};
  const box = made("details", { "data-path": path },
    made("summary", {}, made("span", { class: "method" }, methods), " ", made("code", {}, path), ` ${told.summary || ""}`));
  box.addEventListener("toggle", () => {
    if (!box.open || box.dataset.filled) return;
    box.dataset.filled = "yes";
    box.append(
      parameterTable(resolved(content.schema, all)),
      ...trial(path, media, typeof content.example === "string" ? content.example : JSON.stringify(content.example || {}, null, 2)),
      made("h4", {}, "Answer"),
      made("pre", {}, JSON.stringify(resolved(done.schema || {}, all), null, 2)));
  });
  return box;
}

function narrow() {
  const wanted = byId("find").value.toLowerCase();
  for (const box of byId("operations").children) box.hidden = !box.textContent.toLowerCase().includes(wanted);
}

async function load() {
  const response = await fetch("/api/v1/openapi.json", { headers: headers({}) });
  if (!response.ok) {
    byId("said").textContent = `${response.status}: a token is needed here`;
    return;
  }
  const described = await response.json();
  byId("said").textContent = "";
  byId("version").textContent = described.info.version;
  const all = described.components.schemas;
  byId("operations").replaceChildren(...Object.entries(described.paths)
    .filter(([, item]) => (item.post || item.get).requestBody)
    .map(([path, item]) => operation(path, item, all)));
  narrow();
}

byId("load").addEventListener("click", load);
byId("find").addEventListener("input", narrow);
load();
