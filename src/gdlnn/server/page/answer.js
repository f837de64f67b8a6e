// One graph: what the model says, the picture with its map, what speaks for and against it, what would change it.
const WHERE = {inside: "inside what was learned", edge: "at the edge of what was learned", outside: "outside what was learned"};
const RULES = {"balanced-accuracy": "balanced accuracy", f1: "F1", mcc: "the Matthews correlation"};

// `model` is what the server says of the model, `name` what the graph is called, `link` the address of this answer, and
// `labels` the profile of several labels.
function answerCard(found, model, name, link, labels = null) {
  const svg = drawn(found.picture), nameOf = label => (model.classes.find(c => c.label === label) ?? {name: String(label)}).name;
  const shown = found.n_shown < found.n_nodes ? `, of which ${found.n_shown} are drawn` : "";
  return element("article", {class: "card answer lights"},
    answerHead(found, model, name, link),
    labels,
    element("figure", {class: "drawn"}, larger(svg), scale(found),
      element("figcaption", {class: "quiet"},
        `${counted(found.n_nodes, found.nodes_word.slice(0, -1))}${shown}; ` +
        `${found.n_programs_matched.toLocaleString("en")} of ${counted(model.n_programs, "pattern")} are in it.`)),
    facts(found, model),
    element("div", {class: "reasons"},
      found.warning ? element("p", {class: "warning"}, found.warning) : null, chances(found, model), ...reasons(found, nameOf(found.target)),
      enough(found, svg), counterfactual(found, svg, nameOf)),
    inFull(found));
}

// The only picture of a card may be larger than those of a gallery; it never gets wider than its column.
function larger(svg) {
  for (const side of ["width", "height"]) svg.setAttribute(side, 1.6 * svg.getAttribute(side));
  return svg;
}

// From which probability on the class is predicted, if that is not one half.
function decided(found, model) {
  const decision = model.decision;
  if (!decision || Math.abs(decision.threshold - 0.5) < 0.005) return "";
  const own = model.classes[decision.code].label === found.prediction;
  return `, predicted from ${percent(own ? decision.threshold : 1 - decision.threshold)} on`;
}

function answerHead(found, model, name, link) {
  return element("header", {class: "answer-head"},
    element("div", {},
      element("p", {class: "asked"}, model.model ? element("span", {class: "tag"}, model.model) : null, element("strong", {}, name),
        found.smiles != null && found.smiles !== name ? element("code", {class: "smiles"}, found.smiles) : null),
      element("h2", {}, found.class_name, " ", element("span", {class: "chance"},
        model.unit == null ? `with ${percent(found.probability)}${decided(found, model)}` : `is ${found.said}`))),
    element("div", {class: "actions"}, copyButton("link", link)));
}

// The probability of each class; a mark stands where a class is decided, if that is not one half.
function chances(found, model) {
  const decision = model.decision;
  if (!found.classes.length) return null;
  return element("dl", {class: "chances"}, ...found.classes.flatMap((c, i) => [
    element("dt", {}, c.name),
    element("dd", {}, bar(found.probabilities[i], decision?.code === i ? decision.threshold : null),
      element("span", {class: "number"}, percent(found.probabilities[i])))]));
}

// Four significant figures, as Python's "%.4g" writes them.
const rounded = number => String(Number(number.toPrecision(4)));
const interval = prediction => `90% interval ${rounded(prediction.lower)} to ${rounded(prediction.upper)}`;

// What each of several models says of a graph; `pick` gets the label to explain.
function profile(predictions, models, shown, pick) {
  return element("dl", {class: "chances profile"}, ...models.flatMap(m => {
    const prediction = predictions[m.model], code = m.classes.findIndex(c => c.label === prediction.label);
    const title = element("button", {type: "button", "aria-pressed": String(m.model === shown), onclick: () => pick(m.model)}, m.model);
    const words = m.unit == null ? `${prediction.class_name} with ${percent(prediction.probability)}` : `${prediction.class_name} (${interval(prediction)})`;
    return [element("dt", {}, title), element("dd", {}, m.unit == null ? bar(prediction.probabilities[code]) : element("span"),
      element("span", {class: "number"}, words, prediction.domain === "outside" ? ", outside what was learned" : ""))];
  }));
}

function facts(found, model) {
  const rows = [], decision = model.decision;
  if (decision && Math.abs(decision.threshold - 0.5) >= 0.005) {
    const rule = RULES[decision.rule] ?? decision.rule;
    rows.push(["Decision", `${model.classes[decision.code].name} from ${percent(decision.threshold)} on, chosen for ${rule}`]);
  }
  if (found.uncertainty != null) rows.push(["Uncertainty", `± ${(100 * found.uncertainty).toFixed(1)} points: how far the members of the ensemble disagree`]);
  if (found.domain && !found.warning) rows.push(["Domain", WHERE[found.domain]]);
  if (found.seen != null) rows.push(["Seen", found.seen ? "the model was trained on it, so this is no test of the model" : "not in the training set"]);
  return element("dl", {class: "facts"}, ...rows.flatMap(([what, words]) => [element("dt", {}, what), element("dd", {}, words)]));
}

function reasons(found, target) {
  const [up, down] = found.unit === undefined ? ["For", "Against"] : ["Raises", "Lowers"];
  const sides = [[`${up} ${target}`, p => p.weight > 0], [`${down} ${target}`, p => p.weight < 0]];
  const lists = sides.map(([title, holds]) => [title, chips({...found, programs: found.programs.filter(holds)}, p => p.words.replace(/\.$/, ""))])
    .filter(([, list]) => list).map(([title, list]) => element("section", {}, element("h3", {}, title), list));
  return [baseline(found), ...(lists.length ? lists : [element("p", {class: "quiet"}, "Nothing in it decides.")]), ...further(found),
    found.baseline_line && found.unit === undefined ? element("p", {class: "quiet"}, `Points are percentage points of the probability of ${target}.`) : null];
}

function inFull(found) {
  if (!found.programs.length) return null;
  return element("details", {class: "in-full"}, element("summary", {}, "The reasons in full"),
    element("ol", {class: "deciders"}, ...found.programs.map(p => programItem(p, p.index < 0 ? shownFigure(p) : `${p.matched ? "present" : "absent"}, ${shownFigure(p)}`))));
}

function programItem(p, note) {
  return element("li", {},
    element("div", {class: "head"}, element("span", {class: "tag"}, p.index < 0 ? (p.weight > 0 ? "for" : "against") : `found for ${p.class_name}`), element("span", {class: "quiet"}, note)),
    element("p", {class: "words"}, p.words), p.diagram ? held("diagram", p.diagram) : null,
    element("div", {class: "actions"}, copyButton("GDL", p.gdl),
      p.smarts ? copyButton(p.smarts_exact ? "SMARTS" : "broader SMARTS", p.smarts) : null,
      element("details", {}, element("summary", {}, p.smarts ? "GDL and SMARTS" : "GDL"),
        element("pre", {tabindex: "0"}, p.readable || p.gdl), p.smarts ? element("pre", {tabindex: "0"}, p.smarts) : null)));
}
