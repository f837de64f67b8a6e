"""Signals, full disks, folders that cannot be written: clear words, the old file, never half a new one."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from gdlnn import ProgramSet, load_jsonl, load_smiles, make_ba_2motifs, mine
from gdlnn.cli import main
from gdlnn.drawing import write_text
from gdlnn.errors import MiningError, WriteError
from gdlnn.io.atomic import atomic_write
from gdlnn.mining.miner import Checkpoint
from reference.disk import little_room
from reference.mining_cases import random_trees
from reference.models import quick
from reference.server_models import MOLECULES

pytestmark = pytest.mark.usefixtures("small_heads")

TREES = random_trees(60, nodes=14)
MOTIFS = make_ba_2motifs(16, random_state=8)
START = [sys.executable, "-c", "from gdlnn.cli import main; main()"]


def test_without_room_the_old_file_stays(tmp_path: Path) -> None:
    programs, out = mine(TREES), tmp_path / "p.jsonl"
    programs.top(1).save(out)
    before = out.read_bytes()
    with little_room(3000), pytest.raises(WriteError, match=r"p\.jsonl: cannot be written: .*unchanged"):
        programs.save(out)
    assert out.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]
    programs.save(out)
    assert ProgramSet.load(out) == programs


def test_without_room_a_checkpoint_keeps_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with (
        little_room(9000),
        pytest.raises(MiningError, match="checkpoint run: cannot be written: File too large"),
    ):
        mine(TREES, checkpoint=path)
    assert 0 < path.stat().st_size <= 9000
    assert mine(TREES, checkpoint=path).to_text() == mine(TREES).to_text()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC, errno.EDQUOT])
def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of several kinds; a superuser, who may run the tests, is stopped by none of them in truth."""
    TREES.save(tmp_path / "trees.jsonl")
    out = tmp_path / "p.jsonl"
    out.write_text("from before")

    def refuse(prefix: str, dir: Path) -> Any:
        raise OSError(number, os.strerror(number), f"{dir.absolute()}/{prefix}xyz")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(SystemExit) as end:
        main(["mine", str(tmp_path / "trees.jsonl"), "-o", str(out), "-q"])
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: p.jsonl: cannot be written: {os.strerror(number)}")
    assert "xyz" not in error
    assert out.read_text() == "from before"
    monkeypatch.chdir(tmp_path)
    for page in (tmp_path / "page.html", "page.html"):
        with pytest.raises(WriteError, match=r"page\.html: cannot be written"):
            write_text(page, "words")


