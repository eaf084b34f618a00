"""Faults that no rewrite takes out, put into clean kernels, are found where they were put."""

from collections.abc import Iterable
from functools import cache
from itertools import islice

import pytest
from seeds import SEEDS, Seeded
from sources import corpora_folder, corpus_modules, own_modules

from tilewright.analysis.detectors import registered
from tilewright.analysis.model import AnalysisContext
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module

ISSUES = pytest.mark.parametrize("issue", SEEDS)
LEAST = 0.95
LEAST_PUBLISHED = 0.75
"""7 of 8 in liger-kernel and 7 of 9 in flag_gems are found."""


@cache
def _own() -> tuple[Module, ...]:
    return tuple(own_modules())


def _trials(issue: str, modules: Iterable[Module]) -> list[tuple[str, bool]]:
    """Every fault of an issue in modules that are free of it: where, and whether it is found."""
    found = []
    for module in modules:
        seeds = [(kernel, s) for kernel in module.kernels for s in SEEDS[issue](module, kernel)]
        if seeds and not _lines(issue, module):
            found += [(_place(module, k, seeded), _is_found(issue, seeded)) for k, seeded in seeds]
    return found


def _place(module: Module, kernel: Kernel, seeded: Seeded) -> str:
    return f"{module.path}:{kernel.name}:{min(seeded.lines)}"


def _is_found(issue: str, seeded: Seeded) -> bool:
    return bool(seeded.lines & _lines(issue, parse_module(seeded.text)))


def _lines(issue: str, module: Module) -> set[int]:
    return {f.range.line for f in registered()[issue](module, AnalysisContext())}


@ISSUES
def test_faults_in_our_own_kernels_are_found(issue: str) -> None:
    tried = _trials(issue, _own())
    missed = [place for place, is_found in tried if not is_found]
    assert tried
    assert len(missed) <= (1 - LEAST) * len(tried), missed


@pytest.mark.slow
@pytest.mark.parametrize(("package", "step"), [("liger_kernel", 3), ("flag_gems", 40)])
def test_faults_in_published_kernels_are_found(package: str, step: int) -> None:
    """On every ``step``-th file."""
    if not (corpora_folder() / package).is_dir():
        pytest.skip(f"{package} is not installed: make corpora")
    modules = list(islice(corpus_modules(package), 0, None, step))
    tried = [trial for issue in SEEDS for trial in _trials(issue, modules)]
    missed = [place for place, is_found in tried if not is_found]
    assert tried
    assert len(missed) <= (1 - LEAST_PUBLISHED) * len(tried), missed
