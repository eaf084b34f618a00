"""However a spec is broken, the answer is a problem or a ProblemError, never a traceback."""

from pathlib import Path

from each import examples
from hypothesis import given
from hypothesis import strategies as st

from tilewright.problems.model import ProblemError
from tilewright.problems.spec import Spec, parse_spec

SPECS = [path.read_text() for path in sorted((Path(__file__).parent / "specs").glob("*.yaml"))]
WORDS = "[ ] { } : - &a *a !!set ? <<: null 1e999 -1 0.5 .nan 2026-01-01 ' [[[]]] true ** ( é"
PIECES = st.sampled_from([*WORDS.split(), "\n", "  ", "? ", "- ", "<<: ", "<<: *a\n", "\x00"])


def _parsed(text: str) -> Spec | ProblemError:
    """The spec, or the one kind of error that may come instead."""
    try:
        return parse_spec(text, "k.yaml")
    except ProblemError as problem:
        return problem


@st.composite
def broken(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(SPECS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 25)))
        text = text[:start] + draw(PIECES | st.text(max_size=4)) + text[end:]
    return text


@examples(400)
@given(broken())
def test_a_broken_spec_is_reported(text: str) -> None:
    found = _parsed(text)
    if isinstance(found, Spec):
        assert all(found.cases.values())
    else:
        assert found.path == "k.yaml"
        assert found.message


@examples(200)
@given(st.text(max_size=200))
def test_any_text_is_reported(text: str) -> None:
    found = _parsed(text)
    assert isinstance(found, Spec) or found.path == "k.yaml"
