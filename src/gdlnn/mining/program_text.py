"""A ProgramSet as GDL text, as JSON, and as summaries, tables and molecules to draw programs on.

The first line of a text is a comment with the set's own data as JSON, the second one the schema if there is
one. Each program has a header with its label, score, support, targets and steps, and above it a comment that
describes it in words.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gdlnn.errors import GDLSyntaxError, GraphError, MiningError, MissingExtraError, ProgramError, printable
from gdlnn.gdl.atoms import is_chemical
from gdlnn.gdl.printer import format_programs, vector_from_json, vector_to_json
from gdlnn.gdl.program import NamedProgram, Program, checked_intervals
from gdlnn.gdl.text import shortened
from gdlnn.graphs import Schema
from gdlnn.graphs.molecules import chem, graph_molecule, without_messages
from gdlnn.io import bounded
from gdlnn.mining.program_set import (
    Example,
    IntArray,
    MinedProgram,
    ProgramSet,
    SetInfo,
    matched_rows,
    support_matrix,
)
from gdlnn.progress import stage_done

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from gdlnn.gdl.program import Intervals
    from gdlnn.graphs import Graph
    from gdlnn.io.frames import Columns

    Molecule = tuple[str, list[int]]
    """A molecule as SMILES, and the nodes of its graph in the order of the atoms there."""

FIRST_LINE = "// gdlnn programs "
SCHEMA_LINE = "// schema "
FORMAT = 1
MAX_MATCHES = 1 << 28
"""Maximum number of matches in a file, over all programs and graphs: a range takes few bytes of text."""
MAXIMA = {
    "n_graphs": 1_000_000_000,
    "n_targets": 1_000_000_000,
    "n_node_features": 100_000,
    "n_edge_features": 100_000,
}
"""Maximum numbers that a file may declare."""
WORDS = 240
"""Maximum length of the description of a program in a file or a summary, in characters."""
N_BEST = 5
"""How many of the best programs a summary lists."""
_TRIED = 20  # the smallest of this many matched molecules becomes the example
_RUN = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?(,|\Z)", re.ASCII)


def to_text(programs: ProgramSet) -> str:
    """Return a set as text, with a description above each program if its features have names."""
    info = programs.info
    lines = [FIRST_LINE + json.dumps(_info_json(info), ensure_ascii=False)]
    if info.schema is not None:
        lines.append(SCHEMA_LINE + json.dumps(info.schema.to_json(), ensure_ascii=False))
    for number, (program, metadata) in enumerate(zip(programs.programs, _metadata(programs), strict=True)):
        lines.append("")
        if info.schema is not None:
            sentence = program.describe(info.schema, directed=info.directed)
            lines.append(f"// {shortened(' '.join(sentence.split()), WORDS)}")
        lines.append(format_programs([NamedProgram(program, f"p{number + 1}", metadata)]).rstrip("\n"))
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
            **metadata,
            "variables": list(program.variables),
            "nodes": [number(node.intervals) for node in program.nodes],
            "ends": program.ends.ravel().tolist(),
            "edges": [number(edge.intervals) for edge in program.edges],
        }
        for program, metadata in zip(programs.programs, _metadata(programs), strict=True)
    ]
    return {
        "info": _info_json(programs.info),
        "schema": None if schema is None else schema.to_json(),
        "vectors": [vector_to_json(intervals) for intervals in numbers],
        "programs": listed,
    }


def _metadata(programs: ProgramSet) -> Iterator[dict[str, Any]]:
    """Yield all but the program itself, for each program."""
    for item, rows in zip(programs, matched_rows(programs.supports), strict=True):
        labelled = item.label is not None
        yield {
            **({"label": item.label, "score": item.score} if labelled else {}),
            "support": format_rows(rows),
            "targets": item.targets.tolist() if labelled else format_rows(item.targets),
            "steps": item.steps,
            **({} if item.complete else {"complete": False}),
            **({"example": item.example.smiles, "atoms": list(item.example.atoms)} if item.example else {}),
        }


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
            schema = bounded.loads(rest.partition("\n")[0].removeprefix(SCHEMA_LINE))
        info = _read_info(bounded.loads(first.removeprefix(FIRST_LINE)), schema, f"{where}, line 1")
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


def _entry(data: Mapping[str, Any], key: str, where: str, *kinds: type) -> Any:
    """Return an entry, which must have exactly one of these types: a bool is not a number."""
    value = data.get(key)
    if type(value) not in kinds:
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise MiningError(f"{where}: {key}: expected {expected}, got {value!r:.60}")
    return value


def _read_info(data: Any, schema: Any, where: str) -> SetInfo:
    if data["format"] != FORMAT:
        raise MiningError(f"{where}: expected format {FORMAT}, got {data['format']!r:.60}")
    counts: dict[str, int] = {name: _entry(data, name, where, int) for name in MAXIMA}
    for name, most in MAXIMA.items():
        if not 0 <= counts[name] <= most:
            raise MiningError(f"{where}: {name}: expected at most {most:,}, got {counts[name]!r:.60}")
    return SetInfo(
        **counts,
        label_counts=_label_counts(data["labels"], counts["n_graphs"]),
        directed=_entry(data, "directed", where, bool),
        settings=_entry(data, "settings", where, dict),
        dataset=_entry(data, "dataset", where, str),
        fingerprint=_entry(data, "fingerprint", where, str),
        version=_entry(data, "gdlnn", where, str),
        complete=_entry(data, "complete", where, bool),
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


def _read_items(programs: list[NamedProgram], info: SetInfo, where: str) -> ProgramSet:
    labels = frozenset(label for label, _ in info.label_counts)
    items, supports, left = [], [], MAX_MATCHES
    for named in programs:
        place = f"{where}: program {named.name!r:.60}"
        rows = _read_rows(named.metadata, "support", info.n_graphs, left, place)
        item = _read_item(named, len(rows), info, labels, left - len(rows), place)
        left -= len(rows) + len(item.targets)
        items.append(item)
        supports.append(rows)
    return ProgramSet(items, support_matrix(supports, info.n_graphs), info)


def _read_item(
    named: NamedProgram, n_matched: int, info: SetInfo, labels: frozenset[Any], left: int, where: str
) -> MinedProgram:
    metadata = {"complete": True, **named.metadata}
    label, score = None, 0.0
    if "label" in metadata or "score" in metadata:  # programs found without labels have neither
        label = _entry(metadata, "label", where, str, int, float, bool)
        score = float(_entry(metadata, "score", where, float, int))
        if label not in labels:
            known = [pair[0] for pair in info.label_counts]
            raise MiningError(f"{where}: label: expected one of {known!r:.300}, got {label!r:.60}")
        targets = _entry(metadata, "targets", where, list)
        if not targets or not all(type(row) is int and 0 <= row < info.n_graphs for row in targets):
            raise MiningError(f"{where}: targets: expected rows from 0 to {info.n_graphs - 1}")
    else:
        targets = _read_rows(metadata, "targets", info.n_graphs, left, where)
    try:
        named.program.check_widths(info.n_node_features, info.n_edge_features)
    except ProgramError as error:
        raise MiningError(f"{where}: {error}") from error
    return MinedProgram(
        named.program,
        label,
        score,
        n_matched,
        np.array(targets, dtype=np.int64),
        _entry(metadata, "steps", where, int),
        _entry(metadata, "complete", where, bool),
        _read_example(metadata, len(named.program.nodes), where),
    )


def _read_example(metadata: Mapping[str, Any], n_nodes: int, where: str) -> Example | None:
    if "example" not in metadata:
        return None
    smiles, atoms = _entry(metadata, "example", where, str), _entry(metadata, "atoms", where, list)
    if len(atoms) != n_nodes or not all(type(v) is int and v >= 0 for v in atoms):
        raise MiningError(f"{where}: atoms: expected {n_nodes} numbers, one for each variable")
    return Example(smiles, tuple(atoms))


# --- row numbers ------------------------------------------------------------------------------------------


def format_rows(rows: npt.NDArray[np.integer[Any]]) -> str:
    """Write sorted row numbers with runs as ranges: ``0-5,7``."""
    runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1) if len(rows) else []
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def parse_rows(text: str, n_rows: int, most: int = MAX_MATCHES) -> IntArray:
    """Read what `format_rows` wrote.

    Raises
    ------
    ValueError
        If the text is not a list of increasing rows below `n_rows`, or lists more than `most` rows.
    """
    ends = array("q")
    at, least = 0, 0
    while at < len(text):
        run = _RUN.match(text, at)
        first, last = (int(run[1]), int(run[2] or run[1])) if run else (-1, -1)
        if run is None or not least <= first <= last < n_rows:
            got = (run[0] if run else text[at : at + 40]).rstrip(",")
            order = "increasing " if run is not None and last < n_rows else ""
            raise ValueError(f"expected {order}rows from 0 to {n_rows - 1}, got {got!r}")
        ends.extend((first, last))
        least, at = last + 1, run.end()
    if text.endswith(","):
        raise ValueError(f"expected rows from 0 to {n_rows - 1}, got a comma at the end")
    firsts, lengths = np.array(ends[::2]), np.array(ends[1::2]) - np.array(ends[::2]) + 1
    total = int(lengths.sum())
    if total > most:
        raise ValueError(f"expected at most {MAX_MATCHES:,} rows over all programs, got more")
    return np.repeat(firsts - np.cumsum(lengths) + lengths, lengths) + np.arange(total)


def _read_rows(metadata: Mapping[str, Any], key: str, n_rows: int, most: int, where: str) -> IntArray:
    try:
        return parse_rows(_entry(metadata, key, where, str), n_rows, most)
    except ValueError as error:
        raise MiningError(f"{where}: {key}: {error}") from error


# --- for people -------------------------------------------------------------------------------------------


def summary(programs: ProgramSet) -> str:
    """Return a few lines: how many programs each label has, and the best ones."""
    info, schema = programs.info, programs.info.schema or Schema()
    of = f" of {info.dataset}" if info.dataset else ""
    state = "" if programs.complete else f", incomplete: stopped by {programs.stopped_by or 'hand'}"
    lines = [f"{len(programs)} programs from {info.n_graphs} graphs{of}{state}"]
    counts = Counter(programs.labels)
    for label, n_graphs in info.label_counts if len(programs) > counts[None] else ():
        lines.append(f"  {schema.class_name(label)}: {counts[label]} programs for {n_graphs} graphs")
    for rank, item in enumerate(programs.ranked()[:N_BEST], start=1):
        score = "" if item.label is None else f"{schema.class_name(item.label)}, score {item.score:.4f}, "
        words = shortened(item.program.describe(info.schema, directed=info.directed), WORDS)
        lines.append(f"  {rank}. {score}{item.n_matched} graphs: {words}")
    return printable("\n".join(lines))


def columns(programs: ProgramSet) -> Columns:
    """Return a set as columns, a row per program in its order; SMARTS where there is an exact one."""
    schema, directed = programs.info.schema, programs.info.directed
    found: Columns = {
        "program": [item.program.describe(schema, directed=directed) for item in programs],
        "label": programs.labels,
        "score": programs.scores.tolist(),
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


# --- molecules to draw programs on ------------------------------------------------------------------------


def find_examples(programs: ProgramSet, graphs: Sequence[Graph]) -> list[MinedProgram]:
    """Return the programs, each with a molecule that it matches, if there are molecules and RDKit.

    Parameters
    ----------
    programs
        The programs.
    graphs
        The graphs they were found in.
    """

    @cache
    def molecule(row: int) -> Molecule | None:
        try:
            return _as_smiles(graphs[row])
        except (GraphError, MissingExtraError):  # another molecule may do
            return None

    items = []
    for item, rows in zip(programs, matched_rows(programs.supports), strict=True):
        example = item.example or _example(item.program, graphs, rows[:_TRIED].tolist(), molecule)
        items.append(replace(item, example=example))
        stage_done(len(items), len(programs))
    return items


def _example(
    program: Program, graphs: Sequence[Graph], rows: list[int], molecule: Callable[[int], Molecule | None]
) -> Example | None:
    """Return the smallest molecule of some rows that RDKit accepts."""
    if not rows or not is_chemical(graphs[rows[0]].schema):
        return None
    for row in sorted(rows, key=lambda row: (graphs[row].n_nodes, row)):
        written = molecule(row)
        witness = program.find(graphs[row]) if written is not None else None
        if written is not None and witness is not None:
            smiles, order = written
            return Example(smiles, tuple(order.index(witness[v]) for v in program.variables))
    return None


def _as_smiles(graph: Graph) -> Molecule:
    """Write the molecule of a graph as SMILES and track its atoms."""
    rd = chem("Drawing a molecule")
    molecule = graph_molecule(graph)
    if graph.schema is not None and all(feature.name != "charge" for feature in graph.schema.node):
        _charge_nitro(molecule)
    with without_messages("Drawing a molecule"):
        try:
            rd.SanitizeMol(molecule)
        except (RuntimeError, ValueError) as error:
            raise GraphError(f"RDKit cannot sanitise this molecule: {error}") from error
    smiles = rd.MolToSmiles(molecule)
    return str(smiles), list(molecule.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])


def _charge_nitro(molecule: Any) -> None:
    """Put charges on nitro groups of graphs without charges, where nitrogen has four bonds."""
    for atom in molecule.GetAtoms():
        if atom.GetSymbol() != "N" or sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) != 4:
            continue
        atom.SetFormalCharge(1)
        for bond in atom.GetBonds():
            other = bond.GetOtherAtom(atom)
            if other.GetSymbol() == "O" and other.GetDegree() == 1 and bond.GetBondTypeAsDouble() == 1:
                other.SetFormalCharge(-1)
                break
