"""Folders of tests that ``make test-light`` leaves out, as their tests see no environment."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MAKEFILE = (TESTS.parent / "Makefile").read_text()
SEES_THE_ENVIRONMENT = frozenset(
    ("subprocess", "torch", "triton", "numpy", "ray", "mcp", "command_line", "tilewright.devices")
)


def _folders() -> list[str]:
    found = re.search(r"^PURE +:= (.*)$", MAKEFILE, re.MULTILINE)
    assert found is not None
    return found[1].split()


@pytest.mark.parametrize("folder", _folders())
def test_its_tests_start_no_process_and_import_no_optional_package(folder: str) -> None:
    files = [p for p in (TESTS / folder).glob("*.py") if "pytest.mark.triton" not in p.read_text()]
    assert files
    seen = {(path.name, name) for path in files for name in _imports(path)}
    assert not {(path, name) for path, name in seen if name in SEES_THE_ENVIRONMENT}


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, node.module.partition(".")[0]}
            names.add(".".join(node.module.split(".")[:2]))
    return names
