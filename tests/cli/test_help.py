"""Every command's help page: it is there, and shows its text as it is written."""

import re

import pytest
from typer.testing import CliRunner

from tilewright.cli.commands import COMMANDS
from tilewright.cli.main import app


def help_of(command: str) -> str:
    """The page on one line; rich takes words in brackets for markup unless they are escaped."""
    ended = CliRunner(env={"COLUMNS": "300", "TERMINAL_WIDTH": "300"}).invoke(
        app, [command, "--help"], catch_exceptions=False
    )
    assert ended.exit_code == 0, ended.output
    return re.sub(r"[\s│]+", " ", ended.output)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_a_page(command: str) -> None:
    assert f" {command} [OPTIONS]" in help_of(command)


def test_what_stands_in_brackets_is_shown() -> None:
    assert "ssh://[user@]host[:port][/python]" in help_of("devices")
    assert "Do not look for [tool.tilewright]." in help_of("check")
