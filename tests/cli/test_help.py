"""The command line: help is quick, a wrong option ends with exit code 2."""

import subprocess
import sys
from pathlib import Path

import pytest

from gdlnn.cli import main


def test_help_loads_no_numpy() -> None:
    code = (
        "import sys; from gdlnn.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('numpy', 'scipy', 'torch', 'sklearn', 'lark', 'rdkit', 'gdlnn.graphs', 'gdlnn.datasets')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert "Train a model" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("train", "synthetic:ba-2motifs", "-o", "{taken}/m.gdlnn"),
            "cannot be written: taken is a file",
        ),
        (("report", "m.gdlnn", "x", "-o", "{taken}/r.html"), "cannot be written: taken is a file"),
        (("mine", "x", "-o", "{taken}-" + "x" * 250), "File name too long"),
        (("mine", "x", "-o", "/proc/new/p.jsonl"), "cannot be written: No such file"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(
    words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file")
    with pytest.raises(SystemExit) as ended:
        main([word.format(taken=taken) for word in words])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
