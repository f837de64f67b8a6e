"""Convert SMILES, RDKit molecules, PyG and NetworkX graphs to the graphs that estimators take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gdlnn.datasets.molecules import parse_smiles
from gdlnn.errors import GraphError
from gdlnn.graphs import Graph
from gdlnn.graphs.interop import from_networkx, from_pyg
from gdlnn.graphs.molecules import MoleculeReader
from gdlnn.graphs.structure import given_schema

if TYPE_CHECKING:
    from gdlnn.graphs import Schema

ACCEPTED = "a Graph, a SMILES, an RDKit molecule, a PyG Data or a NetworkX graph"


@dataclass(frozen=True)
class Conversion:
    """How other objects are converted to graphs.

    Attributes
    ----------
    reading
        How molecules are read; None if a model was trained on other graphs.
    schema, directed
        What features and classes are called, and whether the edges of PyG graphs have a direction.
    """

    reading: MoleculeReader | None = field(default_factory=MoleculeReader)
    schema: Schema | None = None
    directed: bool = False

    @classmethod
    def of_model(cls, model: Any) -> Conversion:
        """Return the conversion to graphs as a fitted model was trained on."""
        info = model.programs_.info
        return cls(getattr(model, "reading_", None), given_schema(info.schema), info.directed)

    def graph(self, item: Any) -> Graph:
        """Convert one object to a graph.

        Raises
        ------
        GraphError
            Where it is none of those that are accepted, or cannot be read; the message goes on after a comma.
        """
        if isinstance(item, Graph):
            return item
        kind = type(item).__name__
        if isinstance(item, str):
            return self._molecule(parse_smiles(item), item, kind)
        if _is_molecule(item):
            return self._molecule((item, ""), None, kind)
        if _is_pyg(item):
            return from_pyg(item, directed=self.directed, schema=self.schema)
        if _is_networkx(item):
            return self._from_networkx(item)
        if item is None or item != item:  # NaN, as pandas has it in a column
            raise GraphError(f"expected {ACCEPTED}, got a missing value ({kind}); remove these rows")
        if kind == "DataFrame":
            raise GraphError("expected a column of molecules, got a DataFrame; give one of its columns")
        raise GraphError(f"expected a Graph, got {kind}; {ACCEPTED} will do")

    def _molecule(self, read: tuple[Any, str], text: str | None, kind: str) -> Graph:
        if self.reading is None:
            raise GraphError(f"expected a Graph, got {kind}, and the model was not trained on molecules")
        molecule, reason = read
        if molecule is None:
            raise GraphError(f"expected a SMILES, got {text!r:.60}: {reason}")
        return self.reading.graph(molecule, schema=self.schema, name=text)

    def _from_networkx(self, item: Any) -> Graph:
        """Use the attributes that the model knows, in its order, if the nodes have them."""
        first: dict[str, Any] = next((data for _, data in item.nodes(data=True)), {})
        names = [] if self.schema is None else [feature.name for feature in self.schema.node]
        if not names or not all(name in first for name in names):
            return from_networkx(item)
        edges = [] if self.schema is None else [feature.name for feature in self.schema.edge]
        graph = from_networkx(item, names, edges)
        return graph._renamed(self.schema, graph.name)


def is_alone(item: Any) -> bool:
    """Say whether something is one graph or molecule, not several."""
    return isinstance(item, Graph | str) or _is_molecule(item) or _is_pyg(item) or _is_networkx(item)


def _is_molecule(item: Any) -> bool:
    return hasattr(item, "GetNumAtoms") and hasattr(item, "GetAtomWithIdx")


def _is_pyg(item: Any) -> bool:
    return hasattr(item, "edge_index") and hasattr(item, "num_nodes")


def _is_networkx(item: Any) -> bool:
    return hasattr(item, "is_multigraph") and hasattr(item, "nodes")
