"""SMILES tables and SDF files."""

import gzip
import time
import tracemalloc
from pathlib import Path

import pytest

from gdlnn.datasets import load_jsonl, load_sdf, load_smiles
from gdlnn.datasets.molecules import parse_smiles
from gdlnn.errors import DatasetError
from gdlnn.graphs import GraphDataset
from gdlnn.graphs.molecules import MoleculeReader, charges_predict_label, molecule_graph

TABLE = "id,smiles,toxic\na,CCO,1\nb,c1ccccc1O,0\nc,[Na+].CC(=O)[O-],1\n"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_table_gives_labels_names_and_graphs(tmp_path: Path) -> None:
    dataset = load_smiles(write(tmp_path / "drugs.csv", TABLE), label="toxic", id="id")
    assert dataset.name == "drugs"
    assert dataset.y.tolist() == [1, 0, 1]
    assert dataset.ids == ["a", "b", "c"]
    assert dataset.smiles == ["CCO", "c1ccccc1O", "[Na+].CC(=O)[O-]"]
    assert dataset.graphs[0].name == "a"
    ethanol = dataset.graphs[0]
    assert ethanol.edges.tolist() == [[0, 1], [1, 2]]
    assert ethanol.node_features.tolist()[2] == [8, 0, 1, 1, 0, 0]
    assert dataset.graphs[2].n_nodes == 5
    assert dataset.schema.node[1].value_name(dataset.graphs[2].node_features[0, 1]) == "+1"


@pytest.mark.parametrize(
    ("usual", "other"),
    [("CS(C)=O", "C[S+](C)[O-]"), ("CS(C)(=O)=O", "C[S+2](C)([O-])[O-]"), ("CS(C)(=O)=O", "C[S+](C)(=O)[O-]"),
     ("CS(=O)(=O)[O-]", "C[S+](=O)([O-])[O-]"), ("CP(C)(C)=O", "C[P+](C)(C)[O-]"),
     ("CO", "[2H]C([2H])([2H])O")],
)  # fmt: skip
def test_charges_in_double_bonds_and_isotopes_make_no_difference(usual: str, other: str) -> None:
    one, same = (molecule_graph(parse_smiles(smiles)[0]) for smiles in (usual, other))
    assert GraphDataset([one, same]).duplicates().n_extra == 1


def test_how_molecules_are_read_is_kept(tmp_path: Path) -> None:
    table = write(tmp_path / "drugs.csv", TABLE)
    dataset = load_smiles(table, label="toxic", fragments="largest", standardize="parent")
    acetic_acid = dataset.graphs[2]
    assert acetic_acid.n_nodes == 4
    assert set(acetic_acid.node_features[:, 1]) == {0}  # no charge
    dataset.save(tmp_path / "drugs.jsonl")
    reading = MoleculeReader("default", "largest", "parent")
    assert reading == dataset.reading == dataset.take([0]).reading
    assert reading == load_jsonl(tmp_path / "drugs.jsonl").reading


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.tsv", TABLE.replace(",", "\t").encode()),
        ("x.csv", TABLE.replace(",", ";").encode()),
        ("x.csv.gz", gzip.compress(TABLE.encode(), mtime=0)),
        ("bom.csv", b"\xef\xbb\xbf" + TABLE.replace("id,smiles,toxic", "smiles,id,toxic").encode()),
        ("crlf.csv", TABLE.replace("\n", "\r\n").encode()),
    ],
)
def test_other_tables_are_read_alike(tmp_path: Path, name: str, content: bytes) -> None:
    if name == "bom.csv":
        content = content.replace(b"\na,CCO", b"\nCCO,a").replace(b"\nb,c1ccccc1O", b"\nc1ccccc1O,b")
        content = content.replace(b"\nc,[Na+].CC(=O)[O-]", b"\n[Na+].CC(=O)[O-],c")
    dataset = load_smiles(write(tmp_path / name, content), label="toxic", id="id")
    assert dataset.smiles[:2] == ["CCO", "c1ccccc1O"]
    assert dataset.y.tolist() == [1, 0, 1]


