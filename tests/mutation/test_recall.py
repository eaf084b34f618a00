"""Faults put into clean kernels are found on their lines, and rewrites take them out again."""

import ast
from functools import cache
from itertools import islice

import pytest
from recall import Trial, goes_back, recall_of, trials
from sources import corpora_folder, corpus_modules, own_modules

from tilewright.knowledge.base import taxonomy
from tilewright.rewrites import all_rewrites
from tilewright.rewrites.rewinds import Rewind, all_rewinds

REWINDS = pytest.mark.parametrize("rewind", all_rewinds(), ids=lambda r: r.issue)
LEAST = 0.95
REFUSING = {"no_swizzling", "multi_pass_row"}
"""Rewrites whose preconditions hold for none of our own rewound kernels.

A grouped kernel keeps its group's parameter; rows are fitted only where the file has one launch.
"""


_own = cache(lambda: tuple(own_modules()))
FEW = 8
"""Of each rewind in the fast tests; the slow ones have all of them."""


@cache
def _of(rewind: Rewind) -> tuple[Trial, ...]:
    return tuple(islice(trials(_own(), [rewind]), FEW))


def test_every_rewrite_of_triton_has_a_rewind() -> None:
    undone = {(rewind.rewrite, rewind.issue) for rewind in all_rewinds()}
    issues = {i for i, kind in taxonomy().items() if "triton" in kind.applies_to.languages}
    assert undone == {(r.name, r.issue) for r in all_rewrites() if r.issue in issues}


@REWINDS
def test_faults_in_our_own_kernels_are_found_on_their_lines(rewind: Rewind) -> None:
    found = _of(rewind)
    assert found
    missed = [trial.place for trial in found if not trial.found]
    assert recall_of(found) >= LEAST, missed


@pytest.mark.slow
def test_all_faults_in_our_own_kernels_are_found_on_their_lines() -> None:
    found = list(trials(_own()))
    for rewind in all_rewinds():
        ours = [trial for trial in found if trial.rewind is rewind]
        assert len(ours) >= len(_of(rewind))
        missed = [trial.place for trial in ours if not trial.found]
        assert recall_of(ours) >= LEAST, (rewind.issue, missed)
        assert all(result in (True, None) for result in map(goes_back, ours[:40]))


@REWINDS
def test_rewound_text_is_python_and_differs(rewind: Rewind) -> None:
    for trial in _of(rewind):
        ast.parse(trial.rewound.text)
        assert trial.rewound.text != trial.module.text
        assert 1 <= trial.rewound.line <= len(trial.rewound.text.splitlines())


@REWINDS
def test_a_rewind_is_the_same_every_time(rewind: Rewind) -> None:
    for trial in _of(rewind)[:2]:
        again = next(iter(trials([trial.module], [rewind])))
        assert again.rewound.text in {t.rewound.text for t in _of(rewind)}


@REWINDS
def test_the_rewrite_takes_the_fault_out_again(rewind: Rewind) -> None:
    results = [goes_back(trial) for trial in _of(rewind)]
    fixed = [result for result in results if result is not None]
    assert bool(fixed) is (rewind.issue not in REFUSING)
    assert all(fixed)


@pytest.mark.slow
@pytest.mark.parametrize(("package", "step"), [("liger_kernel", 3), ("flag_gems", 40)])
def test_faults_in_published_kernels_are_found_on_their_lines(package: str, step: int) -> None:
    """On every ``step``-th file; ``make recall`` has them all."""
    if not (corpora_folder() / package).is_dir():
        pytest.skip(f"{package} is not installed: make corpora")
    found = list(trials(islice(corpus_modules(package), 0, None, step)))
    for rewind in all_rewinds():
        ours = [trial for trial in found if trial.rewind is rewind]
        missed = [trial.place for trial in ours if not trial.found]
        assert recall_of(ours) >= LEAST, (rewind.issue, missed)
