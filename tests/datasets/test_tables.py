"""Tables as people have them: missing labels, numbers, no header, other formats and encodings."""

from pathlib import Path
from typing import Any

import pytest

from gdlnn.datasets import load_sdf, load_smiles, resolve_dataset
from gdlnn.datasets.resolve import batched_dataset
from gdlnn.errors import DatasetError, GraphError
from gdlnn.graphs import GraphDataset

CHAINS = ["C" * n + end for n in range(1, 9) for end in ("O", "N")]


def write(path: Path, *lines: str, encoding: str = "utf-8") -> Path:
    path.write_bytes("\n".join([*lines, ""]).encode(encoding))
    return path


def labeled(path: Path, cells: list[str], **options: Any) -> GraphDataset:
    rows = [f'{text},"{cell}"' for text, cell in zip(CHAINS, cells, strict=False)]
    return load_smiles(write(path / "t.csv", "smiles,y", *rows), label="y", **options)


def labels(data: GraphDataset) -> list[Any]:
    values: list[Any] = data.y.tolist()
    return values


def test_missing_labels_are_skipped_and_listed(tmp_path: Path) -> None:
    cells = ["1", "", "NA", "N/A", "nan", "NaN", "None", "null", "?", "-", "0"]
    data = labeled(tmp_path, cells)
    assert labels(data) == [1, 0]
    assert [row.row for row in data.skipped] == list(range(2, 11))
    assert [row.reason for row in data.skipped][:2] == ["no label", "no label: NA"]
    assert data.smiles == [CHAINS[0], CHAINS[10]]


def test_lower_case_none_and_other_words_are_classes_unless_named(tmp_path: Path) -> None:
    cells = ["none", "severe", "none", "severe", "n.d."]
    assert set(labels(labeled(tmp_path, [*cells, "n.d."]))) == {"none", "severe", "n.d."}
    assert labels(labeled(tmp_path, cells, missing=["n.d."])) == ["none", "severe", "none", "severe"]


@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        (["", "NA", "?"], {}, r"t\.csv, column 'y': expected labels, got none in 3 rows: empty \(1\)"),
        (["1", "1", "NA"], {}, r"expected at least 2 classes, got the label 1 for every row; 1 rows have no"),
        (["5.2", "6.7", "7.1", "4.4"], {}, r"got 4 different numbers from 4\.4 to 7\.1; .*--split-at 6"),
        (["0.5", "1.0"] * 9, {}, r"got 2 different numbers from 0\.5 to 1; predict them with --target"),
        ([str(i) for i in range(16)] + ["3"], {}, r"classes with several rows each, got 16 different values"),
        (["1.5", "n.d.", "2.5", "3.5"], {}, r"in 4 rows; .* with --missing, .* --split-at median"),
        (["a", "b", "c", "d"], {}, r"classes with several rows each, got 4 different values in 4 rows"),
        (
            ["5.2", "high", "7.1"],
            {"threshold": 6},
            r"column 'y': expected numbers .*, got 'high'; .*--missing",
        ),
        (["5.2", "7.1"], {"threshold": "mean"}, r"threshold: expected a number or median, got 'mean'"),
        (["5.2", "7.1"], {"threshold": 9}, r"expected at least 2 classes, got the label 0 for every row"),
    ],
)
def test_columns_that_are_no_labels(
    tmp_path: Path, cells: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        labeled(tmp_path, cells, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("threshold", "expected"), [(6.5, [0, 1, 1, 0]), ("median", [0, 1, 1, 0])])
def test_a_threshold_cuts_numbers_into_two_classes(
    tmp_path: Path, threshold: Any, expected: list[int]
) -> None:
    data = labeled(tmp_path, ["5.2", "6.5", "7.1", "NA", "6.4"], threshold=threshold)
    assert labels(data) == expected
    assert data.provenance["threshold"] == pytest.approx(6.5 if threshold == 6.5 else 6.45)
    assert data.schema.class_name(1) == ("6.5 or more" if threshold == 6.5 else "6.45 or more")
    assert data.graphs[0].schema == data.schema


def test_several_label_columns_share_the_molecules(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "smiles,A,B", "C,1,", "CC,0,x", "CCC,,y", "C(,1,x", "CCCC,1,x")
    whole = load_smiles(table, columns=["A", "B"])
    one, other = whole.with_labels("A"), whole.with_labels("B")
    assert (labels(one), labels(other)) == ([1, 0, 1], ["x", "y", "x"])
    assert [row.row for row in one.skipped] == [3, 4]
    assert [row.row for row in other.skipped] == [1, 4]
    assert one.graphs[1] is whole.graphs[1]
    with pytest.raises(GraphError, match=r"expected one of its columns \(A, B\), got 'C'"):
        whole.with_labels("C")


def test_columns_and_provenance_are_kept_with_the_data(tmp_path: Path) -> None:
    table = write(tmp_path / "t.csv", "smiles,y,year", "C,1,1999", "CC,0,2001", "CCC,?,2002")
    data = load_smiles(table, label="y", columns=["year"])
    assert data.columns == {"year": ["1999", "2001"]}
    part = data.take([1])
    assert part.columns == {"year": ["2001"]}
    assert part.provenance == {"smiles": "smiles", "label": "y", "missing": [], "threshold": None}


def test_properties_of_sdf_records_are_columns(tmp_path: Path) -> None:
    from rdkit import Chem

    blocks = [
        Chem.MolToMolBlock(Chem.MolFromSmiles(text)) + f">  <y>\n{y}\n\n>  <when>\n{year}\n\n$$$$\n"
        for text, y, year in (("C", "5.0", 1), ("CC", "NA", 2), ("CCC", "8.1", 3))
    ]
    data = load_sdf(write(tmp_path / "t.sdf", "".join(blocks)), "y", threshold=6, columns=["when"])
    assert (labels(data), data.columns, data.skipped[0].row) == ([0, 1], {"when": ["1", "3"]}, 2)


def test_smi_files_have_names_and_numbered_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "t.smi", "CCO ethanol, absolute", "", "c1ccccc1\tbenzene", "CC")
    data = resolve_dataset(str(path))
    assert data.smiles == ["CCO", "c1ccccc1", "CC"]
    assert [graph.name for graph in data.graphs] == ["ethanol, absolute", "benzene", "t/2"]
    assert data.ids is None  # not every row has one
    path = write(tmp_path / "n.smi", "CCO a 1", "CCN b 0", "CCC c 1")
    assert labels(resolve_dataset(str(path), label="3", id="2")) == [1, 0, 1]
    assert resolve_dataset(str(path), label="3", id="2").ids == ["a", "b", "c"]
    with_header = write(tmp_path / "h.smi", "SMILES,y", "CCO,1", "CCN,0")
    assert labels(resolve_dataset(str(with_header), label="y")) == [1, 0]
    batched = batched_dataset(str(tmp_path / "t.smi"), 10)
    assert (batched.columns, batched.id) == (("smiles", "name"), "name")
    assert [row.key for batch in batched.batches for row in batch.read()] == [
        "ethanol, absolute",
        "benzene",
        None,
    ]


