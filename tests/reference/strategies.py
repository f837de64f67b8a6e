"""Hypothesis strategies for programs, schemas and metadata."""

import math
from typing import Any

from hypothesis import strategies as st

from gdlnn import Feature, Program, Schema
from gdlnn.gdl import Interval
from gdlnn.gdl.program import is_variable
from gdlnn.graphs import FeatureKind

finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True).filter(is_variable)
unicode_names = st.text(min_size=1, max_size=4).filter(is_variable)


@st.composite
def intervals(draw: st.DrawFn, bounds: st.SearchStrategy[float] = finite) -> Interval:
    """Intervals with open sides, single values and extreme bounds."""
    low, high = sorted((draw(bounds), draw(bounds)))
    kind = draw(st.sampled_from(["closed", "point", "lower", "upper", "any"]))
    return {
        "closed": Interval(low, high),
        "point": Interval(low, low),
        "lower": Interval(-math.inf, high),
        "upper": Interval(low, math.inf),
        "any": Interval(),
    }[kind]


def vectors(width: int, interval: st.SearchStrategy[Interval]) -> st.SearchStrategy[Any]:
    """Return vectors of one length, or None."""
    return st.none() | st.tuples(*[interval] * width)


@st.composite
def programs(
    draw: st.DrawFn,
    max_nodes: int = 6,
    widths: tuple[int, int] | None = None,
    interval: st.SearchStrategy[Interval] | None = None,
    max_edges: int = 8,
) -> Program:
    """Programs of every kind: empty, disconnected, with loops and both orientations of an edge."""
    d, c = widths or (draw(st.integers(0, 3)), draw(st.integers(0, 2)))
    element = intervals() if interval is None else interval
    variables = draw(st.lists(names | unicode_names, max_size=max_nodes, unique=True))
    nodes = [(variable, draw(vectors(d, element))) for variable in variables]
    pairs = []
    if variables:
        pair = st.tuples(st.sampled_from(variables), st.sampled_from(variables))
        pairs = draw(st.lists(pair, max_size=max_edges, unique=True))
    return Program(nodes, [(u, v, draw(vectors(c, element))) for u, v in pairs])


small_bounds = st.sampled_from([0.0, 1.0])
small_intervals = intervals(small_bounds)


@st.composite
def features(draw: st.DrawFn, name: str) -> Feature:
    """Features of every kind, with value names that may look like anything."""
    kind: FeatureKind = draw(st.sampled_from(["numeric", "ordinal", "nominal"]))
    odd = st.sampled_from(
        ["C", "N", "Cl", "inf", "1", "node", "in", "true", 'a "b"', "a, b", "", "naïve", "x\ny"]
    )
    codes = draw(st.lists(st.integers(-2, 6), max_size=6, unique=True))
    values = draw(st.lists(odd, min_size=len(codes), max_size=len(codes), unique=True))
    return Feature(name, kind, dict(zip(map(float, codes), values, strict=True)))


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Schemas whose feature names need quotes here and there."""
    odd = ["atom", "charge", "in", "inf", "node", "two words", "a=b", '"', "größe", "edge"]
    chosen = draw(st.lists(st.sampled_from(odd), max_size=5, unique=True))
    split = draw(st.integers(0, len(chosen)))
    described = [draw(features(name)) for name in chosen]
    return Schema(tuple(described[:split]), tuple(described[split:]))


scalars = (
    st.integers() | finite | st.booleans() | st.text(max_size=8) | st.sampled_from([math.inf, -math.inf])
)
metadata = st.dictionaries(st.text(max_size=6), scalars | st.lists(scalars, max_size=4), max_size=4)
