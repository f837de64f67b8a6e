"""GDLNN: interpretable graph classification.

GDL programs are mined from graphs and say which patterns a graph contains; a small network on top classifies;
an explanation is a subgraph. Names are loaded when first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gdlnn.datasets import load_dataset, load_jsonl, load_sdf, load_smiles, load_tu, make_ba_2motifs
    from gdlnn.errors import (
        DatasetError,
        DownloadError,
        ExplanationError,
        GDLNNError,
        GDLSyntaxError,
        GraphError,
        MatchError,
        MiningError,
        MissingExtraError,
        ModelError,
        ProgramError,
        ServerError,
        UnknownMatchError,
        WorkerError,
        WriteError,
    )
    from gdlnn.explain import Explanation
    from gdlnn.gdl import Interval, NamedProgram, Program, format_programs, parse_programs
    from gdlnn.graphs import Feature, Graph, GraphDataset, Schema
    from gdlnn.matching import match
    from gdlnn.mining import MinedProgram, ProgramSet, mine, neighborhoods
    from gdlnn.model import (
        GDLNNClassifier,
        GDLNNRegressor,
        GDLTransformer,
        Mined,
        MLPHead,
        Neighborhoods,
        load_model,
    )

    __version__: str

# Public name to the module that defines it. The imports above say the same to type checkers.
_HOMES = {
    "DatasetError": "gdlnn.errors",
    "DownloadError": "gdlnn.errors",
    "Explanation": "gdlnn.explain",
    "ExplanationError": "gdlnn.errors",
    "Feature": "gdlnn.graphs",
    "GDLNNClassifier": "gdlnn.model",
    "GDLNNRegressor": "gdlnn.model",
    "GDLNNError": "gdlnn.errors",
    "GDLSyntaxError": "gdlnn.errors",
    "GDLTransformer": "gdlnn.model",
    "Graph": "gdlnn.graphs",
    "GraphDataset": "gdlnn.graphs",
    "GraphError": "gdlnn.errors",
    "Interval": "gdlnn.gdl",
    "MatchError": "gdlnn.errors",
    "MLPHead": "gdlnn.model",
    "Mined": "gdlnn.model",
    "MinedProgram": "gdlnn.mining",
    "MiningError": "gdlnn.errors",
    "MissingExtraError": "gdlnn.errors",
    "ModelError": "gdlnn.errors",
    "NamedProgram": "gdlnn.gdl",
    "Neighborhoods": "gdlnn.model",
    "Program": "gdlnn.gdl",
    "ProgramError": "gdlnn.errors",
    "ProgramSet": "gdlnn.mining",
    "Schema": "gdlnn.graphs",
    "ServerError": "gdlnn.errors",
    "UnknownMatchError": "gdlnn.errors",
    "WorkerError": "gdlnn.errors",
    "WriteError": "gdlnn.errors",
    "format_programs": "gdlnn.gdl",
    "load_dataset": "gdlnn.datasets",
    "load_jsonl": "gdlnn.datasets",
    "load_model": "gdlnn.model",
    "load_sdf": "gdlnn.datasets",
    "load_smiles": "gdlnn.datasets",
    "load_tu": "gdlnn.datasets",
    "make_ba_2motifs": "gdlnn.datasets",
    "match": "gdlnn.matching",
    "mine": "gdlnn.mining",
    "neighborhoods": "gdlnn.mining",
    "parse_programs": "gdlnn.gdl",
}

__all__ = [
    "DatasetError",
    "DownloadError",
    "Explanation",
    "ExplanationError",
    "Feature",
    "GDLNNClassifier",
    "GDLNNError",
    "GDLNNRegressor",
    "GDLSyntaxError",
    "GDLTransformer",
    "Graph",
    "GraphDataset",
    "GraphError",
    "Interval",
    "MLPHead",
    "MatchError",
    "Mined",
    "MinedProgram",
    "MiningError",
    "MissingExtraError",
    "ModelError",
    "NamedProgram",
    "Neighborhoods",
    "Program",
    "ProgramError",
    "ProgramSet",
    "Schema",
    "ServerError",
    "UnknownMatchError",
    "WorkerError",
    "WriteError",
    "__version__",
    "format_programs",
    "load_dataset",
    "load_jsonl",
    "load_model",
    "load_sdf",
    "load_smiles",
    "load_tu",
    "make_ba_2motifs",
    "match",
    "mine",
    "neighborhoods",
    "parse_programs",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("gdlnn")
        except PackageNotFoundError:  # the sources on the path, without an installation
            return "0+unknown"
    if name not in _HOMES:
        raise AttributeError(f"module 'gdlnn' has no attribute {name!r}")
    from gdlnn.errors import uninterrupted

    with uninterrupted():
        value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
