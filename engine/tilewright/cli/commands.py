"""The commands by name, each imported when it is used: ``check`` loads no optimizer."""

from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command


class Entry(NamedTuple):
    """Where a command is defined, and its summary on the page of all commands."""

    place: str
    summary: str


COMMANDS = {
    "check": Entry("check:check", "Report issues in kernels from their source."),
    "watch": Entry("watch:watch", "Check and profile kernels below PATH whenever they are saved."),
    "compile": Entry(
        "compile:compile_kernels",
        "Compile FILE's kernels and report registers, spills and occupancy.",
    ),
    "inspect": Entry(
        "inspect:inspect", "Cross-compile FILE's kernels and report problems per source line."
    ),
    "tune": Entry("tune:tune", "Rank launch configurations by estimated time; no kernel is run."),
    "capture": Entry("capture:capture", "Run COMMAND and record every kernel launch in it."),
    "verify": Entry("verify:verify", "Verify CANDIDATE against ORIGINAL."),
    "certificates": Entry("certificates:certificates", "List kernels with their certificates."),
    "optimize": Entry("optimize:optimize", "Optimize FILE's kernels and verify every edit."),
    "runs": Entry("runs:app", "List the runs of `tilewright optimize`, the newest first."),
    "show": Entry("recorded_run:show", "Show a run: the tree of its trials, or one trial."),
    "memory": Entry(
        "memory:app", "List, mine and remove what earlier runs learned on this machine."
    ),
    "replay": Entry(
        "recorded_run:replay",
        "Decide a recorded run again from its record, and compare the results.",
    ),
    "profile": Entry(
        "profile:profile", "Compile, check and time FILE's kernels, and report bottlenecks."
    ),
    "devices": Entry("facts:devices", "List the devices that kernels can run on."),
    "doctor": Entry("doctor:doctor", "Test the sandbox; list GPUs, compilers and profilers."),
    "targets": Entry("targets:targets", "List the supported chips."),
    "explain": Entry(
        "facts:explain", "Explain an issue, its cost and its fix; or list all issues."
    ),
    "lsp": Entry("facts:lsp", "Start the language server, on standard input and output or TCP."),
    "mcp": Entry("mcp:mcp", "Serve the commands as tools to coding agents (MCP, stdio)."),
    "toolchain": Entry("toolchain:app", "List and install the compilers of each backend."),
    "service": Entry("service:app", "List and stop the worker services."),
}


class Commands(TyperGroup):
    """The group of all commands; each is a function of a module of this package, or an app."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = {name: _summary(name) for name in COMMANDS}

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order of the help page."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command itself; None for an unknown name."""
        return _load(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page of all commands from their summaries: no command is imported for it."""
        page = TyperGroup(
            name=self.name,
            commands=dict(self.commands),
            params=self.params,
            help=self.help,
            rich_markup_mode=self.rich_markup_mode,
        )
        page.format_help(ctx, formatter)


def _load(name: str) -> Any:
    module, _, attribute = COMMANDS[name].place.partition(":")
    found = getattr(import_module(f"tilewright.cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        command = get_command(found)
        command.name = name
        return command
    return _single(name, found)


def _summary(name: str) -> Any:
    return _single(name, lambda: None, help=COMMANDS[name].summary)


def _single(name: str, function: Any, **settings: Any) -> Any:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name, **settings)(function)
    return get_command(app)
