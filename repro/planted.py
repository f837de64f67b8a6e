"""Planted rules: molecules and synthetic graphs whose labels follow a known rule, with truth masks.

The label 1 means that the rule holds. The truth of a graph is every node of every place of the groups, rings
or motifs that make it hold; a graph of label 0 has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gdlnn.datasets.molecules import parse_smiles
from gdlnn.datasets.motifs import CYCLE, HOUSE, preferential_tree
from gdlnn.errors import DatasetError
from gdlnn.graphs import Feature, Graph, GraphDataset, Schema
from gdlnn.graphs.molecules import chem
from gdlnn.graphs.splits import Split

BoolArray = npt.NDArray[np.bool_]
Kind = Literal["molecules", "made"]
Marks = Callable[[Sequence[BoolArray]], tuple[bool, BoolArray]]
"""From where A (and B) are in a graph to whether the rule holds, and which nodes it needs."""
SIZES = (0.7, 0.1, 0.2)
"""Shares of training, validation and test set."""
DECOY_SHARE = 0.9
"""Share of training graphs in which the decoy agrees with the label; in the test set it is one half."""
FLIPPED_SHARE = 0.1
"""Share of training and validation labels that are flipped if labels are noisy."""
CLASSES = {0: "without the rule", 1: "with the rule"}
N_MADE = 1000
"""Number of synthetic graphs for each rule."""


class Planted(NamedTuple):
    """Graphs whose labels follow a rule; ``node_masks`` is the truth, and labels of the test set are true.

    `misled` says per test graph whether the decoy points to the other label; None without a decoy.
    """

    train: GraphDataset
    val: GraphDataset
    test: GraphDataset
    misled: BoolArray | None = None


# --- what makes a rule hold -------------------------------------------------------------------------------


def one(places: Sequence[BoolArray]) -> tuple[bool, BoolArray]:
    """Hold where A is."""
    return bool(places[0].any()), places[0]


def both(places: Sequence[BoolArray]) -> tuple[bool, BoolArray]:
    """Hold where A and B are; both are needed."""
    return bool(places[0].any() and places[1].any()), places[0] | places[1]


def either(places: Sequence[BoolArray]) -> tuple[bool, BoolArray]:
    """Hold where A is, or B, or both."""
    return bool(places[0].any() or places[1].any()), places[0] | places[1]


def but_not(places: Sequence[BoolArray]) -> tuple[bool, BoolArray]:
    """Hold where A is and B is not; the truth is A."""
    return bool(places[0].any() and not places[1].any()), places[0]


@dataclass(frozen=True)
class Rule:
    """A rule that is planted: groups given as SMARTS in molecules, or motifs in graphs that are made.

    `parts` is A, or A and B; `fill` is what else may be in a made graph. A `decoy` agrees with the label in
    most training graphs, and in half of the test graphs; `flipped` is the share of training and validation
    labels that are flipped.
    """

    name: str
    words: str
    kind: Kind
    parts: tuple[str, ...]
    holds: Marks = one
    fill: tuple[str, ...] = ()
    decoy: str | None = None
    flipped: float = 0.0

    @property
    def noiseless(self) -> bool:
        """Whether only the rule correlates with the label."""
        return self.decoy is None and not self.flipped


AMIDE = "C(=O)[NX3]"
HYDROXYL = "[CX4][OX2H]"
AMINE = "[NX3;H0]([CX4])([CX4])[CX4]"
HALIDE = "[#6][F,Cl,Br]"
RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("group", "an amide", "molecules", (AMIDE,)),
        Rule("ring", "a piperidine ring", "molecules", ("N1CCCCC1",)),
        Rule("and", "a tertiary amine and, apart, a halide", "molecules", (AMINE, HALIDE), both),
        Rule("or", "an alcohol or an aryl chloride", "molecules", (HYDROXYL, "cCl"), either),
        Rule("but-not", "an amide but no sulfur", "molecules", (AMIDE, "[#16]"), but_not),
        Rule("decoy", "an alcohol; decoy: bromine", "molecules", (HYDROXYL,), decoy="[Br]"),
        Rule("flipped", "an amide; 10% flipped", "molecules", (AMIDE,), flipped=FLIPPED_SHARE),
        Rule("made-group", "a house", "made", ("house",), fill=("cycle",)),
        Rule("made-ring", "a cycle of five", "made", ("cycle",), fill=("clique",)),
        Rule("made-and", "a house and a cycle", "made", ("house", "cycle"), both),
        Rule("made-or", "a house or a cycle", "made", ("house", "cycle"), either, fill=("clique",)),
        Rule("made-but-not", "a house but no cycle", "made", ("house", "cycle"), but_not, fill=("clique",)),
        Rule("made-decoy", "a house; decoy: a clique of four", "made", ("house",), decoy="clique"),
        Rule("made-flipped", "a house; 10% flipped", "made", ("house",), fill=("cycle",), flipped=0.1),
    )
}
"""All rules by name, in the order of the tables."""


def plant(rule: Rule, seed: int = 0, molecules: GraphDataset | None = None, n_made: int = N_MADE) -> Planted:
    """Label graphs by a rule, and split them into training, validation and test set.

    `molecules`, with their SMILES, are for rules of molecules; `n_made` graphs are made for the others.
    """
    if rule.kind == "made":
        return plant_motifs(rule, n_made, seed)
    if molecules is None or molecules.smiles is None or molecules.reading is None:
        raise DatasetError(f"rule {rule.name!r}: expected molecules with their SMILES, got none")
    return plant_molecules(rule, molecules, seed)


# --- molecules --------------------------------------------------------------------------------------------


def plant_molecules(rule: Rule, molecules: GraphDataset, seed: int = 0) -> Planted:
    """Label molecules by groups in them.

    Left out are isomorphic twins and molecules in which A and B of `both` share an atom. A decoy is an atom
    put in the place of a random hydrogen; molecules that already contain it are left out too.
    """
    rd = chem("Planting rules")
    alone = molecules.drop_duplicates("first")
    assert alone.smiles is not None
    found = [parse_smiles(text)[0] for text in alone.smiles]
    patterns = [rd.MolFromSmarts(smarts) for smarts in rule.parts]
    places = [[_atoms_of(molecule, pattern) for pattern in patterns] for molecule in found]
    keep = np.ones(len(alone), dtype=bool)
    if rule.holds is both:
        keep = np.array([not (a & b).any() for a, b in places])
    if rule.decoy is not None:
        there = rd.MolFromSmarts(rule.decoy)
        free = [any(map(_has_room, molecule.GetAtoms())) for molecule in found]
        keep = np.array(free) & ~np.array([m.HasSubstructMatch(there) for m in found])
    rows = np.flatnonzero(keep).tolist()
    judged = [rule.holds(places[row]) for row in rows]
    labeled = _labeled(
        GraphDataset(
            [alone.graphs[row] for row in rows],
            schema=alone.schema,
            smiles=[alone.smiles[row] for row in rows],
            reading=alone.reading,
        ),
        judged,
        rule,
    )
    parts = labeled.split("stratified", seed, SIZES)
    if rule.decoy is None:
        return _with_flipped(rule, parts, seed)
    return _with_decoys(parts, rule.decoy.strip("[]"), seed)


def _atoms_of(molecule: Any, pattern: Any) -> BoolArray:
    """Return the atoms of all places of a pattern."""
    mask = np.zeros(molecule.GetNumAtoms(), dtype=bool)
    for place in molecule.GetSubstructMatches(pattern, maxMatches=10_000):
        mask[list(place)] = True
    return mask


def _has_room(atom: Any) -> bool:
    return bool(atom.GetSymbol() == "C" and atom.GetTotalNumHs())


def _with_decoys(parts: Split, element: str, seed: int) -> Planted:
    """Put an atom into molecules: correlated with the label in training, not in the test set."""
    rng = np.random.default_rng(seed)
    made = []
    for part, share in zip(parts, (DECOY_SHARE, DECOY_SHARE, 0.5), strict=True):
        got = decoy_rows(np.asarray(part.y), share, rng)
        graphs, masks = list(part.graphs), list(part.node_masks or [])
        smiles = list(part.smiles or [])
        for row in np.flatnonzero(got).tolist():
            molecule = _with_atom(smiles[row], element, rng)
            assert part.reading is not None
            graphs[row] = part.reading.graph(molecule, schema=part.schema, name=graphs[row].name)
            masks[row] = np.append(np.asarray(masks[row]), values=False)
            smiles[row] = chem("Planting decoys").MolToSmiles(molecule)
        known: dict[str, Any] = {"node_masks": masks, "smiles": smiles, "reading": part.reading}
        made.append(GraphDataset(graphs, part.y, part.schema, part.name, **known))
    train, val, test = made
    return Planted(train, val, test, got != (np.asarray(test.y) == 1))


def _with_atom(smiles: str, element: str, rng: np.random.Generator) -> Any:
    """Return a molecule with an atom, its last one, in the place of a hydrogen of a random carbon."""
    rd = chem("Planting decoys")
    molecule = rd.RWMol(parse_smiles(smiles)[0])
    carbon = rng.choice([atom.GetIdx() for atom in molecule.GetAtoms() if _has_room(atom)])
    atom = molecule.GetAtomWithIdx(int(carbon))
    if atom.GetNumExplicitHs():  # one that is written in brackets; the others follow from the valence
        atom.SetNumExplicitHs(atom.GetNumExplicitHs() - 1)
    molecule.AddBond(int(carbon), molecule.AddAtom(rd.Atom(element)), rd.BondType.SINGLE)
    rd.SanitizeMol(molecule)
    return molecule.GetMol()


def decoy_rows(y: npt.NDArray[Any], share: float, rng: np.random.Generator) -> BoolArray:
    """Return which graphs get the decoy, so that it agrees with the label in a share of each class."""
    got = np.zeros(len(y), dtype=bool)
    for label in (0, 1):
        rows = rng.permutation(np.flatnonzero(y == label))
        n_agree = round(share * len(rows))
        got[rows[:n_agree] if label else rows[n_agree:]] = True
    return got


# --- made graphs ------------------------------------------------------------------------------------------

CLIQUE = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
STAR = ((0, 1), (0, 2), (0, 3), (0, 4))
MOTIFS: Mapping[str, tuple[tuple[int, int], ...]] = {
    "house": HOUSE,
    "cycle": CYCLE,
    "clique": CLIQUE,
    "star": STAR,
}
MADE_SCHEMA = Schema(node=(Feature("degree", "ordinal"),), classes=CLASSES)


def plant_motifs(rule: Rule, n: int, seed: int = 0) -> Planted:
    """Generate graphs: a random tree and two motifs, or stars in their place, each joined by one edge.

    Half of the graphs follow the rule. Irrelevant parts are drawn alike for both labels. Nodes are
    renumbered at random; the node feature is the degree.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    parts = np.array(["train", "val", "test"])[rng.choice(3, n, p=SIZES)]
    got = np.zeros(n, dtype=bool)
    for part in ("train", "val", "test"):
        rows = np.flatnonzero(parts == part)
        got[rows] = decoy_rows(y[rows], 0.5 if part == "test" else DECOY_SHARE, rng)
    made, judged = [], []
    for row in range(n):
        if rule.decoy is not None:
            motifs = ["house" if y[row] else "star", rule.decoy if got[row] else "star"]
        else:
            drawn = contents(rule, bool(y[row]))
            motifs = list(drawn[int(rng.integers(len(drawn)))])
        graph, where = _made_graph(motifs, rng, f"{rule.name}/{row}")
        made.append(graph)
        marks = [_union(where, motifs, part, graph.n_nodes) for part in rule.parts]
        judged.append(rule.holds(marks))
    data = _labeled(GraphDataset(made, schema=MADE_SCHEMA), judged, rule)
    split = Split(*(data.take(np.flatnonzero(parts == part)) for part in ("train", "val", "test")))
    if rule.decoy is None:
        return _with_flipped(rule, split, seed)
    misled = (got != (y == 1))[parts == "test"]
    return Planted(*split, misled)


