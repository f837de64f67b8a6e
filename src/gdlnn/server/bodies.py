"""What clients send, as pydantic models: requests are checked against them, and go on as bytes.

`page/openapi.json` describes the fields.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from gdlnn.graphs.graph import MAX_FEATURE

FileKind = Literal["csv", "tsv", "smi", "xlsx", "parquet", "sdf", "jsonl"]
MOST_KEYS = 20

Finite = Annotated[float, Field(allow_inf_nan=False, ge=-MAX_FEATURE, le=MAX_FEATURE)]
Natural = Annotated[StrictInt, Field(ge=0, le=2**31)]
Text = Annotated[StrictStr, Field(max_length=200_000)]
# A list ends at its first mistake: a million of them would fill the memory with messages.
Numbers = Annotated[list[Finite], Field(fail_fast=True)]
Rows = Annotated[list[Numbers], Field(fail_fast=True)]
Pairs = Annotated[list[tuple[Natural, Natural]], Field(fail_fast=True)]
Texts = Annotated[list[Text], Field(fail_fast=True)]


class _Sent(BaseModel):
    """An object that a client sends; a key that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _few_keys(cls, data: Any) -> Any:
        if isinstance(data, dict) and len(data) > MOST_KEYS:
            raise ValueError(f"expected at most {MOST_KEYS} keys, got {len(data)}")
        return data


class GraphBody(_Sent):
    """A graph: nodes with their features, edges as pairs of nodes counted from 0."""

    nodes: Rows | Numbers
    edges: Pairs = []
    edge_features: Rows | None = None
    directed: StrictBool | None = None
    name: Annotated[StrictStr, Field(max_length=200)] | None = None


Graphs = Annotated[list[GraphBody], Field(fail_fast=True)]


class _Question(_Sent):
    """A request about either SMILES or graphs, which are its first two fields."""

    @model_validator(mode="after")
    def _one_kind(self) -> _Question:
        smiles, graphs = list(type(self).model_fields)[:2]
        given = [value for value in (getattr(self, smiles), getattr(self, graphs)) if value is not None]
        if len(given) != 1:
            raise ValueError(f"expected either {smiles} or {graphs}")
        if given[0] == []:
            raise ValueError("expected at least one graph, got none")
        return self


class PredictBody(_Question):
    """Graphs to classify: either SMILES or JSON graphs."""

    smiles: Text | Texts | None = None
    graphs: Graphs | None = None


class ExplainBody(_Question):
    """One graph to explain: a SMILES or a JSON graph."""

    smiles: Text | None = None
    graph: GraphBody | None = None
    model: Annotated[StrictStr, Field(max_length=1000)] | None = None
    n_programs: Annotated[StrictInt, Field(ge=1, le=50)] = 4
    target: StrictInt | StrictStr | None = None
    enough: StrictBool = True
    counterfactual: StrictBool = True
