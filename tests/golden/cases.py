"""The golden cases: which data they are asked about, how their models are trained, and what they answer.

Of the public datasets only row numbers are used here, the graphs themselves come from GDLNN_DATA.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from gdlnn import Feature, GDLNNClassifier, Graph, GraphDataset, Schema, load_dataset, load_smiles
from gdlnn.explain import counterfactual, explain, explain_model
from gdlnn.model import MixtureHead
from gdlnn.report.alerts import alerts_json, find_alerts
from gdlnn.report.build import ReportOptions, build_report
from repro.pl4xgl import PL4XGLClassifier

FOLDER = Path(__file__).parent
TRAINED = FOLDER / "trained.json"
OPENAPI = FOLDER / "openapi.json"
N_INPUTS = 12
LONGEST_TEXT = 2000
"""Longer texts, pictures above all, are kept as a hash."""
DRAWINGS = ("diagram", "line", "picture")
"""Texts of a report that are not compared: where their lines lie is up to RDKit and networkx."""
Data = tuple[GraphDataset, GraphDataset]
"""Graphs to train on, and graphs to ask about."""


@dataclass(frozen=True)
class Case:
    """A model with the graphs that it is asked about.

    Attributes
    ----------
    data
        Makes both from the folder with the public datasets.
    model
        Makes the unfitted model.
    techniques
        Techniques to explain with, besides the default.
    molecules
        Whether there are structural alerts.
    public
        Whether the graphs come from a public dataset.
    """

    data: Callable[[Path], Data]
    model: Callable[[], Any]
    techniques: tuple[str, ...] = ()
    molecules: bool = False
    public: bool = True


def _cut(data: GraphDataset, n_train: int) -> Data:
    """Take the first graphs of a random order, whatever their labels."""
    rows = np.random.default_rng(0).permutation(len(data))
    return data.take(np.sort(rows[:n_train])), data.take(np.sort(rows[n_train : n_train + N_INPUTS]))


@lru_cache(maxsize=4)
def mutag(folder: Path) -> Data:
    """Return graphs of MUTAG."""
    return _cut(load_dataset("MUTAG", folder, download=False), 80)


@lru_cache(maxsize=4)
def enzymes(folder: Path) -> Data:
    """Return graphs of ENZYMES: six classes, and quantities."""
    return _cut(load_dataset("ENZYMES", folder, download=False), 60)


@lru_cache(maxsize=4)
def bbbp(folder: Path) -> Data:
    """Return molecules of BBBP, read as a table of one's own."""
    return _cut(load_smiles(folder / "BBBP" / "BBBP.csv", "smiles", "p_np", name="BBBP"), 90)


@lru_cache(maxsize=4)
def rare(folder: Path) -> Data:
    """Return molecules of which few have the label: those with chlorine."""
    train, inputs = _cut(load_smiles(folder / "BBBP" / "BBBP.csv", "smiles", "p_np", name="rare"), 120)
    for part in (train, inputs):
        assert part.smiles is not None
        texts = part.smiles
        part.y = np.array(["yes" if "Cl" in text else "no" for text in texts])
    return train, inputs


@lru_cache(maxsize=4)
def payments(_: Path) -> Data:
    """Make directed graphs with names and edge features."""
    rng = np.random.default_rng(0)
    schema = Schema(
        (Feature("kind", "nominal", {0: "person", 1: "shop"}), Feature("age")),
        (Feature("amount", "ordinal", {0: "small", 1: "large"}),),
        {0: "honest", 1: "fraud"},
    )
    graphs = []
    for i in range(60):
        pairs = np.argwhere((rng.random((6, 6)) < 0.2) & ~np.eye(6, dtype=bool))
        nodes = np.stack([rng.integers(0, 2, 6), rng.integers(1, 9, 6)], axis=1)
        amounts = rng.random((len(pairs), 1)) < (0.5 if i % 2 else 0.05)
        graphs.append(Graph(nodes, pairs, amounts.astype(float), directed=True, schema=schema))
    return _cut(GraphDataset(graphs, np.arange(60) % 2, schema, "payments"), 48)


def _default() -> GDLNNClassifier:
    """Return the default with fewer trees."""
    return GDLNNClassifier(head=MixtureHead(20), verbose=False)


def _paper() -> GDLNNClassifier:
    return GDLNNClassifier.paper(hidden=(8,), epochs=40, verbose=False)


def _headed(head: str) -> Callable[[], GDLNNClassifier]:
    return lambda: GDLNNClassifier(head=head, verbose=False)


_THE_PAPERS = ("lime", "kernel_shap")
CASES = {
    "mutag-default": Case(mutag, _default, _THE_PAPERS),
    "mutag-paper": Case(mutag, _paper, _THE_PAPERS),
    "bbbp-default": Case(bbbp, _default, ("lime",), molecules=True),
    "bbbp-linear": Case(bbbp, _headed("linear"), molecules=True),
    "bbbp-scorecard": Case(bbbp, _headed("scorecard"), molecules=True),
    "enzymes-default": Case(enzymes, _default, ("lime",)),
    "payments-default": Case(payments, _default, public=False),
    "payments-paper": Case(payments, _paper, _THE_PAPERS, public=False),
    "rare-default": Case(rare, _default, molecules=True),
    "rare-scorecard": Case(rare, _headed("scorecard"), molecules=True),
}


def model_file(name: str) -> Path:
    """Return the file of the model of a case."""
    return FOLDER / f"{name}.gdlnn"


