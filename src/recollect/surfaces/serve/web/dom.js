// How elements are made. Every text becomes a text node: nothing that is stored is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";
// Characters that turn the direction of what follows: shown by their number, so that a text cannot pass for another.
const TURNING = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;

// Return *text* with what would turn its direction made visible.
export function visible(text) {
  return String(text).replace(TURNING, (mark) => `⟨U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
}

function describe(element, given) {
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "checked" || name === "disabled" || name === "selected") element[name] = Boolean(value);
    else if (name === "css") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else if (name === "href" && !/^(#|\/)/.test(value)) throw new Error("links stay on this page");
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

// Return an element with attributes, listeners (onclick, …) and children; texts become text nodes.
export function h(tag, given = {}, ...children) {
  const element = document.createElement(tag);
  append(element, children);
  describe(element, given);
  return element;
}

// Return an element of a drawing.
export function s(tag, given = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  append(element, children);
  describe(element, given);
  return element;
}

// Replace what *element* holds by *children*. The focus stays on the element with the same data-key, with what was typed in it.
export function fill(element, ...children) {
  const active = document.activeElement;
  const before = element !== active && element.contains(active) ? active.closest("[data-key]") : null;
  element.replaceChildren();
  append(element, children);
  if (before && before !== element) keepFocus(before, [...element.querySelectorAll("[data-key]")].find((each) => each.dataset.key === before.dataset.key));
  return element;
}

function keepFocus(before, now) {
  if (!now) return;
  now.focus({ preventScroll: true });
  if (now === before || !now.matches("input, textarea")) return;
  now.value = before.value;
  if (before.selectionStart !== null) now.setSelectionRange(before.selectionStart, before.selectionEnd);
}

// Return the pieces of a snippet: what stands in brackets was found, unless the memory itself has the brackets.
export function highlighted(snippet, content) {
  const pieces = [];
  let at = 0;
  for (const match of snippet.matchAll(/\[([^[\]]+)\]/g)) {
    if (content.includes(match[0])) continue;
    if (match.index > at) pieces.push(snippet.slice(at, match.index));
    pieces.push(h("mark", {}, match[1]));
    at = match.index + match[0].length;
  }
  pieces.push(snippet.slice(at));
  return pieces;
}

// Show a dialog; it is removed when it closes. Return it.
export function dialog(title, ...children) {
  const heading = h("h2", { id: `dialog-${Date.now()}` }, title);
  const box = h("dialog", { "aria-labelledby": heading.id, onclose: () => box.remove() }, heading, children);
  document.getElementById("dialogs").append(box);
  box.showModal();
  return box;
}
