"""The sentences with figures in README and docs/results.md, made from the tables in repro/results."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "repro" / "results"
sys.path.insert(0, str(ROOT))  # run as a program, this folder is the only one on the path

from gdlnn.datasets.registry import REGISTRY  # noqa: E402
from repro.accuracy_tables import PAPER_ACCURACY  # noqa: E402
from repro.methods import METHODS, VARIANTS, row_title  # noqa: E402
from repro.regression import TITLES  # noqa: E402
from repro.tables import datasets_in, method_of, rows_in  # noqa: E402

OURS, HEADS = "gdlnn", ("gdlnn-linear", "gdlnn-scorecard")
METRICS = {
    "accuracy": ("Accuracy", 100, ".1f", " points"),
    "roc_auc": ("ROC-AUC", 100, ".1f", " points"),
    "log_loss": ("Log loss", 1, ".3f", ""),
}
"""Titles of metrics, and how differences are shown: factor, digits, unit."""
PUBLISHED = ["MUTAG", "BBBP", "BACE"]  # the datasets whose split the paper publishes
OLD = f"{OURS}@0.2"
AGAINST = "GDLNN against GIN + SubgraphX"
MASKED = f"{AGAINST}, the network judged"
"""How the lines of the comparison start; the second one spares the network graphs unlike what it learned."""


# --- reading ----------------------------------------------------------------------------------------------


def numbers(name: str) -> pd.DataFrame:
    """Return a table of numbers."""
    return pd.read_csv(RESULTS / f"{name}.csv", comment="#")


def line_of(name: str, start: str) -> str:
    """Return the first line of a page of a study that starts like this, without a bullet."""
    for line in (RESULTS / f"{name}.md").read_text(encoding="utf-8").splitlines():
        if line.removeprefix("- ").startswith(start):
            return line.removeprefix("- ")
    raise SystemExit(f"{name}.md: expected a line that starts with {start!r}, got none")


def lines_below(name: str, heading: str) -> list[list[str]]:
    """Return the head and the rows of the table below a heading of a page of a study."""
    text = (RESULTS / f"{name}.md").read_text(encoding="utf-8").partition(f"### {heading}\n")[2]
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    if table is None:
        raise SystemExit(f"{name}.md: expected a table below {heading!r}, got none")
    cells = [re.split(r" ?\| ?", line)[1:-1] for line in table[0].splitlines()]
    return [cells[0], *cells[2:]]


def by_row(metric: str) -> pd.DataFrame:
    """Return datasets × rows of a metric on repeated splits; of ROC-AUC and log loss, those with two classes.

    Rows that have fewer splits than GDLNN have no value.
    """
    table = numbers("accuracy-repeated")
    found = table.pivot_table(index="dataset", columns="row", values=metric)
    counts = table.pivot_table(index="dataset", columns="row", values="cells")
    found = found.where(counts.ge(counts[OURS], axis=0))
    every = metric == "accuracy"
    return found.loc[[name for name in datasets_in(found.index) if every or REGISTRY[name].size[3] == 2]]


def others_in(table: pd.DataFrame) -> list[str]:
    """Return the rows of competitors: not our other heads, nor an earlier version."""
    return [row for row in table if row not in (OURS, *HEADS) and "@" not in row]


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:]))) or "none"


# --- accuracy ---------------------------------------------------------------------------------------------


def leads(metric: str, table: pd.DataFrame) -> list[tuple[str, str, float]]:
    """Return where a competitor is ahead: the dataset, the best competitors, and by how much."""
    _, factor, form, _ = METRICS[metric]
    found, sign = [], -1 if metric == "log_loss" else 1
    for dataset, values in table.iterrows():
        gaps = factor * sign * (values[others_in(table)].dropna() - values[OURS])
        shown = gaps.map(lambda gap: float(f"{gap:{form}}"))
        if shown.max() > 0:
            best = shown.index[shown == shown.max()]
            titles = [row_title(row) if method_of(row) in METHODS else row for row in best]
            found.append((str(dataset), listed(titles), gaps.max()))
    return found


def ahead_on(metric: str, table: pd.DataFrame) -> str:
    """Say which competitors are ahead, each with its datasets."""
    _, _, form, unit = METRICS[metric]
    places: dict[str, list[str]] = {}
    for dataset, other, gap in leads(metric, table):
        places.setdefault(other, []).append(f"{dataset} ({gap:{form}}{unit})")
    return "; ".join(f"{other} on {listed(where)}" for other, where in places.items())


def best_on(metric: str) -> list[str]:
    """Return the datasets where no competitor is as good."""
    table, sign = by_row(metric), -1 if metric == "log_loss" else 1
    others = sign * table[others_in(table)]
    return [str(name) for name in table.index if sign * table[OURS][name] > others.loc[name].max()]


def ahead() -> str:
    """Say where others are ahead."""
    found = {title: ahead_on(metric, by_row(metric)) for metric, (title, *_) in METRICS.items()}
    lines = [f"**{title}**: {words}." if words else "" for title, words in found.items()]
    parts = (_ahead_paper, _ahead_chemprop, _ahead_regression, _ahead_truth, _ahead_sparse, _ahead_time)
    return "\n".join(filter(None, (*lines, *(part() for part in parts))))


def _ahead_paper() -> str:
    ours = numbers("accuracy-paper").pivot_table(index="dataset", columns="row", values="accuracy")
    paper = pd.DataFrame(PAPER_ACCURACY).add_suffix(" in the paper").loc[PUBLISHED]
    paper = paper.map(lambda text: float(text.split()[0]) / 100)
    words = [
        ahead_on("accuracy", ours.loc[datasets_in(ours.index)]),
        ahead_on("accuracy", paper.join(ours[OURS])),
        "against our run of its recipe, "
        + ahead_on("accuracy", paper[["GDLNN in the paper"]].join(ours["gdlnn-paper"].rename(OURS))),
    ]
    return f"**Accuracy under the paper's protocol**: {'; '.join(words)}."


def _ahead_chemprop() -> str:
    table, words = chemprop_means(), []
    for metric, (title, factor, form, unit) in METRICS.items():
        own, sign = by_row(metric)[OURS], -1 if metric == "log_loss" else 1
        for dataset in ("BBBP", "BACE"):
            gap = sign * factor * (table[metric][dataset] - own[dataset])
            if float(f"{gap:{form}}") > 0:
                words.append(f"{title.lower()} on {dataset} by {gap:{form}}{unit}")
    return f"**chemprop**: {listed(words)}." if words else ""


def _ahead_regression() -> str:
    table, words = numbers("regression").pivot_table(index="dataset", columns="row", values="rmse"), []
    for dataset, values in table.iterrows():
        others = values.drop([OURS, *HEADS], errors="ignore").dropna()
        gap = values.get(OURS, 0) - others.min()
        if round(gap, 3) > 0:
            words.append(f"{TITLES[others.idxmin()]} on {dataset} by {gap:.3f}")
    return f"**Regression** (RMSE): {listed(words)}." if words else ""


def _ahead_truth() -> str:
    table = truth_table()
    words = [
        f"{name} on {listed(list(table.index[better]))}"
        for name, better in (
            ("GIN's best explainer", (table["rival"] > table[OURS]) | (table["rival_auc"] > table["auc"])),
            ("all heteroatoms", table["heteroatoms"] > table[OURS]),
        )
        if better.any()
    ]
    return f"**Known truths** (AUC or Jaccard at size): {'; '.join(words)}." if words else ""


def _ahead_sparse() -> str:
    found = re.search(r"Not ahead: (.*?)\.(?: |$)", line_of("explain", MASKED))
    if found is None:
        return ""
    places = found[1].replace("(-", "(")
    return f"**Sparsity at equal fidelity**, judged as it suits networks: SubgraphX on {places}."


def training_seconds() -> pd.DataFrame:
    """Return datasets × rows of CPU seconds of training, with mining and all configurations tried."""
    table = numbers("accuracy-repeated").query("row != 'majority'")
    n_fits = table["row"].str.extract(r":(\d+)")[0].astype(float).fillna(1)
    table["cpu"] = n_fits * (table["fit_cpu_s"] + table["mining_cpu_s"].fillna(0))
    return table.pivot_table(index="dataset", columns="row", values="cpu")


def _ahead_time() -> str:
    seconds = training_seconds()
    less, ran = seconds.lt(seconds[OURS], axis=0).sum(), seconds.notna().sum()
    faster = rows_in([row for row in others_in(seconds) if less[row]], METHODS)
    words = listed([f"{row_title(row)} on {less[row]} of {ran[row]}" for row in faster])
    table = numbers("cost").pivot_table(index="dataset", columns="method", values="explain_cpu")
    n = table["pl4xgl"].lt(table[OURS]).sum()
    return f"**CPU time** of training: {words} datasets; of explanations: PL4XGL on {n} of {len(table)}."


def standing() -> str:
    """Say where GDLNN is ahead, its rank, and what changed since version 0.2."""
    ranks = rank_pairs()
    (title, second), *_ = [pair for pair in ranks if pair[0] != "GDLNN"]
    accuracy, auc, loss = (by_row(metric) for metric in METRICS)
    gain = 100 * (accuracy[OURS] - accuracy[OLD])
    lost = [f"{name} by {-gap:.1f}" for name, gap in gain.items() if round(gap, 1) < 0]
    since = f"ROC-AUC by {100 * (auc[OURS] - auc[OLD]).mean():+.1f}, log loss by "
    since += f"{100 * (loss[OURS].mean() / loss[OLD].mean() - 1):+.1f}%"
    cpu = training_seconds()
    took = cpu[OURS] / cpu[OLD]
    return (
        f"No competitor is as accurate on {listed(best_on('accuracy'))}, has as high a ROC-AUC on "
        f"{listed(best_on('roc_auc'))}, or as low a log loss on {listed(best_on('log_loss'))}.\n"
        f"GDLNN's mean rank is {dict(ranks)['GDLNN']:.1f} among the {len(ranks)} methods that have all "
        f"datasets, the majority class included; the next is {title} with {second:.1f}.\n"
        f"Since version 0.2 accuracy changes by {gain.mean():+.1f} points on average, {since}"
        f"{'; accuracy falls on ' + listed(lost) if lost else ''}. "
        f"Training takes {took.min():.1f} to {took.max():.1f} times the CPU time of version 0.2."
    )


def rank_pairs() -> list[tuple[str, float]]:
    """Return the rows that have a mean rank, the best first."""
    words = line_of("accuracy-repeated", "Mean ranks").partition(": ")[2]
    return [(title, float(rank)) for title, rank in re.findall(r"(?:^|, )(.+?) (\d+\.\d)(?=, |\.$)", words)]


def paired() -> str:
    """Say how GDLNN compares with the methods named in advance, over the splits they share."""
    head, _, *rows = lines_below("accuracy-repeated", "Paired comparison")
    words = []
    for title, *cells, mean in rows:
        sure = [name for name, cell in zip(head[1:], cells, strict=False) if cell.endswith("\\*")]
        where = f"on {listed(sure)}" if sure else "nowhere"
        n = sum("±" in cell for cell in cells)
        words.append(f"{title.partition(' − ')[0]} by {mean} points ({n} datasets, p < 0.05 {where})")
    return f"On average they differ from GDLNN: {'; '.join(words)}."


def grain() -> str:
    """Say what one test graph is worth."""
    sizes = {}
    for line in (RESULTS / "accuracy-0.3.jsonl").read_text(encoding="utf-8").splitlines():
        cell = json.loads(line)
        if cell["protocol"] == "repeated":
            sizes[cell["dataset"]] = cell["sizes"][2]
    words = [f"{100 / sizes[name]:.1f} on {name}" for name in ("MUTAG", "PTC_MR", "ENZYMES", "BBBP")]
    return f"In one split, one test graph is worth so many points: {listed(words)}."


def chemprop_means() -> pd.DataFrame:
    """Return the means of chemprop's scores by dataset."""
    table = numbers("chemprop").set_index("dataset").astype(str)
    return table.map(lambda text: float(text.split()[0].replace("–", "nan")))


