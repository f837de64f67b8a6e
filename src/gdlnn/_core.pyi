# The core of GDLNN: graph sets, matching, mining, canonical forms. Arrays in, arrays out.

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_Float: TypeAlias = npt.NDArray[np.float64]
_Int: TypeAlias = npt.NDArray[np.int64]
_Byte: TypeAlias = npt.NDArray[np.uint8]
_Side: TypeAlias = tuple[int, int, bool]

class GraphSet:
    def __init__(
        self,
        node_features: _Float,
        node_offsets: _Int,
        edges: _Int,
        edge_features: _Float,
        edge_offsets: _Int,
        directed: npt.NDArray[np.bool_],
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def n_node_features(self) -> int: ...
    @property
    def n_edge_features(self) -> int: ...
    @property
    def nbytes(self) -> int: ...

class ProgramBatch:
    def __init__(
        self,
        node_lower: _Float,
        node_upper: _Float,
        node_offsets: _Int,
        edges: _Int,
        edge_lower: _Float,
        edge_upper: _Float,
        edge_offsets: _Int,
    ) -> None: ...

class Witnesses:
    def __init__(self, graphs: GraphSet, graph: int, program: ProgramBatch) -> None: ...
    def next(self, budget: int) -> tuple[int, _Int | None]: ...
    @property
    def steps(self) -> int: ...

def exists(graphs: GraphSet, programs: ProgramBatch, budget: int, n_threads: int) -> _Byte: ...
def counts(
    graphs: GraphSet, programs: ProgramBatch, subgraphs: bool, budget: int, n_threads: int
) -> tuple[_Int, _Byte]: ...
def conflict(
    graphs: GraphSet, graph: int, program: ProgramBatch, budget: int
) -> tuple[int, list[int], list[int], list[_Side], list[_Side]]: ...

class MinedProgram:
    @property
    def task(self) -> int: ...
    @property
    def nodes(self) -> _Int: ...
    @property
    def edges(self) -> _Int: ...
    @property
    def node_lower(self) -> _Float: ...
    @property
    def node_upper(self) -> _Float: ...
    @property
    def edge_lower(self) -> _Float: ...
    @property
    def edge_upper(self) -> _Float: ...
    @property
    def support(self) -> _Byte: ...
    @property
    def matched(self) -> int: ...
    @property
    def matched_of_label(self) -> int: ...
    @property
    def n_mutations(self) -> int: ...
    @property
    def unresolved(self) -> int: ...
    @property
    def score(self) -> float: ...
    @property
    def tests(self) -> int: ...
    @property
    def searches(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def unknown(self) -> int: ...
    @property
    def seconds(self) -> float: ...

class MiningJob:
    def __init__(
        self,
        graphs: GraphSet,
        labels: npt.NDArray[np.int32],
        n_labels: int,
        epsilon: float,
        sequential: bool,
        connected: bool,
        step_budget: int,
        final_budget: int,
        lookahead: bool,
        values: bool,
        nominal_node: npt.NDArray[np.bool_],
        nominal_edge: npt.NDArray[np.bool_],
        task_graphs: _Int,
        task_offsets: _Int,
        task_nodes: _Int,
        n_threads: int,
    ) -> None: ...
    def poll(self, seconds: float) -> list[MinedProgram]: ...
    @property
    def running(self) -> bool: ...
    def stop(self) -> None: ...

def canonical_order(
    vertex_colors: npt.NDArray[np.int32],
    edges: npt.NDArray[np.int32],
    edge_colors: npt.NDArray[np.int32],
    directed: bool,
) -> npt.NDArray[np.int32]: ...
def shrink(
    graphs: GraphSet,
    programs: ProgramBatch,
    use: npt.NDArray[np.bool_],
    order: _Int,
    budget: int,
    n_threads: int,
) -> tuple[_Byte, _Byte, npt.NDArray[np.int32], _Byte]: ...

class Plan:
    def __init__(
        self,
        programs: ProgramBatch,
        directed: bool,
        screens: bool = True,
        containment: bool = True,
        twins: bool = True,
    ) -> None: ...
    def __len__(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def match(
        self,
        node_features: _Float,
        node_offsets: _Int,
        edges: _Int,
        edge_features: _Float,
        edge_offsets: _Int,
        directed: npt.NDArray[np.bool_],
        budget: int,
        n_threads: int,
    ) -> tuple[_Int, npt.NDArray[np.int32], _Int, npt.NDArray[np.int32]]: ...
    def witnesses(
        self,
        node_features: _Float,
        node_offsets: _Int,
        edges: _Int,
        edge_features: _Float,
        edge_offsets: _Int,
        directed: npt.NDArray[np.bool_],
        graph: npt.NDArray[np.int32],
        program: npt.NDArray[np.int32],
        most: int,
        n_threads: int,
    ) -> tuple[_Int, npt.NDArray[np.int32], _Int, _Byte]: ...

def structure(
    node_offsets: npt.NDArray[np.int64],
    edges: npt.NDArray[np.int64],
    edge_offsets: npt.NDArray[np.int64],
    directed: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.uint8]]: ...
def neighborhoods(
    node_colors: npt.NDArray[np.int32],
    node_offsets: npt.NDArray[np.int64],
    edges: npt.NDArray[np.int64],
    edge_colors: npt.NDArray[np.int32],
    edge_offsets: npt.NDArray[np.int64],
    directed: bool,
    radius: int,
    min_support: int,
    max_nodes: int,
    n_threads: int,
) -> tuple[
    npt.NDArray[np.int32],
    npt.NDArray[np.int32],
    npt.NDArray[np.int32],
    npt.NDArray[np.int64],
    npt.NDArray[np.int32],
    npt.NDArray[np.int64],
    npt.NDArray[np.int32],
]: ...

class Forest:
    def __init__(
        self,
        n_features: int,
        roots: npt.NDArray[np.int32],
        feature: npt.NDArray[np.int32],
        threshold: npt.NDArray[np.float32],
        left: npt.NDArray[np.int32],
        right: npt.NDArray[np.int32],
        values: npt.NDArray[np.float64],
    ) -> None: ...
    def predict(self, rows: npt.NDArray[np.float32], n_threads: int) -> npt.NDArray[np.float64]: ...
    def contributions(
        self,
        rows: npt.NDArray[np.float32],
        baseline: npt.NDArray[np.float32],
        wanted: npt.NDArray[np.int32],
        n_threads: int,
    ) -> npt.NDArray[np.float64]: ...
