"""`python -m repro`: the studies of the paper, run from the root of the repository."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command as typer_command

from gdlnn.errors import GDLNNError

COMMANDS = (
    "accuracy",
    "ablation",
    "explain",
    "cost",
    "motifs",
    "rules",
    "stability",
    "heads",
    "imbalance",
    "domain",
    "chemprop",
    "regression",
    "paper",
    "keep",
)
"""Modules of this package, each with a function of the same name that is the command."""


class Commands(TyperGroup):
    """Commands that are imported when they are used: most of them load torch."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return a command by name."""
        if cmd_name not in COMMANDS:
            return None
        carrier = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        carrier.command(cmd_name)(getattr(importlib.import_module(f"repro.{cmd_name}"), cmd_name))
        return typer_command(carrier)


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def repro() -> None:
    """Reproduce the paper: compare methods on datasets by accuracy, explanations and cost."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Errors in the input become one line and exit code 2."""
    try:
        app(args=arguments, prog_name="python -m repro")
    except (GDLNNError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
