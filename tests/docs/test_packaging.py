"""What is shipped: one version everywhere, light dependencies, a container."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import gdlnn

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Package to import name, where they differ.
IMPORTED_AS = {"scikit-learn": "sklearn", "markupsafe": "markupsafe"}
# Notebooks bring it, and nothing asks for it elsewhere.
BROUGHT_ALONG = {"IPython"}


def names_of(requirements: list[str]) -> set[str]:
    """Return what requirements are imported as, extras of our own followed."""
    found = set()
    for requirement in requirements:
        name, extras = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", requirement).groups()
        if name == "gdlnn":
            inner = [item for e in extras.split(",") for item in PROJECT["optional-dependencies"][e]]
            found |= names_of(inner)
        else:
            found.add(IMPORTED_AS.get(name, name.replace("-", "_")))
            found |= set((extras or "").split(",")) - {""}  # dask[distributed]
    return found


def test_there_is_one_version() -> None:
    version = PROJECT["version"]
    assert gdlnn.__version__ == version, "reinstall the package: make setup"
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", "from gdlnn.cli import main; main(['--version'])"],
        capture_output=True,
        text=True,
    )
    assert ended.stdout == f"gdlnn {version}\n"


def imports_of(file: Path) -> set[str]:
    """Return the packages that a file imports, but for type checkers alone."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found - set(sys.stdlib_module_names) - {"gdlnn"}


def test_what_is_imported_is_required() -> None:
    base, extras = names_of(PROJECT["dependencies"]), PROJECT["optional-dependencies"]
    whole = names_of(extras["all"])
    for file in sorted((ROOT / "src").rglob("*.py")):
        part = file.relative_to(ROOT / "src" / "gdlnn").parts[0]
        allowed = base | BROUGHT_ALONG
        if part == "server":
            allowed = allowed | names_of(extras["server"])
        if file.name == "network.py":  # imported by `require`, which names the extra
            allowed = allowed | names_of(extras["torch"])
        assert imports_of(file) <= allowed, file
    assert not base & whole, "an extra repeats a dependency"


def test_a_missing_extra_is_answered_with_one_that_brings_it() -> None:
    found = 0
    for file in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func) in ("require", "errors.require")):
                continue
            module, extra = (getattr(argument, "value", None) for argument in node.args[:2])
            if not isinstance(module, str):
                continue  # one of several, named in a loop
            brings = names_of(PROJECT["optional-dependencies"][extra])
            brings |= names_of(PROJECT["dependencies"])
            assert module.split(".")[0] in brings, (file, module, extra)
            found += 1
    assert found >= 10
