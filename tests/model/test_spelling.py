"""The same answer however a graph is written: spellings of molecules, numberings of nodes and edges."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import rdDepictor

from gdlnn import GDLNNClassifier, Graph, GraphDataset, MLPHead, load_dataset, load_smiles
from gdlnn.datasets.molecules import parse_smiles, read_molecule
from gdlnn.explain import Explanation
from gdlnn.graphs.identity import canonical_form
from gdlnn.graphs.molecules import MoleculeReader, hidden_by_default
from gdlnn.model import MixtureHead
from reference.models import quick
from reference.random_cases import renumbered

NAMES = ("MUTAG", "Mutagenicity", "BBBP", "BACE", "ENZYMES", "PROTEINS", "PTC_MR", "NCI1", "BA-2Motifs")


def marked(graph: Graph, nodes: Sequence[int]) -> Any:
    """Return what a graph shares with others that are isomorphic, the marked nodes included."""
    column = np.zeros((graph.n_nodes, 1))
    column[list(nodes)] = 1
    schema = graph.schema
    hidden = hidden_by_default(schema)
    nodes_kept = [f.name not in hidden for f in schema.node] if schema and hidden else slice(None)
    edges_kept = [f.name not in hidden for f in schema.edge] if schema and hidden else slice(None)
    features = np.hstack([graph.node_features[:, nodes_kept], column])
    return canonical_form(
        Graph(features, graph.edges, graph.edge_features[:, edges_kept], directed=graph.directed)
    )


def assert_same_answers(model: GDLNNClassifier, groups: Sequence[Sequence[Graph]]) -> None:
    """Graphs of a group get the same probabilities and scores, to the last bit, and the same explanations."""
    together = [graph for group in groups for graph in group]
    seen = model.represent(together)
    found: list[Explanation] = model.explain(seen)
    forms = [marked(explanation.graph, explanation.nodes) for explanation in found]
    start = 0
    for group in groups:
        rows = range(start, start + len(group))
        start += len(group)
        for row in rows[1:]:
            np.testing.assert_array_equal(seen.probabilities[row], seen.probabilities[rows[0]])
            assert forms[row] == forms[rows[0]], together[row].name
            assert unnumbered(found[row]) == unnumbered(found[rows[0]])


def unnumbered(explanation: Explanation) -> tuple[str, list[float]]:
    """Return the text of an explanation without the numbers of its nodes, and its node scores in order."""
    text = re.sub(r" \((atom|node)s? [^)]*\)", "", explanation.describe())
    return text, sorted(explanation.node_scores.tolist())


def spellings(smiles: str, seed: int) -> Iterator[Any]:
    """Yield a molecule in five random spellings, with hydrogens, kekulised, and as 2D SDF."""
    molecule = Chem.MolFromSmiles(smiles)
    for i in range(5):
        yield parse_smiles(Chem.MolToRandomSmilesVect(molecule, 1, randomSeed=seed + i)[0])[0]
    yield parse_smiles(Chem.MolToSmiles(Chem.AddHs(molecule), allHsExplicit=True))[0]
    kekulised = Chem.Mol(molecule)
    Chem.Kekulize(kekulised, clearAromaticFlags=True)
    yield parse_smiles(Chem.MolToSmiles(kekulised, kekuleSmiles=True))[0]
    flat = Chem.Mol(molecule)
    rdDepictor.Compute2DCoords(flat)
    yield read_molecule(Chem.MolToMolBlock(flat))[0]


@pytest.mark.parametrize(
    "n_molecules", [pytest.param(10, id="sample"), pytest.param(500, id="whole", marks=pytest.mark.long)]
)
def test_spellings_of_molecules_and_steroids(data_dir: Path, n_molecules: int) -> None:
    data = load_smiles(data_dir / "BBBP" / "BBBP.csv", label="p_np")
    assert data.smiles is not None
    rows = np.random.default_rng(1).permutation(len(data))
    model = GDLNNClassifier(head=MixtureHead(10), verbose=False, random_state=4).fit(data.take(rows[:120]))
    skeleton = Chem.MolFromSmarts("C1~C~C~C2~C(~C1)~C~C~C1~C~2~C~C~C2~C~C~C~C~1~2")
    steroids = [row for row in rows[120:] if Chem.MolFromSmiles(data.smiles[row]).HasSubstructMatch(skeleton)]
    asked = data.take([*rows[-n_molecules:], *steroids[: 2 * n_molecules]])
    reader = MoleculeReader()
    assert asked.smiles is not None
    groups = [
        [graph, *(reader.graph(molecule, name=text) for molecule in spellings(text, seed))]
        for seed, (graph, text) in enumerate(zip(asked.graphs, asked.smiles, strict=True))
    ]
    assert_same_answers(model, groups)


def test_nodes_that_are_alike_have_equal_scores() -> None:
    def star(n_leaves: int) -> Graph:
        return Graph(np.ones((n_leaves + 1, 1)), [[0, leaf] for leaf in range(1, n_leaves + 1)])

    path = Graph(np.ones((5, 1)), [[0, 1], [1, 2], [2, 3], [3, 4]])
    model = GDLNNClassifier(head=MixtureHead(10), structure=False, verbose=False)
    model.fit([star(4), path] * 20, [1, 0] * 20)
    scores = model.explain(star(8)).node_scores  # four of eight leaves: seventy places of one program
    assert scores[0] > 0
    assert len(set(scores[1:].tolist())) == 1


def test_models_of_published_features_leave_out_what_depends_on_the_spelling(data_dir: Path) -> None:
    data = load_dataset("BBBP", root=data_dir)
    model = quick(pooled=True).fit(data[:150])
    reader = MoleculeReader("ogb")
    assert model.reading == reader
    groups = [
        [reader.graph(molecule) for molecule in list(spellings(text, 7))[:5]] for text in data.smiles[900:920]
    ]
    assert_same_answers(model, groups)
    assert not any("chirality" in name or "stereo" in name for name in model.get_feature_names_out())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "n_graphs", [pytest.param(6, id="sample"), pytest.param(200, id="whole", marks=pytest.mark.long)]
)
def test_numberings_of_graphs(data_dir: Path, name: str, n_graphs: int) -> None:
    rng = np.random.default_rng(2)
    data: GraphDataset = load_dataset(name, root=data_dir)
    rows = rng.permutation(len(data))
    head = MLPHead(epochs=5)
    model = GDLNNClassifier(head=head, verbose=False).fit(data.take(rows[:80]))
    asked = [data.graphs[row] for row in rows[-n_graphs:]]
    assert_same_answers(model, [[graph, *(renumbered(rng, graph) for _ in range(3))] for graph in asked])
