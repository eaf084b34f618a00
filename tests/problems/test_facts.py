"""Facts of a spec: read with their lines, and kept to by what checks are made of."""

from pathlib import Path

import pytest

from tilewright.evaluation.families import checks_for
from tilewright.problems.loading import load_problem
from tilewright.problems.model import Facts, Problem, ProblemError

SPEC = """\
multiples: {COLS: 16}
entry: k
inputs:
  X: {shape: [ROWS, COLS], dtype: float16, facts: {align: 16, contiguous: true, finite: true}}
  IDS: {shape: [ROWS], dtype: int64, range: [0, 99], facts: {sorted: true, unique: true}}
ci:
  - params: [X, IDS]
    dims: {ROWS: 32, COLS: 64}
"""


def problem(tmp_path: Path, text: str = SPEC) -> Problem:
    (tmp_path / "k.py").write_text("def k(x, ids):\n    return x\n")
    (tmp_path / "k.yaml").write_text(text)
    return load_problem(tmp_path / "k.yaml", tmp_path / "k.py")


def test_facts_are_read_and_said(tmp_path: Path) -> None:
    found = problem(tmp_path)
    (case,) = found.check_cases()
    assert case.inputs[0].facts == Facts(align=16, contiguous=True, finite=True)
    assert case.inputs[1].facts == Facts(sorted=True, unique=True)
    assert any("X began at a multiple of 16 bytes" in text for text in found.facts)
    assert len(found.facts) == 5


def test_extents_are_varied_in_the_multiples_that_are_stated(tmp_path: Path) -> None:
    ragged = problem(tmp_path).ragged
    assert ragged is not None
    cases = [*ragged.primes, *ragged.single, *(case for cases in ragged.thin for case in cases)]
    widths = {case.dims["COLS"] for case in cases}
    assert len(widths) > 1
    assert all(isinstance(width, int) and width % 16 == 0 for width in widths)
    assert any("as the spec states" in text for text in ragged.kept)


def test_nothing_is_asked_of_layouts_that_never_are(tmp_path: Path) -> None:
    text = SPEC.replace("facts: {sorted", "facts: {contiguous: true, sorted")
    asked = {check.layout for check in checks_for(problem(tmp_path, text), can_time=False)}
    assert not asked & {"strided", "transposed"}
    assert "offset" in asked


@pytest.mark.parametrize(
    ("was", "now", "line", "said"),
    [
        ("align: 16", "align: 12", 4, "a power of two"),
        ("align: 16", "align: 4096", 4, "128 bytes is the most"),
        ("finite: true", "finite: 3", 4, "is true or false"),
        ("finite: true", "odd: true", 4, "unknown fact 'odd'"),
        ("finite: true", "unique: true", 4, "a fact of integers"),
        ("{COLS: 16}", "{COLS: 0}", 1, "a whole number above 0"),
    ],
)
def test_what_cannot_be_used_is_said_at_its_line(
    tmp_path: Path, was: str, now: str, line: int, said: str
) -> None:
    with pytest.raises(ProblemError, match=said) as caught:
        problem(tmp_path, SPEC.replace(was, now, 1))
    assert caught.value.line == line
