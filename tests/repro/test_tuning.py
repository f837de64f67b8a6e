"""tune(): one mining run for each ε, a choice by validation alone, and going on where it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gdlnn import GDLNNClassifier, GDLNNError, GraphDataset, ModelError, make_ba_2motifs
from gdlnn.mining import mine
from gdlnn.model import vocabulary
from reference.other_runs import claimed_elsewhere
from repro.tuning import tune

if TYPE_CHECKING:
    from pathlib import Path

GRID: dict[str, Any] = {"epsilons": (0.1, 1, "4.1667%"), "ks": (0.2, 1.0), "learning_rates": (0.01, 0.0005)}


@pytest.fixture(scope="module")
def parts() -> tuple[GraphDataset, GraphDataset]:
    data = make_ba_2motifs(36, seed=2)
    return data[:24], data[24:]


def base() -> GDLNNClassifier:
    return GDLNNClassifier.paper(epochs=8, hidden=(8,))


class Counter:
    """Counts the runs of mining."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.epsilons: list[Any] = []

        def counted(data: GraphDataset, **options: Any) -> Any:
            self.epsilons.append(options["epsilon"])
            return mine(data, **options)

        monkeypatch.setattr(vocabulary, "mine", counted)


def test_every_combination_once_and_one_mining_run_for_each_epsilon(
    parts: tuple[GraphDataset, GraphDataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(monkeypatch)
    train, val = parts
    found = tune(train, val, base(), progress=False, **GRID)
    assert counter.epsilons == [0.1, 1, "4.1667%"]
    assert len(found.table) == 12
    ordered = [(-row["val_accuracy"], row["val_loss"]) for row in found.table]
    assert ordered == sorted(ordered)
    assert found.best_params == {k: found.table[0][k] for k in ("epsilon", "k", "learning_rate")}
    assert found.best_estimator.score(val) == found.best_score == found.table[0]["val_accuracy"]
    assert "12 combinations" in found.best_estimator.choice_["by"]
    assert len(str(found).splitlines()) == 13


def test_it_goes_on_where_it_stopped(
    parts: tuple[GraphDataset, GraphDataset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, val = parts
    grid = {**GRID, "epsilons": (0.1, 1)}
    whole = tune(train, val, base(), progress=False, **grid)
    cells = iter(range(100))
    fit = GDLNNClassifier.fit

    def stopping(self: GDLNNClassifier, *given: Any, **options: Any) -> Any:
        if next(cells) == 5:
            raise KeyboardInterrupt
        return fit(self, *given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(GDLNNClassifier, "fit", stopping)
        with pytest.raises(KeyboardInterrupt):
            tune(train, val, base(), directory=tmp_path, progress=False, **grid)
    assert len(list(tmp_path.glob("cell-*.json"))) == 5
    again = tune(train, val, base(), directory=tmp_path, progress=False, **grid)
    assert again.table == whole.table
    np.testing.assert_array_equal(
        again.best_estimator.predict_proba(val), whole.best_estimator.predict_proba(val)
    )
    fits = iter(range(100))
    monkeypatch.setattr(GDLNNClassifier, "fit", lambda *a, **o: (next(fits), fit(*a, **o))[1])
    tune(train, val, base(), directory=tmp_path, progress=False, **grid)
    assert next(fits) == 1  # the best one alone


def test_a_folder_of_another_call_is_refused(
    parts: tuple[GraphDataset, GraphDataset], tmp_path: Path
) -> None:
    train, val = parts
    grid: dict[str, Any] = {"epsilons": 0.1, "ks": (1.0,), "learning_rates": (0.01,), "progress": False}
    tune(train, val, base(), directory=tmp_path, **grid)
    with pytest.raises(ModelError, match="a call whose 'val' is different;"):
        tune(train, val[:5], base(), directory=tmp_path, **grid)
    with pytest.raises(ModelError, match="a call whose 'parameters' is different;"):
        tune(train, val, base().set_params(head__hidden=(9,)), directory=tmp_path, **grid)
    (tmp_path / "tune.json").write_text("{")
    with pytest.raises(ModelError, match="not the file of an earlier call"):
        tune(train, val, base(), directory=tmp_path, **grid)


def test_damaged_files_and_another_run(parts: tuple[GraphDataset, GraphDataset], tmp_path: Path) -> None:
    train, val = parts
    call: dict[str, Any] = {"epsilons": (0.1,), "ks": (0.2, 1.0), "learning_rates": (0.01,)}
    expected = tune(train, val, base(), directory=tmp_path, progress=False, **call).table
    cells = sorted(tmp_path.glob("cell-*.json"))
    sound = cells[0].read_text()
    for content in (
        "",
        "{",
        "[]",
        "{}",
        sound.replace("0.2", "0.3"),
        sound.replace('"val_loss": ', '"val_loss": "x'),
    ):
        cells[0].write_text(content)
        assert tune(train, val, base(), directory=tmp_path, progress=False, **call).table == expected
        assert cells[0].read_text() == sound
    with (
        claimed_elsewhere(tmp_path, "tune"),
        pytest.raises(GDLNNError, match="another run is using tune here"),
    ):
        tune(train, val, base(), directory=tmp_path, progress=False, **call)
    for content in ("[]", "{", ""):
        (tmp_path / "tune.json").write_text(content)
        with pytest.raises(ModelError, match=r"tune\.json: not the file of an earlier call"):
            tune(train, val, base(), directory=tmp_path, progress=False, **call)


def test_an_empty_validation_part_is_refused(parts: tuple[GraphDataset, GraphDataset]) -> None:
    with pytest.raises(ModelError, match="val: expected at least one graph"):
        tune(parts[0], parts[1][:0], progress=False)
