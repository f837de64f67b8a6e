"""Keep model files of this version for the tests of all later ones.

::

    python tools/keep_models.py

writes tests/fixtures/vVERSION: small models of every kind, the datasets they are asked about, and what they
say. A release does this once, and never again: later versions must read the files as they are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

import gdlnn
from gdlnn import Feature, GDLNNClassifier, Graph, GraphDataset, Mined, MLPHead, Neighbourhoods, Schema
from gdlnn.model.model_file import VERSION

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "fixtures"
SMALL = MLPHead(hidden=(8,), ensemble_size=2, epochs=5)


def payments(n: int) -> GraphDataset:
    """Make directed graphs with names and edge features."""
    rng = np.random.default_rng(0)
    schema = Schema(
        (Feature("kind", "nominal", {0: "person", 1: "shop"}), Feature("age")),
        (Feature("amount", "ordinal", {0: "small", 1: "large"}),),
        {0: "honest", 1: "fraud"},
    )
    graphs = []
    for i in range(n):
        pairs = np.argwhere((rng.random((6, 6)) < 0.2) & ~np.eye(6, dtype=bool))
        nodes = np.stack([rng.integers(0, 2, 6), rng.integers(1, 9, 6)], axis=1)
        amounts = np.minimum(rng.integers(0, 2, (len(pairs), 1)) + i % 2, 1)
        graphs.append(Graph(nodes, pairs, amounts, directed=True, schema=schema))
    return GraphDataset(graphs, np.arange(n) % 2, schema, "payments")


def main() -> int:
    """Write the folder of this version."""
    folder = FIXTURES / f"v{gdlnn.__version__.rpartition('.')[0]}"
    if folder.exists():
        print(f"{folder}: expected no folder of this version yet, got one; it is kept", file=sys.stderr)
        return 2
    folder.mkdir()
    data = {"motifs": gdlnn.make_ba_2motifs(n=24, seed=3), "payments": payments(24)}
    for name, dataset in data.items():
        dataset.save(folder / f"{name}.gdlds")
    models = {
        "mined": ("motifs", GDLNNClassifier(Mined(epsilon=1.0, merge_equal=True), SMALL, progress=False)),
        "linear": ("motifs", GDLNNClassifier(Neighbourhoods(radius=1), "linear", progress=False)),
        "scorecard": ("motifs", GDLNNClassifier(Mined(epsilon=1.0), "scorecard", progress=False)),
        "directed": (
            "payments",
            GDLNNClassifier([Mined(epsilon=1.0), Neighbourhoods(radius=1)], SMALL, progress=False),
        ),
    }
    expected = {}
    for name, (of, model) in models.items():
        model.fit(data[of]).save(folder / f"{name}.gdlnn")
        said = model.predict_proba(data[of]).round(9).tolist()
        expected[name] = {"data": of, "n_programs": len(model.programs_), "probabilities": said}
    about = {"gdlnn": gdlnn.__version__, "torch": torch.__version__, "format": VERSION, "models": expected}
    (folder / "models.json").write_text(json.dumps(about, indent=1) + "\n")
    print(f"{folder}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
