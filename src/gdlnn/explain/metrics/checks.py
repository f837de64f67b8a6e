"""Checks that metrics share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdlnn.errors import ExplanationError

if TYPE_CHECKING:
    from collections.abc import Sized


def same_length(metric: str, **columns: Sized) -> None:
    """Check that there is something to average, and as much of everything."""
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} of {name}" for name, size in sizes.items())
        raise ExplanationError(f"{metric}: expected one value per graph in every column, got {got}")
    if not next(iter(sizes.values()), 0):
        raise ExplanationError(f"{metric}: expected at least one graph, got none")
