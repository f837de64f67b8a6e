"""The README's quick start, line by line, as somebody with a table of their own would type it."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

import gdlnn
from gdlnn.cli import main

ROOT = Path(__file__).parent.parent


def lines() -> list[list[str]]:
    """Return the calls of gdlnn in the quick start."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = re.split(r"^## ", text, flags=re.MULTILINE)[1]
    assert part.startswith("Quick start")
    shell = "\n".join(re.findall(r"^```\n(.*?)^```", part, re.DOTALL | re.MULTILINE))
    return [shlex.split(line)[1:] for line in shell.splitlines() if line.startswith("gdlnn ")]


def test_the_quick_start_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("molecules.csv", "new.csv"):
        shutil.copy(ROOT / "examples" / "molecules.csv", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    calls = lines()
    assert [call[0] for call in calls] == ["train", "predict", "report"]
    for call in calls:
        with pytest.raises(SystemExit) as ended:
            main(call)
        assert ended.value.code in (0, None), (call, capsys.readouterr().err)
        written = tmp_path / call[call.index("-o") + 1]
        assert written.stat().st_size > 0, call
    assert (tmp_path / "predictions.csv").read_text(encoding="utf-8").count("\n") == 97


def test_the_program_of_the_readme_is_gdl() -> None:
    schema = gdlnn.load_smiles(ROOT / "examples" / "molecules.csv", label="active").schema
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"`(node [^`]+)`", text)
    (named,) = gdlnn.parse_programs(code, schema=schema)
    said = named.program.describe(schema)
    assert said == "Molecules that contain an aromatic atom next to a nitrogen."
