"""What clients send and get, as pydantic models: the OpenAPI document is made of them.

Requests are checked against them and then go on as the bytes they came as; answers come from the workers and
are written down here for the readers of the document.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from gdlnn.graphs.graph import MAX_FEATURE

FileKind = Literal["csv", "tsv", "smi", "xlsx", "parquet", "sdf", "jsonl", "dataset"]

Finite = Annotated[float, Field(allow_inf_nan=False, ge=-MAX_FEATURE, le=MAX_FEATURE)]
NodeIndex = Annotated[StrictInt, Field(ge=0, le=2**31)]
Text = Annotated[StrictStr, Field(max_length=200_000)]
Label = StrictInt | StrictStr | StrictBool | float
# The names of the techniques and their default, as in `gdlnn.explain.explainer`, which takes long to import.
TechniqueName = Literal["contribution", "lime", "kernel_shap"]


MOST_KEYS = 20
# A list ends at its first mistake: a million of them would fill the memory with messages.
Numbers = Annotated[list[Finite], Field(fail_fast=True)]
Rows = Annotated[list[Numbers], Field(fail_fast=True)]
Pairs = Annotated[list[tuple[NodeIndex, NodeIndex]], Field(fail_fast=True)]


class _Sent(BaseModel):
    """Whatever a client sends: a key that is not known is a mistake to tell."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _few_keys(cls, data: Any) -> Any:
        if isinstance(data, dict) and len(data) > MOST_KEYS:
            raise ValueError(f"expected at most {MOST_KEYS} keys, got {len(data)}")
        return data


class GraphBody(_Sent):
    """A graph: nodes with their features, edges as pairs of nodes counted from 0."""

    nodes: Rows | Numbers = Field(
        description="One list of features for each node, or one number each where there is one feature."
    )
    edges: Pairs = Field(default=[], description="Pairs of nodes; an undirected edge is listed once.")
    edge_features: Rows | None = Field(default=None, description="One list of features for each edge.")
    directed: StrictBool | None = Field(default=None, description="By default as the model's own graphs.")
    name: Annotated[StrictStr, Field(max_length=200)] | None = None


