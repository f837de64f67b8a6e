"use strict";
// What the cards of graphs are made of, in the report and on the server's page. A card has the class "lights": pointing at
// a place or program of its list lights up where it is in the picture (drawing.css).
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter(child => child != null));
  return made;
}
const percent = value => `${(100 * value).toFixed(1)}%`;
// Two significant figures with a sign, as Python's `signed` writes them.
function signed(value) {
  if (!value) return "0";
  const size = Math.abs(value);
  const digits = size >= 9.95 ? size.toFixed(0) : size.toFixed(Math.max(0, 1 - Math.floor(Math.log10(+size.toPrecision(2)))));
  return (value < 0 ? "−" : "+") + digits;
}
const brief = words => words.replace(/^\w+ that contain /, "");
// The same as a name: "nitro group" of "Molecules that contain a nitro group."
const named = words => brief(words).replace(/^an? /, "").replace(/\.$/, "");

function copyButton(what, text) {
  const button = element("button", {type: "button", onclick: async () => {
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
    catch { window.prompt(`Copy the ${what}`, text); }
    setTimeout(() => { button.textContent = `Copy ${what}`; }, 1500);
  }}, `Copy ${what}`);
  return button;
}

// SVG that the model's side has drawn and escaped.
function drawn(svg) {
  const holder = document.createElement("template");
  holder.innerHTML = svg;
  return holder.content.firstElementChild;
}

// The scale of the map of scores; nothing of a graph without one.
function scale(graph) {
  if (!graph.largest) return null;
  const factor = graph.unit === undefined ? 100 : 1;  // a regressor's scores are in the unit of its target
  const cells = ["g5", "g4", "g3", "g2", "g1", "f1", "f2", "f3", "f4", "f5"].map((look, i) => `<rect class="${look}" x="${11 * i}" width="11" height="11"/>`);
  return element("p", {class: "scale"}, `${graph.unit === undefined ? "against" : "lowers"} ${signed(-factor * graph.largest)} `,
    drawn(`<svg class="pic" viewBox="0 0 110 11" width="110" height="11" aria-hidden="true">${cells.join("")}</svg>`),
    ` ${signed(factor * graph.largest)} ${graph.unit === undefined ? "for" : "raises"}`, element("span", {class: "small"}, `${graph.unit === undefined ? "points" : graph.unit} that each ${graph.nodes_word.slice(0, -1)} adds`));
}

const baseline = graph => graph.baseline_line ? element("p", {class: "baseline"}, graph.baseline_line) : null;

function chip(p, words) {
  const item = element("li", {class: `p${p.number}`});
  const line = p.line ? drawn(`<svg class="pic" viewBox="0 0 28 10" width="28" height="10" aria-hidden="true"><path class="o o${p.line}" d="M2 5h24"/></svg>`) : element("span");
  const button = element("button", {type: "button", "aria-pressed": "false", "data-program": p.index, onclick: () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    for (const other of item.parentNode.querySelectorAll("button")) { other.setAttribute("aria-pressed", "false"); other.parentNode.classList.remove("pinned"); }
    button.setAttribute("aria-pressed", String(on));
    item.classList.toggle("pinned", on);
  }}, line, element("span", {class: "words"}, element("strong", {}, `P${p.number} `), p.witness ? "" : "absent: ", named(words),
    element("span", {class: "small number"}, `${p.weight > 0 ? (p.unit === undefined ? "for" : "raises by") : (p.unit === undefined ? "against" : "lowers by")} ${shownFigure(p)}${p.where ? `, ${p.where}` : ""}`)));
  item.append(button, ...behind(p));
  return item;
}

// A weight as the text and the picture have it: of a place in points.
const shownFigure = p => p.index < 0 ? `${p.figure} ${p.unit ?? "points"}`.trimEnd() : p.figure;

// The programs behind a place, in a fold.
function behind(p) {
  if (!p.behind.length) return [];
  return [element("details", {class: "behind"}, element("summary", {}, "Programs behind it"),
    element("ul", {}, ...p.behind.map(one => element("li", {}, `${one.figure} ${named(one.words)}`))))];
}

// The places or programs that decided: point at one, or reach it with the Tab key, to see where it is; a click keeps it lit.
function chips(graph, words) {
  if (!graph.programs.length) return null;
  return element("ol", {class: "chips"}, ...graph.programs.map(p => chip(p, words(p))));
}
const further = graph => graph.further.map(line => element("p", {class: "quiet"}, line));

// Whether a graph is unlike the training graphs, and why; nothing of one that is like them.
const DOMAINS = {outside: "Outside what was learned", edge: "At the edge of what was learned"};
function domainNote(graph) {
  return DOMAINS[graph.domain] ? element("p", {class: "quiet domain"}, `${DOMAINS[graph.domain]}: ${graph.domain_reason}.`) : null;
}

// Nodes as people count them, from 1.
const counting = nodes => nodes.map(node => node + 1).join(", ");

// The smallest part of which alone the model says what it says of the whole.
function enough(graph, svg) {
  const found = graph.enough;
  if (!found) return null;
  const n = found.nodes.length, nodes = graph.nodes_word;
  const words = found.found
    ? `Of ${n === 1 ? `one ${nodes.slice(0, -1)}` : `${n} ${nodes}`} out of ${graph.n_nodes} alone (${counting(found.nodes)}) the model says the same. ` +
      `Ringed in the drawing: ${found.words.map(w => w.replace(/\.$/, "")).join("; and ")}.`
    : "No part of this graph is enough by itself.";
  return element("details", {class: "enough", ontoggle: event => svg.classList.toggle("shows-kept", event.target.open)},
    element("summary", {}, "What alone is enough?"), element("p", {}, words));
}

function counterfactual(graph, svg, name) {
  const found = graph.counterfactual;
  if (!found) return null;
  const nodes = graph.nodes_word;
  const words = found.found
    ? `Without ${found.words.join(" and ")} the model says ` +
      `${name(found.prediction)} (${percent(found.probability)}). Crossed out in the drawing.`
    : `No few ${nodes} were found whose removal changes the prediction.`;
  return element("details", {class: "change", ontoggle: event => svg.classList.toggle("shows-gone", event.target.open)},
    element("summary", {}, "What would change it?"), element("p", {}, words));
}