def test_rows_that_do_not_parse_are_listed_or_fatal(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = write(tmp_path / "x.csv", "smiles,y\nCCO,1\nC1CC,0\nCN(C)(C)(C)C,0\n,1\nCCN,\nC,0\n")
    dataset = load_smiles(table, label="y")
    assert dataset.smiles == ["CCO", "C"]
    assert [(row.row, row.value) for row in dataset.skipped] == [
        (2, "C1CC"),
        (3, "CN(C)(C)(C)C"),
        (4, ""),
        (5, "CCN"),
    ]
    reasons = [row.reason for row in dataset.skipped]
    assert reasons[0] == "not a SMILES: unclosed ring"
    assert "valence" in reasons[1]
    assert reasons[2:] == ["empty SMILES", "no label"]
    assert "skipped 4 of 6 rows" in caplog.text
    with pytest.raises(DatasetError, match=r"x\.csv, row 2: 'C1CC' cannot be read: not a SMILES"):
        load_smiles(table, label="y", on_error="raise")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (TABLE, {"smiles": "SMILES"}, r"x\.csv: expected a column 'SMILES', got id, smiles, toxic"),
        (TABLE, {"label": "active"}, r"x\.csv: expected a column 'active', got id, smiles, toxic"),
        ("", {}, r"x\.csv: expected a header line with the column names, got an empty file"),
        ("smiles\n", {}, r"x\.csv: expected at least one row, got none"),
        ("smiles\nnonsense\n", {}, r"x\.csv: expected at least one row that parses, got none of 1"),
        (
            "smiles,y\nC,1\nCC,1\n",
            {"label": "y"},
            r"expected at least 2 classes, got the label 1 for every row",
        ),
        ("y,smiles\n1,C\n1\n", {}, r"x\.csv, line 3: expected 2 cells, got 1"),
        ("smiles\nCÃ\n".encode("latin1"), {}, r"x\.csv, line 2: expected UTF-8 text"),
        ("smiles\nC\n".encode("utf-16"), {}, r"x\.csv: expected UTF-8 text, got UTF-16"),
        (b"smiles\nC\0\n", {}, r"x\.csv, line 2: expected text, got binary data"),
        (
            'smiles,y\nC,"1\nCC,2\n',
            {},
            r"x\.csv, line 2 to 3: a quote is not closed before the end of the file",
        ),
        (TABLE, {"features": "all"}, r"features: expected default or ogb, got 'all'"),
        (TABLE, {"standardize": "yes"}, r"standardize: expected none or parent, got 'yes'"),
        (TABLE, {"fragments": "first"}, r"fragments: expected all or largest, got 'first'"),
    ],
)
def test_bad_tables_are_refused(
    tmp_path: Path, content: str | bytes, options: dict[str, str], message: str
) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        load_smiles(write(tmp_path / "x.csv", content), **options)  # type: ignore[arg-type]
    assert str(tmp_path) not in str(caught.value)


