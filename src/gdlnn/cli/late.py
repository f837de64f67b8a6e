"""Commands imported on first use, so that `gdlnn --help` and `gdlnn serve` load only what they need."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup
from typer.main import get_command


@dataclass
class LateCommand:
    """A placeholder in the list of commands that loads the real command on first use.

    Attributes
    ----------
    name
        Its name, which is also that of its module and of the function there; a group has an ``app`` instead.
    help
        Its line in the list of commands: the first sentence of its help text.
    epilog
        An example.
    """

    name: str
    help: str
    epilog: str
    hidden: ClassVar[bool] = False
    deprecated: ClassVar[bool] = False
    short_help: ClassVar[str | None] = None
    rich_help_panel: ClassVar[str | None] = None

    @cached_property
    def real(self) -> Any:
        """The command itself, as typer makes it."""
        module = importlib.import_module(f"gdlnn.cli.{self.name}")
        carrier = typer.Typer(callback=lambda: None)  # with a callback, one command is a group too
        if hasattr(module, "app"):
            carrier.add_typer(module.app, name=self.name, epilog=self.epilog)
        else:
            carrier.command(self.name, epilog=self.epilog)(getattr(module, self.name))
        group: Any = get_command(carrier)
        return group.commands[self.name]

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the line of the list of commands."""
        return self.help if len(self.help) <= limit else f"{self.help[: limit - 3]}..."

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.real, name)


class LateGroup(TyperGroup):
    """A group whose commands are imported when they are used, not when they are listed."""

    late: ClassVar[tuple[LateCommand, ...]] = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._listing = False
        own: Any = {command.name: command for command in self.late}
        self.commands = own | dict(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command itself, or its placeholder for the list of commands."""
        found: Any = super().get_command(ctx, cmd_name)
        return found.real if isinstance(found, LateCommand) and not self._listing else found

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help text, with the list of commands."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False
