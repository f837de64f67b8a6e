"""The steps of a Dockerfile, run without Docker: each stage in a folder and an environment of its own.

Enough for ours. FROM python is a new virtual environment, WORKDIR and COPY stay below the stage's folder.
Steps that change the machine itself, apt-get and useradd, are left out: what they install must be there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OF_THE_MACHINE = ("apt-get ", "useradd ")


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile: name and arguments, continued lines joined, no comments."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    pairs = (line.split(None, 1) for line in joined.splitlines() if line.strip())
    return [(name, arguments) for name, arguments in pairs]


class Stage:
    """One stage: a folder as its root, an environment, the folder at work in."""

    def __init__(self, root: Path, python: str) -> None:
        self.root = self.folder = root
        root.mkdir(parents=True)
        subprocess.run([python, "-m", "venv", root / "venv"], check=True)
        self.variables: dict[str, str] = {}

    def path(self, name: str) -> Path:
        """Return where a path of the container lies here."""
        return self.root / name[1:] if name.startswith("/") else self.folder / name

    def run(self, command: str) -> None:
        """Run a shell command with the environment first on the path."""
        path = f"{self.root / 'venv' / 'bin'}:{os.environ['PATH']}"
        variables = {**os.environ, **self.variables, "PATH": path}
        subprocess.run(["sh", "-ec", command], cwd=self.folder, env=variables, check=True)


def run_dockerfile(text: str, context: Path, folder: Path, python: str, arguments: dict[str, str]) -> Stage:
    """Run all steps of a Dockerfile; return the last stage.

    Parameters
    ----------
    text
        The Dockerfile.
    context
        The folder that COPY takes files from.
    folder
        An empty folder for the stages.
    python
        The interpreter that stands in for that of the images.
    arguments
        Values of ARG.
    """
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    for name, said in instructions(text):
        if name == "FROM":
            label = said.partition(" AS ")[2] or f"stage-{len(stages)}"
            stage = stages[label] = Stage(folder / label, python)
            continue
        assert stage is not None
        if name == "WORKDIR":
            stage.folder = stage.path(said)
            stage.folder.mkdir(parents=True, exist_ok=True)
        elif name == "ARG":
            variable, _, default = said.partition("=")
            stage.variables[variable] = arguments.get(variable, default)
        elif name == "COPY":
            _copy(stage, said.split(), context, stages)
        elif name == "RUN" and not said.startswith(OF_THE_MACHINE):
            stage.run(said)
    assert stage is not None
    return stage


def _copy(stage: Stage, words: list[str], context: Path, stages: dict[str, Stage]) -> None:
    source_of = None
    if words[0].startswith("--from="):
        source_of = stages[words.pop(0).removeprefix("--from=")]
    *sources, target = words
    for name in sources:
        source = context / name if source_of is None else source_of.path(name)
        if source.is_dir():
            shutil.copytree(source, stage.path(target), dirs_exist_ok=True, symlinks=True)
        else:
            shutil.copy(source, stage.path(target))