def chemprop() -> str:
    """Return chemprop's scores in classification."""
    table, words = chemprop_means(), []
    for dataset in ("BBBP", "BACE"):
        one = table.loc[dataset]
        words.append(
            f"{100 * one['accuracy']:.1f} on {dataset} (ROC-AUC {100 * one['roc_auc']:.1f}, "
            f"log loss {one['log_loss']:.3f}, {one['seconds']:.0f} seconds)"
        )
    return f"{chemprop_name()} with its default settings has {listed(words)}"


def chemprop_name() -> str:
    """Return the name with the version that was used."""
    return line_of("chemprop", "chemprop").partition(",")[0]


def ablation() -> str:
    """Say what each part of the default brings."""
    table, words = numbers("ablation-repeated"), []
    for row in VARIANTS:
        if row in set(table["row"]):
            both = table[table["row"].isin([row, OURS])].pivot_table(
                index="dataset", columns="row", values=["accuracy", "log_loss"]
            )
            gaps = (both.xs(row, axis=1, level=1) - both.xs(OURS, axis=1, level=1)).dropna()
            means = gaps.mean()
            points, loss = 100 * means["accuracy"], means["log_loss"]
            some = f" ({len(gaps)} datasets)" if len(gaps) < table["dataset"].nunique() else ""
            words.append(f"- {row_title(row)} {points:+.1f} and {loss:+.3f}{some}")
    return "\n".join(words)