class PredictBody(_Sent):
    """Graphs to classify: either SMILES or JSON graphs."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"smiles": ["CCO", "Nc1ccccc1"]}, {"graphs": [{"nodes": [[1.0]], "edges": []}]}],
            "oneOf": [{"required": ["smiles"]}, {"required": ["graphs"]}],
        }
    )
    smiles: Text | Annotated[list[Text], Field(fail_fast=True)] | None = Field(
        default=None, description="One SMILES, or several."
    )
    graphs: Annotated[list[GraphBody], Field(fail_fast=True)] | None = Field(
        default=None, description="Graphs as JSON."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> PredictBody:
        if (self.smiles is None) == (self.graphs is None):
            raise ValueError("expected either smiles or graphs")
        if self.smiles in ("", []) or self.graphs == []:
            raise ValueError("expected at least one graph, got none")
        return self


class ExplainBody(_Sent):
    """One graph to explain: a SMILES or a JSON graph."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"smiles": "Nc1ccccc1"}],
            "oneOf": [{"required": ["smiles"]}, {"required": ["graph"]}],
        }
    )
    smiles: Text | None = Field(default=None, description="A SMILES.")
    graph: GraphBody | None = Field(default=None, description="A graph as JSON.")
    model: Annotated[StrictStr, Field(max_length=1000)] | None = Field(
        default=None, description="The label whose model is asked, where there are several."
    )
    technique: TechniqueName = Field(
        default="contribution", description="How programs are weighed, as for `gdlnn explain`."
    )
    n_programs: Annotated[StrictInt, Field(ge=1, le=50)] = Field(
        default=4, description="How many programs the explanation names at most."
    )
    target: StrictInt | StrictStr | None = Field(
        default=None, description="The class to explain, by label or name; by default the predicted one."
    )
    seed: Annotated[StrictInt, Field(ge=0, le=2**31)] = Field(
        default=0, description="The same seed gives the same explanation."
    )
    enough: StrictBool = Field(
        default=True, description="Whether to look for the smallest part that gets the prediction by itself."
    )
    counterfactual: StrictBool = Field(
        default=True, description="Whether to look for nodes whose removal changes the prediction."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> ExplainBody:
        if (self.smiles is None) == (self.graph is None):
            raise ValueError("expected either smiles or graph")
        return self


# --- answers ----------------------------------------------------------------------------------------------


class ErrorAnswer(BaseModel):
    """What went wrong, in one line."""

    error: str


class ClassAnswer(BaseModel):
    """A class: its label and what it is called."""

    label: Label
    name: str


class PredictionAnswer(BaseModel):
    """What a model says of one graph; nothing of one that cannot be read."""

    label: Label | None = None
    class_name: str | None = None
    probability: float | None = None
    probabilities: list[float] | None = Field(default=None, description="In the order of `classes`.")
    uncertainty: float | None = Field(
        default=None, description="Standard deviation of the probability over the ensemble."
    )
    seen: bool | None = Field(default=None, description="Whether the model was trained on the graph.")
    domain: Literal["inside", "edge", "outside"] | None = Field(
        default=None, description="Whether the graph is like the training graphs."
    )
    domain_reason: str = Field(default="", description="Why the graph is not inside.")


class RowAnswer(PredictionAnswer):
    """The prediction of one graph, or the reason why there is none."""

    row: int = Field(description="Counted from 1.")
    name: str
    smiles: str | None
    error: str | None
    cells: list[str] = Field(description="Those of the client's own columns.")
    graph: dict[str, Any] | None = Field(
        default=None, description="The graph of a row of a file that has no SMILES, as `/explain` takes it."
    )
    predictions: dict[str, PredictionAnswer] | None = Field(
        default=None, description="By label, where there are several models."
    )


class LabelAnswer(BaseModel):
    """A label that is predicted, where there are several models."""

    model: str
    classes: list[ClassAnswer]


class ColumnAnswer(BaseModel):
    """A column that predicting adds to a table."""

    name: str = Field(description="A name that the table has already gets the prefix `gdlnn_`.")
    value: str = Field(description="What it holds.")
    model: str | None = Field(description="The label it is of; empty where there is one model.")
    code: int | None = Field(description="The position of the class that a probability is of.")


class PredictAnswer(BaseModel):
    """One row for each graph that was sent, in order."""

    classes: list[ClassAnswer] | None = Field(default=None, description="Of one model.")
    models: list[LabelAnswer] | None = Field(default=None, description="Where there are several models.")
    columns: list[str] = Field(description="The client's own columns.")
    added: list[ColumnAnswer] = Field(description="The columns that come after them in a table.")
    rows: list[RowAnswer]


class ProgramAnswer(BaseModel):
    """A program that decided."""

    index: int
    label: Label = Field(description="The class it was mined for.")
    class_name: str
    number: int = Field(description="From 1, in the order of the list; the picture has it as class p1, p2 …")
    line: int = Field(description="Which line goes around it in the picture, from 1 to 3; 0: none.")
    weight: float = Field(description="How much it speaks for the explained class, present or absent.")
    place: float | None = Field(description="What its nodes add in all programs, in log odds.")
    matched: bool
    witness: list[int] | None = Field(description="The nodes it matches.")
    edges: list[list[int]] | None
    words: str
    gdl: str
    readable: str | None = Field(default=None, description="GDL with the names of the features.")
    smarts: str | None
    smarts_exact: bool | None = Field(default=None, description="False: the SMARTS may find more.")
    n_nodes: int
    diagram: str = Field(description="SVG in the page's own colours; empty for a very large program.")


class EnoughAnswer(BaseModel):
    """The smallest part found of which alone the model says the same."""

    found: bool
    nodes: list[int]
    programs: list[int] = Field(description="The programs that match there, by index.")
    words: list[str] = Field(description="The same programs in words.")


class CounterfactualAnswer(BaseModel):
    """Nodes without which the model decides otherwise."""

    found: bool
    nodes: list[int]
    prediction: Label | None = None
    probability: float | None = None


class ExplainAnswer(BaseModel):
    """Why the model says what it says of one graph."""

    name: str
    smiles: str | None
    prediction: Label
    class_name: str
    probability: float
    probabilities: list[float]
    classes: list[ClassAnswer]
    target: Label
    programs: list[ProgramAnswer]
    nodes: list[int] = Field(description="The subgraph that the matched programs need.")
    quality: float | None
    technique: str
    seed: int
    complete: bool
    said: str = Field(description="The probability in words, with the threshold if that is not one half.")
    threshold: float = Field(description="The probability of the target above which it is predicted.")
    baseline: float | None = Field(description="The probability of the target without any program.")
    baseline_line: str | None = Field(description="The same in words.")
    has_reason: bool = Field(description="False: no pattern speaks strongly for the class.")
    further: list[str] = Field(description="What absent programs and pooled features add, in words.")
    nodes_word: Literal["atoms", "nodes"]
    n_nodes: int
    n_edges: int
    n_shown: int = Field(description="Nodes in the picture; of a very large graph not all.")
    largest: float = Field(description="The largest score of a node, for the legend of the picture.")
    picture: str = Field(description="SVG in the classes of the page's style sheet.")
    enough: EnoughAnswer | None
    counterfactual: CounterfactualAnswer | None
    n_programs_matched: int
    uncertainty: float | None
    seen: bool | None
    domain: Literal["inside", "edge", "outside"] | None
    domain_reason: str
    warning: str | None


class DecisionAnswer(BaseModel):
    """The rule that makes a class of probabilities, where it is not the most probable one."""

    code: int = Field(description="The position of the class that the threshold is for.")
    threshold: float = Field(description="Its least probability for which it is predicted.")
    rule: str


class OneModelAnswer(BaseModel):
    """What one model is."""

    model: str = Field(description="The label it predicts; empty where there is one model.")
    name: str
    classes: list[ClassAnswer]
    decision: DecisionAnswer | None
    n_programs: int
    n_training_graphs: int
    programs: list[dict[str, Any]] = Field(description="Those that change predictions most.")


class ModelAnswer(BaseModel):
    """What is served, what it expects and what may be asked; of one model all that it is."""

    name: str
    made_by: str
    models: list[OneModelAnswer]
    classes: list[ClassAnswer] | None = None
    n_programs: int | None = None
    n_training_graphs: int | None = None
    programs: list[dict[str, Any]] | None = None
    expects: dict[str, Any]
    limits: dict[str, float]
    examples: list[dict[str, Any]]


class HealthAnswer(BaseModel):
    """Whether questions are answered."""

    status: Literal["ok", "starting"]
    version: str
    workers: int
    idle: int
    waiting: int
    replaced: int
