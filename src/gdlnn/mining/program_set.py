"""MinedProgram and ProgramSet: the results of mining. `program_files` reads and writes their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

from gdlnn.errors import GraphError, MiningError, MissingExtraError, ProgramError, printable
from gdlnn.gdl.atoms import is_chemical
from gdlnn.gdl.program import ANY
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Schema
from gdlnn.graphs.identity import fingerprint
from gdlnn.graphs.molecules import chem, graph_molecule, without_messages
from gdlnn.graphs.structure import n_structure_features
from gdlnn.io.atomic import atomic_write
from gdlnn.mining.settings import whole
from gdlnn.progress import stage_done

if TYPE_CHECKING:
    import os

    from gdlnn.gdl.program import Program
    from gdlnn.graphs import Graph, GraphDataset
    from gdlnn.io.frames import Columns

MOST_SHOWN = 20
"""Number of programs shown in a notebook."""
N_BEST = 5
"""How many of the best programs a summary lists."""
TRIED = 20
"""The smallest of this many matched molecules is the one to draw a program on."""
WORDS = 240
"""Maximum length of the description of a program in a file or a summary, in characters."""
Labels = tuple[list[Any], npt.NDArray[np.int32]]
"""The distinct labels, in order, and the number of each graph's label."""
FloatArray = npt.NDArray[np.float64]


class Example(NamedTuple):
    """A molecule that a program matches: its SMILES, and the atom of each variable."""

    smiles: str
    atoms: tuple[int, ...]


@dataclass(frozen=True)
class MinedProgram:
    """A program with its label and score.

    Attributes
    ----------
    program
        The program, in canonical form.
    label
        The label of the graphs it was mined for; None for a program that was found without labels.
    score
        Matched graphs of the label over all matched graphs plus ε; 0 without a label.
    n_matched
        How many graphs of the dataset it matches; `ProgramSet.supports` has which.
    complete
        Whether the support is certain: False if a search ran out of budget, which counts as no match.
    example
        A molecule on which to draw the program, see `ProgramSet.with_examples`.
    """

    program: Program
    label: Any
    score: float
    n_matched: int
    complete: bool = True
    example: Example | None = None


@dataclass(frozen=True)
class SetInfo:
    """What a set of programs was mined from and how.

    Attributes
    ----------
    label_counts
        The labels of the dataset, in order, and how many graphs have each.
    settings
        The parameters of the call that decide its result.
    fingerprint
        Hash of the data.
    complete
        False where mining was stopped before every target was done.
    """

    n_graphs: int
    label_counts: tuple[tuple[Any, int], ...]
    directed: bool
    n_node_features: int
    n_edge_features: int
    settings: dict[str, Any]
    dataset: str = ""
    fingerprint: str = ""
    complete: bool = True
    schema: Schema | None = None

    @classmethod
    def of(
        cls, dataset: GraphDataset, settings: dict[str, Any], labels: Labels | None, complete: bool = True
    ) -> SetInfo:
        """Describe a dataset and how programs were found in it; `labels` are what `checked_labels` gave."""
        names, codes = labels or ([], np.zeros(0, dtype=np.int32))
        return cls(
            n_graphs=len(dataset),
            label_counts=tuple(zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True)),
            directed=dataset.directed,
            n_node_features=dataset.n_node_features,
            n_edge_features=dataset.n_edge_features,
            settings=settings,
            dataset=dataset.name,
            fingerprint=fingerprint(dataset.graphs, *([] if labels is None else [codes])),
            complete=complete,
            schema=dataset.schema,
        )