def contents(rule: Rule, label: bool) -> list[tuple[str, str]]:
    """Return the pairs of motifs that a synthetic graph of a label may have."""
    known = dict.fromkeys((*rule.parts, *rule.fill, "star"))
    pairs = [(a, b) for a in known for b in known if a <= b and (a != b or a == "star")]
    marks = {name: np.array([name == part for part in rule.parts]) for name in known}
    return [
        pair
        for pair in pairs
        if rule.holds([np.array([marks[name][i] for name in pair]) for i in range(len(rule.parts))])[0]
        == label
    ]


def _made_graph(
    motifs: Sequence[str], rng: np.random.Generator, name: str
) -> tuple[Graph, list[npt.NDArray[np.int64]]]:
    """Return a tree with motifs joined to it, and the nodes of each motif."""
    n_base = int(rng.integers(12, 21))
    blocks, places, n_nodes = [preferential_tree(rng, n_base)], [], n_base
    for motif in motifs:
        edges = np.array(MOTIFS[motif])
        size = int(edges.max()) + 1
        bridge = [[int(rng.integers(n_base)), n_nodes + int(rng.integers(size))]]
        blocks += [edges + n_nodes, np.array(bridge)]
        places.append(np.arange(n_nodes, n_nodes + size))
        n_nodes += size
    number = rng.permutation(n_nodes)
    edges = np.sort(number[np.concatenate(blocks)], axis=1)
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    degree = np.bincount(edges.reshape(-1), minlength=n_nodes).astype(np.float64)
    graph = Graph(degree[:, None], edges, schema=MADE_SCHEMA, name=name)
    return graph, [number[place] for place in places]


