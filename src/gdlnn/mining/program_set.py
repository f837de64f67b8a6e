"""MinedProgram and ProgramSet: the results of mining. `program_text` reads and writes their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array

from gdlnn.errors import MiningError
from gdlnn.gdl.program import ANY
from gdlnn.graphs.identity import fingerprint
from gdlnn.graphs.structure import n_structure_features
from gdlnn.io.atomic import atomic_write
from gdlnn.mining.settings import whole
from gdlnn.version import package_version

if TYPE_CHECKING:
    import os

    from gdlnn.gdl.program import Program
    from gdlnn.graphs import GraphDataset, Schema

MOST_SHOWN = 20
"""Number of programs shown in a notebook."""
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Example(NamedTuple):
    """A molecule that a program matches: its SMILES, and the atom of each variable."""

    smiles: str
    atoms: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class MinedProgram:
    """A program with its label, score and origin.

    Attributes
    ----------
    program
        The program, in canonical form.
    label
        The label of its targets, as in the dataset; None for a program that was found without labels.
    score
        Matched graphs of the label over all matched graphs plus ε; 0 without a label.
    n_matched
        How many graphs of the dataset it matches; `ProgramSet.supports` has which.
    targets
        Rows of the graphs it was found in, sorted.
    steps
        Mutations between the first of them and the program.
    complete
        Whether the support is certain: False if a search ran out of budget, which counts as no match.
    example
        A molecule on which to draw the program, see `ProgramSet.with_examples`.
    """

    program: Program
    label: Any
    score: float
    n_matched: int
    targets: IntArray
    steps: int
    complete: bool = True
    example: Example | None = None

    def _values(self) -> dict[str, Any]:
        return {**vars(self), "targets": self.targets.tolist()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MinedProgram) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.program, self.label, self.score))


@dataclass(frozen=True)
class MiningStats:
    """The cost of mining; not saved to files, since it differs from run to run.

    Attributes
    ----------
    tasks
        Descents done.
    tests
        Number of program-graph tests.
    unknown
        Tests whose search ran out of budget.
    descent_seconds
        CPU time of the descents, wherever and whenever they ran.
    cpu_seconds, wall_seconds
        Time of this call in this process.
    """

    tasks: int = 0
    tests: int = 0
    unknown: int = 0
    descent_seconds: float = 0.0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0


@dataclass(frozen=True)
class SetInfo:
    """What a set of programs was mined from and how.

    Attributes
    ----------
    label_counts
        The labels of the dataset, in order, and how many graphs have each.
    settings
        The parameters of the call that decide its result.
    n_targets
        Number of graphs to mine.
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
    n_targets: int
    dataset: str = ""
    fingerprint: str = ""
    version: str = ""
    complete: bool = True
    schema: Schema | None = None

    @classmethod
    def of(
        cls,
        dataset: GraphDataset,
        labels: Sequence[Any],
        codes: npt.NDArray[np.int32] | None,
        settings: dict[str, Any],
        *,
        n_targets: int,
        complete: bool = True,
    ) -> SetInfo:
        """Describe a dataset and how programs were found in it.

        `labels` are the distinct labels in order, `codes` the number of each graph's label, None without any.
        """
        counts = [] if codes is None else np.bincount(codes, minlength=len(labels)).tolist()
        return cls(
            n_graphs=len(dataset),
            label_counts=tuple(zip(labels, counts, strict=True)),
            directed=dataset.directed,
            n_node_features=dataset.n_node_features,
            n_edge_features=dataset.n_edge_features,
            settings=settings,
            n_targets=n_targets,
            dataset=dataset.name,
            fingerprint=fingerprint(dataset.graphs, *([] if codes is None else [codes])),
            version=package_version(),
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
    stats
        What mining took.
    stopped_by
        "time limit" or "interrupt" if mining stopped early, else None.
    """

    def __init__(
        self,
        items: Iterable[MinedProgram],
        supports: csc_array,
        info: SetInfo,
        stats: MiningStats | None = None,
        stopped_by: str | None = None,
    ) -> None:
        if n_structure_features(info.schema):  # so that programs can be matched with graphs that lack them
            items = [replace(item, program=item.program.with_schema(info.schema)) for item in items]
        self._items = tuple(items)
        self.supports = supports
        self.info = info
        self.stats = stats or MiningStats()
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
        return ProgramSet(items, self.supports[:, chosen], self.info, self.stats, self.stopped_by)

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
        """Return the programs with a molecule on which to draw each; without molecules, the set itself.

        The example is the smallest of the first molecules that the program matches.

        Parameters
        ----------
        dataset
            The graphs that the programs were found in.
        """
        from gdlnn.mining.program_text import find_examples

        if self.info.n_graphs != len(dataset):
            raise MiningError(
                f"with_examples: expected the {self.info.n_graphs} graphs mined from, got {len(dataset)}"
            )
        items = find_examples(self, dataset.graphs)
        return ProgramSet(items, self.supports, self.info, self.stats, self.stopped_by)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a row per program: words, label, score, support, SMARTS, GDL."""
        from gdlnn.io.frames import data_frame
        from gdlnn.mining.program_text import columns

        return data_frame(columns(self))

    def _repr_html_(self) -> str:
        from gdlnn.io.frames import html_table
        from gdlnn.mining.program_text import columns

        shown = {
            name: values for name, values in columns(self.ranked()[:MOST_SHOWN]).items() if name != "gdl"
        }
        return html_table(shown, repr(self).strip("<>"))

    def summary(self) -> str:
        """Return a few lines: the number of programs of each label, and the best programs."""
        from gdlnn.mining.program_text import summary

        return summary(self)

    def __repr__(self) -> str:
        name = f" of {self.info.dataset!r}" if self.info.dataset else ""
        counts = Counter(self.labels)
        parts = [f"{counts[label]} for {label!r}" for label, _ in self.info.label_counts if counts[label]]
        per_label = ", ".join([*parts, *([f"{counts[None]} without a label"] if counts[None] else [])])
        stopped = "" if self.complete else "; incomplete"
        return f"<ProgramSet{name}: {len(self)} programs ({per_label}){stopped}>"

    # --- files --------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a readable ``.gdl`` file; it appears when it is complete. Equal sets give equal bytes."""
        with atomic_write(Path(path)) as file:
            file.write(self.to_text().encode())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ProgramSet:
        """Read what `save` wrote."""
        name = Path(path).name
        try:
            text = Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise MiningError(
                f"{name}: expected GDL text in UTF-8, got other bytes at {error.start}"
            ) from error
        except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
            problem = getattr(error, "strerror", None) or error
            raise MiningError(f"{name}: cannot be read: {problem}") from error
        return ProgramSet.from_text(text, name)

    def to_text(self) -> str:
        """Return what `save` writes."""
        from gdlnn.mining.program_text import to_text

        return to_text(self)

    @staticmethod
    def from_text(text: str, where: str = "programs") -> ProgramSet:
        """Read what `to_text` gave; `where` names the text in errors."""
        from gdlnn.mining.program_text import from_text

        return from_text(text, where)


def _number_of(k: float, n_graphs: int) -> int:
    if isinstance(k, bool | np.bool_) or not isinstance(k, int | float | np.integer | np.floating):
        raise MiningError(f"top: k: expected a number of programs or a fraction, got {k!r}")
    if isinstance(k, int | np.integer):
        if k < 0:
            raise MiningError(f"top: k: expected a number of at least 0, got {k}")
        return int(k)
    if not 0 < k <= 1:
        raise MiningError(f"top: k: expected a fraction above 0 and at most 1, got {k}")
    return max(1, int(k * n_graphs + 1e-9))


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
