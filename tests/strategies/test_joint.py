"""Rewrites of NKI kernels in one candidate, judged by the cost model's word on the text."""

from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext, EntryFacts
from tilewright.costs.nki.model import NkiEstimate
from tilewright.evaluation.estimate_step import static_estimate
from tilewright.evaluation.model import (
    EstimatedGain,
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.hardware.chips import neuron_chip
from tilewright.problems.arguments import entry_arguments
from tilewright.problems.loading import load_problem
from tilewright.search.node import Idea, IdeaKind, Node, Slot, State
from tilewright.source import parse_module
from tilewright.strategies.briefing import estimate_words
from tilewright.strategies.grades import EstimateGrader
from tilewright.strategies.joint import JointProposer
from tilewright.strategies.model import ProposalRequest
from tilewright.strategies.planner import plan
from tilewright.strategies.rewrite_proposer import RewriteProposer
from tilewright.targets.registry import parse_target

EXAMPLES = Path(__file__).parents[2] / "examples" / "nki"
CHIP = neuron_chip(parse_target("trn2"))


def path_of(name: str, package: str = "nki1") -> Path:
    return EXAMPLES / package / f"{name}_slow.py"


def estimated(name: str, text: str, package: str = "nki1") -> NkiEstimate | None:
    problem = load_problem(EXAMPLES / f"{name}.yaml", path_of(name, package))
    case = problem.measured_cases()[0]
    found = static_estimate(text, str(path_of(name, package)), problem.entry, case, CHIP)
    return None if isinstance(found, str) else found


def request(name: str, package: str = "nki1") -> ProposalRequest:
    """The first stage of a slow example, at the sizes of its spec."""
    path = path_of(name, package)
    problem = load_problem(EXAMPLES / f"{name}.yaml", path)
    context = AnalysisContext(entry=EntryFacts(name, entry_arguments(problem) or ()))
    module = parse_module(path.read_text(), str(path))
    issues = analyze(module, context)
    stage = plan(issues)[0]
    here = tuple(issue for issue in issues if issue.stage is stage)
    others = tuple(issue for issue in issues if issue.stage is not stage)
    return ProposalRequest(module, here, stage, context, others=others)


def proposer(name: str, package: str = "nki1") -> JointProposer:
    inner = RewriteProposer(frozenset(), lambda name, why: None)
    return JointProposer(inner, lambda text: estimated(name, text, package))


@pytest.mark.parametrize(
    ("name", "package", "least"),
    [("softmax", "nki1", 1.3), ("rmsnorm", "nki1", 1.5), ("matmul", "nki2", 5.0)],
)
def test_the_first_candidate_has_the_rewrites_of_all_stages(
    name: str, package: str, least: float
) -> None:
    asked = request(name, package)
    first = next(proposer(name, package).propose(asked))
    before = estimated(name, asked.module.text, package)
    after = estimated(name, first.text, package)
    assert first.proposer == "rewrites:together"
    assert before is not None
    assert after is not None
    assert before.usual / after.usual > least
    assert len(first.issues) > 2
    assert first.parent == text_hash(asked.module.text)
    count = first.rationale.partition(" ")[0]
    assert first.rationale.count("(line ") == int(count) >= len(first.issues)


def test_a_stage_that_is_not_the_first_gives_its_own_rewrites_alone() -> None:
    asked = request("softmax")
    later = plan((*asked.issues, *asked.others))[-1]
    everything = (*asked.issues, *asked.others)
    own = tuple(issue for issue in everything if issue.stage is later)
    rest = tuple(issue for issue in everything if issue.stage is not later)
    found = list(proposer("softmax").propose(replace(asked, stage=later, issues=own, others=rest)))
    shown = {issue.id for issue in own}
    assert found
    assert all(set(candidate.issues) <= shown for candidate in found)


def test_what_the_model_calls_slower_is_left_out() -> None:
    asked = request("softmax")
    real = estimated("softmax", asked.module.text)
    assert real is not None

    def worse(text: str) -> NkiEstimate:
        return replace(real, usual=real.usual * (1 if text == asked.module.text else 1.1))

    inner = RewriteProposer(frozenset(), lambda name, why: None)
    found = list(JointProposer(inner, worse).propose(asked))
    assert {candidate.proposer.partition(":")[0] for candidate in found} == {"rewrite"}


def gain(value: float) -> EstimatedGain:
    times = (1.0, 2.0, 3.0)
    return EstimatedGain(value, 1.25, times, times, ("vector", "dma"), "neuron:trn2", "ci[0]", "b")


def evaluation(found: EstimatedGain | None) -> Evaluation:
    steps = (
        StepResult(StepName.CORRECTNESS, StepStatus.PASSED),
        StepResult(StepName.ESTIMATE, StepStatus.FAILED if found else StepStatus.SKIPPED, "tie"),
    )
    return Evaluation("c", "b", Level.CORRECT, steps, estimate=found)


def test_small_gains_add_up_along_the_tree_and_only_large_ones_are_returned() -> None:
    idea = Idea("i", "why", IdeaKind.REWRITE)
    root = Node(
        "r", "text", None, None, "0", 0, 0, evaluation(None), 0.0, 0.0, (), State.ALIVE,
        may_return=True, measured=False,
    )  # fmt: skip
    grader = EstimateGrader("kernel.py")
    once = grader.grade(Slot(0, 1, root, idea), "text 1", evaluation(gain(1.2)))
    child = replace(root, parent="r", log_speed=once.log_speed, may_return=once.may_return)
    twice = grader.grade(Slot(1, 1, child, idea), "text 2", evaluation(gain(1.2)))
    assert (once.parent, once.may_return, once.measured) == (True, False, False)
    assert (twice.parent, twice.may_return) == (True, True)
    assert twice.log_speed == pytest.approx(2 * once.log_speed)
    assert "not measured" in twice.reason


def test_a_prompt_says_what_is_estimated_and_that_it_is() -> None:
    found = estimated("softmax", path_of("softmax").read_text())
    assert found is not None
    words = list(estimate_words(found, "bench-trn[0]"))
    assert words[0].startswith("Estimated for neuron:trn2, not measured: ")
    assert f"the {found.bottleneck.value} engine is busy longest" in words[0]
    assert any("hbm_read_bytes" in line for line in words)
