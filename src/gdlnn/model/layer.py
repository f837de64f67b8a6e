"""GDLTransformer: the GDL layer as a scikit-learn transformer, from graphs to one column per program."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from gdlnn.errors import ModelError
from gdlnn.gdl.program import Program
from gdlnn.graphs import GraphDataset
from gdlnn.graphs.structure import fill_structure, given_schema, structure_is_wanted
from gdlnn.matching import ProgramPlan, as_graph_set
from gdlnn.mining import MinedProgram, ProgramSet
from gdlnn.mining.settings import FINAL_BUDGET
from gdlnn.model.base import BaseEstimator, TransformerMixin
from gdlnn.model.inputs import Conversion, as_graphs, as_labeled, check_fits
from gdlnn.model.pooling import PooledFeatures
from gdlnn.model.quantities import MISSING, Quantities
from gdlnn.model.vocabulary import Mined, RunOptions, Vocabulary, make_sources, union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gdlnn.graphs import Graph
    from gdlnn.matching import GraphSet
    from gdlnn.mining.program_set import SetInfo
    from gdlnn.model.inputs import GraphsLike

Activation = Literal["exists", "count", "log_count"]
FloatArray = npt.NDArray[np.float64]
logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class GDLTransformer(TransformerMixin, BaseEstimator):
    """Turn graphs into features: one column per program.

    Parameters
    ----------
    programs
        A ProgramSet, or a list of programs. None: `fit` finds them by `vocabulary`, and takes SMILES and
        graphs of other libraries too.
    activation
        "exists": 1 where the program matches, else 0; "count": the number of its places, which are different
        subgraphs, at most `MOST_WITNESSES`; "log_count": the logarithm of one more than that.
    pooled, properties
        Append pooled node and edge features and sizes, see `PooledFeatures`; and properties of molecules.
    ignore
        Features that are not pooled.
    quantities
        Append the largest and smallest values of quantities, see `Quantities`.
    n_jobs
        Number of threads; -1 for all CPU cores.
    step_budget
        Maximum steps of one search; None for no limit. A search that runs out counts as no match.
    vocabulary
        Where programs come from if none are given, as in `GDLNNClassifier`.

    Attributes
    ----------
    programs_
        The programs, one per column.
    pooled_, quantities_
        The fitted `PooledFeatures` and `Quantities`, or None.
    medians_
        Inside a model, the medians of pooled features in training, which explanations start from.
    """

    programs: ProgramSet | Sequence[Program] | None = None
    activation: Activation = "exists"
    pooled: bool = False
    properties: bool = False
    quantities: bool = False
    ignore: Sequence[str] = ()
    n_jobs: int | None = 1
    step_budget: int | None = FINAL_BUDGET
    vocabulary: Vocabulary = "auto"

    def fit(self, X: GraphsLike, y: npt.ArrayLike | None = None) -> Self:
        """Find the programs if none are given, and learn which values occur; only mining uses the labels."""
        if self.activation not in get_args(Activation):
            expected = ", ".join(get_args(Activation))
            raise ModelError(f"activation: expected one of {expected}, got {self.activation!r}")
        programs = self.programs
        if programs is None:
            programs, X = self._find(X, y)
            self._found = programs
            self._convert = Conversion(X.reading, given_schema(programs.info.schema), programs.info.directed)
        as_graphs(X)
        self.programs_ = [_program(item, i) for i, item in enumerate(programs)]
        self.pooled_ = (
            PooledFeatures(properties=self.properties, ignore=self.ignore).fit(X) if self.pooled else None
        )
        self.quantities_ = None
        if self.quantities and isinstance(X, GraphDataset):
            self.quantities_ = Quantities.of(X, self.ignore)
        self.n_programs_, self.medians_ = len(self.programs_), np.zeros(0)
        return self

    def _find(self, X: GraphsLike, y: npt.ArrayLike | None) -> tuple[ProgramSet, GraphDataset]:
        """Return programs of training graphs, and the graphs with structure features."""
        sources = make_sources(self.vocabulary)
        items = X if isinstance(X, GraphDataset) else list(X)
        if not any(isinstance(source, Mined) for source in sources):
            y = np.zeros(len(items), dtype=np.int64)
        data = as_labeled(items, y)
        if structure_is_wanted("auto", data.schema, data.n_node_features, ModelError):
            data = data.with_structure()
        run = RunOptions(n_jobs=self.n_jobs, verbose=False, ignore=tuple(self.ignore))
        return union([source.find(data, run) for source in sources]), data

    @property
    def _info(self) -> SetInfo | None:
        """What is known of the graphs that the programs were found in."""
        programs = self.__dict__.get("_found") if self.programs is None else self.programs
        return programs.info if isinstance(programs, ProgramSet) else None

    def transform(self, X: GraphsLike) -> FloatArray:
        """Return the features: one row per graph, one column per program, then pooled features."""
        if not hasattr(self, "programs_"):  # the check itself takes longer than matching one graph
            check_is_fitted(self, "programs_")
        graphs, info = as_graphs(X, convert=self.__dict__.get("_convert")), self._info
        if info is not None:
            graphs = fill_structure(graphs, info.schema)
            check_fits(graphs, info, "transform")
        return self.with_pooled(graphs, self.activations(graphs))

    def with_pooled(self, graphs: list[Graph], table: FloatArray) -> FloatArray:
        """Return a table of program values with pooled features and extremes of quantities appended."""
        more = [part.transform(graphs) for part in (self.pooled_, self.quantities_) if part is not None]
        return np.hstack([table, *more]) if more else table

    def baseline(self) -> FloatArray:
        """Return the row of a graph without any program: pooled features at their medians in training."""
        n_extremes = 0 if self.quantities_ is None else len(self.quantities_)
        return np.concatenate([np.zeros(self.n_programs_), self.medians_, np.full(n_extremes, MISSING)])

    def activations(self, graphs: list[Graph]) -> FloatArray:
        """Return the values of the programs, one row per graph."""
        if not graphs or not self.programs_:
            return np.zeros((len(graphs), len(self.programs_)))
        encoded = as_graph_set(graphs)
        plan = self.plan_for(encoded)
        found = plan.match(encoded, self.n_jobs, self.step_budget)
        values = found.table().astype(np.float64)
        if found.n_unknown:
            logger.warning("transform: %d of %d searches ran out of steps", found.n_unknown, values.size)
        if self.activation != "exists":
            rows, columns = np.nonzero(values)
            found_there = plan.witnesses(encoded, rows, columns, n_jobs=self.n_jobs)
            values[rows, columns] = np.maximum(found_there.counts, 1)
        return np.log1p(values) if self.activation == "log_count" else values

    def plan_for(self, graphs: GraphSet) -> ProgramPlan:
        """Return the programs compiled for graphs of one kind, compiled once."""
        kind = graphs.kind
        known: tuple[Any, list[Program], ProgramPlan] | None = self.__dict__.get("_plan")
        if known is None or known[0] != kind or known[1] is not self.programs_:
            known = (kind, self.programs_, ProgramPlan(self.programs_, graphs))
            self.__dict__["_plan"] = known
        return known[2]

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_plan", None)  # it is made again where the transformer is first used
        return state

    @property
    def n_columns(self) -> int:
        """Number of columns of `transform`."""
        n_pooled = 0 if self.pooled_ is None else len(self.pooled_.names_)
        return self.n_programs_ + n_pooled + (0 if self.quantities_ is None else len(self.quantities_))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:  # noqa: ARG002
        """Return the names of the columns: programs in words, then pooled features and quantities."""
        check_is_fitted(self, "programs_")
        schema, directed = (None, False) if self._info is None else (self._info.schema, self._info.directed)
        names = [program.describe(schema, directed=directed) for program in self.programs_]
        names = [name.removesuffix(".") for name in names]
        if self.pooled_ is not None:
            names += self.pooled_.names_
        if self.quantities_ is not None:
            names += [column.name(schema) for column in self.quantities_.columns]
        uses: Counter[str] = Counter()
        for i, name in enumerate(names):  # programs that differ in a condition may have the same words
            uses[name] += 1
            names[i] = f"{name} ({uses[name]})" if uses[name] > 1 else name
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def _program(item: object, index: int) -> Program:
    if isinstance(item, MinedProgram):
        return item.program
    if isinstance(item, Program):
        return item
    raise ModelError(f"programs: item {index}: expected a program, got {type(item).__name__}")
