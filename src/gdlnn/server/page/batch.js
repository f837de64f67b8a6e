// Many predictions: a table to sort and filter, and the csv that `gdlnn predict` writes.
const SHOWN_AT_ONCE = 500;
const predictionOf = (row, label) => row.error != null ? null : row.predictions ? row.predictions[label] : row;

function csvOf(answer, rows) {
  const quote = value => /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  // A spreadsheet would run text that begins like a formula.
  const inert = text => /^[=+\-@\t\r]./s.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  const text = value => value == null ? "" : value === true ? "True" : value === false ? "False" : inert(String(value));
  const reason = row => {
    const all = row.predictions ? Object.values(row.predictions) : [row];
    return row.error ?? [...new Set([all.some(p => p.seen) ? "in the training set" : "", ...all.map(p => p.domain_reason)])].filter(Boolean).join("; ");
  };
  const digits = number => Number(number.toPrecision(4));
  const value = (row, column) => {
    if (column.model == null) return {row: row.row, id: row.error == null ? row.name : "", smiles: row.smiles, reason: reason(row)}[column.value];
    const prediction = predictionOf(row, column.model);
    if (!prediction) return "";
    if (column.code != null) return digits(prediction.probabilities[column.code]);
    const found = column.value === "value" ? prediction.label : prediction[column.value];
    return typeof found === "number" && column.value !== "label" ? digits(found) : found;
  };
  const lines = rows.map(row => [...row.cells, ...Array(answer.columns.length - row.cells.length).fill(""), ...answer.added.map(c => value(row, c))]);
  return [[...answer.columns, ...answer.added.map(c => c.name)], ...lines]
    .map(cells => cells.map(cell => quote(text(cell))).join(",") + "\n").join("");
}

const ORDER = {outside: 0, edge: 1, inside: 2};
function batchColumns(models, label, noun) {
  const own = row => predictionOf(row, label), isNumber = models.find(m => m.model === label).unit != null;
  const shown = [
    {key: "row", title: "Row", number: true, value: r => r.row, text: r => String(r.row)},
    {key: "name", title: noun, value: r => r.name.toLowerCase(), text: r => r.name, small: r => r.smiles !== r.name ? r.smiles : null},
    {key: "label", title: "Prediction", value: r => isNumber ? own(r)?.label ?? Infinity : own(r)?.class_name.toLowerCase() ?? "\uffff",
      text: r => own(r)?.class_name ?? "not read", small: r => r.error ?? (isNumber ? interval(own(r)) : null)},
    {key: "probability", title: "Probability", number: true, value: r => own(r)?.probability ?? -1, text: r => own(r) ? percent(own(r).probability) : ""},
    {key: "uncertainty", title: "Uncertainty", number: true, value: r => own(r)?.uncertainty ?? -1,
      text: r => own(r)?.uncertainty != null ? `± ${(100 * own(r).uncertainty).toFixed(1)}` : ""},
    {key: "domain", title: "Domain", value: r => ORDER[own(r)?.domain] ?? 3, text: r => own(r)?.domain ?? "", small: r => own(r)?.domain_reason},
    {key: "seen", title: "Seen", value: r => own(r)?.seen ? 0 : 1, text: r => own(r)?.seen ? "trained on" : own(r)?.seen === false ? "no" : ""},
  ].filter(column => !isNumber || !["probability", "uncertainty"].includes(column.key));
  const others = models.filter(m => m.model !== label).map(m => ({key: `of ${m.model}`, title: m.model,
    value: r => m.unit != null ? predictionOf(r, m.model)?.label ?? Infinity : predictionOf(r, m.model)?.class_name.toLowerCase() ?? "\uffff",
    text: r => { const prediction = predictionOf(r, m.model); return !prediction ? "" : m.unit != null ? prediction.class_name : `${prediction.class_name}, ${percent(prediction.probability)}`; }}));
  return [...shown, ...others];
}

