"""Labels on the command line: their spelling, their names, several of them, and the order of alerts."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn import load_model
from gdlnn.cli import training
from gdlnn.model.model_folder import load_models
from gdlnn.report.alerts import find_alerts
from reference.command_line import exit_code, refusal, rows_of, run, write_table

pytestmark = pytest.mark.usefixtures("small_heads")

ENDS = ("O", "N", "OC", "NC", "Cl", "F")
CHAINS = [f"{'C' * n}{end}" for n in range(2, 12) for end in ENDS]
OXYGEN = [int("O" in text) for text in CHAINS]
NITROGEN: list[Any] = ["" if i < 10 else int("N" in text) for i, text in enumerate(CHAINS)]
NAMES = [f"m{i}" for i in range(len(CHAINS))]
QUICK = ("-j", 1, "-q", "--head", "linear")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    columns: dict[str, list[Any]] = {"smiles": CHAINS, "name": NAMES}
    columns |= {"active": OXYGEN, "toxic, N": NITROGEN}
    columns["word"] = [["no", "yes"][one] for one in OXYGEN]
    return write_table(tmp_path_factory.mktemp("labels") / "mine.csv", columns)


@pytest.fixture(scope="module")
def words(table: Path) -> Path:
    """Return a model whose labels are no and yes."""
    model = table.with_name("words.gdlnn")
    run("train", table, "--label", "word", "--id", "name", "-o", model, *QUICK)
    return model


def test_other_labels_are_refused_or_mapped(
    words: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = table.with_name("alerts.json")
    report = ("report", words, table, "--label", "active", "-j", 1, "-q", "-o", table.with_name("r.html"))
    alerts = ("alerts", words, "--data", table, "--label", "active", "-j", 1, "-o", out)
    for command in (report, alerts):
        error = refusal(capsys, *command)
        assert "expected the labels of the model (no, yes), got others (0, 1)" in error
        assert "name the one that means yes with --positive" in error
        assert "--positive: expected one of two labels (0, 1), got '2'" in refusal(
            capsys, *command, "--positive", 2
        )
    run(*alerts, "--positive", 1, "--min-support", 4, "--class", "yes")
    mapped = json.loads(out.read_text())
    run("alerts", words, "--data", table, "--min-support", 4, "--class", "yes", "-j", 1, "-o", out)
    assert mapped == json.loads(out.read_text())
    assert mapped[0]["held_out"]["precision"] > 0.5


def test_classes_get_names(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = table.with_name("named.gdlnn")
    train = ("train", table, "--label", "active", "-o", model, *QUICK)
    run(*train, "--classes", "0=inactive,1=active")
    run("explain", model, "CCCO", "-j", 1)
    assert "CCCO: active (" in capsys.readouterr().out
    for classes in ("0=inactive,2=active", "0", "0=same,1=same", "0=1"):
        assert "--classes: expected" in refusal(capsys, *train, "--classes", classes)


def test_the_commands_in_a_report_make_the_same_model_and_identifiers_are_kept(
    words: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gdlnn.cli import options
    from gdlnn.report import build_report

    fitted = load_model(words)
    held_out = options.read_as_trained(str(table), fitted, part=None)
    assert set(held_out.ids or ()) < set(NAMES)
    train, report = build_report(fitted, held_out)["model"]["commands"]
    monkeypatch.chdir(table.parent)
    run(*shlex.split(train)[1:], "-j", 1, "-q")
    assert table.with_name("model.gdlnn").read_bytes() == words.read_bytes()
    run(*shlex.split(report)[1:], "-j", 1, "-q", "--graphs", 2)
    assert "--label word" in table.with_name("report.html").read_text()


@pytest.fixture(scope="module")
def folder(table: Path) -> Path:
    run("train", table, "--label", "active", "--label", "toxic, N", "-o", table.with_name("models"), *QUICK)
    return table.with_name("models")


def test_labels_share_one_split(folder: Path, table: Path) -> None:
    from gdlnn.cli import options

    models = load_models(folder)
    assert list(models) == ["active", "toxic, N"]
    parts: dict[str, list[set[str]]] = {}
    for label, model in models.items():
        assert model.training_.provenance["label"] == label
        parts[label] = [
            set(options.read_as_trained(str(table), model, part=name).smiles or ())
            for name in ("train", "val", "test")
        ]
        assert len(parts[label][0]) == model.programs_.info.n_graphs
    labeled = set(CHAINS[10:])
    assert [part & labeled for part in parts["active"]] == parts["toxic, N"]


def test_a_folder_is_explained_and_has_alerts(
    folder: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("explain", folder, "CCCO", "-j", 1)
    printed = capsys.readouterr().out.splitlines()
    assert [line.rpartition(": CCCO:")[0] for line in printed if ": CCCO:" in line] == ["active", "toxic, N"]
    bad, out = write_table(table.with_name("bad.csv"), {"smiles": ["CCO", "C("]}), table.with_name("both.csv")
    run("explain", folder, bad, "-q", "-j", 1)
    assert capsys.readouterr().err.count("skipped 1 of 2 rows") == 1
    run("alerts", folder, "--data", table, "--part", "all", "-o", out, "-j", 1, "-n", 2)
    assert [row["model"] for row in rows_of(out)] == ["active", "active", "toxic, N", "toxic, N"]


def test_a_folder_is_replaced_as_a_whole_or_not_at_all(
    folder: Path, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def content() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    before, n_trained = content(), 0
    fit = training.trained

    def stopped(*given: Any) -> Any:
        nonlocal n_trained
        n_trained += 1
        if n_trained == 2:
            raise KeyboardInterrupt
        return fit(*given)

    again = ("train", table, "--label", "active", "--label", "toxic, N", "-o", folder, *QUICK, "--seed", 1)
    monkeypatch.setattr(training, "trained", stopped)
    assert exit_code(*again) == 130
    assert content() == before
    assert not list(folder.parent.glob(".gdlnn-*"))
    monkeypatch.setattr(training, "trained", fit)
    folder.chmod(0o700)
    (folder / "models.json").chmod(0o640)
    run(*again)
    assert content() != before
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "models.json")] == [0o700, 0o640]
    (folder / "notes.txt").write_text("mine")
    assert "got one with other files: notes.txt" in refusal(capsys, *again)


def test_alerts_come_by_the_molecules_that_they_add_for_sure(words: Path) -> None:
    model = load_model(words)
    alerts = find_alerts(model, most=None, min_support=3)
    assert all(alert.training.matched >= 3 for alert in alerts)
    covered = {label: np.zeros(len(model.training_.labels), dtype=bool) for label in model.classes_}

    def gain(alert: Any) -> float:
        own = model.programs_.supports[:, [alert.column]].toarray().ravel() > 0
        own &= (model.training_.labels == alert.label) & ~covered[alert.label]
        share = (model.training_.labels == alert.label).mean()  # what nearly all molecules have comes last
        return float(max(alert.training.precision()["precision_interval"][0] - share, 0) * own.sum())

    for place, alert in enumerate(alerts):
        assert gain(alert) == pytest.approx(max(map(gain, alerts[place:])))
        covered[alert.label] |= model.programs_.supports[:, [alert.column]].toarray().ravel() > 0
    assert not find_alerts(model, min_support=100)