class ProgramSet(Sequence[MinedProgram]):
    """Mined programs in the order of their first targets, with information about the data and the call.

    A sequence: a slice, `top` and `filter` give a smaller set with the same information about the data.

    Parameters
    ----------
    items
        The programs.
    supports
        Graphs × programs: 1 where a program matches a graph of the dataset.
    info
        What they were mined from and how.
    stopped_by
        "time limit" or "interrupt" if mining stopped early, else None.

    Attributes
    ----------
    stats
        What `mine` took: "tasks" (descents), "tests" (of a program on a graph), "unknown" (tests that ran out
        of budget), "descent_seconds", "cpu_seconds" and "wall_seconds". Not saved.
    """

    def __init__(
        self,
        items: Iterable[MinedProgram],
        supports: csc_array,
        info: SetInfo,
        stopped_by: str | None = None,
    ) -> None:
        if n_structure_features(info.schema):  # so that programs can be matched with graphs that lack them
            items = [replace(item, program=item.program.with_schema(info.schema)) for item in items]
        self._items = tuple(items)
        self.supports = supports
        self.info = info
        self.stats: dict[str, float] = {}
        self.stopped_by = stopped_by

    # --- a sequence ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, key: int) -> MinedProgram: ...
    @overload
    def __getitem__(self, key: slice) -> ProgramSet: ...
    def __getitem__(self, key: int | slice) -> MinedProgram | ProgramSet:
        return self.take(np.arange(len(self))[key]) if isinstance(key, slice) else self._items[key]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ProgramSet):
            return NotImplemented
        same = self._items == other._items and self.info == other.info
        return same and (self.supports != other.supports).nnz == 0

    __hash__ = None  # type: ignore[assignment]

    # --- columns ------------------------------------------------------------------------------------------

    @property
    def programs(self) -> list[Program]:
        """The programs without labels and scores."""
        return [item.program for item in self._items]

    @property
    def labels(self) -> list[Any]:
        """The label of each program."""
        return [item.label for item in self._items]

    @property
    def scores(self) -> FloatArray:
        """The score of each program."""
        return np.array([item.score for item in self._items], dtype=np.float64)

    @property
    def frequencies(self) -> FloatArray:
        """The share of the graphs that each program matches."""
        return np.asarray(np.diff(self.supports.indptr) / self.info.n_graphs)

    @property
    def complete(self) -> bool:
        """Whether every target was mined; False if mining was stopped."""
        return self.info.complete

    @property
    def schema(self) -> Schema | None:
        """The names of the features and classes."""
        return self.info.schema

    # --- choosing -----------------------------------------------------------------------------------------

    def take(self, columns: npt.ArrayLike) -> ProgramSet:
        """Return the programs with the given indices, in the given order."""
        chosen = np.asarray(columns, dtype=np.int64)
        items = [self._items[i] for i in chosen.tolist()]
        return ProgramSet(items, self.supports[:, chosen], self.info, self.stopped_by)

    def ranked(self) -> ProgramSet:
        """Return the programs from best to worst: by score, then by support, then in the order of targets."""
        order = sorted(range(len(self)), key=lambda i: (-self._items[i].score, -self._items[i].n_matched, i))
        return self.take(order)

    def top(self, k: float, per_label: bool = False) -> ProgramSet:
        """Return the k best programs, or all if there are fewer.

        Parameters
        ----------
        k
            A number of programs, or, as a float up to 1, a fraction of the training graphs (at least one
            program).
        per_label
            Take the k best of each label; a fraction is then one of the graphs of that label. The result
            stays ranked as a whole.
        """
        ranked = self.ranked()
        if not per_label:
            return ranked[: _number_of(k, self.info.n_graphs)]
        left = {label: _number_of(k, count) for label, count in self.info.label_counts}
        chosen = []
        for i, item in enumerate(ranked):
            if left.get(item.label, 0) > 0:
                left[item.label] -= 1
                chosen.append(i)
        return ranked.take(chosen)

    def filter(self, min_support: int = 1) -> ProgramSet:
        """Keep the programs that match at least this many training graphs."""
        least = whole("min_support", min_support, 0)
        return self.take([i for i, item in enumerate(self._items) if item.n_matched >= least])

    # --- showing ------------------------------------------------------------------------------------------

    def with_examples(self, dataset: GraphDataset) -> ProgramSet:
        """Return the programs, each with a molecule on which to draw it if the dataset has molecules.

        The example is the smallest of the first molecules that the program matches.

        Parameters
        ----------
        dataset
            The graphs that the programs were found in.
        """
        graphs = dataset.graphs

        @cache
        def molecule(row: int) -> tuple[str, list[int]] | None:
            try:
                return _as_smiles(graphs[row]) if is_chemical(graphs[row].schema) else None
            except (GraphError, MissingExtraError):  # another molecule may do
                return None

        items = []
        for item, rows in zip(self, matched_rows(self.supports), strict=True):
            example = item.example
            for row in sorted(rows[:TRIED].tolist(), key=lambda row: (graphs[row].n_nodes, row)):
                written = molecule(row) if example is None else None
                if written is not None and (witness := item.program.find(graphs[row])) is not None:
                    smiles, order = written
                    example = Example(smiles, tuple(order.index(witness[v]) for v in item.program.variables))
            items.append(replace(item, example=example))
            stage_done(len(items), len(self))
        return ProgramSet(items, self.supports, self.info, self.stopped_by)

    def _columns(self) -> Columns:
        """Return the columns of the table, a row per program; SMARTS where there is an exact one."""
        schema = self.schema
        found: Columns = {
            "program": [self._words(item) for item in self],
            "label": self.labels,
            "score": self.scores.tolist(),
            "n_matched": [item.n_matched for item in self],
            "n_nodes": [len(item.program.nodes) for item in self],
        }
        if schema is not None and schema.domain == "molecule":
            found["smarts"] = [_smarts(item.program, schema) for item in self]
        return found | {"gdl": [str(item.program) for item in self]}

    def _words(self, item: MinedProgram) -> str:
        return item.program.describe(self.schema, directed=self.info.directed)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per program: words, label, score, support, SMARTS, GDL."""
        from gdlnn.io.frames import data_frame

        return data_frame(self._columns())

    def _repr_html_(self) -> str:
        from gdlnn.io.frames import html_table

        shown = self.ranked()[:MOST_SHOWN]._columns()
        del shown["gdl"]
        return html_table(shown, repr(self).strip("<>"))

    def summary(self) -> str:
        """Return a few lines: the number of programs of each label, and the best programs."""
        info, schema = self.info, self.schema or Schema()
        of = f" of {info.dataset}" if info.dataset else ""
        state = "" if self.complete else f", incomplete: stopped by {self.stopped_by or 'hand'}"
        lines = [f"{len(self)} programs from {info.n_graphs} graphs{of}{state}"]
        counts = Counter(self.labels)
        for label, n_graphs in info.label_counts if len(self) > counts[None] else ():
            lines.append(f"  {schema.class_name(label)}: {counts[label]} programs for {n_graphs} graphs")
        for rank, item in enumerate(self.ranked()[:N_BEST], start=1):
            score = "" if item.label is None else f"{schema.class_name(item.label)}, score {item.score:.4f}, "
            lines.append(f"  {rank}. {score}{item.n_matched} graphs: {shortened(self._words(item), WORDS)}")
        return printable("\n".join(lines))

    def __repr__(self) -> str:
        name = f" of {self.info.dataset!r}" if self.info.dataset else ""
        stopped = "" if self.complete else "; incomplete"
        return f"<ProgramSet{name}: {len(self)} programs from {self.info.n_graphs} graphs{stopped}>"

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write lines of JSON that people can read, complete or not at all. Equal sets give equal bytes."""
        with atomic_write(Path(path)) as file:
            file.write(self.to_text().encode())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ProgramSet:
        """Read what `save` wrote."""
        name = Path(path).name
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (
            OSError,
            ValueError,
        ) as error:  # other bytes than UTF-8, and a path with a NUL, are ValueErrors
            raise MiningError(
                f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}"
            ) from error
        return ProgramSet.from_text(text, name)

    def to_text(self) -> str:
        """Return what `save` writes."""
        from gdlnn.mining.program_files import to_text

        return to_text(self)

    @staticmethod
    def from_text(text: str, where: str = "programs") -> ProgramSet:
        """Read what `to_text` gave; `where` names the text in errors."""
        from gdlnn.mining.program_files import from_text

        return from_text(text, where)


