"""What a plan of thousands of programs is worth: rates compared with single searches, RDKit and igraph.

A vocabulary is what a default model asks: the neighborhoods of a dataset. All on one thread, in CPU time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks._measuring import least
from gdlnn import Graph, Program, _core, load_dataset
from gdlnn.errors import ProgramError
from gdlnn.gdl.matching import NO_BUDGET, fitted_batch
from gdlnn.graphs.arrays import GraphSet
from gdlnn.matching import ProgramPlan
from gdlnn.mining import neighborhoods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import GraphDataset

PARTS = ("screens", "containment", "twins")
N_SINGLE = 200  # graphs that single searches are asked about
N_SMARTS = 200
N_PLANS = 100


class VocabularyCase(NamedTuple):
    """The programs of a default model on the graphs they come from."""

    name: str
    data: GraphDataset
    programs: list[Program]
    graphs: GraphSet

    @property
    def n_pairs(self) -> int:
        """Number of programs times number of graphs."""
        return len(self.programs) * len(self.graphs)

    def sample(self, n: int) -> GraphSet:
        """Return some of the graphs, always the same."""
        rows = np.random.default_rng(0).permutation(len(self.graphs))[:n]
        return GraphSet([self.graphs.graphs[i] for i in rows.tolist()])


def load_vocabulary(name: str) -> VocabularyCase:
    """Find the neighborhoods of a dataset."""
    data = load_dataset(name, download=False)
    found = neighborhoods(data)
    schema = found.info.schema
    if schema is not None and len(schema.node) > data.n_node_features:
        data = data.with_structure()
    return VocabularyCase(name, data, list(found.programs), GraphSet(data.graphs))


def plan_rate(case: VocabularyCase, **parts: bool) -> float:
    """Return the pairs a CPU second of a plan, with some parts of it switched off."""
    plan = _core.Plan(fitted_batch(case.programs, case.graphs), case.data.directed, **parts)
    return case.n_pairs / least(lambda: plan.match(*case.graphs.arrays, NO_BUDGET, 1), 9)


def separate_rate(case: VocabularyCase) -> float:
    """Return the pairs a CPU second of plans of one program each: nothing is shared."""
    some = np.random.default_rng(0).permutation(len(case.programs))[:N_PLANS].tolist()
    graphs = case.sample(N_SINGLE)
    plans = [ProgramPlan([case.programs[i]], graphs) for i in some]
    seconds = least(lambda: [plan.match(graphs) for plan in plans], 3)
    return len(some) * len(graphs) / seconds


def single_rate(case: VocabularyCase) -> float:
    """Return the pairs a CPU second of one search for each pair, on a sample of the graphs; checked."""
    graphs = case.sample(N_SINGLE)
    batch = fitted_batch(case.programs, graphs)
    answers = _core.exists(graphs.native, batch, NO_BUDGET, 1)
    if not np.array_equal(answers == 1, ProgramPlan(case.programs, graphs).match(graphs).table()):
        raise AssertionError(f"{case.name}: the plan and single searches differ")
    seconds = least(lambda: _core.exists(graphs.native, batch, NO_BUDGET, 1), 2)
    return len(case.programs) * len(graphs) / seconds


class SmartsRates(NamedTuple):
    """RDKit's pairs a CPU second and ours, on the same programs and molecules."""

    rdkit: float
    ours: float
    n_programs: int
    n_different: int


def smarts_rates(case: VocabularyCase) -> SmartsRates:
    """Ask RDKit's substructure library for a sample of the programs that have an exact SMARTS."""
    from rdkit import Chem, rdBase
    from rdkit.Chem import rdSubstructLibrary

    rdBase.DisableLog("rdApp.*")
    assert case.data.schema is not None
    assert case.data.smiles is not None
    patterns, programs = [], []
    for i in np.random.default_rng(0).permutation(len(case.programs)).tolist():
        try:
            pattern = Chem.MolFromSmarts(case.programs[i].to_smarts(case.data.schema))
        except ProgramError:
            continue
        patterns.append(pattern)
        programs.append(case.programs[i])
        if len(patterns) == N_SMARTS:
            break
    molecules = rdSubstructLibrary.MolHolder()
    screens = rdSubstructLibrary.PatternHolder()
    for smiles in case.data.smiles:
        molecule = Chem.MolFromSmiles(smiles)
        molecules.AddMol(molecule)
        screens.AddMol(molecule)
    library = rdSubstructLibrary.SubstructLibrary(molecules, screens)
    counts: list[int] = []

    def ask() -> None:
        counts[:] = [library.CountMatches(pattern, numThreads=1) for pattern in patterns]

    theirs = least(ask, 2)
    plan = ProgramPlan(programs, case.graphs)
    found = plan.match(case.graphs).table().sum(axis=0).tolist()
    ours = least(lambda: plan.match(case.graphs), 9)
    pairs = len(programs) * len(case.graphs)
    different = sum(a != b for a, b in zip(counts, found, strict=True))
    return SmartsRates(pairs / theirs, pairs / ours, len(programs), different)


def text_size(programs: Sequence[Program]) -> int:
    """Return the bytes of programs as text."""
    return sum(len(str(program)) for program in programs)


def sampled_table(case: VocabularyCase, n_programs: int = 400, n_graphs: int = 200) -> Any:
    """Return a sample of programs and graphs with our answers, in the form of a truth table."""
    from benchmarks._matchers import TruthTable

    chosen = np.random.default_rng(0).permutation(len(case.programs))[:n_programs].tolist()
    programs = [case.programs[i] for i in chosen]
    graphs: list[Graph] = list(case.sample(n_graphs).graphs)
    encoded = GraphSet(graphs)
    return TruthTable(programs, graphs, ProgramPlan(programs, encoded).match(encoded).table())