def test_missing_and_damaged_tables(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none\.csv: no such file; expected a table of SMILES"):
        load_smiles(tmp_path / "none.csv")
    packed = gzip.compress(TABLE.encode())
    for data in (b"no gzip", packed[:-12], packed[:10] + b"\xff" + packed[11:]):
        with pytest.raises(DatasetError, match=r"x\.csv\.gz: not a gzip file, or damaged"):
            load_smiles(write(tmp_path / "x.csv.gz", data))


def test_a_line_of_100_mb_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"smiles\n")
        for _ in range(100):
            file.write(b"C" * 1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(
            DatasetError, match=r"x\.csv\.gz, line 2: expected a line of at most 1,048,576 bytes"
        ):
            load_smiles(path)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_sdf_gives_the_graphs_of_the_smiles(tmp_path: Path) -> None:
    from rdkit import Chem

    smiles = ["CCO", "c1ccccc1O", "C/C=C/C", "[Na+].CC(=O)[O-]"]
    blocks = []
    for i, text in enumerate(smiles):
        blocks.append(Chem.MolToMolBlock(Chem.MolFromSmiles(text)).replace("\n", f"m{i}\n", 1))
        blocks.append(f">  <active>\n{i % 2}\n\n$$$$\n")
    path = write(tmp_path / "x.sdf.gz", gzip.compress("".join(blocks).encode()))
    dataset = load_sdf(path, label="active")
    assert dataset.name == "x"
    assert dataset.ids == ["m0", "m1", "m2", "m3"]
    assert dataset.y.tolist() == [0, 1, 0, 1]
    table = load_smiles(write(tmp_path / "x.csv", "smiles\n" + "\n".join(smiles)))
    assert dataset.graphs[0] == table.graphs[0]
    assert dataset.graphs[1] == table.graphs[1]
    assert load_sdf(path, fragments="largest").graphs[3].n_nodes == 4


def test_bad_sdf_records_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.sdf", "nonsense\n$$$$\n")
    with pytest.raises(DatasetError, match=r"x\.sdf: expected at least one record that parses, got none of"):
        load_sdf(path)
    with pytest.raises(DatasetError, match=r"x\.sdf, record 1: .* cannot be read"):
        load_sdf(path, on_error="raise")
    with pytest.raises(DatasetError, match=r"y\.sdf: no such file; expected an SDF file"):
        load_sdf(tmp_path / "y.sdf")


@pytest.mark.parametrize("bad", ["nonsense\n", "", "\n\n\n  x  2\nM  END\n", None])
def test_a_bad_record_does_not_take_the_next_with_it(tmp_path: Path, bad: str | None) -> None:
    from rdkit import Chem

    blocks = [Chem.MolToMolBlock(Chem.MolFromSmiles(text)) for text in ("C", "CC", "CCC")]
    blocks.insert(1, blocks[0] + "> <cut\n" if bad is None else bad)
    dataset = load_sdf(write(tmp_path / "x.sdf", "$$$$\n".join(blocks)))
    assert dataset.smiles[-2:] == ["CC", "CCC"]
    assert len(dataset) + len(dataset.skipped) == 4


def test_a_smiles_that_would_take_minutes_is_refused_at_once(tmp_path: Path) -> None:
    """RDKit takes quadratic time; a line of a table may have a million characters."""
    path = tmp_path / "t.csv"
    path.write_text(f"smiles,y\nCCO,1\n{'C1CC1' * 20_000},0\nCCN,0\n")
    begin = time.process_time()
    data = load_smiles(path, label="y")
    assert time.process_time() - begin < 5
    assert [(row.row, row.reason) for row in data.skipped] == [
        (2, "expected a SMILES of at most 10,000 characters, got 100,000")
    ]
    assert parse_smiles("C" * 10_000)[0] is not None


@pytest.mark.parametrize("features", ["default", "ogb"])
@pytest.mark.parametrize(
    ("toxic", "other", "what"),
    [
        ("CCC(=O)[O-]", "CCC(=O)O", "charged atoms"),
        ("CCO.Cl", "CCO", "several fragments"),
        ("CC[N+](=O)[O-]", "CCO", None),  # a nitro group is always written with charges
    ],
)
def test_charges_that_predict_the_label(
    tmp_path: Path, features: str, toxic: str, other: str, what: str | None
) -> None:
    rows = [f"{toxic},1"] * 19 + [f"{other},1"] + [f"{other},0"] * 15
    path = write(tmp_path / "t.csv", "\n".join(["smiles,y", *rows]))
    data = load_smiles(path, label="y", features=features)  # type: ignore[arg-type]
    warning = charges_predict_label(data)
    if what is None:
        assert warning is None
    else:
        assert warning is not None
        assert f"95% of class 1 have {what}, but only 0% of the others" in warning
        assert "--standardize parent" in warning
    assert charges_predict_label(data.take(range(10, 29))) is None  # nine of a class are too few


def test_a_data_frame_is_a_table(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = write(tmp_path / "t.csv", "smiles,y,when\nCCO,1,2024-05-31\nC1CC,0,\nCCN,,x\nCCCl,0,x\n")
    expected = load_smiles(path, label="y", columns=["when"])
    found = load_smiles(pandas.read_csv(path), label="y", columns=["when"])  # y is a float with NaN
    assert found.graphs == expected.graphs
    assert found.y.tolist() == expected.y.tolist() == [1, 0]
    assert found.columns == expected.columns == {"when": ["2024-05-31", "x"]}
    assert [row.row for row in found.skipped] == [2, 3]
    with pytest.raises(DatasetError, match="table: expected a column 'toxic', got smiles, y, when"):
        load_smiles(pandas.read_csv(path), label="toxic")
