"""The kernels against GraKeL, the fingerprints against RDKit's own, and the majority class."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from gdlnn import Graph, GraphDataset, make_ba_2motifs
from gdlnn.graphs.molecules import graph_molecule, molecule_graph, molecule_schema
from repro.baselines.base import fingerprints
from repro.baselines.kernels import WLClassifier, WLOAClassifier

SMILES = [
    "CCO", "c1ccccc1O", "CC(=O)Oc1ccccc1C(=O)O", "C[N+](C)(C)CC(=O)[O-]", "C1CCCCC1N", "Clc1ccc(Br)cc1",
    "CC#N", "O=C(N)c1cccnc1", "CCS(=O)(=O)C", "C1CC2CCC1C2", "OC(=O)C(F)(F)F", "c1ccc2[nH]ccc2c1",
]  # fmt: skip


def random_graphs(n: int, seed: int) -> list[Graph]:
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(n):
        size = int(rng.integers(3, 9))
        # Connected: GraKeL's optimal assignment forgets nodes without an edge.
        pairs = [(i, j) for i in range(size) for j in range(i) if j == i - 1 or rng.random() < 0.3]
        graphs.append(Graph(rng.integers(0, 3, (size, 1)), pairs))
    return graphs


def grakel_kernel(kind: str, train: list[Graph], test: list[Graph], n_iter: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grakel = pytest.importorskip("grakel")
        if kind == "wl":
            kernel = grakel.WeisfeilerLehman(
                n_iter=n_iter, base_graph_kernel=grakel.VertexHistogram, normalize=True
            )
        else:
            kernel = grakel.WeisfeilerLehmanOptimalAssignment(n_iter=n_iter, normalize=True)

        def converted(graphs: list[Graph]) -> list[Any]:
            return [
                grakel.Graph(
                    {
                        i: [j for e in g.edges.tolist() for j in e if i in e and j != i]
                        for i in range(g.n_nodes)
                    },
                    node_labels={i: int(row[0]) for i, row in enumerate(g.node_features)},
                )
                for g in graphs
            ]

        return kernel.fit_transform(converted([*train, *test]))[len(train) :, : len(train)]


@pytest.mark.parametrize(("kind", "model"), [("wl", WLClassifier), ("wl-oa", WLOAClassifier)])
def test_kernels_equal_those_of_grakel(kind: str, model: type[WLClassifier]) -> None:
    train, test = random_graphs(25, 1), random_graphs(10, 2)
    y = np.arange(25) % 2
    ours = model(n_iter=3).fit(train, y)
    np.testing.assert_allclose(ours.kernel(test), grakel_kernel(kind, train, test, 3), atol=1e-9)


@pytest.mark.parametrize("model", [WLClassifier(), WLOAClassifier(n_iter=2)])
def test_kernels_tell_motifs_apart_and_can_be_fitted_again(model: WLClassifier) -> None:
    train, _, test = make_ba_2motifs(n=80, random_state=3).split("stratified", random_state=1)
    model = clone(model).fit(train)
    assert model.score(test) == 1.0
    proba = model.predict_proba(test)
    assert proba.shape == (len(test), 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    again = model.fit(train[::-1].take(np.arange(40))).fit(train)
    np.testing.assert_array_equal(again.predict(test), clone(model).fit(train).predict(test))
    assert model.predict_proba([]).shape == (0, 2)


def test_edges_have_a_say_in_colors() -> None:
    def ring(bonds: list[int]) -> Graph:
        return Graph(np.zeros((4, 1)), [(i, (i + 1) % 4) for i in range(4)], [[float(b)] for b in bonds])

    graphs = [ring([1, 1, 1, 1]), ring([1, 2, 1, 2])] * 6
    y = [0, 1] * 6
    assert WLClassifier().fit(graphs, y).score(graphs, y) == 1.0
    assert WLClassifier(edge_labels=False).fit(graphs, y).score(graphs, y) == 0.5


def molecules() -> GraphDataset:
    chem = pytest.importorskip("rdkit.Chem")
    schema = molecule_schema()
    graphs = [molecule_graph(chem.MolFromSmiles(text), schema=schema) for text in SMILES]
    return GraphDataset(graphs, [i % 2 for i in range(len(graphs))], schema)


def test_fingerprints_from_graphs_equal_those_from_smiles() -> None:
    data = molecules()
    chem = pytest.importorskip("rdkit.Chem")
    generators = pytest.importorskip("rdkit.Chem.rdFingerprintGenerator")
    generator = generators.GetMorganGenerator(radius=2, fpSize=2048)
    rows = fingerprints(data.graphs, data.schema)
    for row, text in zip(rows, SMILES, strict=True):
        np.testing.assert_array_equal(row, generator.GetFingerprintAsNumPy(chem.MolFromSmiles(text)))
    assert graph_molecule(data.graphs[0]).GetNumAtoms() == 3
