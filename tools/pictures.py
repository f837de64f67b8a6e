"""Make the pictures and example texts of README and docs from models that are trained here.

::

    python tools/pictures.py              # explanations as SVG: needs GDLNN_DATA, takes a few minutes
    python tools/pictures.py --browser    # also of the report, by Chromium

Every picture of an explanation is what `Explanation.draw` gives, every text what `describe` gives; nothing is
drawn or typed by hand. The sentences around them are: read these pages again afterwards.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx

import gdlnn
from gdlnn.cli import main
from gdlnn.graphs.interop import from_networkx_dataset

if TYPE_CHECKING:
    from gdlnn.explain import Explanation
    from gdlnn.graphs import GraphDataset

ROOT = Path(__file__).resolve().parent.parent
PICTURES, BUILD = ROOT / "docs" / "pictures", ROOT / "build" / "pictures"
MOLECULES = {
    "explanation": "CC1(C)SC2C(NC(=O)COc3ccccc3)C(=O)N2C1C(=O)O",  # penicillin V
    "diclofenac": "OC(=O)Cc1ccccc1Nc1c(Cl)cccc1Cl",
}
TOLUIC_ACID, FLUTRIAFOL = "OC(=O)c1ccccc1C", "OC(Cn1cncn1)(c1ccc(F)cc1)c1ccccc1F"


def model_of(name: str, data: GraphDataset) -> tuple[gdlnn.GDLNNClassifier, GraphDataset]:
    """Return a model with default settings and the graphs held out, from a file if it was trained before."""
    train, _, test = data.split()
    file = BUILD / f"{name}.gdlnn"
    if file.is_file():
        return gdlnn.load_model(file), test
    model = gdlnn.GDLNNClassifier(verbose=False).fit(train)
    BUILD.mkdir(parents=True, exist_ok=True)
    model.save(file)
    return model, test


def payments(seed: int, fraud: bool) -> nx.DiGraph:
    """Return payments among 12 accounts; in a fraud, large ones go round among four people."""
    rng = random.Random(seed)
    graph = nx.gnp_random_graph(12, 0.08, seed=seed, directed=True)
    nx.set_node_attributes(graph, {n: rng.choice(["person", "shop"]) for n in graph}, "kind")
    nx.set_edge_attributes(graph, {e: rng.choice(["small", "large"]) for e in graph.edges}, "amount")
    ring = rng.sample(range(12), 4) if fraud else []
    for payer, payee in zip(ring, ring[1:] + ring[:1], strict=True):
        graph.nodes[payer]["kind"] = "person"
        graph.add_edge(payer, payee, amount="large")
    return graph


def save(name: str, explanation: Explanation) -> None:
    """Write the picture of an explanation, and print its text."""
    # The README has the text beside its picture.
    explanation.draw(PICTURES / f"{name}.svg", legend=name != "explanation")
    print(f"{name}: {explanation.describe()}\n", flush=True)


def write_text(page: str, text: str) -> None:
    """Put a text in place of the one explanation on a page."""
    file = ROOT / page
    old = file.read_text(encoding="utf-8")
    new, n = re.subn(r"```text\n[^`]*starts at[^`]*```", lambda _: f"```text\n{text}\n```", old)
    assert n == 1, (page, n)
    file.write_text(new, encoding="utf-8")


def texts() -> None:
    """Write the explanations of the README, the chemists' tutorial and the page on regression."""
    barrier, _ = model_of("BBBP", gdlnn.load_dataset("BBBP"))
    penicillin = MOLECULES["explanation"]
    assert barrier.seen([penicillin]) == [False], "the README says that it was not trained on"
    write_text("README.md", f"{penicillin}: {barrier.explain(penicillin).describe()}")
    # as `gdlnn train` splits the table
    table = gdlnn.load_smiles(ROOT / "examples" / "molecules.csv", label="active")
    active, _ = model_of("molecules", table)
    write_text("docs/chemist.md", f"{TOLUIC_ACID}: {active.explain(TOLUIC_ACID).describe()}")
    column = "measured log solubility in mols per litre"
    solubility = Path(os.environ["GDLNN_DATA"]) / "ESOL" / "ESOL.csv"
    data = gdlnn.load_smiles(solubility, label=column, threshold="number")
    model = gdlnn.GDLNNRegressor(unit="log mol/l", verbose=False).fit(data)
    write_text("docs/regression.md", model.explain(FLUTRIAFOL).describe())


def best(model: gdlnn.GDLNNClassifier, test: GraphDataset, label: Any) -> Explanation:
    """Explain the held-out graph of a class that is predicted rightly and for the strongest reason."""
    rows = [
        row
        for row, own in enumerate(model.predict(test))
        if test.y is not None and own == test.y[row] == label
    ]
    explained: list[Explanation] = model.explain([test.graphs[row] for row in rows])
    return max(explained, key=lambda one: max((term.weight for term in one.supporting), default=0.0))


def explanations() -> None:
    """Make the pictures of the gallery."""
    model, _ = model_of("BBBP", gdlnn.load_dataset("BBBP"))
    for name, smiles in MOLECULES.items():
        save(name, model.explain(smiles))
    model, test = model_of("BACE", gdlnn.load_dataset("BACE"))
    save("inhibitor", best(model, test, 1))
    model, test = model_of("MUTAG", gdlnn.load_dataset("MUTAG"))
    save("nitro", best(model, test, 1))
    model, test = model_of("motifs", gdlnn.make_ba_2motifs(n=200))
    save("cycle", best(model, test, 0))
    labels = ["fraud" if i % 2 else "honest" for i in range(120)]
    graphs = [payments(i, label == "fraud") for i, label in enumerate(labels)]
    model, test = model_of("payments", from_networkx_dataset(graphs, labels, name="payments"))
    save("payments", best(model, test, "fraud"))


def pages() -> None:
    """Write the report of BBBP's model, and take a picture of its first screen."""
    report = BUILD / "report.html"
    with suppress(SystemExit):  # the command line ends with one
        main(["report", str(BUILD / "BBBP.gdlnn"), "BBBP", "-o", str(report)])
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=1280,900",
        "--virtual-time-budget=5000",
    ]
    picture = f"--screenshot={PICTURES / 'report.png'}"
    subprocess.run([chromium, *options, picture, report.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    explanations()
    texts()
    if "--browser" in sys.argv:
        pages()
