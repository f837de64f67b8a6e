"""Train the golden cases with two commits on this machine, and compare every bit of what they answer.

::

    python tools/compare_commits.py REVISION

compares a revision with the working tree. Each trains with its own code and its own tests/golden.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "golden"
SHOWN = 20


def run(*command: str | Path, **options: Any) -> None:
    """Run a command; stop if it fails."""
    subprocess.run([str(word) for word in command], check=True, **options)


def bits(source: Path, name: str) -> Any:
    """Build the sources of a checkout, train the cases with them, and return what they answer."""
    target, file = FOLDER / f"{name}-package", FOLDER / f"{name}.json"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--upgrade",
        "--target", target, source)  # fmt: skip
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    # Without `site`, so that the checkout which is installed here does not come first.
    paths = os.pathsep.join(map(str, (target, source, source / "tests", packages)))
    variables = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    run(sys.executable, "-S", "-P", "-m", "golden", "bits", file, env=variables, cwd=FOLDER)
    return json.loads(file.read_text())


def changes(one: Any, other: Any, where: str = "") -> list[str]:
    """Return where two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = [*one, *(name for name in other if name not in one)]
        return [c for name in names for c in changes(one.get(name), other.get(name), f"{where}/{name}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = zip(one, other, strict=True)
        return [c for i, (a, b) in enumerate(pairs) for c in changes(a, b, f"{where}/{i}")]
    return [] if one == other else [f"{where}: {str(one)[:60]} is now {str(other)[:60]}"]


def main(revision: str) -> int:
    """Compare a revision with the working tree; return the exit code."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    checkout = FOLDER / "checkout"
    run("git", "worktree", "add", "--force", "--detach", checkout, revision, cwd=ROOT)
    try:
        before = bits(checkout, "before")
    finally:
        run("git", "worktree", "remove", "--force", checkout, cwd=ROOT)
    found = changes(before, bits(ROOT, "now"))
    print("\n".join(found[:SHOWN]))
    print(f"{len(found)} difference(s) from {revision} in {len(before)} cases")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
