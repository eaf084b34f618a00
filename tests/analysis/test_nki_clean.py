"""NKI kernels that are right get no report of a fault."""

from pathlib import Path

import pytest
from snippets import analyzed, snippets

from tilewright.analysis import analyze
from tilewright.knowledge.stages import Stage
from tilewright.source import parse_module
from tilewright.source.model import Language

EXAMPLES = Path(__file__).parents[2] / "examples" / "nki"
CLEAN = sorted(EXAMPLES.glob("**/*.py"))


@pytest.mark.parametrize("path", CLEAN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_examples_have_no_fault(path: Path) -> None:
    module = parse_module(path.read_text(), str(path))
    assert [i for i in analyze(module) if i.stage is Stage.CORRECTNESS] == []


def test_the_examples_are_kernels_of_both_packages() -> None:
    modules = [parse_module(path.read_text(), str(path)) for path in CLEAN]
    kernels = [k for m in modules for k in m.kernels if k.language is Language.NKI]
    assert len(kernels) >= 20
    assert {str(m.nki_flavour) for m in modules if m.kernels} == {"neuronxcc", "nki"}


SHOWS_ANOTHER_FAULT = {
    "one_name_two_meanings": {"nki_affine_range_write_conflict"},
    "written_for_the_newer_package": {"nki_other_package", "nki_uninitialised_tile"},
}
"""Golden kernels that are silent about their own issue and have a fault of another."""


def test_golden_kernels_that_only_look_alike_have_no_other_fault() -> None:
    silent = [s for s in snippets() if s.issue.startswith("nki_") and not s.fires]
    found: dict[str, set[str]] = {}
    for snippet in silent:
        for issue in analyzed(snippet)[1]:
            if issue.stage is Stage.CORRECTNESS:
                found.setdefault(str(issue.kernel), set()).add(issue.id)
    assert found == SHOWS_ANOTHER_FAULT
    assert sum(len(analyzed(s)[0].kernels) for s in silent) > 250
