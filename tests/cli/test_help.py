"""Every command's help page: it is there, and shows its text as it is written."""

import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tilewright import __version__
from tilewright.cli.app import app
from tilewright.cli.commands import COMMANDS


def help_of(command: str) -> str:
    """The page on one line; rich takes words in brackets for markup unless they are escaped."""
    ended = CliRunner(env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"}).invoke(
        app, [command, "--help"], catch_exceptions=False
    )
    assert ended.exit_code == 0, ended.output
    return re.sub(r"[\s│]+", " ", ended.output)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_page_that_begins_with_its_summary(command: str) -> None:
    page = help_of(command)
    assert f" {command} [OPTIONS]" in page
    assert COMMANDS[command].summary in page


def test_the_page_of_all_commands_has_every_summary_and_imports_no_command() -> None:
    program = (
        "import sys; sys.argv[1:] = ['--help']; from tilewright.cli.app import app;"
        "app(standalone_mode=False);"
        "print([m for m in sys.modules if m.startswith('tilewright.')])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"COLUMNS": "300", "TERMINAL_WIDTH": "300"},
    )
    assert shown.returncode == 0, shown.stderr
    assert all(f"{name} " in shown.stdout for name in COMMANDS)
    assert all(entry.summary in shown.stdout for entry in COMMANDS.values())
    assert "tilewright.cli.check" not in shown.stdout
    assert "tilewright.analysis" not in shown.stdout


def test_an_unknown_command_is_refused_with_the_nearest_name() -> None:
    ended = CliRunner().invoke(app, ["chek"])
    assert ended.exit_code == 2
    assert "'check'" in ended.output


def test_version() -> None:
    ended = CliRunner().invoke(app, ["--version"])
    assert (ended.exit_code, ended.output) == (0, f"tilewright {__version__}\n")


def test_what_stands_in_brackets_is_shown() -> None:
    assert "ssh://[user@]host[:port][/python]" in help_of("devices")
    assert "Ignore [tool.tilewright] in pyproject.toml." in help_of("check")
