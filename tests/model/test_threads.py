"""Fits in threads: the same bytes as alone, and nothing of the process is changed on the way."""

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import pytest
import torch
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from gdlnn import GDLNNClassifier, MLPHead, Neighborhoods, make_ba_2motifs
from gdlnn.datasets.resolve import batched_dataset
from gdlnn.model.base import StoredHead
from gdlnn.model.linear import LinearHead
from gdlnn.model.regression import RidgeHead, ShortTableHead
from gdlnn.model.representation import stream_predictions

MOTIFS = make_ba_2motifs(24, random_state=0)
SEEDS = (0, 1, 0, 1)


def bytes_of_fit(folder: Path, seed: int, name: str) -> bytes:
    """Return the model file of a fit with dropout and an ensemble."""
    head = MLPHead(epochs=3)
    file = folder / f"{name}-{seed}.gdlnn"
    GDLNNClassifier(Neighborhoods(), head, random_state=seed, n_jobs=1, verbose=False).fit(MOTIFS).save(file)
    return file.read_bytes()


def state_of_the_process() -> list[Any]:
    """Return what a fit could disturb for others in this process.

    Filters of warnings are left out: scikit-learn itself sets them around its parallel jobs.
    """
    return [
        torch.random.get_rng_state().tolist(),
        torch.get_num_threads(),
        *ThreadPoolExecutor(1).map(lambda _: torch.get_num_threads(), [0]),  # in a new thread
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        [str(part) for part in np.random.get_state()],  # noqa: NPY002 - the state that others use
        random.getstate(),
        np.geterr(),
        dict(os.environ),
    ]


def test_fits_in_threads_give_the_bytes_of_fits_alone(tmp_path: Path) -> None:
    bytes_of_fit(tmp_path, 9, "first")  # loads parts of torch, which set a variable of their own
    torch.manual_seed(7)
    before = state_of_the_process()
    alone = {seed: bytes_of_fit(tmp_path, seed, "alone") for seed in set(SEEDS)}
    assert state_of_the_process() == before
    assert len(set(alone.values())) == len(alone)
    with ThreadPoolExecutor(len(SEEDS)) as executor:
        found = list(
            executor.map(lambda n: bytes_of_fit(tmp_path, SEEDS[n], f"thread{n}"), range(len(SEEDS)))
        )
    assert found == [alone[seed] for seed in SEEDS]
    assert state_of_the_process() == before


@pytest.mark.parametrize(
    "head", [LinearHead(), RidgeHead(), ShortTableHead()], ids=lambda h: type(h).__name__
)
def test_linear_heads_give_the_same_bits_whatever_the_threads(head: StoredHead) -> None:
    """BLAS adds long vectors in as many parts as it has threads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 12_000))
    y = rng.integers(0, 3, 60)

    def coefficients(_: int = 0) -> npt.NDArray[np.float64]:
        return np.asarray(clone(head).fit(X, y).coef_)

    with threadpool_limits(1):
        expected = coefficients()  # this loads all libraries
    before = [library["num_threads"] for library in threadpool_info()]
    with threadpool_limits(2), ThreadPoolExecutor(2) as executor:
        for found in (coefficients(), *executor.map(coefficients, range(2))):
            assert np.array_equal(found, expected)
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_workers_that_are_threads_leave_the_process_alone(tmp_path: Path) -> None:
    """Predicting on threads, which share torch with the caller."""
    model = GDLNNClassifier(Neighborhoods(), MLPHead(epochs=2), n_jobs=1, verbose=False).fit(MOTIFS)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        MOTIFS.save(tmp_path / "d.jsonl")
        before = state_of_the_process()
        batches = batched_dataset(str(tmp_path / "d.jsonl"), 2).batches
        with joblib.parallel_config("threading", n_jobs=2):
            answers = list(stream_predictions([model], batches))
        assert state_of_the_process() == before
        labels = [one.label for rows in answers for _, (one,) in rows]
        assert labels == model.predict(MOTIFS).tolist()
    finally:
        torch.set_num_threads(threads)
