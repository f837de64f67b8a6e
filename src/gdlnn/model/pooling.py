"""PooledFeatures: a graph without its structure: sizes, histograms, means, sums, properties of molecules."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError, ModelError, require
from gdlnn.graphs import Feature, GraphDataset
from gdlnn.graphs.molecules import chem, graph_molecule, hidden_by_default, without_messages
from gdlnn.model.inputs import as_graphs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gdlnn.graphs import Graph, Schema
    from gdlnn.model.inputs import GraphsLike

FloatArray = npt.NDArray[np.float64]

MAX_VALUES = 64
"""Maximum number of values counted one by one; a whole-number feature with more is a quantity."""
STATISTICS = ("mean", "max", "sum")


class Property(NamedTuple):
    """A property of a molecule, how a value of it is written, and the function of RDKit that computes it."""

    name: str
    text: str
    function: str

    def words(self, value: float) -> str:
        """Return the property with a value, as a person would write it."""
        text = self.text.format(value).replace("-0.0", "0.0").replace(" -", " −")
        return text.removesuffix("s") if text.startswith("1 ") else text


PROPERTIES = (
    Property("molecular weight", "molecular weight {:.0f}", "Descriptors.MolWt"),
    Property("logP", "logP {:.1f}", "Crippen.MolLogP"),
    Property("polar surface", "polar surface {:.0f} Å²", "rdMolDescriptors.CalcTPSA"),
    Property("H-bond donors", "{:.0f} H-bond donors", "rdMolDescriptors.CalcNumHBD"),
    Property("H-bond acceptors", "{:.0f} H-bond acceptors", "rdMolDescriptors.CalcNumHBA"),
    Property("rotatable bonds", "{:.0f} rotatable bonds", "rdMolDescriptors.CalcNumRotatableBonds"),
    Property("rings", "{:.0f} rings", "rdMolDescriptors.CalcNumRings"),
    Property("aromatic rings", "{:.0f} aromatic rings", "rdMolDescriptors.CalcNumAromaticRings"),
    Property("sp3 carbon", "{:.0%} of the carbons are sp3", "rdMolDescriptors.CalcFractionCSP3"),
    Property("formal charge", "formal charge {:+.0f}", "rdmolops.GetFormalCharge"),
    Property("heteroatoms", "{:.0f} heteroatoms", "rdMolDescriptors.CalcNumHeteroatoms"),
)


class PooledFeatures:
    """Pooled node and edge features, sizes and properties of molecules, as a transformer of graphs.

    The columns are the numbers of nodes and edges, and for every feature either shares or statistics. A
    nominal or ordinal feature, or one without a schema that has few whole-number values, gives the share of
    nodes (edges) with each value seen in training. Any other gives mean, maximum and sum of the values that
    are not missing. Sizes and sums are taken as log(1 + |x|) with their sign. The columns do not depend on
    the order of nodes or edges; features of molecules that depend on how a molecule is written are left out.

    Parameters
    ----------
    properties
        Whether to append properties of the whole molecule, see `PROPERTIES`.
    ignore
        Features that are left out.

    Attributes
    ----------
    values_
        For node and edge features the values that are counted, or None for a numeric one.
    names_
        The names of the columns.
    """

    values_: dict[str, list[list[float] | None]]
    names_: list[str]

    def __init__(self, *, properties: bool = False, ignore: Sequence[str] = ()) -> None:
        self.properties, self.ignore = properties, ignore

    def fit(self, X: GraphsLike, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Learn which values occur."""
        graphs = as_graphs(X)
        if not graphs:
            raise ModelError("pooled features: expected at least one graph, got none")
        schema = X.schema if isinstance(X, GraphDataset) else graphs[0].schema
        self.values_, self.names_ = {}, ["nodes", "edges"]
        hidden = {*hidden_by_default(schema), *self.ignore}
        for of in ("node", "edge"):
            known = [
                (feature, [] if feature.name in hidden else values)
                for feature, values in features_with_values(graphs, schema, of)
            ]
            self.values_[of] = [values for _, values in known]
            for feature, values in known:
                prefix = f"{of} {feature.name}"
                if values is None:
                    self.names_ += [f"{prefix} {statistic}" for statistic in STATISTICS]
                else:
                    self.names_ += [f"{prefix} = {feature.value_name(value)}" for value in values]
        if self.properties:
            self.names_ += [one.name for one in PROPERTIES]
        return self

    def transform(self, X: GraphsLike) -> FloatArray:
        """Return one row of pooled features per graph."""
        graphs = as_graphs(X)
        sizes = {
            of: np.array([len(_features(g, of)) for g in graphs], dtype=np.int64) for of in ("node", "edge")
        }
        columns = [np.log1p(sizes[of])[:, None] for of in ("node", "edge")]
        for of in ("node", "edge"):
            # Graphs without nodes (or edges) have no say in how many features there are, and pool to zeros.
            full = np.flatnonzero(sizes[of])
            tables = [_features(graphs[i], of) for i in full]
            owner = np.repeat(full, sizes[of][full])
            width = len(self.values_[of])
            table = np.concatenate(tables) if tables else np.zeros((0, width))
            for feature, values in enumerate(self.values_[of]):
                if values == []:
                    continue
                pooled = np.zeros((len(graphs), len(STATISTICS) if values is None else len(values)))
                column, rows, counts = table[:, feature], full, sizes[of][full]
                if values is None:  # sorted, so that sums do not depend on the order of nodes
                    there = ~np.isnan(column)
                    column = column[there][np.lexsort((column[there], owner[there]))]
                    rows, counts = np.unique(owner[there], return_counts=True)
                pooled[rows] = _pool(column, counts, values)
                columns.append(pooled)
        if self.properties:
            columns.append(molecule_properties(graphs))
        return np.hstack(columns) if graphs else np.zeros((0, len(self.names_)))

    def text(self, column: int, value: float, schema: Schema | None) -> str:
        """Return a value of a column as a person would say it, such as "25 atoms"."""
        first = len(self.names_) - len(PROPERTIES) if self.properties else len(self.names_)
        if column >= first:
            return PROPERTIES[column - first].words(value)
        nodes, edges = ("atoms", "bonds") if schema and schema.domain == "molecule" else ("nodes", "edges")
        if column < 2:
            count, noun = round(np.expm1(value)), (nodes, edges)[column]
            return f"{count} {noun.removesuffix('s') if count == 1 else noun}"
        of, _, name = self.names_[column].partition(" ")
        many = nodes if of == "node" else edges
        feature, equal, of_value = name.partition(" = ")
        if equal:
            share = {0.0: "none", 1.0: "all"}.get(value, f"{value:.0%}")
            return f"{share} of the {many} {_with_value(feature, of_value)}"
        feature, _, statistic = name.rpartition(" ")
        if statistic == "sum":
            value = float(np.sign(value) * np.expm1(abs(value)))
        kind = {"mean": "mean", "max": "largest", "sum": "total"}.get(statistic, statistic)
        return f"{kind} {feature} of the {many} {float(f'{value:.3g}'):g}"

    def to_json(self) -> dict[str, Any]:
        """Return what was learned as plain JSON values."""
        return {"values": self.values_, "names": self.names_, "properties": self.properties}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build fitted pooled features from what `to_json` gave."""
        pooled = cls(properties=bool(data["properties"]))
        pooled.values_ = {
            of: [None if values is None else [float(v) for v in values] for values in data["values"][of]]
            for of in ("node", "edge")
        }
        pooled.names_ = [str(name) for name in data["names"]]
        width = 2 + (len(PROPERTIES) if pooled.properties else 0)
        for values in (*pooled.values_["node"], *pooled.values_["edge"]):
            if values is not None and not (np.isfinite(values).all() and (np.diff(values) > 0).all()):
                raise ModelError("pooled features: expected finite values in increasing order")
            width += len(STATISTICS) if values is None else len(values)
        if width != len(pooled.names_):
            raise ModelError(f"pooled features: expected {width} names, got {len(pooled.names_)}")
        return pooled


def _with_value(feature: str, value: str) -> str:
    """Return what is said of nodes or edges with a nominal value: "are O", "have 2 neighbors"."""
    if feature in ("atom", "label", "node label", "bond", "edge label"):
        return f"are {value}"
    if value in ("yes", "no"):
        return f"are {feature}" if value == "yes" else f"are not {feature}"
    if feature in ("degree", "hydrogens"):
        noun = "neighbor" if feature == "degree" else "hydrogen"
        return f"have {value} {noun}{'' if value == '1' else 's'}"
    return f"have {feature} {value}"


def _features(graph: Graph, of: str) -> FloatArray:
    return graph.node_features if of == "node" else graph.edge_features


def _schema_features(schema: Schema | None, of: str, width: int) -> list[Feature]:
    if schema is not None and len(getattr(schema, of)) == width:
        return list(getattr(schema, of))
    return [Feature(f"feature {i}") for i in range(width)]


def features_with_values(
    graphs: list[Graph], schema: Schema | None, of: str
) -> list[tuple[Feature, list[float] | None]]:
    """Return the features of nodes or edges, each with the values to count, or None for a quantity."""
    table = np.concatenate([_features(graph, of) for graph in graphs])
    known = _schema_features(schema, of, table.shape[1])
    return [(feature, _values(feature, table[:, i])) for i, feature in enumerate(known)]


def _values(feature: Feature, column: FloatArray) -> list[float] | None:
    """Return the values to count, or None for a feature that is a quantity."""
    known = np.unique(column[~np.isnan(column)])
    whole = bool((known == np.floor(known)).all())
    if feature.kind == "nominal" or (whole and len(known) <= MAX_VALUES):
        return [float(value) for value in known]
    return None


def _pool(column: FloatArray, sizes: npt.NDArray[np.int64], values: list[float] | None) -> FloatArray:
    """Pool a feature of all graphs at once; `sizes` says how many values belong to each, at least one."""
    if values is None:
        starts = np.cumsum(sizes) - sizes
        totals = np.add.reduceat(column, starts) if len(sizes) else np.zeros(0)
        largest = np.maximum.reduceat(column, starts) if len(sizes) else np.zeros(0)
        return np.stack([totals / sizes, largest, np.sign(totals) * np.log1p(np.abs(totals))], axis=1)
    known = np.asarray(values)
    code = np.minimum(np.searchsorted(known, column), len(known) - 1)
    is_known = known[code] == column
    owner = np.repeat(np.arange(len(sizes)), np.asarray(sizes, dtype=np.int64))
    counts = np.bincount((owner * len(known) + code)[is_known], minlength=len(sizes) * len(known))
    return np.asarray(counts.reshape(len(sizes), len(known)) / sizes[:, None])


def molecule_properties(graphs: Sequence[Graph]) -> FloatArray:
    """Return graphs × properties; zeros for a graph that RDKit does not take for a molecule."""
    found = np.zeros((len(graphs), len(PROPERTIES)))
    rd, functions = chem("Properties of molecules"), _functions()
    with without_messages("Properties of molecules"):
        for row, graph in enumerate(graphs):
            molecule = _sanitized(rd, graph)
            if molecule is not None:
                found[row] = [function(molecule) for function in functions]
    return np.round(found, 6)  # the last bits of a sum depend on the order of atoms


@cache
def _functions() -> list[Callable[[Any], float]]:
    """Return the functions of RDKit that compute the properties."""
    names = [one.function.split(".") for one in PROPERTIES]
    return [
        getattr(require(f"rdkit.Chem.{module}", "chem", "Properties of molecules"), name)
        for module, name in names
    ]


def _sanitized(rd: Any, graph: Graph) -> Any:
    """Return the molecule of a graph with rings and hybridization; None where RDKit refuses it."""
    try:  # a piece of a molecule may have impossible valences
        molecule = graph_molecule(graph)
        rd.SanitizeMol(molecule)
    except (GraphError, ValueError, RuntimeError):
        return None
    return molecule if graph.n_nodes else None
