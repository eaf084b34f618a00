"""Scripts and test helpers are imported by their bare file name, so each such name stands once."""

import re
from collections import defaultdict
from pathlib import Path

from house_modules import ROOT

FOLDERS = ("tests", "benchmarks")
IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)
SHARED = ROOT / "tests" / "corpora"  # on the path of every test


def _names_imported(path: Path) -> set[str]:
    """Each first name of a line that imports, also of lines in strings."""
    return set(IMPORT.findall(path.read_text(encoding="utf-8", errors="replace")))


def test_a_file_imported_by_its_bare_name_is_the_only_one_of_that_name() -> None:
    # Two of them in one pytest process are one module: whichever was imported first.
    homes: dict[str, set[Path]] = defaultdict(set)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name in _names_imported(path):
                files = (home / f"{name}.py" for home in (path.parent, SHARED))
                homes[name] |= {file.relative_to(ROOT) for file in files if file.is_file()}
    assert "house_modules" in homes
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
