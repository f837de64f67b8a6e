"""What tests share: where the data lies, where caches go, how many random cases to run."""

import logging
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from reference.live_server import LiveServer

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is loaded: tests run side by side
# Started in the background of a script or by nohup, signals would be ignored here and in every process that
# a test starts.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)
LONG = os.environ.get("GDLNN_TEST_LONG") == "1"
SLOW = ("server/test_hostile.py", "golden/test_golden.py", "repro/", "docs/test_docs.py", "robustness/")
"""Files that take longest run first, so that the processes end at about the same time."""

settings.register_profile(
    "quick", max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", settings.get_profile("quick"), max_examples=2000)
settings.load_profile("long" if LONG else "quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put slow files first; the order within a file stays."""

    def rank(item: pytest.Item) -> int:
        path = item.path.relative_to(Path(__file__).parent).as_posix()
        return next((i for i, slow in enumerate(SLOW) if path.startswith(slow)), len(SLOW))

    items.sort(key=rank)


def _folder(variable: str) -> Path:
    """Return the folder a variable names; without it skip, or fail where the data is required."""
    value = os.environ.get(variable)
    if value and Path(value).is_dir():
        return Path(value)
    message = f"{variable} does not name a folder with the data"
    if os.environ.get("GDLNN_REQUIRE_DATA") == "1":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep tests and the processes they start out of the user's cache; what libraries leave goes with it."""
    tmp_path_factory.getbasetemp()  # pytest's own folder stays where it is
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GDLNN_CACHE", str(Path(folder) / "gdlnn"))
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture(autouse=True)
def _own_log_levels() -> Iterator[None]:
    """Undo what a command line in this process says of logs: another test may read them."""
    yield
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] == "gdlnn":
            logging.getLogger(name).setLevel(logging.NOTSET)


@pytest.fixture(scope="module")
def small_heads() -> Iterator[None]:
    """Make the default heads small: these tests are about commands, not about how well models predict."""
    from gdlnn.model import classifier, regressor
    from gdlnn.model.mixture import MixtureHead
    from gdlnn.model.regression import RidgeForestHead

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(classifier._HEADS, "auto", lambda: MixtureHead(30))
        patch.setitem(regressor._HEADS, "auto", lambda: RidgeForestHead(n_trees=30))
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the nine datasets."""
    return _folder("GDLNN_DATA")


@pytest.fixture
def no_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the nine datasets, downloaded or not."""
    monkeypatch.setenv("GDLNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GDLNN_DATA", raising=False)


@pytest.fixture(scope="session")
def truth_dir() -> Path:
    """Folder with the matching truth tables."""
    return _folder("GDLNN_TRUTH")


@pytest.fixture(scope="session")
def n_cases() -> float:
    """Factor on the number of random cases: 1, or 25 in the long run."""
    return 25.0 if LONG else 1.0


@pytest.fixture(scope="session")
def served_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of molecules, for servers."""
    from reference.server_models import molecules_file

    return molecules_file(tmp_path_factory.mktemp("model"))[0]


@pytest.fixture(scope="module")
def server(served_model: Path, request: pytest.FixtureRequest) -> Iterator[LiveServer]:
    """A server of one worker for the tests of one module, with its `LIMITS`."""
    from reference.live_server import live_server

    with live_server(served_model, limits=request.module.LIMITS) as started:
        yield started
