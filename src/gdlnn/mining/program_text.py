"""A ProgramSet as GDL text, as JSON, and as summaries and tables.

The first line of a text is a comment with the set's own data as JSON, the second one the schema if there is
one. Each program has a header with its label, score, support, targets and steps, and above it a comment that
describes it in words.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gdlnn.errors import GDLSyntaxError, GraphError, MiningError, ProgramError, printable
from gdlnn.gdl.printer import format_programs, vector_from_json, vector_to_json
from gdlnn.gdl.program import NamedProgram, Program, checked_intervals
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Schema
from gdlnn.io import bounded_json
from gdlnn.io.atomic import atomic_write
from gdlnn.mining.program_set import Example, IntArray, MinedProgram, ProgramSet, SetInfo
from gdlnn.mining.supports import Support, format_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from rich.table import Table

    from gdlnn.gdl.program import Intervals
    from gdlnn.io.frames import Columns

Kind = TypeVar("Kind")
FIRST_LINE = "// gdlnn programs "
SCHEMA_LINE = "// schema "
FORMAT = 1
MAX_SUPPORTS = 64 << 30
"""Maximum size of the supports of a set, in bytes: one per program and graph."""
MAX_GRAPHS = 1_000_000_000
"""Maximum number of graphs that a file may declare."""
MAX_FEATURES = 100_000
"""Maximum number of features of a node or an edge that a file may declare."""
WORDS = 240
"""Maximum length of the description above a program in a file, in characters."""
CELL_WORDS = 300
"""Maximum length of a program in a table, in characters."""
WIDTH = 120
"""Width of a table, in characters."""


def save(programs: ProgramSet, path: str | os.PathLike[str]) -> None:
    """Write a set; the file appears once it is complete. Equal sets give equal bytes."""
    text = to_text(programs)
    with atomic_write(Path(path)) as file:
        file.write(text.encode())


def load(path: str | os.PathLike[str]) -> ProgramSet:
    """Read what `save` wrote."""
    name = Path(path).name
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise MiningError(f"{name}: expected GDL text in UTF-8, got other bytes at {error.start}") from error
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        raise MiningError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return from_text(text, name)


def to_text(programs: ProgramSet) -> str:
    """Return a set as text, with a description above each program if its features have names."""
    info = programs.info
    lines = [FIRST_LINE + json.dumps(_info_json(info), ensure_ascii=False)]
    if info.schema is not None:
        lines.append(SCHEMA_LINE + json.dumps(info.schema.to_json(), ensure_ascii=False))
    for number, item in enumerate(programs):
        lines.append("")
        if info.schema is not None:
            sentence = item.program.describe(info.schema, directed=info.directed)
            lines.append(f"// {shortened(' '.join(sentence.split()), WORDS)}")
        named = NamedProgram(item.program, f"p{number + 1}", _metadata(item))
        lines.append(format_programs([named]).rstrip("\n"))
    return "\n".join(lines) + "\n"


def to_json(programs: ProgramSet) -> dict[str, Any]:
    """Return a set as plain JSON values, as model files hold it; it is read faster than text.

    Nodes and edges are given by the numbers of their vectors, since few of these are different.
    """
    schema = programs.info.schema
    numbers: dict[Intervals | None, int] = {}

    def number(intervals: Intervals | None) -> int:
        return numbers.setdefault(intervals, len(numbers))

    listed = [
        {
            **_metadata(item),
            "variables": list(item.program.variables),
            "nodes": [number(node.intervals) for node in item.program.nodes],
            "ends": item.program.ends.ravel().tolist(),
            "edges": [number(edge.intervals) for edge in item.program.edges],
        }
        for item in programs
    ]
    return {
        "info": _info_json(programs.info),
        "schema": None if schema is None else schema.to_json(),
        "vectors": [vector_to_json(intervals) for intervals in numbers],
        "programs": listed,
    }


def _metadata(item: MinedProgram) -> dict[str, Any]:
    """Return all but the program itself."""
    metadata: dict[str, Any] = {
        **({} if item.label is None else {"label": item.label, "score": item.score}),
        "support": format_rows(np.flatnonzero(item.support)),
        "targets": item.targets.tolist() if item.label is not None else format_rows(item.targets),
        "steps": item.steps,
    }
    if not item.complete:
        metadata["complete"] = False
    if item.held_out_score is not None:
        metadata["held_out_score"] = item.held_out_score
    if item.example is not None:
        metadata |= {"example": item.example.smiles, "atoms": list(item.example.atoms)}
    return metadata


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
    from gdlnn.gdl.parser import parse_programs  # lark is needed for reading text alone

    first, _, rest = text.partition("\n")
    if not first.startswith(FIRST_LINE):
        raise MiningError(
            f"{where}, line 1: expected {FIRST_LINE!r} and JSON, as saved sets have, got {first[:40]!r}"
        )
    with _readable(where):
        schema = None
        if rest.startswith(SCHEMA_LINE):
            schema = bounded_json.loads(rest.partition("\n")[0].removeprefix(SCHEMA_LINE))
        info = _read_info(bounded_json.loads(first.removeprefix(FIRST_LINE)), schema, f"{where}, line 1")
    try:
        programs = parse_programs(text)
    except GDLSyntaxError as error:
        raise MiningError(f"{where}: {error}") from error
    return _read_items(programs, info, where)


def from_json(data: Any, where: str) -> ProgramSet:
    """Read what `to_json` gave; `where` names the data in errors."""
    with _readable(where):
        info = _read_info(data["info"], data["schema"], where)
        vectors = [checked_intervals(vector_from_json(vector, where), where) for vector in data["vectors"]]
        programs: list[NamedProgram] = []
        for item in data["programs"]:
            names, ends = item["variables"], item["ends"]
            nodes = zip(names, [vectors[number] for number in item["nodes"]], strict=True)
            edges = zip(
                [names[end] for end in ends[::2]],
                [names[end] for end in ends[1::2]],
                [vectors[number] for number in item["edges"]],
                strict=True,
            )
            programs.append(NamedProgram(Program(nodes, edges), f"p{len(programs) + 1}", item))
    return _read_items(programs, info, where)


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """Report other data than that of a set as an error that names it."""
    try:
        yield
    except MiningError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        kind = "a missing entry" if isinstance(error, LookupError) else "other data"
        what = "the schema" if isinstance(error, GraphError) else "the data of the set"
        raise MiningError(f"{where}: expected {what} as JSON, got {kind}: {error}") from error


def _read_info(data: Any, schema: Any, where: str) -> SetInfo:
    if data["format"] != FORMAT:
        raise MiningError(f"{where}: expected format {FORMAT}, got {data['format']!r:.60}")
    n_graphs = _count(data, "n_graphs", MAX_GRAPHS)
    return SetInfo(
        n_graphs=n_graphs,
        label_counts=_label_counts(data["labels"], n_graphs),
        directed=_kind(data, "directed", bool),
        n_node_features=_count(data, "n_node_features", MAX_FEATURES),
        n_edge_features=_count(data, "n_edge_features", MAX_FEATURES),
        settings=_kind(data, "settings", dict),
        n_targets=_count(data, "n_targets", MAX_GRAPHS),
        dataset=_kind(data, "dataset", str),
        fingerprint=_kind(data, "fingerprint", str),
        version=_kind(data, "gdlnn", str),
        complete=_kind(data, "complete", bool),
        schema=None if schema is None else Schema.from_json(schema),
    )


def _read_items(programs: list[NamedProgram], info: SetInfo, where: str) -> ProgramSet:
    if len(programs) * max(info.n_graphs, 1) > MAX_SUPPORTS:
        raise MiningError(
            f"{where}: expected at most {MAX_SUPPORTS:,} bytes of supports, "
            f"got {len(programs):,} programs over {info.n_graphs:,} graphs"
        )
    labels = frozenset(label for label, _ in info.label_counts)
    items = [_read_item(item, info, labels, f"{where}: program {item.name!r:.60}") for item in programs]
    return ProgramSet(items, info)


def _kind(data: Mapping[str, Any], key: str, kind: type[Kind]) -> Kind:
    """Return an entry, which must have exactly this type: a bool is not a number."""
    value = data[key]
    if type(value) is not kind:
        raise TypeError(f"{key}: expected {kind.__name__}, got {value!r:.60}")
    return value


def _count(data: Mapping[str, Any], key: str, most: int) -> int:
    value = _kind(data, key, int)
    if not 0 <= value <= most:
        raise ValueError(f"{key}: expected at most {most:,}, got {value!r:.60}")
    return value


def _label_counts(pairs: Any, n_graphs: int) -> tuple[tuple[Any, int], ...]:
    counts = {label: count for label, count in pairs}  # noqa: C416 - refuses anything that is not a pair
    for label, count in counts.items():
        if not isinstance(label, str | int | float) or type(count) is not int or not 0 <= count <= n_graphs:
            raise TypeError(f"labels: expected labels and how many graphs have them, got {label!r:.60}")
    if len(counts) != len(pairs):
        raise ValueError("labels: expected each label once")
    return tuple(counts.items())


def _read_item(item: NamedProgram, info: SetInfo, labels: frozenset[Any], where: str) -> MinedProgram:
    metadata = item.metadata
    label, score = None, 0.0
    if "label" in metadata or "score" in metadata:  # programs found without labels have neither
        label = _entry(metadata, "label", (str, int, float, bool), where)
        score = float(_entry(metadata, "score", (float, int), where))
    if label is not None and label not in labels:
        known = [pair[0] for pair in info.label_counts]
        raise MiningError(f"{where}: label: expected one of {known!r:.300}, got {label!r:.60}")
    targets = _entry(metadata, "targets", (list,) if label is not None else (str,), where)
    if isinstance(targets, str):  # rows of many graphs, in the short form of supports
        rows: IntArray | Support = _support(targets, info.n_graphs, f"{where}: targets")
    else:
        rows = _target_rows(targets, info.n_graphs, where)
    support = _support(_entry(metadata, "support", (str,), where), info.n_graphs, f"{where}: support")
    try:
        item.program.check_widths(info.n_node_features, info.n_edge_features)
    except ProgramError as error:
        raise MiningError(f"{where}: {error}") from error
    steps = int(_entry(metadata, "steps", (int,), where))
    complete = _entry({"complete": True, **metadata}, "complete", (bool,), where)
    outside = metadata.get("held_out_score")
    if outside is not None:
        outside = float(_entry(metadata, "held_out_score", (float, int), where))
    example = _read_example(metadata, len(item.program.nodes), where)
    return MinedProgram(item.program, label, score, support, rows, steps, complete, outside, example)


def _target_rows(targets: list[Any], n_graphs: int, where: str) -> IntArray:
    if set(map(type, targets)) != {int} or min(targets) < 0 or max(targets) >= n_graphs:
        raise MiningError(f"{where}: targets: expected rows from 0 to {n_graphs - 1}")
    return np.array(targets, dtype=np.int64)


def _read_example(metadata: Mapping[str, Any], n_nodes: int, where: str) -> Example | None:
    if "example" not in metadata:
        return None
    smiles = _entry(metadata, "example", (str,), where)
    atoms = _entry(metadata, "atoms", (list,), where)
    if len(atoms) != n_nodes or not all(type(v) is int and v >= 0 for v in atoms):
        raise MiningError(f"{where}: atoms: expected {n_nodes} numbers, one for each variable")
    return Example(smiles, tuple(atoms))


def _support(text: str, n_graphs: int, where: str) -> Support:
    try:
        return Support.parse(text, n_graphs)
    except ValueError as error:
        raise MiningError(f"{where}: {error}") from error


def _entry(metadata: Mapping[str, Any], key: str, kinds: tuple[type, ...], where: str) -> Any:
    value = metadata.get(key)
    if not isinstance(value, kinds):
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise MiningError(f"{where}: {key}: expected {expected}, got {value!r}")
    return value


# --- for people -------------------------------------------------------------------------------------------


def summary(programs: ProgramSet) -> str:
    """Return a few lines about the content of a set and how long mining took."""
    info, stats = programs.info, programs.stats
    schema = info.schema or Schema()
    of = f" of {info.dataset}" if info.dataset else ""
    rows = {int(row) for item in programs for row in item.targets}
    state = "" if programs.complete else f", incomplete: stopped by {programs.stopped_by or 'hand'}"
    lines = [f"{len(programs)} programs from {len(rows)} of {info.n_graphs} graphs{of}{state}"]
    counts = Counter(programs.labels)
    if counts[None]:
        lines.append(f"  {counts[None]} programs found without labels")
    for label, n_graphs in info.label_counts:
        if not counts[label] and counts[None]:
            continue
        scores = [item.score for item in programs if item.label == label]
        best = f", best score {max(scores):.4f}" if scores else ""
        lines.append(f"  {schema.class_name(label)}: {counts[label]} programs for {n_graphs} graphs{best}")
    if programs:
        nodes = sum(len(item.program.nodes) for item in programs) / len(programs)
        support = sum(item.n_matched for item in programs) / len(programs)
        lines.append(f"  {nodes:.1f} nodes and {support:.1f} graphs matched on average")
    settings = info.settings
    if "radius" in settings:
        lines.append(f"  neighbourhoods of radius 0 to {settings['radius']}")
    else:
        kind = "connected" if settings.get("connected", True) else "connected or not"
        lines.append(f"  ε = {settings.get('epsilon', 0):g}, {settings.get('strategy', '')}, {kind}")
    if stats.tasks:
        lines.append(
            f"  {stats.tasks} descents, {stats.tests} tests, {stats.unknown_share:.2%} unknown, "
            f"{stats.descent_seconds:.1f} s of descents, {stats.wall_seconds:.1f} s in all"
        )
    return "\n".join(lines)


def columns(programs: ProgramSet) -> Columns:
    """Return a set as columns, a row per program in its order; SMARTS where there is an exact one."""
    schema, directed = programs.info.schema, programs.info.directed
    found: Columns = {
        "program": [item.program.describe(schema, directed=directed) for item in programs],
        "label": programs.labels,
        "score": programs.scores.tolist(),
        "held_out_score": [item.held_out_score for item in programs],
        "n_matched": [item.n_matched for item in programs],
        "n_nodes": [len(item.program.nodes) for item in programs],
    }
    if schema is not None and schema.domain == "molecule":
        found["smarts"] = [_smarts(item.program, schema) for item in programs]
    return found | {"gdl": [str(item.program) for item in programs]}


def _smarts(program: Program, schema: Schema) -> str | None:
    try:
        return program.to_smarts(schema)
    except ProgramError:
        return None


def table(programs: ProgramSet, n: int) -> Table:
    """Return the best programs as a table."""
    from rich.table import Table
    from rich.text import Text

    schema = programs.info.schema
    shown = programs.ranked()[:n]
    result = Table(title=f"{len(shown)} best of {len(programs)} programs", title_justify="left")
    held_out = any(item.held_out_score is not None for item in shown)
    for name in ("rank", "score", *(["held out"] if held_out else []), "support", "targets"):
        result.add_column(name, justify="right")
    result.add_column("label")
    result.add_column("program", ratio=1)
    for rank, item in enumerate(shown, start=1):
        result.add_row(
            str(rank),
            "" if item.label is None else f"{item.score:.4f}",
            *([_shown(item.held_out_score)] if held_out else []),
            str(item.n_matched),
            str(len(item.targets)),
            Text("" if item.label is None else printable((schema or Schema()).class_name(item.label))),
            Text(printable(_line(item.program, schema, programs.info.directed))),  # brackets are not markup
        )
    return result


def _shown(score: float | None) -> str:
    return "" if score is None else f"{score:.4f}"


def describe(programs: ProgramSet, n: int) -> str:
    """Return the table as text."""
    from rich.console import Console

    console = Console(width=WIDTH, color_system=None, force_terminal=False, force_jupyter=False)
    with console.capture() as capture:
        console.print(table(programs, n))
    return capture.get()


def _line(program: Program, schema: Schema | None, directed: bool) -> str:
    if schema is None:
        return "; ".join(str(program).splitlines())
    return shortened(program.describe(schema, directed=directed), CELL_WORDS)