@pytest.mark.parametrize("lines", [["CCO,1", "CCN,0"], ["CCO\t1", "CCN\t0"], ["CCO 1", "CCN 0"]])
def test_tables_without_a_header(tmp_path: Path, lines: list[str]) -> None:
    data = load_smiles(write(tmp_path / "t.txt", *lines), "1", "2")
    assert (data.smiles, labels(data), data.skipped) == (["CCO", "CCN"], [1, 0], [])


@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
def test_sheets_and_parquet_are_read_as_tables(tmp_path: Path, suffix: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "Smiles": ["CCO", "CCN", None, "CCC"],
            "y": [1, 0, 1, None],
            "when": pandas.to_datetime(["2020-01-02", "2021-05-06", None, "2022-01-01"]),
        }
    )
    path = tmp_path / f"t{suffix}"
    frame.to_excel(path, index=False) if suffix == ".xlsx" else frame.to_parquet(path)
    data = resolve_dataset(str(path), label="y", columns=["when"])
    assert (data.smiles, labels(data)) == (["CCO", "CCN"], [1, 0])
    assert data.columns == {"when": ["2020-01-02", "2021-05-06"]}
    assert [(row.row, row.reason) for row in data.skipped] == [(3, "empty SMILES"), (4, "no label")]
    batched = batched_dataset(str(path), 2)
    assert batched.columns == ("Smiles", "y", "when")
    assert [row.cells for batch in batched.batches for row in batch.read()][1] == ("CCN", "0", "2021-05-06")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DatasetError, match=r"t\.(xlsx|parquet): not an? \w+ file, or damaged"):
        resolve_dataset(str(path))


def test_another_encoding_is_hinted_at_and_read(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "smiles,y", "CCO,gefährlich", "CCN,harmlos", encoding="latin-1")
    with pytest.raises(DatasetError, match=r"t\.csv, line 2: expected UTF-8 text, .*--encoding latin-1"):
        load_smiles(path, label="y")
    assert labels(load_smiles(path, label="y", encoding="latin-1")) == ["gefährlich", "harmlos"]
    with pytest.raises(DatasetError, match="--encoding: expected the name of an encoding"):
        load_smiles(path, label="y", encoding="latin-99")
    rows = [row for batch in batched_dataset(str(path), 9).batches for row in batch.read()]
    assert [row.graph is None for row in rows] == [True, False]
    assert "--encoding latin-1" in rows[0].reason


@pytest.mark.data
def test_a_threshold_gives_the_classes_of_bace(data_dir: Path, tmp_path: Path) -> None:
    source = next((data_dir / "BACE").glob("*.csv"))
    copy = tmp_path / "bace.csv"
    copy.write_text("".join(source.read_text().splitlines(keepends=True)[:201]))
    with pytest.raises(DatasetError, match=r"column 'pIC50': expected classes, got \d+ different numbers"):
        load_smiles(copy, "smiles", "pIC50")
    cut = load_smiles(copy, "smiles", "pIC50", threshold=7, columns=["Class"])
    assert labels(cut) == [int(cell) for cell in cut.columns["Class"]]
