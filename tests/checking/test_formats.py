"""Findings as SARIF and as GitHub's workflow commands."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pysarif import load_from_dict, save_to_dict

from tilewright.analysis import AnalysisContext
from tilewright.checking import Checked, check_text
from tilewright.checking.annotations import annotations
from tilewright.checking.configuration import default_configuration
from tilewright.checking.sarif import sarif
from tilewright.errors import InputError

ROOT = Path(__file__).parents[2]
ODD = "x = 1  # tilewright: ignore[nothing, 100%]\nbroken = (\n"


def checked(path: Path, text: str | None = None) -> Checked:
    rules = default_configuration().rules
    return check_text(text or path.read_text(), str(path), rules, AnalysisContext())


def files() -> list[Checked]:
    examples = [checked(p) for p in sorted((ROOT / "examples").glob("*.py"))]
    return [*examples, checked(ROOT / "odd name.py", ODD)]


def _lost(given: Any, kept: Any, place: str = "") -> Iterator[str]:
    """What a reader of the standard does not know, and so drops or changes."""
    if isinstance(given, dict):
        for key, value in given.items():
            if not isinstance(kept, dict) or key not in kept:
                yield f"{place}.{key}"
            else:
                yield from _lost(value, kept[key], f"{place}.{key}")
    elif isinstance(given, list):
        assert len(given) == len(kept)
        for number, (one, two) in enumerate(zip(given, kept, strict=True)):
            yield from _lost(one, two, f"{place}[{number}]")
    elif given != kept:
        yield f"{place}: {given!r} became {kept!r}"


def uri_of(result: dict[str, Any]) -> str:
    return str(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])


def test_sarif_is_what_a_reader_of_the_standard_understands() -> None:
    log = sarif(files(), ROOT)
    lost = list(_lost(log, save_to_dict(load_from_dict(log))))
    # A property bag may hold anything, and the reader keeps only its tags.
    assert [place for place in lost if ".properties." not in place] == [".$schema"]


def test_sarif_says_all_that_was_found_and_where() -> None:
    found = files()
    (run,) = sarif(found, ROOT)["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    expected = [(c.module.path, i) for c in found for i in c.issues]
    assert len(run["results"]) == len(expected) > 10
    for result, (path, issue) in zip(run["results"], expected, strict=True):
        place = result["locations"][0]["physicalLocation"]
        assert result["ruleId"] == rules[result["ruleIndex"]] == issue.id
        assert place["artifactLocation"]["uri"] == Path(path).relative_to(ROOT).as_posix()
        assert place["region"]["startLine"] == issue.range.line
        assert place["region"]["startColumn"] == issue.range.column + 1
    prints = {
        (uri_of(result), *result["partialFingerprints"].values()) for result in run["results"]
    }
    assert len(prints) == len(expected)
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert {uri_of(note) for note in notes} == {"odd%20name.py"}


def test_a_fingerprint_survives_lines_added_above() -> None:
    path = ROOT / "examples" / "matmul.py"

    def prints(text: str) -> list[str]:
        (run,) = sarif([checked(path, text)], ROOT)["runs"]
        return [r["partialFingerprints"]["kernelLine/v1"] for r in run["results"]]

    assert prints(path.read_text()) == prints("# moved\n\n" + path.read_text())


def test_annotations_escape_what_the_runner_would_read() -> None:
    lines = [line for c in files() for line in annotations(c)]
    assert all(re.match(r"::(error|warning|notice) file=[^,\n]+,line=\d+,", li) for li in lines)
    odd = [li for li in lines if "odd name.py" in li]
    assert any(li.endswith("no issue is called 100%25") for li in odd)
    assert any("::warning" in li and "not Python" in li for li in odd)
    tanh = next(li for li in lines if "unstable_tanh" in li)
    assert tanh.startswith("::notice ")
    assert "title=unstable_tanh%3A " in tanh


def test_a_text_that_is_too_much_to_parse_is_refused_with_a_way_out() -> None:
    huge = "import triton\n" + "x = 1\n" * 700_000
    with pytest.raises(InputError, match=r"more than 4,000,000 characters.*`exclude`"):
        checked(ROOT / "huge.py", huge)
    assert not checked(ROOT / "huge.py", huge.replace("triton", "others")).issues
