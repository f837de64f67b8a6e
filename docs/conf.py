"""The docs site: `make docs` builds it into site/. Everything it needs to be read lies in that folder."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docutils.nodes import Node
    from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))

project = "GDLNN"
author = "The GDLNN developers"
version = release = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]

# `make docs-quick` builds without the package: no notebooks, no pages that are made from the code.
QUICK = os.environ.get("GDLNN_DOCS") == "quick"
extensions = ["myst_parser"] if QUICK else ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"} if QUICK else {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns = ["notebooks/*", "reference.md", "command-line.md"] if QUICK else []
# Notebooks have no output in git: they run when the site is built, once for each change.
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "notebooks")
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_execution_show_tb = True
default_role = "literal"

myst_heading_anchors = 3
myst_links_external_new_tab = False

napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# Without these aliases, signatures would show a page of unions.
autodoc_type_aliases = {"npt.ArrayLike": "ArrayLike", "Validation": "Validation"}
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"GDLNN {version}"
html_copy_source = False
html_show_search_summary = False  # they are fetched, which browsers refuse to pages that are files
html_show_sphinx = False
html_show_copyright = False
html_favicon = None
# The same colors as the report and the server's page.
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7db5f5", "color-brand-content": "#7db5f5"},
}


class GDLLexer(RegexLexer):
    """Colors for GDL."""

    name = "GDL"
    aliases: ClassVar[list[str]] = ["gdl"]
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            (r"//[^\n]*", Comment.Single),
            (r"/\*[\s\S]*?\*/", Comment.Multiline),
            (r"\b(node|edge|program|target|graph)\b", Keyword),
            (r"-?\binf\b|-inf|-?\d+(\.\d+)?([eE][-+]?\d+)?", Number),
            (r'"[^"]*"', String),
            (r"[<>=]=?|\.\.\.?", Operator),
            (r"[\[\](){},:]", Punctuation),
            (r"[^\W\d]\w*", Name),
            (r"\s+", Text),
            (r".", Text),
        ],
    }


def described_commands() -> Iterator[str]:
    """Yield the commands of `gdlnn` as Markdown: what each does, its arguments and options."""
    from typer.main import get_command

    from gdlnn.cli import app

    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        arguments = [item for item in command.params if item.param_type_name == "argument"]
        options = [item for item in command.params if item.param_type_name == "option" and not item.hidden]
        metavars = " ".join((item.metavar or item.name).upper() for item in arguments)
        yield from (f"## gdlnn {name}", "", f"`gdlnn {name} {metavars} [OPTIONS]`", "")
        yield from ((command.help or "").split("\f")[0], "", "| | | default |", "|---|---|---|")
        for item in [*arguments, *options]:
            names = (item.metavar or item.name).upper() if item in arguments else ", ".join(item.opts)
            default = item.show_default if isinstance(item.show_default, str) else item.default
            shown = "" if default in (None, False) or callable(default) or item in arguments else f"{default}"
            cells = (f"`{names}`", (getattr(item, "help", None) or "").replace("|", "\\|"), shown)
            yield f"| {' | '.join(cells)} |"
        yield ""


class Commands(Directive):
    """The reference of the command line."""

    def run(self) -> list[Node]:
        """Return the commands as sections."""
        from docutils import nodes

        found = nodes.Element()
        self.state.nested_parse(
            StringList([*described_commands()], "commands"), self.content_offset, found, 1
        )
        return found.children


def skip_request_methods(_app: Sphinx, _what: str, name: str, *_rest: object) -> bool | None:
    """Leave out the methods that scikit-learn adds for metadata routing."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Sphinx) -> None:
    """Make GDL and the reference of the command line known."""
    app.add_lexer("gdl", GDLLexer)
    app.add_directive("commands", Commands)
    if not QUICK:
        app.connect("autodoc-skip-member", skip_request_methods)


# Attributes of one name in several classes, such as precision, are not worth a link each.
suppress_warnings = ["ref.python", *(["toc.excluded"] if QUICK else [])]
