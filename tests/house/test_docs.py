"""What the documents name exists: tests that guard invariants, packages, files, commands."""

import re
from pathlib import Path

import pytest

from tilewright.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
INVARIANTS = (ROOT / "docs" / "invariants.md").read_text(encoding="utf-8")
COMMANDS_PAGE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUARDS = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", INVARIANTS)))
MOST_README_LINES = 120
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


@pytest.mark.parametrize(("path", "test"), GUARDS)
def test_the_test_that_guards_an_invariant_exists(path: str, test: str) -> None:
    assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_invariant_has_a_guard() -> None:
    rows = re.findall(r"^\| I(\d+) \|.*\|(.*)\|$", INVARIANTS, re.MULTILINE)
    assert rows
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    assert all("tests/" in guard for _, guard in rows)


def test_every_package_has_its_paragraph() -> None:
    packages = {p.parent.name for p in (ROOT / "engine/tilewright").glob("*/__init__.py")}
    described = set(re.findall(r"^- \*\*(\w+)\*\*", ARCHITECTURE, re.MULTILINE))
    assert packages <= described


def test_every_command_is_on_its_page() -> None:
    assert COMMANDS
    assert not [name for name in COMMANDS if f"`tilewright {name}" not in COMMANDS_PAGE]


def test_every_environment_variable_is_on_the_page_of_decisions() -> None:
    """Also those that Tilewright sets for its own processes."""
    page = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    sources = [p for part in ("engine", "server") for p in (ROOT / part).rglob("*.py")]
    named = {
        n for p in sources for n in re.findall(r"\bTILEWRIGHT_[A-Z_]+\b", p.read_text("utf-8"))
    }
    assert "TILEWRIGHT_HOME" in named
    assert not [name for name in sorted(named) if f"`{name}`" not in page]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= MOST_README_LINES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


@pytest.mark.parametrize("picture", ["editor.png", "assembly.png", "report.png"])
def test_pictures_are_small(picture: str) -> None:
    most = 600_000 if picture == "editor.png" else 150_000
    assert (ROOT / "docs" / "pictures" / picture).stat().st_size <= most


def test_make_targets_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^    )make (?:\w+=\w+ )?([a-z-]+)", README, re.MULTILINE))
    assert named
    assert not [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)]