# --- regression, explanations, cost -----------------------------------------------------------------------


def intervals() -> str:
    """Say how many held-out values lie in their intervals."""
    own = [row for row in lines_below("regression", "Intervals") if row[1] == "GDLNN"]
    words = [f"{100 * float(row[2].split()[0]):.0f}% on {row[0]}" for row in own]
    return f"Of the held-out values, {listed(words)} lie in GDLNN's 90% intervals."


def truth_table() -> pd.DataFrame:
    """Return by rule AUC and Jaccard index at the truth's size of GDLNN and of GIN's best explainer."""
    rivals = ["gradients", "gnnexplainer", "subgraphx"]
    table = numbers("rules").pivot_table(
        index="dataset", columns="method", values=["at_size", "auc"], sort=False
    )
    best = {name: table[name].reindex(columns=rivals).max(axis=1) for name in ("at_size", "auc")}
    found = {OURS: table["at_size"][OURS], "auc": table["auc"][OURS]}
    found |= {"rival": best["at_size"], "rival_auc": best["auc"]}
    return pd.DataFrame({**found, "heteroatoms": table["at_size"]["heteroatoms"]})


def truths() -> str:
    """Say how well explanations find known truths."""
    return line_of("rules", "GDLNN: AUC").removeprefix("GDLNN: ")