def _union(
    where: Sequence[npt.NDArray[np.int64]], motifs: Sequence[str], part: str, n_nodes: int
) -> BoolArray:
    mask = np.zeros(n_nodes, dtype=bool)
    for nodes, motif in zip(where, motifs, strict=True):
        if motif == part:
            mask[nodes] = True
    return mask


def renumbered(data: GraphDataset, seed: int) -> GraphDataset:
    """Return graphs and truths with the nodes in random order, so that indices carry no information."""
    rng = np.random.default_rng(seed)
    graphs, masks = [], []
    for graph, mask in zip(data.graphs, data.node_masks or [None] * len(data), strict=True):
        place = rng.permutation(graph.n_nodes)
        back, edges = np.argsort(place), place[graph.edges]
        whole: dict[str, Any] = {"directed": graph.directed, "schema": graph.schema, "name": graph.name}
        graphs.append(Graph(graph.node_features[back], edges, graph.edge_features, **whole))
        masks.append(None if mask is None else mask[back])
    return GraphDataset(graphs, data.y, data.schema, data.name, node_masks=masks)


# --- labels -----------------------------------------------------------------------------------------------


def _labeled(data: GraphDataset, judged: Sequence[tuple[bool, BoolArray]], rule: Rule) -> GraphDataset:
    """Return a dataset with the labels and truths of a rule."""
    schema = replace(data.schema or Schema(), classes=CLASSES)
    return GraphDataset(
        [
            Graph._trusted(g.node_features, g.edges, g.edge_features, g.directed, schema, g.name)
            for g in data.graphs
        ],
        np.array([int(holds) for holds, _ in judged]),
        schema,
        f"rule:{rule.name}",
        smiles=data.smiles,
        node_masks=[mask if holds else np.zeros_like(mask) for holds, mask in judged],
        reading=data.reading,
    )


def _with_flipped(rule: Rule, parts: Split, seed: int) -> Planted:
    """Flip a share of the training and validation labels; the test labels stay true."""
    rng = np.random.default_rng(seed)
    if rule.flipped:
        for part in (parts.train, parts.val):
            assert part.y is not None
            rows = rng.permutation(len(part))[: round(rule.flipped * len(part))]
            part.y = part.y.copy()
            part.y[rows] = 1 - part.y[rows]
    return Planted(*parts)
