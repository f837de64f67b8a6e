"""The head: scikit-learn's own checks, determinism, early stopping, weights, a linear head that is exact."""

import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from sklearn.utils.estimator_checks import check_estimator

from gdlnn.errors import ModelError
from gdlnn.model import MLPHead
from gdlnn.model.linear import LinearHead
from gdlnn.model.mixture import MixtureHead

FloatArray = npt.NDArray[np.float64]


def single(**options: Any) -> MLPHead:
    """Return a perceptron that is quickly trained."""
    return MLPHead(**{"epochs": 100, **options})


@pytest.fixture
def data() -> tuple[FloatArray, npt.NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = np.hstack([(rng.random((120, 6)) < 0.5).astype(float), 50 + 9 * rng.normal(size=(120, 2))])
    y = np.where(X[:, 0] + X[:, 1] + (X[:, 6] - 50) / 9 > 1, "yes", "no")
    return X, y


@pytest.mark.parametrize(
    "head", [single(epochs=20, hidden=(16,), dropout=0.0, learning_rate=0.02), LinearHead()]
)
def test_scikit_learn_accepts_it(head: Any) -> None:
    check_estimator(head, on_skip=None)


def test_equal_seeds_give_equal_bits_whatever_the_threads(
    data: tuple[FloatArray, npt.NDArray[Any]],
) -> None:
    before = torch.get_num_threads()
    state = torch.random.get_rng_state()
    heads = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        heads.append(single(epochs=5, random_state=4).fit(*data))
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    assert torch.equal(torch.random.get_rng_state(), state)
    one, two = (head.predict_proba(data[0]) for head in heads)
    np.testing.assert_array_equal(one, two)
    other = single(epochs=5, random_state=5).fit(*data)
    assert not np.array_equal(other.predict_proba(data[0]), one)


def test_it_learns_and_stops_when_the_validation_part_gets_no_better(
    data: tuple[FloatArray, npt.NDArray[Any]],
) -> None:
    X, y = data
    head = single(epochs=300, patience=10, dropout=0.2).fit(X[:80], y[:80], validation=(X[80:], y[80:]))
    assert head.score(X[80:], y[80:]) > 0.85
    assert len(head.history_) < 300
    best = max(head.history_, key=lambda row: (row["val_accuracy"], -row["val_loss"]))
    assert head.history_[-1]["epoch"] - best["epoch"] == 10


def test_balanced_weights_help_a_rare_class() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 1.6).astype(int)
    plain = single(epochs=20).fit(X, y).predict(X)
    balanced = single(epochs=20, class_weight="balanced").fit(X, y).predict(X)
    weighted = single(epochs=20, class_weight={0: 1.0, 1: 40.0}).fit(X, y).predict(X)
    assert balanced.sum() > plain.sum()
    assert weighted.sum() >= balanced.sum()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"hidden": (0,)}, "hidden: expected sizes of at least 1"),
        ({"dropout": 1.0}, "dropout: expected a share"),
        ({"learning_rate": 0}, "learning_rate: expected a number above 0, got 0"),
        ({"epochs": 0}, "epochs: expected a whole number of at least 1, got 0"),
        ({"class_weight": "fair"}, "class_weight: expected balanced"),
        ({"random_state": -1}, "random_state: expected a whole number of at least 0"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        single(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_weights_of_rows_decide_where_labels_disagree() -> None:
    """Equal rows with different labels: the heavier label wins, whichever it is."""
    X = np.tile([[1.0, 0.0], [0.0, 1.0]], (40, 1))
    y = np.repeat([0, 1], 40)
    for heavy in (0, 1):
        weights = np.where(y == heavy, 5.0, 1.0)
        for head in (MLPHead(epochs=40, random_state=1), MixtureHead(30), LinearHead()):
            found = head.fit(X, y, row_weights=weights).predict_proba(X[:1])[0]
            assert found[heavy] == pytest.approx(5 / 6, abs=0.08)


def test_a_mixture_is_calibrated_on_rows_that_its_members_have_not_learned() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((60, 200)).round()  # labels are noise: only rows that were learned are known
    y = rng.integers(0, 2, 60)
    head, sure = (MixtureHead(20, calibrate=wanted).fit(X, y) for wanted in (True, False))
    assert head.held_out_ is not None
    assert sure.held_out_ is None
    assert (head.predict(X) == y).mean() > 0.9
    assert (head.held_out_.argmax(axis=1) == y).mean() < 0.8
    factor = head.linear_.coef_ / sure.linear_.coef_
    assert np.ptp(factor) < 1e-9
    assert abs(factor.max() - 1) > 0.01


_INTERRUPTED = """
import os, signal, sys
import numpy as np
from gdlnn.model import MLPHead

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
for _ in range(2):
    try:
        MLPHead(epochs=1).fit(np.eye(4), [0, 1, 0, 1])
        print("fitted")
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.long
@pytest.mark.parametrize("module", ["torch.nn", "torch._dynamo.trace_rules"])
def test_an_interrupt_while_torch_is_imported_leaves_it_usable(module: str) -> None:
    words = [sys.executable, "-c", _INTERRUPTED, module]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.split() == ["interrupted", "fitted"], done.stderr
