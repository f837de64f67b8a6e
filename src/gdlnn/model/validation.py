"""The validation part of a model's training data: as given, or held out."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gdlnn.errors import ModelError
from gdlnn.graphs import GraphDataset
from gdlnn.model.inputs import GraphsLike, as_labelled

if TYPE_CHECKING:
    from gdlnn.graphs.graph import IntArray

Validation = None | float | tuple[GraphsLike, npt.ArrayLike] | GraphDataset
MIN_VALIDATION = 100
"""Fewest graphs that are worth holding out: choices made on fewer are noise."""
logger = logging.getLogger(__name__)


def training_and_validation(
    data: GraphDataset, validation: Validation, fraction: float, seed: int
) -> tuple[GraphDataset, GraphDataset | None]:
    """Return the graphs to train on and the validation part, or None where there is none.

    Parameters
    ----------
    data
        All training graphs.
    validation
        What the user gave: a fraction to hold out, a part, or None.
    fraction
        Share to hold out where nothing was given and it comes to `MIN_VALIDATION` graphs.
    seed
        Seed of what is held out.
    """
    if isinstance(validation, GraphDataset):
        return data, as_labelled(validation, None, "fit: validation")
    if isinstance(validation, tuple):
        if len(validation) != 2:
            raise ModelError(f"fit: validation: expected (graphs, y), got a tuple of {len(validation)}")
        return data, as_labelled(validation[0], validation[1], "fit: validation")
    if validation is None:
        if fraction * len(data) < MIN_VALIDATION:
            return data, None
        validation = fraction
    given: object = validation
    if not isinstance(given, float) or not 0 < given < 1:
        expected = "a fraction between 0 and 1, (graphs, y) or a GraphDataset"
        raise ModelError(f"fit: validation: expected {expected}, got {validation!r}")
    rows = _stratified_rows(data, validation, seed)
    held_out = np.zeros(len(data), dtype=bool)
    held_out[rows] = True
    return data.take(~held_out), data.take(held_out)


def _stratified_rows(data: GraphDataset, fraction: float, seed: int) -> IntArray:
    """Draw a share of every class, at least one graph and never all of them."""
    assert data.y is not None
    rng = np.random.default_rng(seed)
    rows = []
    for label in np.unique(data.y):
        members = rng.permutation(np.flatnonzero(data.y == label))
        count = min(len(members) - 1, max(1, round(fraction * len(members))))
        rows.append(members[:count])
    return np.sort(np.concatenate(rows))
