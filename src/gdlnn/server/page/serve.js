// Asking: text, examples and files go to the API, and what comes back is shown. A graph that is explained is in the address.
(() => {
  const byId = id => document.getElementById(id);
  const KINDS = {csv: "csv", txt: "csv", tsv: "tsv", smi: "smi", smiles: "smi", xlsx: "xlsx", parquet: "parquet", sdf: "sdf", sd: "sdf", mol: "sdf",
    jsonl: "jsonl", ndjson: "jsonl", json: "jsonl"};
  const WORDS = {csv: "csv", tsv: "tsv", smi: ".smi", xlsx: "Excel", parquet: "Parquet", sdf: "SDF", jsonl: "JSON Lines", dataset: "a saved data set"};
  const TEXT = ["csv", "tsv", "smi"]; // whose encoding is looked at
  const FIRST = 3; // of the strongest programs, shown at once
  let served = null; // what the server says of itself
  let asked = 0; // an answer that comes after the next question is thrown away
  let shown = {}; // what is on the page: {item} of an explanation, {batch, itemOf} of a table
  const model = () => served.models[byId("label").selectedIndex] ?? served.models[0];

  function say(text) {
    byId("message").textContent = text;
    byId("message").hidden = !text;
  }

  function note(text) {
    byId("note").textContent = text;
    byId("note").hidden = !text;
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

  // Runs one question: a failure is shown.
  async function ask(question) {
    const mine = ++asked;
    say("");
    note("");
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

  // --- one graph: {smiles} or {graph}, and what it is called ---
  async function explain(item, {remember = true} = {}) {
    const of = model(), body = {...(item.graph ? {graph: item.graph} : {smiles: item.smiles}), ...(of.model ? {model: of.model} : {})};
    let found;
    try { found = await request("explain", JSON.stringify(body)); }
    catch (error) {
      if (error.status !== 503) throw error;
      found = await request("explain", JSON.stringify({...body, enough: false, counterfactual: false})); // the long parts left out
    }
    const labels = served.models.length > 1 ? await profileOf(item, of) : null;
    return () => {
      shown.item = item;
      if (remember && location.hash !== fragment(item)) history.pushState(null, "", fragment(item));
      present("answer", answerCard(found, of, item.name || found.name, location.origin + location.pathname + fragment(item), labels));
    };
  }

  // All labels of a graph.
  async function profileOf(item, of) {
    const answer = await request("predict", JSON.stringify(item.graph ? {graphs: [item.graph]} : {smiles: item.smiles}));
    return profile(answer.rows[0].predictions, served.models, of.model, label => {
      byId("label").selectedIndex = served.models.findIndex(m => m.model === label);
      byId("label").dispatchEvent(new Event("change"));
    });
  }

  // A fragment stays in the browser: no request to this or any other server has it.
  function fragment(item) {
    const options = new URLSearchParams(item.graph ? {graph: JSON.stringify(item.graph)} : {smiles: item.smiles});
    if (item.name && item.name !== item.smiles) options.set("name", item.name);
    if (model().model) options.set("label", model().model);
    return `#${options}`;
  }

  function openFragment() {
    const options = new URLSearchParams(location.hash.slice(1));
    const item = {name: options.get("name") ?? ""};
    if (options.has("smiles")) item.smiles = options.get("smiles");
    else if (options.has("graph")) {
      try { item.graph = JSON.parse(options.get("graph")); } catch { return say("The address of this page holds no graph; was it cut short?"); }
    } else { // back to where nothing was explained
      asked += 1;
      byId("answer").hidden = byId("busy").hidden = true;
      byId("submit").disabled = false;
      return undefined;
    }
    const place = served.models.findIndex(m => m.model === (options.get("label") ?? ""));
    if (options.has("label") && place < 0) return say(`The address of this page asks for the label ${options.get("label")}, which is not served here.`);
    if (place >= 0) { byId("label").selectedIndex = place; showStrongest(); }
    byId("text").value = item.smiles ?? JSON.stringify(item.graph);
    return ask(() => explain(item, {remember: false}));
  }

  // --- many graphs ---
  async function predict(path, body, type, itemOf) {
    const answer = await request(path, body, type);
    return () => {
      byId("answer").hidden = true;
      shown = {batch: answer, itemOf};
      showBatch();
    };
  }

  function showBatch() {
    const {batch, itemOf} = shown, of = model();
    present("batch", ...batchTable(batch, served.models, of.model, served.expects.smiles ? "Molecule" : "Graph",
      row => ask(() => explain(itemOf(row)))));
  }

  const itemOfRow = row => ({name: row.name, ...(row.smiles != null ? {smiles: row.smiles} : {graph: row.graph})});

  // --- what people give ---
  function askText(text) {
    const lines = text.split(/\r?\n/).map(line => line.trim()).filter(Boolean);
    if (!lines.length) return say(served.expects.smiles ? "Paste a SMILES, or pick an example." : "Paste a graph, or pick an example.");
    if (served.expects.smiles) {
      if (lines.length === 1) {
        const [smiles, ...name] = lines[0].split(/\s+/);
        return ask(() => explain({smiles, name: name.join(" ")}));
      }
      // A table with a header, or SMILES with names.
      const kind = /(^|[,;\t"])[^,;\t]*smiles[^,;\t]*($|[,;\t"])/i.test(lines[0]) ? "csv" : "smi";
      return ask(() => predict(`predict/file?kind=${kind}`, lines.join("\n") + "\n", "text/plain", itemOfRow));
    }
    let value;
    try { value = JSON.parse(text); } catch (error) { return say(`Expected a graph as JSON: ${error.message}`); }
    if (Array.isArray(value)) {
      return ask(() => predict("predict", JSON.stringify({graphs: value}), undefined, row => ({graph: value[row.row - 1], name: row.name})));
    }
    return ask(() => explain({graph: value, name: value.name}));
  }

  function askFile(file) {
    const kind = KINDS[file.name.toLowerCase().replace(/\.gz$/, "").split(".").pop()];
    if (!kind || !served.expects.files.includes(kind)) {
      return say(`${file.name}: expected ${served.expects.files.map(k => WORDS[k]).join(", ")}.`);
    }
    const most = served.limits.body_bytes;
    if (file.size > most) return say(`${file.name}: expected at most ${(most / 2 ** 20).toFixed(1)} MiB, got ${(file.size / 2 ** 20).toFixed(1)} MiB.`);
    return ask(async () => {
      const bytes = await file.arrayBuffer(), encoding = encodingOf(kind, bytes);
      const query = new URLSearchParams({kind, ...(encoding ? {encoding} : {})});
      for (const [field, name] of [["column", "smiles"], ["id-column", "id"]]) {
        if (byId(field).value.trim()) query.set(name, byId(field).value.trim());
      }
      const show = await predict(`predict/file?${query}`, bytes, "application/octet-stream", itemOfRow);
      return () => { show(); if (encoding) note(`${file.name} is not UTF-8; it was read as Latin-1.`); };
    });
  }

  // Text that is not UTF-8 comes from older programs, which write Latin-1.
  function encodingOf(kind, bytes) {
    const begin = new Uint8Array(bytes, 0, Math.min(2, bytes.byteLength));
    if (!TEXT.includes(kind) || (begin[0] === 0x1f && begin[1] === 0x8b) || begin[0] >= 0xfe) return null;
    try { new TextDecoder("utf-8", {fatal: true}).decode(bytes); return null; } catch { return "latin-1"; }
  }

  // --- what people do ---
  byId("form").addEventListener("submit", event => { event.preventDefault(); if (served) askText(byId("text").value); });
  byId("text").addEventListener("keydown", event => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("form").requestSubmit();
  });
  byId("example").addEventListener("change", event => {
    const example = served.examples[+event.target.value];
    if (event.target.value === "" || !example) return;
    byId("text").value = example.smiles ?? JSON.stringify(example.graph);
    ask(() => explain(example));
  });
  byId("label").addEventListener("change", () => {
    showStrongest();
    const {item} = shown;
    if (shown.batch) showBatch();
    if (item && !byId("answer").hidden) ask(() => explain(item));
  });
  byId("file").addEventListener("change", event => {
    if (served && event.target.files.length) askFile(event.target.files[0]);
    event.target.value = ""; // so that the same file can be chosen again
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, event => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      byId("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop" && served && event.dataTransfer.files.length) askFile(event.dataTransfer.files[0]);
    });
  }
  document.addEventListener("paste", event => {
    if (served && event.clipboardData?.files.length) { event.preventDefault(); askFile(event.clipboardData.files[0]); }
  });
  document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); byId("main").focus(); }); // the address stays
  window.addEventListener("hashchange", () => { if (served) openFragment(); });

  // --- the model ---
  function showStrongest() {
    const items = model().programs.map(p => programItem(p, model().unit == null
      ? `adds ${(100 * p.strength).toFixed(1)} points alone` : `by ${Number(p.strength.toPrecision(2))} ${model().unit}`.trimEnd()));
    byId("strongest").replaceChildren(...items.slice(0, FIRST));
    byId("further").replaceChildren(...items.slice(FIRST));
    byId("more").hidden = items.length <= FIRST;
    byId("subtitle").textContent = inWords(model());
  }

  function inWords(of) {
    const classes = of.classes.map(c => c.name), what = served.expects.smiles ? "molecule" : "graph";
    const does = of.unit == null ? `Tells ${classes.slice(0, -1).join(", ")} from ${classes.at(-1)}` : `Predicts ${of.model || "numbers"}${of.unit && ` in ${of.unit}`}`;
    return `${does} by ${counted(of.n_programs, "pattern")}, ` +
      `learned from ${counted(of.n_training_graphs, what)}.`;
  }

  function showModel() {
    document.title = `${served.name} · GDLNN`;
    byId("title").textContent = served.name;
    byId("expects").textContent = served.expects.in_words;
    byId("kinds").textContent = served.expects.files.map(kind => WORDS[kind]).join(", ");
    byId("file").accept = Object.keys(KINDS).filter(end => served.expects.files.includes(KINDS[end])).map(end => `.${end}`).join(",") + ",.gz";
    byId("label").replaceChildren(...served.models.map(m => element("option", {}, m.model)));
    byId("label-choice").hidden = served.models.length < 2;
    if (!served.expects.smiles) {
      byId("text-label").textContent = "A graph as JSON, or a list of graphs";
      byId("columns").hidden = true;
      byId("text").placeholder = '{"nodes": [[…], …], "edges": [[0, 1], …]}';
    }
    served.examples.forEach((example, i) => byId("example").append(element("option", {value: i}, example.name)));
    const limits = served.limits;
    const shown = [["Graphs in one request", limits.batch], ["Nodes (atoms) of a graph", limits.nodes],
      ["Size of a request", `${(limits.body_bytes / 2 ** 20).toFixed(1)} MiB`], ["Time for an answer", `${limits.seconds} s`]];
    byId("limits").replaceChildren(...shown.flatMap(([what, most]) => [element("dt", {}, what), element("dd", {}, String(most))]));
    showStrongest();
  }

  request("model").then(found => {
    served = found;
    showModel();
    document.body.dataset.ready = "yes";
    if (location.hash.length > 1) openFragment();
  }, error => say(error.message));
})();
