"""What to bring out in a picture: scores of nodes, outlines of programs, rings and crosses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_OUTLINES = 3
"""Outlines that are drawn at once: as many as line and color distinguish."""
LEVELS = 5
"""Steps of each hue of a map of scores."""
LEAST_SHOWN = 0.05
"""Share of the largest score under which a node stays as it is."""


@dataclass(frozen=True)
class Outline:
    """A program in a graph.

    Attributes
    ----------
    number
        Which of the listed programs it is, from 1. A list next to the picture lights it up by this number.
    nodes, edges
        The nodes and edges it matches.
    label
        Its name with a figure, such as "nitro group, +1.4"; may be empty.
    drawn
        Whether a line goes around it; else it shows when it is pointed at.
    """

    number: int
    nodes: tuple[int, ...]
    edges: tuple[tuple[int, int], ...] = ()
    label: str = ""
    drawn: bool = True


@dataclass(frozen=True)
class Marks:
    """What to bring out in a graph.

    Attributes
    ----------
    scores
        What each node adds, as it is written: a map in two hues. None: no map.
    outlines
        Programs and where they match.
    kept, gone
        Nodes that are ringed, and nodes that are crossed out. Both are hidden until the picture has the class
        ``shows-kept`` or ``shows-gone``.
    largest
        The score that gets the strongest color.
    """

    scores: Sequence[float] | None = None
    outlines: tuple[Outline, ...] = ()
    kept: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()
    largest: float = 1.0

    def level(self, node: int) -> str:
        """Return the class of the color of a node's score; empty without scores, or next to nothing."""
        if self.scores is None or abs(self.scores[node]) < LEAST_SHOWN * self.largest:
            return ""
        step = min(LEVELS, 1 + int(LEVELS * abs(self.scores[node]) / self.largest))
        return f"{'f' if self.scores[node] > 0 else 'g'}{step}"

    def drawn(self) -> list[tuple[int, Outline]]:
        """Return the outlines that are drawn with the number of their line, from 1."""
        shown = [outline for outline in self.outlines if outline.drawn and outline.nodes]
        return list(enumerate(shown[:MOST_OUTLINES], start=1))


NOTHING = Marks()


def signed(value: float) -> str:
    """Return a number with its sign and two significant figures, such as "+1.4" or "−0.032"."""
    if not value:
        return "0"
    size = abs(value)
    if size >= 9.95:
        digits = f"{size:.0f}"
    else:
        places = max(0, 1 - int(f"{size:.1e}".split("e")[1]))
        digits = f"{size:.{places}f}"
    return f"{'+' if value > 0 else '−'}{digits}"
