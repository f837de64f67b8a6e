"""The prose check of `make lint`: sentences it must refuse, sentences it must accept, and where it looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import prose

if TYPE_CHECKING:
    from pathlib import Path


def rules(text: str) -> set[str]:
    return {rule for rule, _, _ in prose.check(text)}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("It keeps the part that decides.", "the-part-that"),
        ("A report shows what is known of a program.", "what-is-of"),
        ("The head predicts them as it comes.", "as-it-comes"),
        ("The page tells how a model is trained.", "tells"),
        ("The figures stand in a table.", "stands"),
        ("Graphs are chosen by number.", "by-number"),
        ("Nine data sets are registered.", "data-set"),
        ("It is tuned on the validation part.", "part"),
        ("A graph that cannot be.", "cannot-be"),
        ("expected a file, but that is no folder", "is-no"),
        ("The output from before is kept.", "from-before"),
        ("The file stays as it was.", "as-it-was"),
        ("A run that was stopped goes on where it was.", "goes-on"),
        ("Everything is computed anew.", "anew"),
        ("Version 0.1, in the making.", "in-the-making"),
        ("Scores stand beside those of the majority class.", "beside"),
        ("The rows, rising.", "rising"),
        ("It stops after so many steps.", "so-many"),
        ("Whoever ends claims nothing.", "whoever"),
        ("The color of a node, normalized.", "american"),
        ("word " * 41, "long"),
    ],
)
def test_a_construction_is_refused(text: str, rule: str) -> None:
    assert rule in rules(text)


@pytest.mark.parametrize(
    "text",
    [
        "The output would overwrite the input; choose another --output.",
        "Keep only one program per set of matched training graphs.",
        "Compare CPU time, not wall time.",
        "What is a program? A pattern, written as text.",
        "`x` stands for a node variable; the test set is not used.",
        "`data set`, `color` and [neighbourhoods](neighborhoods.md) are names.",
        "There is no longer a limit, and a dataset is a list of graphs.",
        "word " * 40,
        f"{'word ' * 25}. {'Word ' * 25}.",
    ],
)
def test_plain_english_is_accepted(text: str) -> None:
    assert rules(text) == set()


def test_python_is_read_for_docstrings_comments_and_messages() -> None:
    source = '''"""Read data sets."""

def read(path: str) -> str:
    """Read a file.

    Parameters
    ----------
    path
        The file that tells all.
    """
    # It stands here.
    if not path:
        raise ValueError(f"{path} from before is there")
    return "data set"  # two words are a name, not a message
'''
    found = [(text.line, rule) for text in prose.of_python(source) for rule, _, _ in prose.check(text.text)]
    assert sorted(found) == [(1, "data-set"), (9, "tells"), (11, "stands"), (13, "from-before")]


def test_pages_are_read_without_their_code() -> None:
    page = (
        "# Data sets\nIt is\nanew.\n\n```\ndata set\n```\n| a data set | `anew` |\n|---|---|\n- it stands\n"
    )
    found = [(text.line, rule) for text in prose.of_markdown(page) for rule, _, _ in prose.check(text.text)]
    assert sorted(found) == [(1, "data-set"), (2, "anew"), (8, "data-set"), (10, "stands")]


def test_generated_tables_are_not_checked() -> None:
    page = "<!-- t:begin -->\n\n| data set |\n\n<!-- t:end -->\n\nIt stands.\n"
    assert [(text.line, text.text) for text in prose.of_markdown(page)] == [(7, "It stands.")]


def test_cpp_and_templates_are_read() -> None:
    assert [text.text for text in prose.of_cpp("int a;  // it tells\n// all\nint b;\n")] == ["it tells all"]
    html = "<p title='anew'>All\n{{ name }}</p><script>anew</script>"
    assert [text.text.strip() for text in prose.of_html(html) if text.text.strip()] == ["All\n`x`"]


def test_a_finding_fails_and_so_does_an_idle_exception(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text("It tells.\n", encoding="utf-8")
    allowed = tmp_path / "prose_exceptions.txt"
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    monkeypatch.setattr(prose, "EXCEPTIONS", allowed)
    monkeypatch.setattr(prose, "tracked_files", lambda: ["page.md"])
    allowed.write_text("", encoding="utf-8")
    assert prose.main([]) == 1
    assert "page.md:1: tells" in capsys.readouterr().out
    allowed.write_text("*.md | tells: It tells | a quotation\n", encoding="utf-8")
    assert prose.main([]) == 0
    (tmp_path / "page.md").write_text("It says.\n", encoding="utf-8")
    assert prose.main([]) == 1
    assert "nothing needs the exception" in capsys.readouterr().out
