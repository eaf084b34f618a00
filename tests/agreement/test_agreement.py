"""Where tile inference claims to know, the compiler says the same."""

import pytest

pytest.importorskip("triton")

import corpora
from agreement_table import Summary, summarize
from comparing import ASPECTS
from each import sample

pytestmark = [pytest.mark.triton, pytest.mark.slow]

EVERY = {"liger_kernel": 1, "flag_gems": 16}  # of files, with the profile "all"
EQUAL = 0.99
KNOWN = {"shape": 0.95, "dtype": 0.95, "kind": 0.95, "constexpr": 0.80}
BUILT = 0.88


@pytest.fixture(scope="module", params=corpora.CORPORA)
def summary(request: pytest.FixtureRequest) -> Summary:
    """A sample of liger-kernel, and a smaller one of flag_gems, which has ten times as many."""
    corpora.corpus(request.param)
    paths = sample(corpora.kernel_files(request.param)[:: EVERY[request.param]], 24)
    return summarize(request.param, paths, workers=2)


@pytest.mark.parametrize("aspect", ASPECTS)
def test_the_compiler_confirms_what_inference_claims(summary: Summary, aspect: str) -> None:
    tally = summary.tallies.together()
    wrong = [d for d in tally.disagreements if d.aspect == aspect]
    assert tally.equal(aspect) >= EQUAL, wrong[:10]


@pytest.mark.parametrize("aspect", ASPECTS)
def test_inference_knows_most_values_of_kernels(summary: Summary, aspect: str) -> None:
    assert summary.tallies.kernels.known(aspect) >= KNOWN[aspect]


def test_inference_gets_through_every_kernel(summary: Summary) -> None:
    assert summary.broken == []


def test_most_kernels_can_be_built(summary: Summary) -> None:
    assert summary.kernels >= BUILT * (summary.kernels + len(summary.failed)), summary.failed