def _number_of(k: float, n_graphs: int) -> int:
    if isinstance(k, int | np.integer) and not isinstance(k, bool):
        return whole("k", k, 0)
    if not isinstance(k, float | np.floating) or not 0 < k <= 1:
        raise MiningError(f"top: k: expected a number of programs or a fraction of at most 1, got {k!r}")
    return max(1, int(k * n_graphs + 1e-9))


def _smarts(program: Program, schema: Schema) -> str | None:
    try:
        return program.to_smarts(schema)
    except ProgramError:
        return None


# --- supports ---------------------------------------------------------------------------------------------


def support_matrix(rows: Sequence[npt.NDArray[np.integer[Any]]], n_graphs: int) -> csc_array:
    """Return graphs × programs with ones in the given rows of each program, which are sorted."""
    start = np.cumsum([0, *map(len, rows)]).astype(np.int32)  # scikit-learn's trees take no other indices
    indices = np.concatenate([*rows, np.zeros(0, dtype=np.int32)]).astype(np.int32)
    return csc_array((np.ones(len(indices), dtype=np.float32), indices, start), shape=(n_graphs, len(rows)))


def matched_rows(supports: csc_array) -> list[npt.NDArray[np.int32]]:
    """Return the rows of the graphs that each program matches."""
    return list(np.split(supports.indices, supports.indptr[1:-1])[: supports.shape[1]])


