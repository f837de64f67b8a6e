"""Files of mined programs: GDL text that people can read, with all that a ProgramSet knows of its programs.

The first line is a comment with the set's own data as JSON, the second one the schema where there is one.
Each program has a header with its label, score, support, targets and steps, and above it a comment in words.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import GDLSyntaxError, GraphError, MiningError, ProgramError
from gdlnn.gdl.printer import format_programs
from gdlnn.gdl.program import NamedProgram, Program
from gdlnn.graphs import Schema
from gdlnn.graphs.storage import atomic_write
from gdlnn.mining.program_set import MinedProgram, ProgramSet, SetInfo
from gdlnn.mining.results import format_rows, parse_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

FIRST_LINE = "// gdlnn programs "
SCHEMA_LINE = "// schema "
FORMAT = 1
MAX_SUPPORTS = 64 << 30
"""Most bytes that the supports of a set may take: a byte for each program and graph."""
WORDS = 240
"""Most characters of the sentence above a program."""


def save(programs: ProgramSet, path: str | os.PathLike[str]) -> None:
    """Write a set; the file appears when it is complete. Equal sets give equal bytes."""
    text = to_text(programs)
    with atomic_write(Path(path)) as file:
        file.write(text.encode())


def load(path: str | os.PathLike[str]) -> ProgramSet:
    """Read what `save` wrote."""
    name = Path(path).name
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise MiningError(
            f"{name}: expected GDL text, got bytes that are no UTF-8 at {error.start}"
        ) from error
    return from_text(text, name)


def to_text(programs: ProgramSet) -> str:
    """Return a set as text."""
    info = programs.info
    lines = [FIRST_LINE + json.dumps(_info_json(info), ensure_ascii=False)]
    if info.schema is not None:
        lines.append(SCHEMA_LINE + json.dumps(info.schema.to_json(), ensure_ascii=False))
    for number, item in enumerate(programs):
        metadata: dict[str, Any] = {
            "label": item.label,
            "score": item.score,
            "support": format_rows(np.flatnonzero(item.support)),
            "targets": item.targets.tolist(),
            "steps": item.steps,
        }
        if not item.complete:
            metadata["complete"] = False
        lines.append("")
        if info.schema is not None:
            lines.append(f"// {_words(item.program, info.schema, info.directed)}")
        lines.append(format_programs([NamedProgram(item.program, f"p{number + 1}", metadata)]).rstrip("\n"))
    return "\n".join(lines) + "\n"


def _words(program: Program, schema: Schema, directed: bool) -> str:
    words = " ".join(program.describe(schema, directed=directed).split())
    return words if len(words) <= WORDS else words[: WORDS - 1] + "…"


def _info_json(info: SetInfo) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "gdlnn": info.version,
        "dataset": info.dataset,
        "fingerprint": info.fingerprint,
        "n_graphs": info.n_graphs,
        "labels": [list(pair) for pair in info.label_counts],
        "label_type": type(info.label_counts[0][0]).__name__ if info.label_counts else "int",
        "directed": info.directed,
        "n_node_features": info.n_node_features,
        "n_edge_features": info.n_edge_features,
        "n_targets": info.n_targets,
        "complete": info.complete,
        "settings": info.settings,
    }


def from_text(text: str, where: str) -> ProgramSet:
    """Read what `to_text` gave; `where` names the text in errors."""
    from gdlnn.gdl.parser import parse_programs  # lark is needed for reading alone

    info = _read_info(text, where)
    try:
        named = parse_programs(text)
    except GDLSyntaxError as error:
        raise MiningError(f"{where}: {error}") from error
    if len(named) * max(info.n_graphs, 1) > MAX_SUPPORTS:
        raise MiningError(
            f"{where}: expected at most {MAX_SUPPORTS:,} bytes of supports, "
            f"got {len(named):,} programs over {info.n_graphs:,} graphs"
        )
    return ProgramSet([_read_item(item, info, f"{where}: program {item.name!r}") for item in named], info)


def _read_info(text: str, where: str) -> SetInfo:
    first, _, rest = text.partition("\n")
    if not first.startswith(FIRST_LINE):
        raise MiningError(
            f"{where}, line 1: expected {FIRST_LINE!r} and JSON, as saved sets have, got {first[:40]!r}"
        )
    try:
        data = json.loads(first.removeprefix(FIRST_LINE))
        schema = None
        if rest.startswith(SCHEMA_LINE):
            schema = Schema.from_json(json.loads(rest.partition("\n")[0].removeprefix(SCHEMA_LINE)))
        if data["format"] != FORMAT:
            raise MiningError(f"{where}, line 1: expected format {FORMAT}, got {data['format']!r}")
        return SetInfo(
            n_graphs=int(data["n_graphs"]),
            label_counts=tuple((label, int(count)) for label, count in data["labels"]),
            directed=bool(data["directed"]),
            n_node_features=int(data["n_node_features"]),
            n_edge_features=int(data["n_edge_features"]),
            settings=dict(data["settings"]),
            n_targets=int(data["n_targets"]),
            dataset=str(data["dataset"]),
            fingerprint=str(data["fingerprint"]),
            version=str(data["gdlnn"]),
            complete=bool(data["complete"]),
            schema=schema,
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, MiningError):
            raise
        kind = "a missing entry" if isinstance(error, KeyError) else "what is no such data"
        what = "the schema" if isinstance(error, GraphError) else "the data of the set"
        raise MiningError(
            f"{where}: the comments at the top: expected {what} as JSON, got {kind}: {error}"
        ) from error


def _read_item(item: NamedProgram, info: SetInfo, where: str) -> MinedProgram:
    metadata = item.metadata
    label = _entry(metadata, "label", (str, int, float, bool), where)
    if label not in dict(info.label_counts):
        raise MiningError(
            f"{where}: label: expected one of {[pair[0] for pair in info.label_counts]}, got {label!r}"
        )
    targets = np.array(_entry(metadata, "targets", (list,), where))
    inside = (
        targets.size and targets.dtype.kind == "i" and targets.min() >= 0 and targets.max() < info.n_graphs
    )
    if not inside:
        raise MiningError(f"{where}: targets: expected rows from 0 to {info.n_graphs - 1}")
    try:
        support = parse_rows(_entry(metadata, "support", (str,), where), info.n_graphs)
        item.program.arrays(info.n_node_features, info.n_edge_features)
    except ProgramError as error:
        raise MiningError(f"{where}: {error}") from error
    except ValueError as error:
        raise (
            error if isinstance(error, MiningError) else MiningError(f"{where}: support: {error}")
        ) from error
    score = float(_entry(metadata, "score", (float, int), where))
    steps = int(_entry(metadata, "steps", (int,), where))
    complete = bool(metadata.get("complete", True))
    return MinedProgram(item.program, label, score, support, targets.astype(np.int64), steps, complete)


def _entry(metadata: Mapping[str, Any], key: str, kinds: tuple[type, ...], where: str) -> Any:
    value = metadata.get(key)
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise MiningError(f"{where}: {key}: expected {expected}, got {value!r}")
    return value
