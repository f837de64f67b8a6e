"""Small fitted models for the tests of the report: motifs, molecules, three classes of directed paths."""

from pathlib import Path
from typing import Any

import numpy as np

from gdlnn import GDLNNClassifier, Graph, GraphDataset, MLPHead, load_smiles, make_ba_2motifs
from reference.models import classifier

SMALL: dict[str, Any] = {
    "epsilon": 1.0,
    "pooled": False,
    "merge_equal": True,
    "epochs": 15,
    "verbose": False,
}


def motifs(n: int = 60, seed: int = 0) -> tuple[GDLNNClassifier, GraphDataset]:
    """Return a model of BA-2Motifs and graphs it was not trained on."""
    train, val, test = make_ba_2motifs(n, seed).split("stratified", sizes=(0.6, 0.1, 0.3))
    return classifier(**SMALL).fit(train, validation=val), test


def three_classes() -> tuple[GDLNNClassifier, GraphDataset]:
    """Return a model of directed paths of three kinds, with labels and names that need escaping."""
    rng = np.random.default_rng(0)
    graphs, labels = [], []
    for number in range(30):
        kind = number % 3
        values = rng.integers(0, 3, size=(5, 1)).astype(float) + 10.0 * kind
        edges = [(i, i + 1) for i in range(4)]
        graphs.append(Graph(values, edges, directed=True, name=f"</script><b>{number}"))
        labels.append(f"kind <{kind}> & more")
    data = GraphDataset(graphs, labels, name="<three>")
    model = classifier(**SMALL).fit(data[:24])
    return model, data[24:]


HOSTILE = ("<script>document.title = 'taken'</script>", '"><img src=x onerror="document.title=1">')
"""Names that a page must show as they are."""


def molecules(head: Any = None) -> tuple[GDLNNClassifier, GraphDataset]:
    """Return a model of the examples' table and molecules it was not trained on, two with hostile names."""
    table = Path(__file__).parents[2] / "examples" / "molecules.csv"
    train, _, test = load_smiles(table, label="active", id="id").split(
        "stratified", random_state=0, sizes=(0.75, 0, 0.25)
    )
    head = head or MLPHead(hidden=(), epochs=60)
    model = GDLNNClassifier(head=head, threshold=0.3, verbose=False).fit(train)
    for row, name in enumerate(HOSTILE):
        test.graphs[row] = test.graphs[row]._renamed(test.graphs[row].schema, name)
    return model, test
