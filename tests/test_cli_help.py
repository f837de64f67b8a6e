"""Every command: help with an example, options called the same everywhere, exit code 2 for a wrong one."""

from __future__ import annotations

import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from gdlnn.cli import app

COMMANDS = sorted(command.name or "" for command in app.registered_commands)
GROUPS = sorted(group.name or "" for group in app.registered_groups)


def shown(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "120", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return re.sub(r"\x1b\[[0-9;]*m", "", result.output)


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_help_has_an_example(name: str) -> None:
    assert f"gdlnn {name}" in " ".join(shown(name).split("Example:")[1:])


def test_help_names_every_command() -> None:
    text = shown()
    assert all(re.search(rf"\b{name}\b", text) for name in [*COMMANDS, *GROUPS])
    assert "--install-completion" in text
    assert "--debug" in text


@pytest.mark.parametrize("name", [*COMMANDS, "datasets info", "evaluate accuracy"])
def test_every_command_takes_the_shared_options(name: str) -> None:
    text = shown(*name.split())
    assert "--verbose" in text
    assert "--debug" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(shell: str) -> None:
    environment = {"_GDLNN_COMPLETE": f"complete_{shell}", "NO_COLOR": "1"}
    for line, expected in (("gdlnn pre", "predict"), ("gdlnn explain --tech", "--technique")):
        typed = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_TYPER_COMPLETE_ARGS": line}
        found = CliRunner().invoke(
            app,
            [],
            env={**environment, **typed, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
            prog_name="gdlnn",
        )
        assert expected in found.output, (shell, line, found.output)


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_a_wrong_option_is_exit_code_2(name: str) -> None:
    assert CliRunner().invoke(app, [name, "--no-such-option"]).exit_code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_called_the_same_everywhere(name: str) -> None:
    command = get_command(app).commands[name]  # type: ignore[attr-defined]
    flags = {parameter.name: set(parameter.opts) for parameter in command.params}
    meant = {"output": {"-o", "--output"}, "jobs": {"-j", "--jobs"}, "quiet": {"-q", "--quiet"}}
    meant |= {"seed": {"--seed"}, "as_json": {"--json"}, "split": {"--split"}, "part": {"--part"}}
    for option, words in flags.items():
        assert words == meant.get(option or "", words), option
