"""The commands by name, each imported when it is asked for: ``check`` needs no optimizer."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

COMMANDS = {
    "check": "check:check",
    "compile": "compile:compile_kernels",
    "inspect": "inspect:inspect",
    "tune": "tune:tune",
    "capture": "capture:capture",
    "verify": "verify:verify",
    "certificates": "certificates:certificates",
    "optimize": "optimize:optimize",
    "profile": "profile:profile",
    "devices": "facts:devices",
    "doctor": "doctor:doctor",
    "targets": "targets:targets",
    "explain": "facts:explain",
    "lsp": "facts:lsp",
    "toolchain": "toolchain:app",
    "service": "service:app",
}


class Commands(TyperGroup):
    """The group of all commands; each is a function of a module of this package, or an app."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, which is all of them for the help page."""
        for name in COMMANDS:
            self._load(name)
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One command; None for a name that is none, and then all are there to be suggested."""
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:
            self._load(name)
        return self.commands.get(cmd_name)

    def _load(self, name: str) -> None:
        if name in self.commands:
            return
        module, _, attribute = COMMANDS[name].partition(":")
        found = getattr(import_module(f"tilewright.cli.{module}"), attribute)
        if not isinstance(found, typer.Typer):
            app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            app.command(name)(found)
            found = app
        self.commands[name] = get_command(found)
        self.commands[name].name = name
