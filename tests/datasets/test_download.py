"""Downloads, against a server of our own on loopback that refuses and lies."""

import collections
import http.server
import io
import pickle
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gdlnn.datasets import load_dataset
from gdlnn.datasets.load import fetch
from gdlnn.datasets.motifs import load_ba_2motifs_pickle, read_array_pickle
from gdlnn.datasets.registry import REGISTRY, source_of
from gdlnn.errors import DatasetError, DownloadError, WriteError
from reference.disk import little_room


def tu_zip(name: str = "TOY", *, prefix: str = "", **changes: str | None) -> bytes:
    """Make the zip of a small TU dataset; a change to None leaves the file out."""
    files = {
        "A": "1, 2\n2, 1\n3, 4\n",
        "graph_indicator": "1\n1\n2\n2\n",
        "graph_labels": "0\n1\n",
        "node_labels": "1\n2\n3\n4\n",
        **changes,
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for suffix, text in files.items():
            if text is not None:
                archive.writestr(f"{prefix or name}/{name}_{suffix}.txt", text)
        archive.writestr(f"{name}/README.txt", "words " * 2000)
    return buffer.getvalue()


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.requests: list[str] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        path = self.path.lstrip("/")
        self.server.requests.append(path)
        data = self.server.files.get(path)
        self.close_connection = True
        if data is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as server:
        monkeypatch.setenv("GDLNN_MIRROR", server.base)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GDLNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GDLNN_DATA", raising=False)
    monkeypatch.setattr("gdlnn.datasets.load.TIMEOUT", 0.4)
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
    return tmp_path / "cache"


def left(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


@pytest.mark.parametrize("room", [100, 5000])
def test_a_full_disk_is_no_fault_of_the_network(server: Server, cache: Path, room: int) -> None:
    """Neither while it is fetched nor while it is unpacked."""
    server.files["TOY.zip"] = tu_zip(node_labels="1\n2\n3\n4\n" + " " * 20_000)
    with little_room(room), pytest.raises(WriteError, match="cannot be written: File too large"):
        fetch(source_of("TOY"))
    assert len(server.requests) == 1
    assert left(cache) == []
    assert fetch(source_of("TOY")).is_dir()


def test_a_download_ends_in_the_cache(server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.files["TOY.zip"] = tu_zip()
    with pytest.raises(DatasetError, match=r"dataset TOY: not found, and not one of MUTAG"):
        load_dataset("TOY")
    assert server.requests == []
    monkeypatch.setitem(REGISTRY, "TOY", source_of("TOY"))
    dataset = load_dataset("TOY")
    assert len(dataset) == 2
    assert [g.node_features.tolist() for g in dataset] == [[[1], [2]], [[3], [4]]]
    files = [f"raw/TOY/TOY_{s}.txt" for s in ("A", "graph_indicator", "graph_labels", "node_labels")]
    assert left(cache) == files
    server.files.clear()
    assert load_dataset("TOY").graphs == dataset.graphs
    assert load_dataset("TOY", download=False).graphs == dataset.graphs
    assert len(server.requests) == 1


def test_a_missing_file_leaves_nothing_in_the_cache(server: Server, cache: Path) -> None:
    with pytest.raises(
        DownloadError, match=r"/MUTAG\.zip cannot be downloaded: the server answered 404 Not Found"
    ):
        fetch(source_of("MUTAG"))
    assert left(cache) == []


def test_without_a_server_the_error_names_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GDLNN_MIRROR", "http://127.0.0.1:9")
    with pytest.raises(
        DownloadError, match=r"put BBBP\.csv into a folder BBBP inside the folder named by GDLNN_DATA"
    ):
        fetch(source_of("BBBP"))
    monkeypatch.setenv("GDLNN_MIRROR", "file:///etc")
    with pytest.raises(DownloadError, match="expected an http or https address"):
        fetch(source_of("BBBP"))


@pytest.mark.parametrize(
    ("name", "file", "data", "message"),
    [
        (
            "TOY",
            "TOY.zip",
            b"<html>sorry</html>",
            r"TOY\.zip: not a zip file, or damaged",
        ),
        (
            "TOY",
            "TOY.zip",
            tu_zip(graph_labels=None),
            r"TOY\.zip: expected TOY_graph_labels\.txt in it, got none",
        ),
        (
            "MUTAG",
            "MUTAG.zip",
            tu_zip("MUTAG", edge_labels="1\n1\n1\n"),
            r"MUTAG_A\.txt: expected SHA-256 [0-9a-f]{64}",
        ),
        (
            "MUTAG",
            "MUTAG.zip",
            tu_zip("MUTAG"),
            r"MUTAG\.zip: expected MUTAG_edge_labels\.txt in it, got none",
        ),
        ("BBBP", "BBBP.csv", b"smiles,p_np\nC,1\n", r"BBBP\.csv: its SHA-256 is not the published one"),
        (
            "BA-2Motifs",
            "BA-2motif.pkl",
            b"junk",
            r"BA-2motif\.pkl: not a pickle of NumPy arrays",
        ),
    ],
)
def test_wrong_bytes_leave_nothing(
    server: Server, cache: Path, name: str, file: str, data: bytes, message: str
) -> None:
    server.files[file] = data
    with pytest.raises(DownloadError, match=message) as caught:
        fetch(source_of(name))
    assert str(cache) not in str(caught.value)
    assert left(cache) == []
    assert not list((cache / "raw").iterdir())


@pytest.mark.parametrize("prefix", ["../../TOY", "/TOY"])
def test_names_that_point_elsewhere_are_not_followed(server: Server, cache: Path, prefix: str) -> None:
    server.files["TOY.zip"] = tu_zip(prefix=prefix)
    fetch(source_of("TOY"))
    assert all(name.startswith("raw/TOY/TOY_") for name in left(cache))


def test_an_archive_that_unpacks_to_far_more_is_refused(server: Server, cache: Path) -> None:
    server.files["TOY.zip"] = tu_zip(node_labels="1\n" * (50 << 20))
    with pytest.raises(DownloadError, match=r"claims [\d,]+ bytes of content"):
        fetch(source_of("TOY"))
    assert left(cache) == []


def motif_arrays(dataset: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    adjacency = np.zeros((len(dataset), 25, 25))
    for matrix, graph in zip(adjacency, dataset, strict=True):
        matrix[graph.edges[:, 0], graph.edges[:, 1]] = matrix[graph.edges[:, 1], graph.edges[:, 0]] = 1
    return adjacency, np.full((len(dataset), 25, 10), 0.1), np.eye(2)[dataset.y]


@pytest.mark.data
@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_the_published_pickle_gives_the_graphs_of_the_text(
    server: Server, data_dir: Path, monkeypatch: pytest.MonkeyPatch, protocol: int
) -> None:
    expected = load_dataset("BA-2Motifs", data_dir, download=False)
    server.files["BA-2motif.pkl"] = pickle.dumps(motif_arrays(expected), protocol=protocol)
    monkeypatch.setenv("GDLNN_MIRROR", server.base)
    got = load_dataset("BA-2Motifs")
    assert got.graphs == expected.graphs
    assert np.array_equal(got.y, expected.y)
    assert got.schema == expected.schema
    assert got.edge_masks is not None
    assert expected.edge_masks is not None
    same = [
        np.asarray(a).tolist() == np.asarray(b).tolist()
        for a, b in zip(got.edge_masks, expected.edge_masks, strict=True)
    ]
    assert sum(same) >= 960


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("run",))


@pytest.mark.parametrize(
    "content",
    [
        Evil(),
        collections.OrderedDict(),
        np.array([Evil()], dtype=object),
        np.ma.array([1.0]),
        np.float64(1.0),
    ],
)
def test_the_unpickler_admits_arrays_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object
) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps((np.zeros(3), content)))
    with pytest.raises(DatasetError, match=r"x\.pkl: not a pickle of NumPy arrays"):
        read_array_pickle(path)
    assert capsys.readouterr().out == ""


def test_arrays_of_another_shape(tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    for content in (
        (np.zeros(3), np.zeros(3), np.zeros(3)),
        (np.zeros((2, 3, 4)), np.zeros(1), np.eye(2)),
        5,
    ):
        path.write_bytes(pickle.dumps(content))
        with pytest.raises(DatasetError, match=r"x\.pkl: expected"):
            load_ba_2motifs_pickle(path)
    one_way = np.zeros((1, 2, 2))
    one_way[0, 0, 1] = 1
    path.write_bytes(pickle.dumps((one_way, np.zeros(1), np.eye(2)[:1])))
    with pytest.raises(DatasetError, match="expected symmetric adjacency matrices"):
        load_ba_2motifs_pickle(path)
