// Many predictions: a table to sort, and the csv that `gdlnn predict` would write.
const COLUMNS = [
  {key: "row", title: "Row", number: true, value: r => r.row, text: r => String(r.row)},
  {key: "name", title: "Graph", value: r => r.name.toLowerCase()},
  {key: "label", title: "Prediction", value: r => r.error == null ? r.class_name.toLowerCase() : "\uffff", text: r => r.class_name ?? "–"},
  {key: "probability", title: "Probability", number: true, value: r => r.probability ?? -1,
    text: r => r.error == null ? percent(r.probability) : "–"},
  {key: "seen", title: "Seen", value: r => r.seen ? "0" : "1", text: r => r.seen ? "trained on" : ""},
  {key: "note", title: "Note", value: r => r.error ?? {outside: "!0", edge: "!1"}[r.domain] ?? "\uffff",
    text: r => r.error ?? (DOMAINS[r.domain] ? `${DOMAINS[r.domain]}: ${r.domain_reason}` : "")},
];

function csvOf(answer) {
  const quote = value => {
    const text = value == null ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const withSmiles = answer.rows.some(r => r.smiles != null);
  const header = ["row", "id", ...(withSmiles ? ["smiles"] : []), "label", "probability",
    ...answer.classes.map(c => `p(${c.label})`), "seen", "domain", "domain_reason", "reason"];
  const rows = answer.rows.map(r => {
    const own = r.error == null ? [r.label, r.probability, ...r.probabilities,
        r.seen == null ? "" : r.seen ? "yes" : "no", r.domain, r.domain_reason, ""]
      : ["", "", ...answer.classes.map(() => ""), "", "", "", r.error];
    return [r.row, r.name, ...(withSmiles ? [r.smiles] : []), ...own];
  });
  return [header, ...rows].map(cells => cells.map(quote).join(",") + "\n").join("");
}

function saveAs(name, kind, text) {
  const url = URL.createObjectURL(new Blob([text], {type: kind}));
  element("a", {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// `explain` is told the row whose graph somebody wants explained.
function batchTable(answer, explain) {
  const state = {key: "row", down: false};
  const body = element("tbody");
  const head = element("tr", {}, ...COLUMNS.map(column =>
    element("th", {scope: "col", "data-key": column.key, class: column.number ? "number" : ""},
      element("button", {type: "button", onclick: () => sort(column)}, column.title))));

  function cell(column, row) {
    const text = (column.text ?? (r => r.name))(row);
    const content = column.key === "name" && row.error == null
      ? element("button", {type: "button", class: "why", title: "Explain it", onclick: () => explain(row)}, text)
      : element("span", {class: column.key === "note" && (row.error != null || row.domain === "outside") ? "flag" : ""}, text);
    const more = column.key === "name" && row.smiles != null && row.smiles !== row.name ? element("span", {class: "small"}, row.smiles) : null;
    return element("td", {role: "cell", class: column.number ? "number" : "", "data-name": column.title},
      more ? element("span", {}, content, more) : content);
  }

  function sort(column) {
    state.down = state.key === column.key ? !state.down : column.key === "probability";
    state.key = column.key;
    show();
  }

  function show() {
    const column = COLUMNS.find(c => c.key === state.key), sign = state.down ? -1 : 1;
    const rows = [...answer.rows].sort((a, b) => {
      const [x, y] = [column.value(a), column.value(b)];
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y) || a.row - b.row;
    });
    body.replaceChildren(...rows.map(row => element("tr", {role: "row"}, ...COLUMNS.map(c => cell(c, row)))));
    for (const th of head.children) {
      if (th.dataset.key === state.key) th.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else th.removeAttribute("aria-sort");
    }
  }

  show();
  const counts = new Map(answer.classes.map(c => [c.name, 0]));
  let wrong = 0, outside = 0;
  for (const row of answer.rows) {
    if (row.error != null) wrong += 1;
    else { counts.set(row.class_name, counts.get(row.class_name) + 1); outside += row.domain === "outside" ? 1 : 0; }
  }
  const told = [...counts].map(([name, count]) => `${name} ${count}`);
  if (outside) told.push(`${outside} outside what was learnt`);
  if (wrong) told.push(`${wrong} not read`);
  return [
    element("div", {class: "batch-head"},
      element("h2", {}, `${answer.rows.length} predictions`), element("p", {class: "quiet"}, told.join(" · ")),
      element("button", {type: "button", onclick: () => saveAs("predictions.csv", "text/csv", csvOf(answer))}, "Download csv")),
    element("div", {class: "card scroll"}, element("table", {class: "sortable", role: "table"}, element("thead", {}, head), body)),
  ];
}
