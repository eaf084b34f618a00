"""The step of NKI kernels that comes before speed: is it faster by the cost model?

Nothing is measured here. A gain counts only beyond what the model can distinguish. Instructions
come from the kernel's text at the sizes that a device would time; where the text does not tell
them, from the simulator at the sizes that were checked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.analysis.nki import Given, TensorGiven
from tilewright.costs.nki.estimate import estimate
from tilewright.costs.nki.launches import Unestimated, compare, estimate_launch
from tilewright.costs.nki.model import NkiEstimate
from tilewright.evaluation.model import EstimatedGain, StepName, StepResult, StepStatus, text_hash
from tilewright.evaluation.workbench import Workbench
from tilewright.hardware.chips import neuron_chip
from tilewright.hardware.neuron import NeuronChip
from tilewright.problems.model import Case, Entry, EntryKind, Input
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.targets.model import Target
from tilewright.worker.messages.nki import InstructionRecord

_US = 1e6


@dataclass(frozen=True)
class Estimated:
    """Estimates of two texts on one case, and where their instructions come from."""

    case: str
    source: str
    before: NkiEstimate
    after: NkiEstimate


def estimate_step(
    bench: Workbench, baseline: str, candidate: str, target: Target
) -> tuple[StepResult, EstimatedGain | None]:
    """Passed where the candidate's estimated time is less by more than the model's error.

    The least gain over the cases counts.
    """
    chip = neuron_chip(target)
    found = estimates(bench, baseline, candidate, chip)
    if isinstance(found, str):
        return StepResult(StepName.ESTIMATE, StepStatus.SKIPPED, f"not estimated: {found}"), None
    gains = [_gain(one, chip, text_hash(baseline)) for one in found]
    worst = min(gains, key=lambda gain: gain.value)
    data = {
        "cases": [
            {**dump(gain), "source": one.source} for gain, one in zip(gains, found, strict=True)
        ],
        "terms": dict(found[gains.index(worst)].after.terms),
        "caveats": list(dict.fromkeys(_caveats(found, chip))),
    }
    status = StepStatus.PASSED if worst.is_faster else StepStatus.FAILED
    message = f"{worst.verdict}: {worst.words}"
    return StepResult(StepName.ESTIMATE, status, message, data=data), worst


def estimates(
    bench: Workbench, before: str, after: str, chip: NeuronChip
) -> tuple[Estimated, ...] | str:
    """Both texts on each case, by the same way; else why there is no estimate."""
    problem = bench.problem
    cases = problem.measured_cases() or problem.check_cases()
    why = "the problem has no case"
    found = []
    for case in cases:
        one, other = (
            static_estimate(text, str(bench.source_path), problem.entry, case, chip)
            for text in (before, after)
        )
        if isinstance(one, str) or isinstance(other, str):
            why = one if isinstance(one, str) else str(other)
            break
        found.append(Estimated(case.name, "the text", one, other))
    else:
        if found:
            return tuple(found)
    return _simulated(bench, before, after, chip) or why


def static_estimate(
    text: str, path: str, entry: Entry, case: Case, chip: NeuronChip
) -> NkiEstimate | str:
    """The estimate of a text that is itself called with the case's inputs; or why there is none."""
    module = parse_module(text, path)
    kernel = module.kernel(entry.name) if entry.kind is EntryKind.FUNCTION else None
    if kernel is None:
        return f"{entry.name} is host code, whose launches are not read from the text"
    if case.inputs_from_module:
        return "the inputs come from a module"
    given = dict(_given_arguments(case.inputs, [p.name for p in kernel.parameters]))
    found = estimate_launch(module, kernel, chip, given)
    return str(found).removeprefix("not estimated: ") if isinstance(found, Unestimated) else found


def _given_arguments(inputs: Sequence[Input], names: Sequence[str]) -> Iterator[tuple[str, Given]]:
    for one, name in zip(inputs, names, strict=False):
        yield name, TensorGiven(one.shape, one.dtype) if one.value is None else one.value


def _simulated(
    bench: Workbench, before: str, after: str, chip: NeuronChip
) -> tuple[Estimated, ...] | None:
    """The same from what the simulator saw the first check execute; None where it saw nothing."""
    known = [bench.instructions(text) for text in (before, after)]
    if not all(known):
        return None
    one, other = (estimate(_records(told), chip) for told in known)
    case = bench.problem.check_cases()[0].name
    return (Estimated(case, "the simulator", one, other),)


def _records(told: Sequence[Mapping[str, object]]) -> Sequence[InstructionRecord]:
    return told  # type: ignore[return-value]  # checked by the coordinator


def _gain(found: Estimated, chip: NeuronChip, baseline: str) -> EstimatedGain:
    compared = compare(found.before, found.after, chip)
    return EstimatedGain(
        value=compared.ratio,
        error=compared.error,
        before_us=_range(found.before),
        after_us=_range(found.after),
        bottlenecks=(found.before.bottleneck.value, found.after.bottleneck.value),
        target=chip.id,
        case=found.case,
        baseline=baseline,
    )


def _range(one: NkiEstimate) -> tuple[float, float, float]:
    return one.low * _US, one.usual * _US, one.high * _US


def _caveats(found: Sequence[Estimated], chip: NeuronChip) -> Iterator[str]:
    for one in found:
        yield (
            f"time was estimated by the cost model for {chip.id}, from the instructions of "
            f"{one.source} on {one.case}; nothing was measured"
        )
        yield from one.after.caveats
