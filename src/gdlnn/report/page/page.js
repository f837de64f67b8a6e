// The table of programs and the gallery: sorting, searching, filters, and what a program stands on.
(() => {
  const report = JSON.parse(document.getElementById("report-data").textContent);
  const names = new Map(report.classes.map(c => [c.label, c.name]));
  const programs = new Map(report.programs.map(p => [p.index, p]));
  const rank = new Map(report.programs.map((p, i) => [p.index, i + 1]));
  const byId = id => document.getElementById(id);
  const PAGE = 24;
  const state = {key: "weight", down: true, programs: PAGE, graphs: PAGE};

  const name = label => names.get(label) ?? String(label);
  const figure = value => value >= 1000 ? "> 999" : value >= 10 ? value.toFixed(0) : value.toPrecision(2);

  function option(select, value, text) { byId(select).append(element("option", {value}, text)); }
  report.classes.forEach((c, i) => { option("program-class", i, c.name); option("graph-class", i, c.name); });

  // --- programs ---
  const keys = {
    label: p => name(p.label), weight: p => p.weight, score: p => p.score, odds_ratio: p => p.odds_ratio,
    training: p => p.training[0] / Math.max(1, p.training[1]) - p.training[2] / Math.max(1, p.training[3]),
    held_out: p => p.held_out[0] / Math.max(1, p.held_out[1]) - p.held_out[2] / Math.max(1, p.held_out[3]),
  };

  function chosenPrograms() {
    const words = byId("program-search").value.toLowerCase().trim(), of = byId("program-class").value;
    const label = of === "" ? null : report.classes[+of].label;
    const found = report.programs.filter(p => (of === "" || p.label === label) &&
      (!words || [p.words, p.gdl, p.smarts, p.readable, `p${rank.get(p.index)}`].some(t => t && t.toLowerCase().includes(words))));
    const key = keys[state.key], sign = state.down ? -1 : 1;
    return found.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y) || rank.get(a.index) - rank.get(b.index);
    });
  }

  // The roles say again that these are cells: where the page is narrow, styles make blocks of them.
  function cell(title, ...content) {
    return element("td", {class: title ? "number" : "wide-cell", role: "cell", "data-name": title},
      title ? element("span", {}, ...content) : content[0], ...(title ? [] : content.slice(1)));
  }
  function support(title, [own, nOwn, others, nOthers]) {
    return cell(title, `${own} of ${nOwn}`, element("span", {class: "small"}, `others ${others} of ${nOthers}`));
  }

  function programRow(p) {
    const diagram = element("div", {class: "diagram"});
    diagram.innerHTML = p.diagram || "";
    const actions = element("div", {class: "actions"},
      element("button", {type: "button", onclick: () => showGraphsOf(p.index)}, "Show graphs"),
      copyButton("GDL", p.gdl),
      p.smarts ? copyButton(p.smarts_exact ? "SMARTS" : "broader SMARTS", p.smarts) : null,
      element("details", {}, element("summary", {}, p.smarts ? "GDL and SMARTS" : "GDL"),
        element("pre", {}, p.readable || p.gdl), p.smarts ? element("pre", {}, p.smarts) : null,
        p.smarts && !p.smarts_exact
          ? element("p", {class: "quiet"}, "The SMARTS leaves out what SMARTS has no words for, so it may find more.") : null));
    const [low, high] = p.odds_interval.map(figure);
    return element("tr", {"data-index": p.index, role: "row"},
      cell(null, diagram, element("p", {class: "words"}, element("strong", {}, `P${rank.get(p.index)} `), p.words), actions),
      cell("For", element("span", {class: "tag"}, name(p.label))),
      cell("Weight", signed(p.weight)), cell("Score", p.score.toFixed(3)),
      support("Training", p.training), support("Held out", p.held_out),
      cell("Odds ratio", figure(p.odds_ratio), element("span", {class: "small"}, `${low} – ${high}`)));
  }

  function showPrograms() {
    const found = chosenPrograms();
    byId("program-table").tBodies[0].replaceChildren(...found.slice(0, state.programs).map(programRow));
    const all = report.model.n_programs, few = report.programs.length;
    byId("program-count").textContent = `${found.length} of ${few} programs`
      + (few < all ? `, the strongest of ${all} in the model` : "");
    byId("program-more").hidden = found.length <= state.programs;
    for (const head of document.querySelectorAll("#program-table th[data-key]")) {
      if (head.dataset.key === state.key) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
  }

  for (const head of document.querySelectorAll("#program-table th[data-key]")) {
    head.querySelector("button").addEventListener("click", () => {
      state.down = head.dataset.key === state.key ? !state.down : head.dataset.key !== "label";
      state.key = head.dataset.key;
      showPrograms();
    });
  }
  for (const id of ["program-search", "program-class"]) {
    byId(id).addEventListener("input", () => { state.programs = PAGE; showPrograms(); });
  }
  byId("program-more").addEventListener("click", () => { state.programs += 2 * PAGE; showPrograms(); });

  // --- graphs ---
  const used = new Map();
  for (const graph of report.graphs) for (const p of graph.programs) used.set(p.index, (used.get(p.index) || 0) + 1);
  for (const p of report.programs.filter(p => used.has(p.index))) {
    const all = brief(p.words), words = all.length > 60 ? all.slice(0, 58) + " …" : all;
    option("graph-program", p.index, `P${rank.get(p.index)} (${used.get(p.index)}): ${words}`);
  }

  function chosenGraphs() {
    const of = byId("graph-class").value, right = byId("graph-right").value, program = byId("graph-program").value;
    const words = byId("graph-search").value.toLowerCase().trim(), domain = byId("graph-domain").value;
    const label = of === "" ? null : report.classes[+of].label;
    return report.graphs.filter(g => (of === "" || g.truth === label) && (!right || g.right === (right === "right")) &&
      (!domain || g.domain === domain) && (!program || g.programs.some(p => p.index === +program)) && (!words || g.name.toLowerCase().includes(words)));
  }

  function graphCard(graph) {
    const card = element("article", {class: "card graph lights", role: "listitem", "data-row": graph.row});
    const svg = drawn(graph.picture), list = chips(graph, p => programs.get(p.index).words);
    const bar = element("span");
    bar.style.width = percent(graph.probability).replace(" ", "");
    const cut = graph.n_shown < graph.n_nodes ? `, ${graph.n_shown} shown` : "";
    card.append(
      element("header", {}, element("h3", {}, graph.name),
        element("span", {class: `verdict ${graph.right ? "right" : "wrong"}`}, graph.right ? "✓ right" : "✗ wrong")),
      svg, ...[scale(graph), baseline(graph)].filter(Boolean),
      element("p", {class: "said"}, element("strong", {}, `${name(graph.prediction)} ${percent(graph.probability)}`),
        element("span", {class: "quiet"}, `  ${graph.right ? "" : `in truth ${name(graph.truth)} · `}${graph.n_nodes} ${graph.nodes_word}${cut}`)),
      element("div", {class: "probability", "aria-hidden": "true"}, bar),
      ...[domainNote(graph)].filter(Boolean),
      list ?? element("p", {class: "quiet"}, "No program that it contains decides."), ...further(graph));
    const unfolded = [enough(graph, svg, index => programs.get(index).words), counterfactual(graph, svg, name)];
    card.append(...unfolded.filter(Boolean));
    return card;
  }

  function showGraphs() {
    const found = chosenGraphs(), program = byId("graph-program").value;
    const cards = found.slice(0, state.graphs).map(graphCard);
    byId("gallery").replaceChildren(...cards);
    byId("graph-count").textContent = `${found.length} of ${report.graphs.length} graphs`;
    byId("graph-more").hidden = found.length <= state.graphs;
  }

  function showGraphsOf(index) {
    for (const id of ["graph-class", "graph-right", "graph-domain", "graph-search"]) byId(id).value = "";
    byId("graph-program").value = used.has(index) ? String(index) : "";
    state.graphs = PAGE;
    showGraphs();
    byId("graphs").scrollIntoView();
    byId("graph-program").focus({preventScroll: true});
  }

  for (const id of ["graph-class", "graph-right", "graph-domain", "graph-program", "graph-search"]) {
    byId(id).addEventListener("input", () => { state.graphs = PAGE; showGraphs(); });
  }
  byId("graph-more").addEventListener("click", () => { state.graphs += 2 * PAGE; showGraphs(); });
  for (const link of document.querySelectorAll("a[data-program]")) {
    link.addEventListener("click", () => showGraphsOf(+link.dataset.program));
  }
  byId("save-json").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([JSON.stringify(report, null, 1)], {type: "application/json"}));
    element("a", {href: url, download: "report.json"}).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });

  showPrograms();
  showGraphs();
})();
