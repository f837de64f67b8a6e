"use strict";
// Drawing: a graph or a molecule from its numbers, with a halo for every place where a program stands.
const COLOURS = ["#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#D55E00", "#0072B2"];
const WIDTH = 340, HEIGHT = 230;

function svgElement(name, attributes, parent) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

function drawGraph(graph) {
  const picture = graph.picture, molecule = picture.kind === "molecule";
  const svg = svgElement("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: `drawing ${molecule ? "molecule" : "plain"}`});
  svgElement("title", {}, svg).textContent =
    `${graph.name}: ${picture.n_nodes} nodes, ${picture.n_edges} edges; highlighted: ${graph.nodes.join(", ") || "nothing"}`;
  const place = new Map((picture.ids || picture.xy.map((_, i) => i)).map((id, i) => [id, picture.xy[i]]));
  const radius = nodeRadius(picture, molecule);
  drawHalos(svg, graph, place, radius);
  picture.edges.forEach(([u, v], i) => {
    const kind = picture.bonds ? picture.bonds[i] : 1;
    drawEdge(svg, picture.xy[u], picture.xy[v], kind, radius, picture.directed);
  });
  picture.xy.forEach(([x, y], i) => {
    const label = picture.labels[i];
    if (molecule) {
      if (label) drawAtom(svg, x, y, label);
      return;
    }
    svgElement("circle", {class: "node", cx: x, cy: y, r: radius}, svg);
    if (label && radius >= 7) svgElement("text", {x, y: y + 3.8}, svg).textContent = label;
  });
  for (const id of (graph.enough || {nodes: []}).nodes) {
    if (!place.has(id)) continue;
    const [cx, cy] = place.get(id);
    svgElement("circle", {class: "kept", "data-node": id, cx, cy, r: radius + 5}, svg);
  }
  for (const id of (graph.counterfactual || {nodes: []}).nodes) {
    if (!place.has(id)) continue;
    const [x, y] = place.get(id), d = 7;
    svgElement("line", {class: "gone", x1: x - d, y1: y - d, x2: x + d, y2: y + d}, svg);
    svgElement("line", {class: "gone", x1: x - d, y1: y + d, x2: x + d, y2: y - d}, svg);
  }
  return svg;
}

function nodeRadius(picture, molecule) {
  if (molecule) return 5;
  return Math.max(2.5, Math.min(10, 0.19 * Math.sqrt(WIDTH * HEIGHT / Math.max(1, picture.xy.length))));
}

function drawAtom(svg, x, y, label) {
  svgElement("circle", {class: "back", cx: x, cy: y, r: 6.5, "fill-opacity": 0.82}, svg);
  svgElement("text", {x, y: y + 4}, svg).textContent = label;
}

// Where several programs share a node, the halo of each lies inside that of the one before.
function drawHalos(svg, graph, place, radius) {
  const present = graph.programs.filter(p => p.witness);
  present.forEach((program, i) => {
    const extra = (present.length - i) * 2.6, colour = COLOURS[i % COLOURS.length];
    for (const [u, v] of program.edges) {
      if (!place.has(u) || !place.has(v) || u === v) continue;
      const [a, b] = [place.get(u), place.get(v)];
      svgElement("line", {class: "halo", "data-program": program.index, x1: a[0], y1: a[1], x2: b[0], y2: b[1],
        stroke: colour, "stroke-width": 2 * extra + 3}, svg);
    }
    for (const id of program.witness) {
      if (!place.has(id)) continue;
      const [x, y] = place.get(id);
      svgElement("circle", {class: "halo dot", "data-program": program.index, "data-node": id, cx: x, cy: y,
        r: radius + extra, fill: colour}, svg);
    }
  });
}

function drawEdge(svg, [x1, y1], [x2, y2], kind, radius, directed) {
  if (x1 === x2 && y1 === y2) {
    svgElement("circle", {class: "edge", cx: x1, cy: y1 - 1.3 * radius, r: radius * 0.8, fill: "none"}, svg);
    return;
  }
  const length = Math.hypot(x2 - x1, y2 - y1) || 1, dx = (x2 - x1) / length, dy = (y2 - y1) / length;
  const shifts = {1: [0], 2: [-1.9, 1.9], 3: [-3, 0, 3], 4: [-1.9, 1.9]}[kind] || [0];
  shifts.forEach((shift, i) => {
    const soft = kind === 4 && i === 1 ? " soft" : "";
    svgElement("line", {class: "edge" + soft, x1: (x1 - dy * shift).toFixed(1), y1: (y1 + dx * shift).toFixed(1),
      x2: (x2 - dy * shift).toFixed(1), y2: (y2 + dx * shift).toFixed(1)}, svg);
  });
  if (directed) {
    const tx = x2 - dx * radius, ty = y2 - dy * radius;
    const points = [[tx, ty], [tx - 7 * dx - 3 * dy, ty - 7 * dy + 3 * dx], [tx - 7 * dx + 3 * dy, ty - 7 * dy - 3 * dx]];
    svgElement("polygon", {points: points.map(p => p.map(c => c.toFixed(1)).join(",")).join(" "), fill: "var(--bond)"}, svg);
  }
}
