"""`stratalog bench` and `stratalog generate`: commands that `stratalog-bench` brings along."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand

from stratalog.runtime.benchmarks import not_installed

GROUP = "stratalog.commands"
"""The entry points that name the commands: each is an app of typer."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A command of another distribution, found when it is called: looking takes milliseconds."""

    name: str
    help: str

    def register(self, app: typer.Typer) -> None:
        """Add the command."""
        app.command(self.name, help=self.help, cls=_ExtensionCommand)(lambda: None)


class _ExtensionCommand(TyperCommand):
    def make_context(self, *given: Any, **extra: Any) -> Any:  # noqa: ANN401  # as it is called
        """Let the command that is meant read its arguments, and be the one that runs."""
        from importlib.metadata import entry_points

        for found in entry_points(group=GROUP, name=self.name or ""):
            return typer.main.get_command(found.load()).make_context(*given, **extra)
        raise not_installed(f"stratalog {self.name}")


BENCH = Extension(
    "bench",
    "Run benchmarks on Stratalog and on other systems that are installed, and print how long"
    " reasoning took.",
)
GENERATE = Extension(
    "generate", "Make a data set for a benchmark: the same one for the same seed, everywhere."
)
