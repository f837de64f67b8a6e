"""A ProgramSet as JSON: one object in a model file, or lines that people can read in a file of its own.

Which training graphs a program matches is text such as ``"0-5,7"``. A model file holds nodes and edges as
numbers of vectors, which are read quickly; a file of programs holds GDL, and each program in words.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from functools import cache
from itertools import starmap
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gdlnn.errors import GraphError, MiningError
from gdlnn.gdl.printer import vector_from_json, vector_to_json
from gdlnn.gdl.program import EdgeDescription, NodeDescription, Program, checked_intervals
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Schema
from gdlnn.io import bounded
from gdlnn.mining.program_set import (
    WORDS,
    Example,
    MinedProgram,
    ProgramSet,
    SetInfo,
    matched_rows,
    support_matrix,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gdlnn.gdl.program import Intervals

FORMAT = 1
IntArray = npt.NDArray[np.int64]
MAX_MATCHES = 1 << 28
"""Maximum number of matches in a file, over all programs and graphs: a range takes few bytes of text."""
MAXIMA = {"n_graphs": 1_000_000_000, "n_node_features": 100_000, "n_edge_features": 100_000}
"""Maximum numbers that a file may declare."""
_RANGES = re.compile(r"(?:[0-9]{1,10}(?:-[1-9][0-9]{0,9})?(?:,(?=[0-9])|\Z))*+", re.ASCII)


# --- writing ----------------------------------------------------------------------------------------------


def to_json(programs: ProgramSet) -> dict[str, Any]:
    """Return a set as plain JSON values, as model files hold it.

    Nodes and edges are given by the numbers of their vectors, since few of these are different.
    """
    numbers: dict[Intervals | None, int] = {}

    def number(intervals: Intervals | None) -> int:
        return numbers.setdefault(intervals, len(numbers))

    listed = [
        {
            **metadata,
            "variables": list(program.variables),
            "nodes": [number(node.intervals) for node in program.nodes],
            "ends": program.ends.ravel().tolist(),
            "edges": [number(edge.intervals) for edge in program.edges],
        }
        for program, metadata in _with_metadata(programs)
    ]
    vectors = [vector_to_json(intervals) for intervals in numbers]
    return {**_head(programs.info), "vectors": vectors, "programs": listed}


def to_text(programs: ProgramSet) -> str:
    """Return a set as lines of JSON: what it was mined from, then each program in words and as GDL."""
    info = programs.info
    lines: list[dict[str, Any]] = [_head(info)]
    for program, metadata in _with_metadata(programs):
        words = shortened(program.describe(info.schema, directed=info.directed), WORDS)
        lines.append({"words": words, "gdl": str(program), **metadata})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _with_metadata(programs: ProgramSet) -> Iterator[tuple[Program, dict[str, Any]]]:
    for item, rows in zip(programs, matched_rows(programs.supports), strict=True):
        yield (
            item.program,
            {
                **({} if item.label is None else {"label": item.label, "score": item.score}),
                "support": format_rows(rows),
                **({} if item.complete else {"complete": False}),
                **(
                    {"example": item.example.smiles, "atoms": list(item.example.atoms)}
                    if item.example
                    else {}
                ),
            },
        )


def _head(info: SetInfo) -> dict[str, Any]:
    values = {name: value for name, value in vars(info).items() if name not in ("schema", "label_counts")}
    labels = [list(pair) for pair in info.label_counts]
    schema = None if info.schema is None else info.schema.to_json()
    return {"info": {"format": FORMAT, **values, "labels": labels}, "schema": schema}


# --- reading ----------------------------------------------------------------------------------------------


def from_text(text: str, where: str) -> ProgramSet:
    """Read what `to_text` gave; `where` names the text in errors."""
    with _readable(where):
        head, *lines = bounded.loads("[" + text.strip().replace("\n", ",") + "]")
        return from_json({**head, "vectors": [], "programs": lines}, where)


def from_json(data: Any, where: str) -> ProgramSet:
    """Read what `to_json` gave; `where` names the data in errors."""
    items = []
    with _readable(where):
        info = _read_info(data["info"], data["schema"], where)
        read, given = _ProgramReader(data["vectors"], info, where), data["programs"]
        rows = parse_rows([_entry(entries, "support", str) for entries in given], info.n_graphs)
        for number, entries in enumerate(given):
            with _readable(f"{where}: program {number + 1}"):
                items.append(_read_item(entries, read(entries), len(rows[number]), info))
    return ProgramSet(items, support_matrix(rows, info.n_graphs), info)


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """Report other data than that of a set as an error that names it."""
    try:
        yield
    except MiningError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        kind = f"a missing entry: {error}" if isinstance(error, LookupError) else error
        what = "the schema: " if isinstance(error, GraphError) else ""
        raise MiningError(f"{where}: expected a set of programs as JSON: {what}{kind}") from error


def _entry(data: Mapping[str, Any], key: str, *kinds: type) -> Any:
    """Return an entry, which must have exactly one of these types: a bool is not a number."""
    value = data.get(key)
    if type(value) not in kinds:
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{key}: expected {expected}, got {value!r:.60}")
    return value


def _read_info(data: Any, schema: Any, where: str) -> SetInfo:
    if data["format"] != FORMAT:
        raise MiningError(f"{where}: expected format {FORMAT}, got {data['format']!r:.60}")
    counts: dict[str, int] = {name: _entry(data, name, int) for name in MAXIMA}
    for name, most in MAXIMA.items():
        if not 0 <= counts[name] <= most:
            raise ValueError(f"{name}: expected at most {most:,}, got {counts[name]!r:.60}")
    return SetInfo(
        **counts,
        label_counts=_label_counts(data["labels"], counts["n_graphs"]),
        directed=_entry(data, "directed", bool),
        settings=_entry(data, "settings", dict),
        dataset=_entry(data, "dataset", str),
        fingerprint=_entry(data, "fingerprint", str),
        complete=_entry(data, "complete", bool),
        schema=None if schema is None else Schema.from_json(schema),
    )


def _label_counts(pairs: Any, n_graphs: int) -> tuple[tuple[Any, int], ...]:
    counts = {label: count for label, count in pairs}  # noqa: C416 - refuses anything that is not a pair
    for label, count in counts.items():
        if not isinstance(label, str | int | float) or type(count) is not int or not 0 <= count <= n_graphs:
            raise TypeError(f"labels: expected labels and how many graphs have them, got {label!r:.60}")
    if len(counts) != len(pairs):
        raise ValueError("labels: expected each label once")
    return tuple(counts.items())


class _ProgramReader:
    """Reads the programs of a file; a node or edge that several have is checked and made once."""

    def __init__(self, vectors: Any, info: SetInfo, where: str) -> None:
        self._vectors = [checked_intervals(vector_from_json(vector, where), where) for vector in vectors]
        self._widths = info.n_node_features, info.n_edge_features
        self._node, self._edge = cache(self._checked_node), cache(self._checked_edge)

    def __call__(self, entries: Mapping[str, Any]) -> Program:
        if "gdl" in entries:
            program = Program.parse(_entry(entries, "gdl", str))
            program.check_widths(*self._widths)
            return program
        names, ends = entries["variables"], entries["ends"]
        sources, targets = [names[end] for end in ends[::2]], [names[end] for end in ends[1::2]]
        if len(set(names)) < len(names) or len(set(zip(sources, targets, strict=True))) < len(sources):
            raise ValueError("expected each variable and each edge once")
        nodes = starmap(self._node, zip(names, entries["nodes"], strict=True))
        edges = starmap(self._edge, zip(sources, targets, entries["edges"], strict=True))
        return Program._trusted(tuple(nodes), tuple(edges))

    def _checked_node(self, name: str, number: int) -> NodeDescription:
        node = Program([(name, self._vectors[number])])
        node.check_widths(*self._widths)
        return node.nodes[0]

    def _checked_edge(self, source: str, target: str, number: int) -> EdgeDescription:
        edge = Program(
            [(name, None) for name in {source: 0, target: 0}], [(source, target, self._vectors[number])]
        )
        edge.check_widths(*self._widths)
        return edge.edges[0]


def _read_item(entries: Mapping[str, Any], program: Program, n_matched: int, info: SetInfo) -> MinedProgram:
    label, score, example = None, 0.0, None
    if "label" in entries or "score" in entries:  # programs found without labels have neither
        label = _entry(entries, "label", str, int, float, bool)
        score = float(_entry(entries, "score", float, int))
        known = [own for own, _ in info.label_counts]
        if label not in known:
            raise ValueError(f"label: expected one of {known!r:.300}, got {label!r:.60}")
    if "example" in entries:
        smiles, atoms = _entry(entries, "example", str), _entry(entries, "atoms", list)
        if len(atoms) != len(program.nodes) or not all(type(v) is int and v >= 0 for v in atoms):
            raise ValueError(f"atoms: expected {len(program.nodes)} numbers, one for each variable")
        example = Example(smiles, tuple(atoms))
    complete = _entry({"complete": True, **entries}, "complete", bool)
    return MinedProgram(program, label, score, n_matched, complete, example)


# --- row numbers ------------------------------------------------------------------------------------------


def format_rows(rows: npt.NDArray[np.integer[Any]]) -> str:
    """Write sorted row numbers with runs as ranges: ``0-5,7``."""
    runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else []
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def parse_rows(texts: Sequence[str], n_rows: int) -> list[IntArray]:
    """Read several texts of `format_rows` together, which takes a fraction of the time.

    Raises
    ------
    ValueError
        If a text is not a list of increasing rows below `n_rows`, or all have more than `MAX_MATCHES`.
    """
    expected = f"expected increasing rows from 0 to {n_rows - 1}, got"
    for text in texts:
        if not _RANGES.fullmatch(text):
            raise ValueError(f"{expected} {text!r:.60}")
    of_text = np.repeat(np.arange(len(texts)), [text.count(",") + 1 if text else 0 for text in texts])
    # The end of a range reads as a negative number: "0-5,7" as 0, -5, 7.
    numbers = np.fromstring(",".join(filter(None, texts)).replace("-", ",-"), dtype=np.int64, sep=",")
    firsts = numbers[numbers >= 0]
    lasts = firsts.copy()
    lasts[np.cumsum(numbers >= 0)[numbers < 0] - 1] = -numbers[numbers < 0]
    falls = np.zeros(len(firsts), dtype=bool)
    falls[1:] = (firsts[1:] <= lasts[:-1]) & (of_text[1:] == of_text[:-1])
    for wrong in np.flatnonzero(falls | (firsts > lasts) | (lasts >= n_rows)):
        raise ValueError(f"{expected} {texts[of_text[wrong]]!r:.60}")
    lengths = lasts - firsts + 1
    if lengths.sum() > MAX_MATCHES:  # before any range is written out
        raise ValueError(f"expected at most {MAX_MATCHES:,} matches of all programs, got more")
    rows = np.repeat(lasts + 1 - np.cumsum(lengths), lengths) + np.arange(int(lengths.sum()))
    ends = np.searchsorted(np.repeat(of_text, lengths), np.arange(1, len(texts)))
    return np.split(rows, ends)[: len(texts)]
