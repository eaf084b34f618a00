"""``docs/issues/`` says what the knowledge base and the golden kernels say."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def issue_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("issue_pages", ROOT / "docs" / "issue_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_what_make_docs_writes(issue_pages: ModuleType) -> None:
    folder = ROOT / "docs" / "issues"
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    wanted = issue_pages.pages()
    stale = sorted(n for n in there.keys() | wanted.keys() if there.get(n) != wanted.get(n))
    assert not stale, f"run `make docs`: {', '.join(stale)}"