def answer_file(name: str) -> Path:
    """Return the file of what the model of a case answers."""
    return FOLDER / f"{name}.json.gz"


def trained_on_mutag(folder: Path, n_seeds: int = 3) -> dict[str, Any]:
    """Return what the paper's recipe and PL4XGL predict on MUTAG's published split, for each seed."""
    train, val, test = load_dataset("MUTAG", folder, download=False).split("paper")
    found: dict[str, Any] = {}
    for seed in range(n_seeds):
        for name, model in (("paper", GDLNNClassifier.paper), ("pl4xgl", PL4XGLClassifier)):
            fitted = model(random_state=seed, verbose=False).fit(train, validation=val)
            labels, chances = fitted.predict(test), fitted.predict_proba(test)
            found[f"{name}-{seed}"] = {"labels": labels.tolist(), "probabilities": chances.tolist()}
    return found


def answers(case: Case, model: Any, inputs: GraphDataset) -> dict[str, Any]:
    """Return what a model says about graphs, as plain JSON values."""
    few = inputs[:4]
    explained = explain(model, inputs)
    found: dict[str, Any] = {
        "labels": model.predict(inputs).tolist(),
        "probabilities": model.predict_proba(inputs).tolist(),
        "features": _hash(model.transform(inputs)),
        "programs": [
            f"<MinedProgram {item.program!r}: label {item.label!r}, score {item.score:.4g}, "
            f"{item.n_matched} of {model.programs_.info.n_graphs} graphs>"
            for item in model.programs_[:50]
        ],
        "explanations": [_explained(one) for one in explained],
        "smallest": [_explained(one) for one in explain(model, few, n_reasons="smallest")],
        "techniques": {
            name: [_explained(one) for one in explain(model, few, name, random_state=1)]
            for name in case.techniques
        },
        "other class": [
            _explained(one) for one in explain(model, few, class_label=model.classes_.tolist()[0])
        ],
        "counterfactuals": [_changed(counterfactual(model, one.graph)) for one in explained[:4]],
        "model": explain_model(model, inputs).to_json(),
        "report": _report(model, inputs),
    }
    if case.molecules:
        found["alerts"] = json.loads(alerts_json(find_alerts(model, inputs, 25)))
    kept: dict[str, Any] = short(found)
    return kept


def _hash(table: Any) -> str:
    """Return a hash of numbers without their last digits, which depend on the processor."""
    return hashlib.sha256((np.round(table, 6) + 0.0).tobytes()).hexdigest()


def _explained(explanation: Any) -> dict[str, Any]:
    values = explanation.to_json()
    values.pop("graph", None)
    scores = values["node_scores"]
    return {**values, "text": explanation.describe(), "node scores": scores}


def _changed(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "nodes": list(found.nodes),
        "prediction": found.new_prediction,
        "probability": found.new_probability,
    }


def _report(model: Any, inputs: GraphDataset) -> dict[str, Any]:
    """Leave out of a report what changes with the version, diagrams, and most of its programs."""
    with patch("gdlnn.report.cards.diagram", lambda *_: ""):
        report = build_report(model, inputs, ReportOptions(max_graphs=6, max_counterfactuals=3))
    kept = {name: value for name, value in report.items() if name != "made_by"}
    return {**kept, "programs": report["programs"][:25]}


def short(value: Any) -> Any:
    """Return plain values with long texts as hashes."""
    if isinstance(value, dict):
        return {str(name): short(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [short(item) for item in value]
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"sha256 {hashlib.sha256(value.encode()).hexdigest()[:16]}, {len(value)} characters"
    if isinstance(value, np.generic):
        return value.item()
    return value


def made_on() -> dict[str, str]:
    """Return what the last bits of a product of float32 numbers depend on."""
    return {"torch": torch.__version__, "cpu": torch.backends.cpu.get_cpu_capability()}


MADE_ON = json.loads((FOLDER / "made_on.json").read_text())
"""Where the answers of stored models, and the models trained by the tests, were made."""
TOLERANCE = 1e-9 if all(kept == made_on() for kept in MADE_ON.values()) else 1e-5


def differences(found: Any, expected: Any, where: str = "") -> list[str]:
    """Return where plain values differ: floats by more than the tolerance, anything else at all."""
    if isinstance(found, float) and isinstance(expected, float | int):
        same = found == expected or abs(found - expected) <= TOLERANCE * max(1.0, abs(expected))
        return [] if same or (found != found and expected != expected) else [f"{where}: {found} {expected}"]
    if type(found) is not type(expected):
        return [f"{where}: {found!r:.80} {expected!r:.80}"]
    if isinstance(found, dict):
        lost = [f"{where}/{name}: only in one" for name in found.keys() ^ expected.keys()]
        texts = {name for name, value in found.items() if name in DRAWINGS and isinstance(value, str)}
        both = [name for name in found if name in expected and name not in texts]
        return [
            *lost,
            *(d for name in both for d in differences(found[name], expected[name], f"{where}/{name}")),
        ]
    if isinstance(found, list):
        if len(found) != len(expected):
            return [f"{where}: {len(found)} items, not {len(expected)}"]
        pairs = zip(found, expected, strict=True)
        return [d for i, (one, other) in enumerate(pairs) for d in differences(one, other, f"{where}/{i}")]
    return [] if found == expected else [f"{where}: {found!r:.80} {expected!r:.80}"]
