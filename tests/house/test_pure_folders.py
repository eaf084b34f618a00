"""What ``make test-light`` leaves out: tests that see no environment."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MAKEFILE = (TESTS.parent / "Makefile").read_text()
SEES_THE_ENVIRONMENT = frozenset(
    ("subprocess", "torch", "triton", "numpy", "ray", "mcp", "command_line", "tilewright.devices")
)
DESCRIBES_DEVICES = frozenset(("tilewright.devices.model", "tilewright.devices.pool"))


def _listed(name: str) -> list[str]:
    found = re.search(rf"^{name} +:= (.*)$", MAKEFILE, re.MULTILINE)
    assert found is not None
    return found[1].split()


def _scripted() -> list[Path]:
    names = " ".join(_listed("SCRIPTED")).rpartition(",")[2].rstrip(")")
    return [TESTS / "server" / f"test_{name}.py" for name in names.split()]


@pytest.mark.parametrize("folder", _listed("PURE"))
def test_its_tests_start_no_process_and_import_no_optional_package(folder: str) -> None:
    files = [p for p in (TESTS / folder).glob("*.py") if "pytest.mark.triton" not in p.read_text()]
    assert files
    seen = {(path.name, name) for path in files for name in _imports(path)}
    assert not {(path, name) for path, name in seen if name in SEES_THE_ENVIRONMENT}


def test_tests_with_a_scripted_engine_start_no_other() -> None:
    listed = _scripted()
    assert listed
    assert all("talk: Conversation" in path.read_text() for path in listed)
    assert not [path.name for path in listed if _imports(path) & SEES_THE_ENVIRONMENT]


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, node.module.partition(".")[0]}
            if node.module not in DESCRIBES_DEVICES:
                names.add(".".join(node.module.split(".")[:2]))
    return names