def sparsity() -> str:
    """Say how explanations compare with SubgraphX's at equal fidelity, judged in two ways."""
    return f"{line_of('explain', f'{AGAINST}, difference')}\n{line_of('explain', MASKED)}"


def stability() -> str:
    """Say how alike explanations of models with other seeds are."""
    table = numbers("stability").set_index("dataset")
    overlap, enough, none = (table[name] for name in ("Jaccard of nodes", "fidelity", "no reason"))
    return (
        f"models trained with other seeds show nearly the same nodes (Jaccard index {overlap.min():.2f} to "
        f"{overlap.max():.2f}). The nodes shown, alone, get the same class in {100 * enough.min():.0f}% "
        f"({enough.idxmin()}) to {100 * enough.max():.0f}% ({enough.idxmax()}) of graphs. "
        f"In up to {100 * none.max():.0f}% of graphs ({none.idxmax()}) the class needs no reason: it "
        "is that of a graph without patterns"
    )


def cost() -> str:
    """Say what training, predictions and explanations take."""
    table = numbers("cost").set_index(["method", "dataset"])
    own = table.loc[OURS]
    words = [
        f"{what} takes {factor * own[name].min():.2g} to {factor * own[name].max():.2g} {unit}"
        for what, name, factor, unit in (
            ("training", "fit_cpu", 1, "seconds"),
            ("the prediction of one graph", "predict_cpu", 1000, "milliseconds"),
            ("its explanation", "explain_cpu", 1000, "milliseconds"),
        )
    ]
    ratio = own["ratio"]
    words.append(f"an explanation by SubgraphX takes {ratio.min():,.0f} to {ratio.max():,.0f} times as long")
    return f"CPU time on one core: {'; '.join(words)}"


# --- README -----------------------------------------------------------------------------------------------


def readme_accuracy() -> str:
    """Return the standing in a line."""
    behind = [name for name, _, _ in leads("accuracy", by_row("accuracy"))]
    rank, n = dict(rank_pairs())["GDLNN"], len(by_row("accuracy"))
    also = f"; others are ahead on {listed(behind)}" if behind else ""
    return f"mean rank {rank:.1f} on {n} datasets, best on {len(best_on('accuracy'))} of them{also}"


def readme_chemprop() -> str:
    """Return chemprop's accuracies."""
    values = [f"{100 * chemprop_means()['accuracy'][name]:.1f} on {name}" for name in ("BBBP", "BACE")]
    return f"{chemprop_name()} with its defaults has {listed(values)}"


def readme_truths() -> str:
    """Return how well planted rules are found."""
    table = truth_table().drop(["Mutagenicity", "BA-2Motifs"], errors="ignore")
    ahead, compared = (table[OURS] > table["rival"]).sum(), table["rival"].notna().sum()
    return (
        f"on graphs labeled by {len(table)} known rules, a node that decides scores above another one with a "
        f"probability of {table['auc'].mean():.2f} on average, and GDLNN finds more of the truth than GIN's "
        f"best explainer on {ahead} of {compared}"
    )


WORDS: dict[str, Callable[[], str]] = {
    "ahead": ahead,
    "standing": standing,
    "paired": paired,
    "grain": grain,
    "chemprop": chemprop,
    "ablation": ablation,
    "intervals": intervals,
    "truths": truths,
    "sparsity": sparsity,
    "stability": stability,
    "cost": cost,
    "readme accuracy": readme_accuracy,
    "readme chemprop": readme_chemprop,
    "readme truths": readme_truths,
}
"""Sentences by name."""