def support_keys(supports: csc_array) -> list[bytes]:
    """Return a key for each program that is equal for programs that match the same graphs."""
    return [rows.tobytes() for rows in matched_rows(supports)]


def smallest_of_equals(programs: Sequence[Program], supports: csc_array) -> list[int]:
    """Return the indices of the programs to read per support, each in the place of the first with it.

    That is the smaller one, then the one with fewer conditions.
    """

    def size(i: int) -> tuple[int, int, int]:
        given = [part.intervals or () for part in programs[i].nodes]
        given += [part.intervals or () for part in programs[i].edges]
        n_conditions = sum(interval != ANY for intervals in given for interval in intervals)
        return len(programs[i].nodes), len(programs[i].edges), n_conditions

    chosen: dict[bytes, int] = {}
    for i, key in enumerate(support_keys(supports)):
        best = chosen.setdefault(key, i)
        if best != i and size(i) < size(best):
            chosen[key] = i
    return list(chosen.values())


# --- molecules to draw programs on ------------------------------------------------------------------------


def _as_smiles(graph: Graph) -> tuple[str, list[int]]:
    """Return the molecule of a graph as SMILES, and its nodes in the order of the atoms there."""
    rd = chem("Drawing a molecule")
    molecule = graph_molecule(graph)
    if graph.schema is not None and all(feature.name != "charge" for feature in graph.schema.node):
        _charge_nitro(molecule)
    with without_messages("Drawing a molecule"):
        try:
            rd.SanitizeMol(molecule)
        except (RuntimeError, ValueError) as error:
            raise GraphError(f"RDKit cannot sanitise this molecule: {error}") from error
    smiles = rd.MolToSmiles(molecule)
    return str(smiles), list(molecule.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])


def _charge_nitro(molecule: Any) -> None:
    """Put charges on nitro groups of graphs without charges, where nitrogen has four bonds."""
    for atom in molecule.GetAtoms():
        if atom.GetSymbol() != "N" or sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) != 4:
            continue
        atom.SetFormalCharge(1)
        for bond in atom.GetBonds():
            other = bond.GetOtherAtom(atom)
            if other.GetSymbol() == "O" and other.GetDegree() == 1 and bond.GetBondTypeAsDouble() == 1:
                other.SetFormalCharge(-1)
                break
