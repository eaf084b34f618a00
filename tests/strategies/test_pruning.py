"""Autotune lists lose what the real compiler rules out for the target."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.analysis.model import AnalysisContext
from tilewright.devices.opening import open_device
from tilewright.evaluation import workbench
from tilewright.evaluation.model import Candidate
from tilewright.evaluation.workbench import Workbench
from tilewright.knowledge.stages import Stage
from tilewright.problems.loading import find_problem
from tilewright.source import parse_module
from tilewright.store.store import Store
from tilewright.strategies.autotune_lists import PrunedProposer, on_lines_of
from tilewright.strategies.model import ProposalRequest
from tilewright.strategies.observer import Silent
from tilewright.targets.compilation import compile_launch
from tilewright.targets.model import CompileReport, LaunchFacts, LineReport
from tilewright.targets.registry import parse_target

EXAMPLES = Path(__file__).parents[2] / "examples"
SPILLS = 'triton.Config({"BLOCK": 2048}, num_warps=1, maxnreg=32)'
FITS = 'triton.Config({"BLOCK": 1024}, num_warps=4)'


class Autotuned:
    """Proposes the softmax kernel with a given list of configurations."""

    name = "autotuned"
    independent = True

    def __init__(self, *configs: str) -> None:
        self._configs = ", ".join(configs)

    def propose(self, request: ProposalRequest) -> Iterator[Candidate]:
        text = request.module.text.replace(
            "@triton.jit", f'@triton.autotune([{self._configs}], key=["n_cols"])\n@triton.jit', 1
        )
        yield Candidate(text.replace(", BLOCK=1024", ""), None, self.name, "try a list")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """One for all of them, so that what spills is compiled once."""
    tmp_path = tmp_path_factory.mktemp("pruning")
    for name in ("softmax.py", "softmax.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    source = tmp_path / "softmax.py"
    problem = find_problem(source)
    assert problem is not None
    (tmp_path / "scratch").mkdir()
    device = open_device("interpreter")
    yield Workbench(device, problem, source, tmp_path / "scratch", 1)
    device.close()


def proposed(bench: Workbench, notes: list[str], *configs: str) -> Candidate:
    target = parse_target("cuda:90")
    module = parse_module(bench.source_path.read_text(), str(bench.source_path))
    request = ProposalRequest(module, (), Stage.AUTOTUNING, AnalysisContext(target))
    store = Store(bench.scratch / "store.sqlite")
    with store.run("key", str(bench.source_path), {}) as (_, ledger):
        pruned = PrunedProposer(Autotuned(*configs), bench, ledger, target, Silent(), notes.append)
        (candidate,) = pruned.propose(request)
    return candidate


@pytest.mark.triton
def test_a_configuration_that_spills_is_left_out_and_said(bench: Workbench) -> None:
    notes: list[str] = []
    candidate = proposed(bench, notes, SPILLS, FITS)
    assert SPILLS not in candidate.text
    assert FITS in candidate.text
    assert "1 configurations left out for cuda:90: spills" in candidate.rationale
    assert len(notes) == 1


@pytest.mark.triton
def test_a_list_in_which_all_fit_is_left_as_it_is(bench: Workbench) -> None:
    notes: list[str] = []
    assert f"[{FITS}]" in proposed(bench, notes, FITS).text
    assert notes == []


@pytest.mark.triton
def test_the_last_configuration_is_never_dropped(bench: Workbench) -> None:
    notes: list[str] = []
    assert SPILLS in proposed(bench, notes, SPILLS).text
    assert "no configuration would be left" in notes[0]


@pytest.mark.triton
def test_what_is_left_is_not_compiled_again(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = parse_target("cuda:90")
    candidate = proposed(bench, [], f"\n    {SPILLS},\n    {FITS}", FITS.replace("=4", "=8"))
    launches = [
        launch
        for case in bench.problem.compiled_cases()
        for launch in bench.capture(candidate.text, case).launches
    ]
    path = str(bench.place(candidate.text))
    asked = [(launch, compile_launch(bench.device, path, launch, target)) for launch in launches]
    monkeypatch.setattr(workbench, "compile_launch", None)
    for launch, expected in asked:
        kept = bench.compile(candidate.text, launch, target)
        assert kept.cached
        assert _without_times(kept) == _without_times(expected)
        assert {line.line for line in kept.lines}, "of the lines of the text without the others"
    assert len(asked) > 1


def _without_times(report: CompileReport) -> CompileReport:
    details = {name: x for name, x in report.details.items() if not name.endswith("_seconds")}
    return replace(report, details=details, seconds=0.0, cached=True)


def test_a_report_about_what_changed_is_not_handed_on() -> None:
    target = parse_target("cuda:90")
    launch = LaunchFacts("kernel", (1,), ())
    lines = (LineReport(1, 4), LineReport(5, 2))
    report = CompileReport(target, "kernel", launch, True, (), lines=lines)
    moved = on_lines_of(report, "a\nb\nc\nd\ne", "a\nB\nd\ne")
    assert moved is not None
    assert [line.line for line in moved.lines] == [1, 4]
    assert on_lines_of(report, "a\nb\nc\nd\ne", "a\nb\nc\nd\nE") is None
