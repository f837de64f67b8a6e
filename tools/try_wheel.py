"""Install a wheel into an empty environment, away from the checkout, and use it.

::

    python tools/try_wheel.py dist

takes the wheel of the folder that fits the Python it runs with. Nothing may be compiled, and the first half
runs without any extra: graphs need none, and molecules are answered with the command that installs theirs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRAPHS = """
import gdlnn
data = gdlnn.make_ba_2motifs(n=60)
train, _, test = data.split()
model = gdlnn.GDLNNClassifier(verbose=False).fit(train)
why = model.explain(test.graphs[0])
model.save("model.gdlnn")
assert (gdlnn.load_model("model.gdlnn").predict(test) == model.predict(test)).all()
print(gdlnn.__version__, gdlnn.__file__, model.score(test), why.nodes)
"""


class Environment:
    """A virtual environment and an empty folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "venv" / "bin"
        self.work = folder / "work"
        self.work.mkdir()
        venv.create(folder / "venv", with_pip=True)

    def run(self, *words: str | Path, code: int = 0) -> str:
        """Run a command of the environment; return what it says, both streams together."""
        print("+", *words, flush=True)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        variables |= {"PATH": f"{self.bin}:/usr/bin:/bin", "CC": "no-compiler", "CXX": "no-compiler"}
        done = subprocess.run(
            [self.bin / words[0], *words[1:]],
            cwd=self.work,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != code:
            sys.exit(f"{done.stdout}\nexpected exit code {code}, got {done.returncode}")
        return done.stdout

    def install(self, what: str) -> None:
        """Install with the known versions, and only what needs no compiler."""
        options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        self.run("python", "-m", "pip", "install", *options, "-c", ROOT / "constraints.txt", what)


def fitting_wheel(folder: Path) -> Path:
    """Return the wheel for this Python: its own, else one with the stable ABI of an earlier one."""
    minor = sys.version_info.minor
    own = sorted(folder.glob(f"gdlnn-*-cp3{minor}-cp3{minor}-*.whl"))
    stable = [file for file in sorted(folder.glob("gdlnn-*-abi3-*.whl")) if _stable_since(file) <= minor]
    if not own + stable:
        sys.exit(f"{folder}: expected a wheel for Python 3.{minor}, got none; make one with: make wheel")
    return (own + stable)[-1].resolve()


def _stable_since(file: Path) -> int:
    found = re.search(r"-cp3(\d+)-abi3-", file.name)
    assert found is not None
    return int(found[1])


def try_graphs(environment: Environment, version: str, folder: Path) -> None:
    """Use graphs, without an extra."""
    output = environment.run("gdlnn", "--version").strip()
    if output != f"gdlnn {version}":
        sys.exit(f"gdlnn --version: expected {version}, got {output}")
    used, place, *_ = environment.run("python", "-I", "-c", GRAPHS).split()
    if used != version or not Path(place).is_relative_to(folder):
        sys.exit(f"expected gdlnn {version} of the environment, got {used} in {place}")
    environment.run("gdlnn", "demo", "synthetic:ba-2motifs:60", "-o", "demo.html")
    environment.run("gdlnn", "datasets", "synthetic:ba-2motifs:40", "-o", "motifs.jsonl")
    environment.run("gdlnn", "train", "motifs.jsonl", "-o", "motifs.gdlnn")


def try_molecules(environment: Environment, wheel: Path) -> None:
    """Use molecules: refused without their extra, then with it, and an example script."""
    shutil.copytree(ROOT / "examples", environment.work / "examples")
    train = ["gdlnn", "train", "examples/molecules.csv", "--label", "active", "-o", "molecules.gdlnn"]
    output = environment.run(*train, code=2)
    if "pip install 'gdlnn[chem]'" not in output:
        sys.exit(f"expected the command that installs the extra, got: {output}")
    environment.install(f"{wheel}[chem]")
    environment.run(*train)
    environment.run("python", "examples/chemist.py")


def main(folder: Path) -> None:
    """Try the wheel of a folder."""
    wheel = fitting_wheel(folder)
    with tempfile.TemporaryDirectory(prefix="gdlnn-wheel-") as made:
        environment = Environment(Path(made).resolve())
        environment.install(str(wheel))
        try_graphs(environment, wheel.name.split("-")[1], Path(made).resolve())
        try_molecules(environment, wheel)
    print(f"{wheel.name}: works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
