// Patterns and graphs of a report: searching, sorting, groups, pages.
(() => {
  const report = JSON.parse(document.getElementById("report-data").textContent);
  const names = new Map(report.classes.map(c => [c.label, c.name]));
  const programs = new Map(report.programs.map(p => [p.index, p]));
  const patterns = report.patterns.map((p, i) => ({...p, number: i + 1, head: programs.get(p.programs[0])}));
  const graphs = new Map(report.graphs.map(g => [g.row, g]));
  const many = report.molecules ? "molecules" : "graphs", one = many.slice(0, -1);
  const byId = id => document.getElementById(id);
  const name = label => names.get(label) ?? String(label);
  const PATTERNS = 8, GRAPHS = 12;
  const GROUPS = [["", "all"], ["right", "sure and right"], ["wrong", "sure and wrong"], ["unsure", "unsure"], ["outside", "outside"]];
  const state = {patterns: 0, graphs: 0, group: "", pattern: null, printing: false};

  report.classes.forEach((c, i) => {
    for (const id of ["pattern-class", "graph-class"]) byId(id).append(element("option", {value: i}, c.name));
  });
  const chosen = id => byId(id).value === "" ? null : report.classes[+byId(id).value].label;
  const whole = value => `${(100 * value).toFixed(0)}%`;

  // One page of what is chosen; on paper there is no turning over, so all of it.
  const onPage = (some, page, size) => state.printing ? some : some.slice(page * size, (page + 1) * size);

  // Earlier, later, and which are shown; `show` shows the page that it is given.
  function pager(id, page, size, n, show) {
    const last = Math.max(0, Math.ceil(n / size) - 1);
    const turn = (to, text) => element("button", {type: "button", disabled: to < 0 || to > last, onclick: () => {
      show(to);
      byId(id).parentNode.scrollIntoView();
    }}, text);
    byId(id).replaceChildren(...(last ? [turn(page - 1, "← Earlier"), element("span", {}, `${page * size + 1} to ${Math.min(n, (page + 1) * size)} of ${n}`), turn(page + 1, "Later →")] : []));
  }

  // --- patterns ---
  function found(pattern, words) {
    return pattern.programs.some(index => {
      const p = programs.get(index);
      return [p.words, p.gdl, p.smarts, p.readable].some(text => text && text.toLowerCase().includes(words));
    });
  }

  function chosenPatterns() {
    const words = byId("pattern-search").value.toLowerCase().trim(), label = chosen("pattern-class"), key = byId("pattern-sort").value;
    const some = patterns.filter(p => (label === null || p.label === label) && (!words || found(p, words)));
    return key === "weight" ? some : some.sort((a, b) => (b.head[key] ?? -1) - (a.head[key] ?? -1) || a.number - b.number);
  }

  const shares = new Map(report.data.held_out.classes.map(([label, n]) => [label, n / report.data.held_out.graphs]));
  const precisionText = p => p.precision == null ? `no held-out ${one} has it`
    : `${whole(p.precision)} (${whole(p.precision_interval[0])} to ${whole(p.precision_interval[1])}) of ${p.n_matched} held-out ${p.n_matched === 1 ? one : many}; ${whole(shares.get(p.speaks_for) ?? 0)} of all`;

  function figures(p) {
    return element("dl", {class: "figures"},
      element("dt", {}, "Points where present"), element("dd", {}, signed(100 * p.adds)),
      element("dt", {}, "Precision"), element("dd", {}, precisionText(p)),
      element("dt", {}, "Training"), element("dd", {}, `${name(p.label)}: ${p.training[0]} of ${p.training[1]}, others: ${p.training[2]} of ${p.training[3]}`));
  }

  function code(p) {
    return element("details", {}, element("summary", {}, p.smarts ? "SMARTS and GDL" : "GDL"),
      p.smarts ? element("pre", {}, p.smarts) : null,
      p.smarts && !p.smarts_exact ? element("p", {class: "quiet"}, "SMARTS has no words for some of its conditions, so this one may find more.") : null,
      element("pre", {}, p.readable || p.gdl),
      element("div", {class: "actions"}, p.smarts ? copyButton(p.smarts_exact ? "SMARTS" : "broader SMARTS", p.smarts) : null, copyButton("GDL", p.gdl)));
  }

  function diagramOf(p) {
    const holder = element("div", {class: "diagram"});
    if (p.diagram) holder.append(drawn(p.diagram));
    return holder;
  }

  function patternCard(pattern) {
    const p = pattern.head, others = pattern.programs.slice(1).map(index => programs.get(index));
    return element("article", {class: "card pattern", role: "listitem", "data-index": p.index},
      element("header", {}, element("h3", {}, named(p.words)), element("span", {class: "tag"}, `for ${name(p.speaks_for)}`)),
      diagramOf(p),
      figures(p), code(p),
      others.length ? element("details", {class: "variants"}, element("summary", {}, `${others.length} variant${others.length > 1 ? "s" : ""}`),
        element("ul", {}, ...others.map(o => element("li", {}, diagramOf(o), element("p", {}, named(o.words)), element("p", {class: "quiet"}, `${signed(100 * o.adds)} points; ${precisionText(o)}`), code(o))))) : null,
      element("div", {class: "actions"}, element("button", {type: "button", onclick: () => showGraphsOf(pattern)}, `Show ${many} that it decides`)));
  }

  function showPatterns(page = 0) {
    const some = chosenPatterns();
    state.patterns = page;
    byId("pattern-list").replaceChildren(...onPage(some, page, PATTERNS).map(patternCard));
    byId("pattern-count").textContent = `${some.length} of ${patterns.length} patterns; the model has ${report.model.n_programs} programs`;
    pager("pattern-pager", page, PATTERNS, some.length, showPatterns);
  }
  for (const id of ["pattern-search", "pattern-class", "pattern-sort"]) byId(id).addEventListener("input", () => showPatterns());

  // --- graphs ---
  function chosenGraphs() {
    const label = chosen("graph-class"), words = byId("graph-search").value.toLowerCase().trim(), pattern = state.pattern;
    return report.graphs.filter(g => (label === null || g.truth === label) && (!state.group || g.group === state.group) &&
      (!pattern || g.programs.some(p => [p, ...p.behind].some(one => pattern.programs.includes(one.index)))) &&
      (!words || g.name.toLowerCase().includes(words) || g.programs.some(p => p.words.toLowerCase().includes(words))));
  }

  function graphCard(graph) {
    const card = element("article", {class: "card graph lights", role: "listitem", "data-row": graph.row});
    const svg = drawn(graph.picture), cut = graph.n_shown < graph.n_nodes ? `, ${graph.n_shown} shown` : "";
    const parts = [
      element("header", {}, element("h3", {}, graph.name),
        element("span", {class: `verdict ${graph.right ? "right" : "wrong"}`}, graph.right ? "✓ right" : "✗ wrong")),
      element("p", {class: "prediction"}, element("strong", {}, name(graph.prediction)), ` with ${graph.said}`,
        element("span", {class: "quiet"}, `${graph.right ? "" : ` · in truth ${name(graph.truth)}`} · ${graph.n_nodes} ${graph.nodes_word}${cut}`)),
      element("div", {class: "picture"}, svg), scale(graph), baseline(graph), domainNote(graph),
      chips(graph, p => p.words) ?? (graph.baseline_line ? null : element("p", {class: "quiet"}, "Nothing in it decides.")), ...further(graph),
      enough(graph, svg), counterfactual(graph, svg, name)];
    card.append(...parts.filter(Boolean));
    return card;
  }

  function showGraphs(page = 0) {
    const some = chosenGraphs();
    state.graphs = page;
    byId("gallery").replaceChildren(...onPage(some, page, GRAPHS).map(graphCard));
    byId("graph-count").textContent = `${some.length} of ${report.graphs.length} ${many}`;
    byId("graph-pattern").hidden = !state.pattern;
    if (state.pattern) byId("graph-pattern").textContent = `✕ with ${named(state.pattern.head.words)}`;
    for (const button of byId("graph-groups").children) button.setAttribute("aria-pressed", String(button.dataset.group === state.group));
    pager("graph-pager", page, GRAPHS, some.length, showGraphs);
  }

  for (const [group, text] of GROUPS) {
    const n = report.graphs.filter(g => !group || g.group === group).length;
    byId("graph-groups").append(element("button", {type: "button", "data-group": group, "aria-pressed": "false", onclick: () => {
      state.group = group;
      showGraphs();
    }}, `${text} (${n})`));
  }
  function showGraphsOf(pattern) {
    state.pattern = pattern;
    state.group = "";
    byId("graph-class").value = byId("graph-search").value = "";
    showGraphs();
    byId("graphs").scrollIntoView();
    byId("graph-pattern").focus({preventScroll: true});
  }
  byId("graph-pattern").addEventListener("click", () => { state.pattern = null; showGraphs(); });
  for (const id of ["graph-class", "graph-search"]) byId(id).addEventListener("input", () => showGraphs());

  byId("save-json").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([JSON.stringify(report, null, 1)], {type: "application/json"}));
    element("a", {href: url, download: "report.json"}).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
  for (const [event, printing] of [["beforeprint", true], ["afterprint", false]]) addEventListener(event, () => {
    state.printing = printing;
    showPatterns(state.patterns);
    showGraphs(state.graphs);
  });
  showPatterns();
  showGraphs();
})();
