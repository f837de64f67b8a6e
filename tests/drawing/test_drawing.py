"""Pictures and pages: well-formed, the same every time, nothing on top of anything, nothing fetched."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from rdkit import Chem

from gdlnn import Feature, Graph, GraphDataset, Program, ProgramSet, Schema, mine
from gdlnn.drawing import Marks, draw_graph, draw_program, layout
from gdlnn.drawing.graph_picture import _edge_values
from gdlnn.drawing.layers import contour
from gdlnn.drawing.svg import palettes
from gdlnn.errors import MiningError
from gdlnn.explain import Explanation, Reason
from gdlnn.explain.explanation import Contributions, Method
from gdlnn.explain.pictures import draw_explanation, explanation_page
from gdlnn.graphs.molecules import MOLECULE_SCHEMA, molecule_graph
from reference.explain_models import motif_data, motif_model


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def places(program: Program, witness: Any) -> tuple[tuple[int, ...], ...]:
    return () if witness is None else (tuple(witness[name] for name in program.variables),)


def explanation_of(graph: Graph, program: Program, label: str = "active") -> Explanation:
    """Return an explanation that one program gives."""
    witness = program.find(graph)
    absent = Program.parse("node x <[99, 99]>" if program.n_node_features == 1 else "node x")
    return Explanation(
        graph=graph,
        prediction=label,
        probability=0.9,
        target=label,
        target_probability=0.9,
        reasons=(
            Reason(program, 0.5, places(program, witness), 0, label),
            Reason(absent, -0.25, (), 1, label),
        ),
        nodes=tuple(sorted((witness or {}).values())),
        method=Method("by hand"),
    )


def path_data(svg: str, look: str) -> str:
    """Return the data of the paths of a class."""
    return "".join(e.attrib["d"] for e in parsed(svg).iter() if e.attrib.get("class") == look)


@pytest.mark.parametrize("legend", [True, False])
def test_pictures_are_well_formed_and_the_same_every_time(legend: bool) -> None:
    found = motif_model().explain(motif_data()[1].graphs, technique="lime")
    shown = [e for e in found if e.reasons[0].places][:4]
    assert shown
    for e in shown:
        svg = draw_explanation(e, legend=legend)
        assert svg == draw_explanation(e, legend=legend)
        root = parsed(svg)
        assert root.tag.endswith("svg")
        titles = [node.text or "" for node in root.iter() if node.tag.endswith("title")]
        assert e.class_name(e.target) in titles[0]
        assert ("absent" in "".join(root.itertext()).replace(titles[0], "")) == legend
        assert "class='o p1 o1'" in svg  # the first program is outlined
        assert palettes()[0]["line-1"] in svg  # in a color of the file's own
        assert not re.search(r"(href|src|url)\s*[=(]", svg)
        assert "nan" not in svg.lower()


def test_nodes_do_not_lie_on_one_another() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 5, 12, 40):
        edges = [(i, int(rng.integers(i))) for i in range(1, n)]
        places = layout(n, edges)
        assert places.shape == (n, 2)
        assert np.array_equal(places, layout(n, edges))
        gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 9 * np.eye(n)
        assert gaps.min() > 0.25
    assert layout(0, []).shape == (0, 2)
    apart = layout(4, [(0, 1), (2, 3)])  # two components lie beside each other
    assert np.abs(apart[:2].mean(axis=0) - apart[2:].mean(axis=0)).max() > 0.9


def test_graphs_of_every_kind_can_be_drawn() -> None:
    schema = Schema((Feature("atom", "nominal", {1: "Xx"}),), (), domain="molecule")
    no_element = Graph([[1.0], [1.0]], [(0, 1)], schema=schema)
    plain_nodes = draw_explanation(explanation_of(no_element, Program.parse("node x <[1, 1]>")))
    assert "class='n on'" in plain_nodes
    assert "class='b'" not in plain_nodes
    loop = Graph([[1.0], [2.0], [3.0]], [(0, 0), (0, 1)], directed=True)
    program = Program.parse("node x <[1, 1]> node y edge (x, y)")
    svg = draw_explanation(explanation_of(loop, program))
    assert "class='a arrow'" in svg
    wire, places = Graph(np.zeros((2, 0)), [(0, 1)], [[900.25]]), np.array([[0.0, 0.0], [50.0, 0.0]])
    _, ((_, top, _, bottom),) = _edge_values(wire, places, [0], [(x - 20, -11, x + 20, 11) for x in (0, 50)])
    assert bottom <= -11 or top >= 11  # beside its nodes, not on them
    plain = Graph(np.zeros((3, 0)), [(0, 1), (1, 2)])
    big = Graph(np.zeros((400, 0)), [(i, i + 1) for i in range(399)])
    dense = Graph(np.zeros((90, 0)), [(i, j) for i in range(90) for j in range(i)])
    for graph in (plain, big, dense):
        assert parsed(draw_explanation(explanation_of(graph, Program.parse("node x")))) is not None
    circle = layout(400, big.edges)  # any other way takes minutes
    assert np.ptp(np.linalg.norm(circle - circle.mean(axis=0), axis=1)) < 1e-3


def test_programs_as_diagrams() -> None:
    schema = Schema(
        (Feature("atom", "nominal", {1: "C", 2: "N", 3: "O"}), Feature("charge")),
        (Feature("bond", "nominal", {1: "single", 2: "double"}),),
        domain="molecule",
    )
    program = Program.parse(
        "node x <atom = N, charge >= 1> node y <atom in {N, O}> node z "
        "edge (x, y) <bond = double> edge (y, z)",
        schema,
    )
    words = " ".join(parsed(draw_program(program, schema)).itertext())
    for word in ("N", "charge ≥ 1", "atom in {N, O}", "any", "double"):
        assert word in words
    assert "value in [1, 2]" in draw_program(Program.parse("node x <[1, 2]>"))
    assert "value ≤ 2" in draw_program(Program.parse("node x <[-inf, 2]>"))
    assert "matches every graph" in draw_program(Program())
    assert "arrow" in draw_program(Program.parse("node x node y edge (x, y)"), directed=True)
    assert parsed(draw_program(Program.parse("node x edge (x, x)"))) is not None
    assert "and 2 more" in draw_program(Program.parse(f"node x <{', '.join(['[1, 1]'] * 5)}>"))


def test_pages_hold_everything_themselves(tmp_path: Path) -> None:
    found = motif_model().explain(motif_data()[1].graphs[:2], technique="lime")
    page = explanation_page(found)
    assert page.count("<section>") == 2
    assert not re.search(r"(href|src)\s*=|@import|https?://(?!www\.w3\.org/2000/svg)", page)
    found[0].to_html(tmp_path / "one.html")
    assert (tmp_path / "one.html").read_text(encoding="utf-8") == found[0].to_html()
    found[0].draw(tmp_path / "one.svg")
    found[0].save(tmp_path / "one.json")
    assert json.loads((tmp_path / "one.json").read_text()) == json.loads(json.dumps(found[0].to_json()))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "one.html",
        "one.json",
        "one.svg",
    ]  # nothing half-written
    assert "<svg" in found[0]._repr_html_()


def test_names_cannot_break_out_of_the_markup() -> None:
    schema = Schema((Feature("<b>", "nominal", {1: "<script>"}),), (), {"<i>": "<img>"})
    graph = Graph([[1.0]], [], schema=schema, name="</title><script>")
    e = explanation_of(graph, Program.parse("node x <[1, 1]>"), "<i>")
    page = explanation_page([e])
    assert "<script>" not in page
    assert "<img>" not in page
    assert parsed(e.draw()) is not None


def molecule(smiles: str) -> Graph:
    return molecule_graph(Chem.MolFromSmiles(smiles), name=smiles)


@pytest.mark.parametrize(
    ("smiles", "labels"),
    [
        ("OC(=O)CN", "OHOH2N"),
        ("[NH3+]CC(=O)[O-]", "H3N+OO−"),
        ("[13CH4]", "13CH4"),
        ("[Fe+3]", "Fe3+"),
        ("c1cc[nH]c1", "HN"),
        ("CCC", ""),
    ],
)
def test_atoms_are_labeled_as_chemists_do(smiles: str, labels: str) -> None:
    svg = draw_graph(molecule(smiles)).svg("")
    assert "".join(e.text or "" for e in parsed(svg).iter() if e.tag.endswith("text")) == labels
    assert "class='w'" not in svg  # no dots of radicals


def test_stereo_is_drawn_where_the_smiles_has_it() -> None:
    right, left = (draw_graph(molecule(text)).svg("") for text in ("C[C@H](N)C(=O)O", "C[C@@H](N)C(=O)O"))
    assert right != left
    assert path_data(left, "w") or path_data(left, "b").count("M") > 10  # a wedge, or a hashed one
    graph = molecule("C[C@H](N)C(=O)O")
    plain = Graph(graph.node_features, graph.edges, graph.edge_features, schema=graph.schema)
    flat = draw_graph(plain).svg("")
    assert "class='w'" not in flat
    assert flat == draw_graph(plain, smiles="CCCCCC").svg("")  # that of another molecule is ignored
    assert draw_graph(plain, smiles="C[C@H](N)C(=O)O").svg("") == right


def test_pictures_have_no_styles_of_their_own_but_files_do() -> None:
    picture = draw_graph(molecule("CC(=O)[O-]"), Marks([0.5, -0.2, 0.1, 1.0]))
    inside, alone = picture.svg("t"), picture.document("t")
    for svg in (inside, alone):
        assert not re.search(r"\s(style|fill|stroke|color)=", svg)
    assert "<style>" not in inside
    assert "var(" not in alone  # programs other than browsers know no variables
    light, dark = palettes()
    assert light["for-5"] in alone
    assert "prefers-color-scheme:dark" in alone
    assert dark["for-5"] in alone


def test_an_outline_goes_around_its_nodes_and_no_others() -> None:
    angles = np.arange(6) * np.pi / 3
    places = np.vstack([28 * np.stack([np.cos(angles), np.sin(angles)], axis=1), [(84.0, 0.0)]])
    (loop,) = contour(places, range(6), [(i, (i + 1) % 6) for i in range(6)], 10)  # the hole has none
    assert np.abs(loop).max() < 45
    assert len(contour(places, [0, 6], [], 10)) == 2
    assert contour(places, [], [], 10) == []


NITRO = (
    "node n <atom = N, charge = 1> node o <atom = O, charge = -1> node p <atom = O> "
    "edge (n, o) <bond = single> edge (n, p) <bond = double>"
)


def nitro_explanation(
    weights: tuple[float, ...] = (-0.4, 0.9, 0.3, 0.001), nodes: tuple[int, ...] = (7, 8, 9), **changes: Any
) -> Explanation:
    """Return an explanation of nitrotoluene: its nitro group speaks for it, its methyl group against it."""
    graph = molecule("Cc1ccc(cc1)[N+](=O)[O-]")
    texts = (
        "node x <atom = C, hydrogens = 3, charge = 0, degree = 1>",
        NITRO,
        "node x <atom = F>",
        "node x <atom = O, charge = -1>",
    )
    programs = [Program.parse(text, MOLECULE_SCHEMA) for text in texts]
    terms = tuple(
        Reason(program, weight, places(program, program.find(graph)), column, int(column > 4))
        for program, weight, column in zip(programs, weights, (4, 7, 8, 9), strict=True)
    )
    scores = (-0.4, *(0.0,) * 6, 0.7, 0.5, 0.2)
    found = Contributions(0.12, 0.2, 0.3, (("logP 2.1", -0.02),), 0.0, scores)._replace(**changes)
    method = Method("contribution")
    return Explanation(graph, 1, 0.394, 1, 0.394, terms, nodes, method, found, threshold=0.31)


def test_pages_allow_nothing_inline() -> None:
    e = nitro_explanation()
    page = explanation_page([replace(e, graph=e.graph._renamed(MOLECULE_SCHEMA, "<b>"))])
    assert not re.search(r"<[^>]*\sstyle\s*=", page)
    allowed = re.findall(r"'sha256-([^']+)'", page)
    (sheet,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert allowed == [base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()]
    assert "unsafe" not in page.partition("<style>")[0]
    assert "<script" not in page


def test_examples_are_found_and_kept(tmp_path: Path) -> None:
    texts = ["CCO", "CCCCO", "c1ccccc1O", "CCN", "CCCN", "c1ccccc1N", "C[N+](C)(C)C", "CC(=O)[O-]"]
    graphs = [molecule_graph(Chem.MolFromSmiles(text)) for text in texts]
    data = GraphDataset(graphs, [1, 1, 1, 0, 0, 0, 0, 1], MOLECULE_SCHEMA)
    mined = mine(data, verbose=False)
    assert all(item.example is None for item in mined)
    shown = mined.with_examples(data)
    for item in shown:
        assert item.example is not None
        molecule = Chem.MolFromSmiles(item.example.smiles)
        graph = molecule_graph(molecule)
        witness = dict(zip(item.program.variables, item.example.atoms, strict=True))
        assert witness in list(item.program.witnesses(graph))
        assert "class='" in draw_program(item.program, MOLECULE_SCHEMA, example=item.example)
    shown.save(tmp_path / "shown.jsonl")
    assert ProgramSet.load(tmp_path / "shown.jsonl") == shown
    text = shown.to_text().replace('"atoms": [', '"atoms": [0, ').replace("atoms: [", "atoms: [0, ")
    with pytest.raises(MiningError, match="one for each variable"):
        ProgramSet.from_text(text)
    plain, _ = motif_data()
    motifs = mine(plain, targets=range(4), verbose=False)
    assert motifs.with_examples(plain) == motifs
