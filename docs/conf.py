"""The docs site: `make docs` builds it into site/. Everything it needs to be read lies in that folder."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "src"))

project = "GDLNN"
author = "The GDLNN developers"
version = release = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
exclude_patterns: list[str] = []
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
# The same colours as the report and the server's page.
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7db5f5", "color-brand-content": "#7db5f5"},
}


class GDLLexer(RegexLexer):
    """Colours for GDL."""

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


def setup(app: Sphinx) -> None:
    """Make GDL known."""
    app.add_lexer("gdl", GDLLexer)


# Attributes of one name in several classes, such as precision, are not worth a link each.
suppress_warnings = ["ref.python"]
