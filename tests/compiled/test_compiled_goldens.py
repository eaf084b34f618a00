"""Every rule of the compiled tier on kernels that real compilers compiled."""

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from golden_compiles import Golden, goldens

from tilewright.compiled.issues import compiled_issues
from tilewright.compiled.rules import RULES
from tilewright.devices.client import WorkerDevice
from tilewright.devices.opening import open_device
from tilewright.source import parse_module
from tilewright.targets.cache import ReportCache
from tilewright.targets.compilation import compile_launch
from tilewright.targets.model import CompileReport, LaunchFacts, Target

GOLDENS = goldens()
XPU = "TILEWRIGHT_XPU_PYTHON" in os.environ and (
    "TILEWRIGHT_OCLOC" in os.environ or shutil.which("ocloc") is not None
)


def _backends(golden: Golden) -> set[str]:
    return {target.backend for _, target in golden.wanted}


# Of each issue one kernel that fires and one that does not are compiled with the fast tests.
FAST = {(g.issue, g.fires): g for g in reversed(GOLDENS) if _backends(g) == {"cuda"}}.values()


def _marks(golden: Golden) -> list[pytest.MarkDecorator]:
    """Intel's compilers are elsewhere, and AMD's take longer."""
    backends = _backends(golden)
    marks = [pytest.mark.triton]
    if not any(golden is one for one in FAST):
        marks.append(pytest.mark.slow)
    if "xpu" in backends:
        reason = "needs TILEWRIGHT_XPU_PYTHON and ocloc: tilewright toolchain install xpu"
        marks.append(pytest.mark.skipif(not XPU, reason=reason))
    return marks


@pytest.fixture(scope="module")
def device() -> WorkerDevice:
    return open_device("interpreter")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> ReportCache:
    return ReportCache(tmp_path_factory.mktemp("reports"))


Compile = Callable[[LaunchFacts, Target], CompileReport]


@pytest.fixture
def compile_text(
    device: WorkerDevice, cache: ReportCache, tmp_path: Path
) -> Callable[[str], Compile]:
    """For a text, what compiles its kernels."""

    def placed(text: str) -> Compile:
        path = tmp_path / "kernel.py"
        path.write_text(text)
        return partial(compile_launch, device, str(path), cache=cache)

    return placed


@pytest.mark.parametrize("golden", [pytest.param(g, id=g.name, marks=_marks(g)) for g in GOLDENS])
def test_golden_kernel(golden: Golden, compile_text: Callable[[str], Compile]) -> None:
    compiled = compile_text(golden.text)
    reports = [compiled(*each) for each in golden.wanted]
    found = compiled_issues(parse_module(golden.text, "kernel.py"), reports, compiled)
    lines = {i.range.line for i in found if i.id == golden.issue}
    told = [f"{i.range.line}: {i.id}: {i.message}" for i in found]
    told += [f"{x}" for r in reports for x in (*r.messages, *r.lines)]
    assert lines == golden.expected, "\n".join(told)


def test_every_rule_has_kernels_that_fire_and_kernels_that_do_not() -> None:
    for issue in RULES:
        own = [g for g in GOLDENS if g.issue == issue]
        assert sum(g.fires for g in own) >= 2, issue
        assert sum(not g.fires for g in own) >= 2, issue