// `models` are those of the answer, `label` the one that is looked at, `noun` what graphs are called; `explain` gets the row to explain.
function batchTable(answer, models, label, noun, explain) {
  const columns = batchColumns(models, label, noun), classes = models.find(m => m.model === label).classes;
  const state = {key: "row", down: false, most: SHOWN_AT_ONCE};
  const body = element("tbody"), count = element("output", {role: "status"});
  const more = element("button", {type: "button", class: "more", onclick: () => { state.most += SHOWN_AT_ONCE; show(); }});
  const save = element("button", {type: "button", class: "save", onclick: () => saveAs("predictions.csv", "text/csv", csvOf(answer, chosen()))});
  const head = element("tr", {}, ...columns.map(column =>
    element("th", {scope: "col", "data-key": column.key, class: column.number ? "number" : false},
      element("button", {type: "button", onclick: () => sort(column)}, column.title))));
  const {filters, holds} = batchFilters(answer, classes, label, () => { state.most = SHOWN_AT_ONCE; show(); });
  const chosen = () => answer.rows.filter(holds);

  function cell(column, row) {
    const text = column.text(row), small = column.small?.(row);
    const flagged = row.error != null ? column.key === "label" : column.key === "domain" && text === "outside";
    const main = column.key === "name" && row.error == null
      ? element("button", {type: "button", class: "why", onclick: () => explain(row)}, text, element("span", {class: "hidden-words"}, ": explain it"))
      : element("span", {class: flagged ? "flag" : false}, text);
    return element("td", {role: "cell", class: column.number ? "number" : false, "data-name": column.title, "data-key": column.key},
      element("span", {class: "value"}, main, small ? element("span", {class: "small"}, small) : null));
  }

  function sort(column) {
    state.down = state.key === column.key ? !state.down : column.key === "probability" || column.key === "uncertainty";
    state.key = column.key;
    show();
  }

  function show() {
    const column = columns.find(c => c.key === state.key), sign = state.down ? -1 : 1, kept = chosen();
    const rows = kept.map(row => [column.value(row), row]).sort(([x, a], [y, b]) =>
      sign * (typeof x === "string" ? x.localeCompare(y) : x - y) || a.row - b.row).map(([, row]) => row);
    body.replaceChildren(...rows.slice(0, state.most).map(row => element("tr", {role: "row"}, ...columns.map(c => cell(c, row)))));
    for (const th of head.children) {
      if (th.dataset.key === state.key) th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    }
    const all = kept.length === answer.rows.length;
    count.textContent = all ? counted(kept.length, "row") : `${counted(kept.length, "row")} of ${answer.rows.length.toLocaleString("en")}`;
    save.textContent = all ? "Download csv" : `Download csv of ${counted(kept.length, "row")}`;
    save.disabled = !kept.length;
    more.hidden = rows.length <= state.most;
    more.textContent = `Show ${Math.min(SHOWN_AT_ONCE, rows.length - state.most).toLocaleString("en")} more`;
  }

  show();
  return [
    element("div", {class: "batch-head"},
      element("h2", {}, counted(answer.rows.length, "prediction")), element("p", {class: "quiet"}, batchSummary(answer, classes, label)), save),
    element("div", {class: "card table-card"}, element("div", {class: "filters", role: "group", "aria-label": "Filter the rows"}, ...filters, count),
      element("table", {class: "predictions", role: "table"}, element("caption", {class: "hidden-words"}, "Predictions; the headings sort them"),
        element("thead", {role: "rowgroup"}, head), body), more),
  ];
}

function batchFilters(answer, classes, label, changed) {
  const choice = (title, options) => {
    const select = element("select", {onchange: changed}, ...options.map(([value, words]) => element("option", {value}, words)));
    return {select, label: element("label", {}, title, " ", select)};
  };
  const of = choice("Prediction", [["", "any"], ...classes.map((c, i) => [String(i), c.name]), ["error", "not read"]]);
  const domain = choice("Domain", [["", "any"], ["inside", "inside"], ["edge", "edge"], ["outside", "outside"]]);
  const seen = choice("Seen", [["", "any"], ["true", "trained on"], ["false", "not in training"]]);
  const search = element("input", {type: "search", spellcheck: "false", oninput: changed});
  const holds = row => {
    const prediction = predictionOf(row, label), words = search.value.trim().toLowerCase();
    if (of.select.value === "error" ? prediction : of.select.value && prediction?.label !== classes[+of.select.value].label) return false;
    if (domain.select.value && prediction?.domain !== domain.select.value) return false;
    if (seen.select.value && String(prediction?.seen) !== seen.select.value) return false;
    return !words || [row.name, row.smiles, ...row.cells].some(text => text?.toLowerCase().includes(words));
  };
  return {filters: [element("label", {}, "Search", " ", search), of.label, domain.label, seen.label], holds};
}

function batchSummary(answer, classes, label) {
  const counts = new Map(classes.map(c => [c.name, 0]));
  let wrong = 0, outside = 0, seen = 0;
  for (const row of answer.rows) {
    const prediction = predictionOf(row, label);
    if (!prediction) { wrong += 1; continue; }
    if (classes.length) counts.set(prediction.class_name, counts.get(prediction.class_name) + 1);
    outside += prediction.domain === "outside" ? 1 : 0;
    seen += prediction.seen ? 1 : 0;
  }
  const parts = [...counts].map(([name, n]) => `${name}: ${n.toLocaleString("en")}`);
  if (outside) parts.push(`${outside} outside what was learned`);
  if (seen) parts.push(`${seen} trained on`);
  if (wrong) parts.push(`${wrong} not read`);
  return (label ? `${label}: ` : "") + parts.join(" · ");
}
