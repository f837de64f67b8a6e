// Asking: text, examples and files go to the API, and what comes back is shown.
(() => {
  const byId = id => document.getElementById(id);
  const KINDS = {csv: "csv", tsv: "csv", txt: "csv", smi: "smi", sdf: "sdf", sd: "sdf", mol: "sdf", jsonl: "jsonl", ndjson: "jsonl", json: "jsonl"};
  const WORDS = {csv: "csv with a column of SMILES", smi: ".smi", sdf: "SDF", jsonl: "JSON Lines"};
  const FIRST = 3; // of the strongest programs, shown at once
  let model = null;
  let asked = 0; // an answer that comes after the next question is thrown away
  const name = label => (model.classes.find(c => c.label === label) ?? {name: String(label)}).name;

  function say(text) {
    byId("message").textContent = text;
    byId("message").hidden = !text;
  }

  async function request(path, body, type = "application/json") {
    let response;
    try { response = await fetch(path, body == null ? {} : {method: "POST", body, headers: {"content-type": type}}); }
    catch { throw new Error("The server cannot be reached; is it still running?"); }
    let answer;
    try { answer = await response.json(); } catch { answer = {error: `the server answered ${response.status} without a reason`}; }
    if (!response.ok) throw Object.assign(new Error(answer.error), {status: response.status});
    return answer;
  }

  // Runs one question: what was shown goes, what fails is said.
  async function ask(question) {
    const mine = ++asked;
    say("");
    byId("busy").hidden = false;
    byId("submit").disabled = true;
    try {
      const show = await question();
      if (mine === asked) show();
    } catch (error) {
      if (mine === asked) say(error.message);
    } finally {
      if (mine === asked) { byId("busy").hidden = true; byId("submit").disabled = false; }
    }
  }

  function present(id, ...content) {
    byId(id).replaceChildren(...content);
    byId(id).hidden = false;
    byId(id).scrollIntoView({block: "nearest"});
    byId(id).focus({preventScroll: true});
  }

  // --- one graph ---
  async function explain(item) {
    let found;
    try { found = await request("explain", JSON.stringify(item)); }
    catch (error) {
      if (error.status !== 503) throw error;
      found = await request("explain", JSON.stringify({...item, enough: false, counterfactual: false})); // the long parts left out
    }
    return () => present("answer", answerCard(found));
  }

  function chances(found) {
    return element("dl", {class: "chances"}, ...found.classes.flatMap((c, i) => {
      const bar = element("span"), share = percent(found.probabilities[i]);
      bar.style.width = share.replace(" ", "");
      return [element("dt", {}, c.name), element("dd", {}, element("div", {class: "probability", "aria-hidden": "true"}, bar),
        element("span", {class: "number"}, share))];
    }));
  }

  function answerCard(found) {
    const card = element("article", {class: "card graph answer lights"});
    const svg = drawn(found.picture), unfolded = counterfactual(found, svg, name);
    const alone = enough(found, svg);
    const cut = found.n_shown < found.n_nodes ? `, of which ${found.n_shown} are shown` : "";
    const share = `${found.n_programs_matched} of ${model.n_programs} programs match`;
    card.append(
      element("div", {class: "drawn"}, svg, scale(found),
        element("p", {class: "quiet asked"}, `${found.name}: ${found.n_nodes} ${found.nodes_word}${cut}; ${share}.`)),
      element("div", {class: "facts"},
        element("h2", {}, found.class_name, " ", element("span", {class: "quiet"}, percent(found.probability))),
        found.warning ? element("p", {class: "warning", role: "alert"}, found.warning) : null,
        found.seen ? element("p", {class: "quiet"}, "The model was trained on this graph.") : null,
        chances(found), baseline(found),
        element("div", {}, element("h3", {}, "What decided"),
          chips(found, p => p.words) ?? element("p", {class: "quiet"}, "No program that it contains decides."), ...further(found)),
        alone, unfolded));
    if (found.programs.length) {
      card.append(element("details", {class: "in-full"}, element("summary", {}, "The programs in full"),
        element("ol", {class: "deciders"}, ...found.programs.map(p => programItem(p, `${p.matched ? "present" : "absent"}, ${signed(p.weight)}`)))));
    }
    return card;
  }

  function programItem(p, note) {
    const diagram = element("div", {class: "diagram"});
    diagram.innerHTML = p.diagram;
    return element("li", {},
      element("div", {class: "head"}, element("span", {class: "tag"}, `for ${p.class_name}`), element("span", {class: "quiet"}, note)),
      element("p", {class: "words"}, p.words), diagram,
      element("div", {class: "actions"}, copyButton("GDL", p.gdl),
        p.smarts ? copyButton(p.smarts_exact ? "SMARTS" : "broader SMARTS", p.smarts) : null,
        element("details", {}, element("summary", {}, p.smarts ? "GDL and SMARTS" : "GDL"),
          element("pre", {}, p.readable || p.gdl), p.smarts ? element("pre", {}, p.smarts) : null)));
  }

  // --- many graphs ---
  async function predict(path, body, type, itemOf) {
    const answer = await request(path, body, type);
    return () => {
      byId("answer").hidden = true;
      present("batch", ...batchTable(answer, row => ask(() => explain(itemOf(row)))));
    };
  }

  // --- what people give ---
  function askText(text) {
    if (model.expects.smiles) {
      const lines = text.split(/\r?\n/).map(line => line.trim()).filter(Boolean);
      if (!lines.length) return say("Paste a SMILES, or pick an example.");
      if (lines.length === 1) return ask(() => explain({smiles: lines[0]}));
      return ask(() => predict("predict", JSON.stringify({smiles: lines}), undefined, row => ({smiles: row.smiles})));
    }
    let value;
    try { value = JSON.parse(text); } catch (error) { return say(`Expected a graph as JSON: ${error.message}`); }
    if (Array.isArray(value)) return ask(() => predict("predict", JSON.stringify({graphs: value}), undefined, row => ({graph: value[row.row - 1]})));
    return ask(() => explain({graph: value}));
  }

  function askFile(file) {
    const kind = KINDS[file.name.split(".").pop().toLowerCase()];
    if (!kind || !model.expects.files.includes(kind)) {
      return say(`${file.name}: expected ${model.expects.files.map(k => WORDS[k]).join(", ")}.`);
    }
    if (file.size > model.limits.body_bytes) {
      return say(`${file.name}: expected at most ${(model.limits.body_bytes / 2 ** 20).toFixed(1)} MiB, got ${(file.size / 2 ** 20).toFixed(1)} MiB.`);
    }
    const column = byId("column").value.trim();
    const query = new URLSearchParams({kind, ...(kind === "csv" && column ? {smiles: column} : {})});
    return ask(async () => {
      const text = await file.text();
      return predict(`predict/file?${query}`, text, "text/plain", row => itemOfFile(kind, text, row));
    });
  }

  // A molecule is known by its SMILES; a graph of JSON Lines is its line, which may follow a line of names.
  function itemOfFile(kind, text, row) {
    if (row.smiles != null) return {smiles: row.smiles};
    const graphs = text.split("\n").filter(line => line.trim()).map(line => JSON.parse(line)).filter(item => "nodes" in item);
    const {nodes, edges, edge_features, directed} = graphs[row.row - 1];
    return {graph: {nodes, edges, ...(edge_features ? {edge_features} : {}), ...(directed == null ? {} : {directed})}};
  }

  byId("form").addEventListener("submit", event => { event.preventDefault(); if (model) askText(byId("text").value); });
  byId("text").addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("form").requestSubmit();
  });
  byId("example").addEventListener("change", event => {
    const example = model.examples[+event.target.value];
    if (event.target.value === "" || !example) return;
    byId("text").value = example.smiles ?? JSON.stringify(example.graph);
    askText(byId("text").value);
  });
  byId("file").addEventListener("change", event => {
    if (model && event.target.files.length) askFile(event.target.files[0]);
    event.target.value = ""; // so that the same file can be chosen again
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    byId("drop").addEventListener(kind, event => {
      event.preventDefault();
      byId("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop" && model && event.dataTransfer.files.length) askFile(event.dataTransfer.files[0]);
    });
  }

  // --- the model ---
  function showModel() {
    const classes = model.classes.map(c => c.name);
    document.title = `${model.name} · GDLNN`;
    byId("title").textContent = model.name;
    byId("subtitle").textContent = `${model.n_programs} readable programs, mined from ${model.n_training_graphs} graphs, tell ` +
      `${classes.slice(0, -1).join(", ")} from ${classes.at(-1)}.`;
    byId("expects").textContent = model.expects.in_words;
    byId("kinds").textContent = model.expects.files.map(kind => WORDS[kind]).join(", ");
    byId("file").accept = Object.keys(KINDS).filter(end => model.expects.files.includes(KINDS[end])).map(end => `.${end}`).join(",");
    if (!model.expects.smiles) {
      byId("text-label").textContent = "A graph as JSON, or a list of graphs";
      byId("column-label").hidden = true;
      byId("text").placeholder = '{"nodes": [[…], …], "edges": [[0, 1], …]}';
    }
    model.examples.forEach((example, i) => byId("example").append(element("option", {value: i}, example.name)));
    const items = model.programs.map(p => programItem(p, `strength ${p.strength.toFixed(2)}`));
    byId("strongest").replaceChildren(...items.slice(0, FIRST));
    byId("further").replaceChildren(...items.slice(FIRST));
    byId("more").hidden = items.length <= FIRST;
    const limits = model.limits;
    const told = [["Graphs in one request", limits.batch], ["Nodes (atoms) of a graph", limits.nodes],
      ["Size of a request", `${(limits.body_bytes / 2 ** 20).toFixed(1)} MiB`], ["Time for an answer", `${limits.seconds} s`]];
    byId("limits").replaceChildren(...told.flatMap(([what, most]) => [element("dt", {}, what), element("dd", {}, String(most))]));
  }

  request("model").then(found => { model = found; showModel(); document.body.dataset.ready = "yes"; }, error => say(error.message));
})();
