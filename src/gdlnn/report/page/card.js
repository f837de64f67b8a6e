// What the cards of graphs are made of, in the report and on the server's page.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value != null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter(child => child != null));
  return made;
}
const percent = value => `${(100 * value).toFixed(1)} %`;
const signed = value => {
  const size = Math.abs(value);
  return (value < 0 ? "−" : "+") + (size >= 0.01 || !size ? size.toFixed(3) : size.toPrecision(1));
};
const brief = words => words.replace(/^\w+ that contain /, "");

function copyButton(what, text) {
  const button = element("button", {type: "button", onclick: async () => {
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
    catch { window.prompt(`Copy the ${what}`, text); }
    setTimeout(() => { button.textContent = `Copy ${what}`; }, 1500);
  }}, `Copy ${what}`);
  return button;
}

// Point at a program to see where it stands; a click keeps it so.
function highlight(card, index) {
  const svg = card.querySelector("svg");
  svg.classList.toggle("dim", index != null);
  for (const halo of svg.querySelectorAll(".halo")) halo.classList.toggle("lit", +halo.dataset.program === index);
}

function chip(card, p, colour, words) {
  const mark = element("span", {class: "mark"});
  if (colour) mark.style.cssText = `background:${colour};border:0`;
  const state = p.witness ? "present" : "absent";
  const button = element("button", {type: "button", "aria-pressed": "false", "data-program": p.index,
    title: `${state}; ${p.weight >= 0 ? "speaks for" : "speaks against"} the prediction`},
    mark, element("span", {class: "words"}, p.witness ? "" : "absent: ", brief(words)),
    element("span", {class: "number"}, signed(p.weight)));
  const pinned = () => card.querySelector(".chips [aria-pressed=true]");
  const show = () => highlight(card, p.index);
  const hide = () => highlight(card, pinned() ? +pinned().dataset.program : null);
  for (const when of ["mouseenter", "focus"]) button.addEventListener(when, show);
  for (const when of ["mouseleave", "blur"]) button.addEventListener(when, hide);
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    if (pinned()) pinned().setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", String(on));
    show();
  });
  return element("li", {}, button);
}

// Programs that are present are coloured in the order in which the drawing colours them.
function chips(card, programs, words) {
  let colours = 0;
  return element("ul", {class: "chips"}, ...programs.map(p =>
    chip(card, p, p.witness ? COLOURS[colours++ % COLOURS.length] : null, words(p))));
}

// Whether a graph is unlike the training graphs, and why; nothing of one that is like them.
const DOMAINS = {outside: "Outside what was learnt", edge: "At the edge of what was learnt"};
function domainNote(graph) {
  return DOMAINS[graph.domain] ? element("p", {class: "quiet domain"}, `${DOMAINS[graph.domain]}: ${graph.domain_reason}.`) : null;
}

// The smallest part of which alone the model says what it says of the whole.
function enough(graph, svg, words) {
  const found = graph.enough;
  if (!found) return null;
  const n = found.nodes.length, of = graph.picture.n_nodes;
  const told = found.found
    ? `Of ${n === 1 ? "one node" : `${n} nodes`} out of ${of} alone (${found.nodes.join(", ")}) the model says the same. ` +
      `Ringed in the drawing: ${found.programs.map(words).map(w => brief(w).replace(/\.$/, "")).join("; and ")}.`
    : "No program of this graph is enough by itself, nor the heaviest together.";
  return element("details", {class: "enough", ontoggle: event => svg.classList.toggle("shows-kept", event.target.open)},
    element("summary", {}, "What alone is enough?"), element("p", {}, told));
}

function counterfactual(graph, svg, name) {
  const found = graph.counterfactual;
  if (!found) return null;
  const told = found.found
    ? `Without ${found.nodes.length === 1 ? "node" : "the nodes"} ${found.nodes.join(", ")} the model says ` +
      `${name(found.prediction)} (${percent(found.probability)}). Crossed out in the drawing.`
    : "No few nodes were found whose removal changes the prediction.";
  return element("details", {ontoggle: event => svg.classList.toggle("shows-gone", event.target.open)},
    element("summary", {}, "What would change it?"), element("p", {}, told));
}
