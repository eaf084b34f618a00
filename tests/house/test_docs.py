"""What the documents name exists: tests that guard invariants, packages, files, commands."""

import re
from pathlib import Path

import pytest

from tilewright.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUARDS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", ARCHITECTURE)))


@pytest.mark.parametrize(("path", "test"), GUARDS)
def test_the_test_that_guards_an_invariant_exists(path: str, test: str) -> None:
    assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_invariant_has_a_guard() -> None:
    rows = re.findall(r"^\| I(\d+) \|.*\|(.*)\|$", ARCHITECTURE, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    assert all("tests/" in guard for _, guard in rows)


def test_every_package_has_its_paragraph() -> None:
    packages = {p.parent.name for p in (ROOT / "engine/tilewright").glob("*/__init__.py")}
    described = set(re.findall(r"^- \*\*(\w+)\*\*", ARCHITECTURE, re.MULTILINE))
    assert packages <= described


def test_every_command_is_in_the_readme() -> None:
    assert COMMANDS
    assert not [name for name in COMMANDS if f"`tilewright {name}" not in README]


def test_make_targets_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^    )make (?:\w+=\w+ )?([a-z-]+)", README, re.MULTILINE))
    assert named
    assert not [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)]