def test_an_overwritten_file_keeps_its_permissions(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for mode in (0o600, 0o664):
        out.touch()
        out.chmod(mode)
        with atomic_write(out) as file:
            file.write(b"new")
        assert out.stat().st_mode & 0o777 == mode
    out.unlink()
    mask = os.umask(0o027)
    try:
        with atomic_write(out):
            pass
    finally:
        os.umask(mask)
    assert out.stat().st_mode & 0o777 == 0o640


def test_links_and_pipes_are_written_to_and_stay(tmp_path: Path) -> None:
    """Above all nothing takes the place of /dev/null."""
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to("there/file")
    for content in (b"first", b"second"):  # a link to nothing, then to a file
        with atomic_write(link) as file:
            file.write(content)
        assert link.is_symlink()
        assert (tmp_path / "there" / "file").read_bytes() == content
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    MOTIFS.save(pipe)
    (tmp_path / "read").write_bytes(reader.communicate()[0])
    assert load_jsonl(tmp_path / "read").graphs == MOTIFS.graphs
    assert pipe.is_fifo()
    (tmp_path / "null").symlink_to(os.devnull)
    MOTIFS.save(tmp_path / "null")
    assert (tmp_path / "null").is_char_device()
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(WriteError, match=r"full: cannot be written: No space left"):
        MOTIFS.save(tmp_path / "full")
    for name in ("pipe", "null"):
        with pytest.raises(MiningError, match=f"checkpoint {name}: expected a file, got a device or a pipe"):
            mine(TREES, checkpoint=tmp_path / name)


@pytest.mark.parametrize(
    "words",
    [
        ["train", "d.jsonl"],
        ["mine", "d.jsonl"],
        ["predict", "m.gdlnn", "d.jsonl"],
        ["report", "m.gdlnn", "d.jsonl"],
    ],
)
def test_an_input_is_not_written_over(
    files: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(files)
    before = (files / words[-1]).read_bytes()
    with pytest.raises(SystemExit) as end:
        main([*words, "-o", f"./{words[-1]}"])
    assert end.value.code == 2
    assert "would overwrite the input; choose another --output" in capsys.readouterr().err
    assert (files / words[-1]).read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_does_not_keep_the_lock_of_a_dead_owner(tmp_path: Path) -> None:
    header = {"version": "1"}
    owner = Checkpoint(tmp_path / "run", header, 1, 1)
    ready, says_ready = os.pipe()
    child = os.fork()
    if not child:
        os.write(says_ready, b".")  # what is done in a new child is done by now
        time.sleep(60)
        os._exit(0)
    try:
        assert os.read(ready, 1) == b"."
        owner.close()
        Checkpoint(tmp_path / "run", header, 1, 1).close()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(says_ready)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and data, for commands to be stopped at."""
    folder = tmp_path_factory.mktemp("files")
    quick().fit(MOTIFS).save(folder / "m.gdlnn")
    MOTIFS.save(folder / "d.jsonl")
    make_ba_2motifs(n=16, random_state=99).save(folder / "new.jsonl")  # a report is of graphs not trained on
    quick().fit(load_smiles(MOLECULES, label="active")).save(folder / "t.gdlnn")
    (folder / "null.csv").symlink_to(os.devnull)
    return folder


COMMANDS = {
    "train": (
        "gdlnn.model.mixture.MixtureHead.fit",
        ["train", "d.jsonl", "--split", "none", "--epsilon", "0.1", "-q"],
    ),
    "predict": ("gdlnn.model.representation.predict_batch", ["predict", "m.gdlnn", "d.jsonl"]),
    "explain": ("gdlnn.explain.explain", ["explain", "m.gdlnn", "d.jsonl", "--all"]),
    "load": ("gdlnn.datasets.resolve.resolve_dataset", ["mine", "d.jsonl"]),
}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_signal_ends_a_command_in_order(
    files: Path,
    command: str,
    number: int,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where, words = COMMANDS[command]
    monkeypatch.chdir(files)
    out = files / ("out.csv" if command == "predict" else "out.html")
    out.write_text("from before")
    listed = sorted(path.name for path in files.iterdir())

    def signalled(*_: Any, **__: Any) -> Any:
        os.kill(os.getpid(), number)
        time.sleep(5)
        raise AssertionError("the signal had no effect")

    monkeypatch.setattr(where, signalled)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as end:
        main([*words, "-o", str(out)])
    assert end.value.code == code
    printed = capsys.readouterr()
    assert "stopped: nothing was written" in printed.err
    assert "Traceback" not in printed.err
    assert out.read_text() == "from before"
    assert sorted(path.name for path in files.iterdir()) == listed
    assert signal.getsignal(signal.SIGTERM) is before


CONVERT = ["datasets", "d.jsonl", "-o", "OUT"]
EXPLAIN = ["explain", "m.gdlnn", "d.jsonl", "-o", "OUT"]
OUTPUTS = [
    ("model.gdlnn", ["train", "d.jsonl", "--split", "none", "--epsilon", "0.1", "-q", "-o", "OUT"]),
    ("programs.jsonl", ["mine", "d.jsonl", "--split", "none", "-q", "-o", "OUT"]),
    ("report.html", ["report", "m.gdlnn", "new.jsonl", "--part", "all", "--graphs", "2", "-q", "-o", "OUT"]),
    *(
        (f"out{ending}", ["predict", "m.gdlnn", "d.jsonl", "-o", "OUT"])
        for ending in (".csv", ".tsv", ".jsonl")
    ),
    *((f"one{ending}", [*EXPLAIN, "--row", "1"]) for ending in (".svg", ".html", ".json")),
    *((f"all{ending}", [*EXPLAIN, "--all"]) for ending in (".html", ".json")),
    *((f"global{ending}", [*EXPLAIN, "--global"]) for ending in (".html", ".json")),
    ("set.jsonl", CONVERT),
    *(
        (f"alerts{ending}", ["alerts", "t.gdlnn", "-o", "OUT"])
        for ending in (".csv", ".json", ".smarts", ".catalog")
    ),
    ("demo.html", ["demo", "synthetic:ba-2motifs:40", "-q", "-o", "OUT"]),
]


@pytest.mark.parametrize(("name", "words"), OUTPUTS, ids=[name for name, _ in OUTPUTS])
def test_no_output_is_half_written(
    files: Path,
    name: str,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    out = files / name
    out.write_text("from before")
    listed = sorted(path.name for path in files.iterdir())
    with little_room(100), pytest.raises(SystemExit) as end:
        main([name if word == "OUT" else word for word in words])
    printed = capsys.readouterr().err.strip().splitlines()[-1]
    assert printed == (f"error: {name}: cannot be written: File too large; the existing file is unchanged")
    assert end.value.code == 2
    assert out.read_text() == "from before"
    assert sorted(path.name for path in files.iterdir()) == listed
    out.unlink()


def test_mining_ends_with_what_is_done_and_goes_on(tmp_path: Path) -> None:
    """With Ctrl-C ignored, as for what a script puts in the background."""
    dataset = random_trees(250, nodes=20)
    dataset.save(tmp_path / "d.jsonl")
    out, checkpoint = tmp_path / "p.jsonl", tmp_path / "run"
    words = f"mine {tmp_path}/d.jsonl --split none -o {out} -j 2 -q --checkpoint {checkpoint}".split()
    ignoring = f"import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); {START[-1]}"
    process = subprocess.Popen([*START[:2], ignoring, *words], stderr=subprocess.PIPE)
    while not checkpoint.exists() or checkpoint.read_bytes().count(b"\n") < 3:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)  # to no effect
    process.send_signal(signal.SIGTERM)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 143
    assert b"p.jsonl is incomplete. Run the same command again to resume from the checkpoint." in printed
    assert not ProgramSet.load(out).complete
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    assert out.read_text() == mine(dataset).to_text()


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    out = tmp_path / ("x" * 255)
    with atomic_write(out) as file:
        file.write(b"new")
    assert out.read_bytes() == b"new"
