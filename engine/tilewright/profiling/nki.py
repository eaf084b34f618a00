"""Profile of a file with NKI kernels: checked in the simulator, estimated, never timed."""

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from tilewright.costs.nki.estimate import estimate
from tilewright.costs.nki.launches import Unestimated, estimate_launch
from tilewright.costs.nki.model import NkiEstimate
from tilewright.devices.model import NEURON, JobStatus
from tilewright.evaluation.correctness import check_correctness
from tilewright.evaluation.estimate_step import static_estimate
from tilewright.evaluation.model import StepResult
from tilewright.evaluation.workbench import Workbench, explain
from tilewright.hardware.chips import neuron_chip
from tilewright.hardware.neuron import NeuronChip
from tilewright.profiling.model import Confidence, Fact, Finding, Source
from tilewright.serialize import dump
from tilewright.source.model import Kernel, Language, Module
from tilewright.targets.model import Target
from tilewright.worker.messages.jobs import NeuronBenchmarkJob

_US = 1e6
_ROUNDS = 5
_BENCHMARK_S = 1800.0
NOT_TIMED = "time not measured: there is no {chip} here"
Tell = Callable[[int, str], None]


def nki_entries(
    module: Module, bench: Workbench | None, target: Target, tell: Tell, *, verify: bool
) -> tuple[list[dict[str, Any]], StepResult | None]:
    """An entry for each kernel that is called from outside, and what the simulator said."""
    chip = neuron_chip(target)
    kernels = [one for one in module.kernels if one.language is Language.NKI]
    outer = [one for one in kernels if not module.callers_of(one)] or kernels
    checked = None
    if bench is not None and verify:
        tell(20, "simulating")
        checked = check_correctness(bench, module.text, module.text)
    tell(80, "estimating")
    return [_entry(module, kernel, bench, chip) for kernel in outer], checked


def _entry(
    module: Module, kernel: Kernel, bench: Workbench | None, chip: NeuronChip
) -> dict[str, Any]:
    case, found = _estimated(module, kernel, bench, chip)
    time, notes = _timed(module.text, kernel, bench, chip)
    if isinstance(found, str):
        told = [*notes, f"not estimated: {found}"]
        return {"name": kernel.name, "time": time, "estimate": None, "facts": [], "notes": told}
    return {
        "name": kernel.name,
        "time": time,
        "estimate": as_json(found, case),
        "bottleneck": found.bottleneck.value,
        "facts": [dump(fact) for fact in _facts(found)],
        "findings": [dump(finding) for finding in _findings(found)],
        "notes": [*notes, *found.caveats],
    }


def _timed(
    text: str, kernel: Kernel, bench: Workbench | None, chip: NeuronChip
) -> tuple[dict[str, Any] | None, list[str]]:
    """The time on a NeuronCore by the SDK, where that is the device; else why there is none."""
    if bench is None or bench.device.info.id != NEURON or bench.problem.entry.name != kernel.name:
        return None, [NOT_TIMED.format(chip=chip.id)]
    case = (bench.problem.measured_cases() or bench.problem.check_cases())[0]
    made = bench.inputs(case, 0)
    if made.status is not JobStatus.OK:
        return None, [f"time not measured: {explain(made)}"]
    job: NeuronBenchmarkJob = {
        "kind": "neuron_benchmark", "module": str(bench.place(text)), "entry": bench.entry,
        "inputs": made.value["inputs"], "rounds": _ROUNDS, "out": str(bench.scratch / "neuron"),
    }  # fmt: skip
    outcome = bench.run(job, _BENCHMARK_S)
    if outcome.status is not JobStatus.OK:
        return None, [f"time not measured: {explain(outcome)}"]
    times = sorted(seconds * _US for seconds in outcome.value["seconds"])
    time = {
        "median_us": statistics.median(times), "low_us": times[0], "high_us": times[-1],
        "device": bench.device.info.name, "case": case.name,
    }  # fmt: skip
    return time, [f"timed in {_ROUNDS} runs by neuron-profile: this way is untried"]


def _estimated(
    module: Module, kernel: Kernel, bench: Workbench | None, chip: NeuronChip
) -> tuple[str, NkiEstimate | str]:
    """(the case, its estimate): of the text at the spec's sizes, else of what was simulated."""
    if bench is None or bench.problem.entry.name != kernel.name:
        found = estimate_launch(module, kernel, chip)
        why = str(found).removeprefix("not estimated: ")
        return "", (why if isinstance(found, Unestimated) else found)
    problem = bench.problem
    case = (problem.measured_cases() or problem.check_cases())[0]
    read = static_estimate(module.text, module.path, problem.entry, case, chip)
    records = bench.instructions(module.text)
    if isinstance(read, str) and records:
        return problem.check_cases()[0].name, estimate(records, chip)
    return case.name, read


def as_json(found: NkiEstimate, case: str) -> dict[str, Any]:
    """An estimate with times in microseconds; ``terms`` has the profiler's own names and units."""
    return {
        "target": found.target,
        "case": case,
        "us": [found.low * _US, found.usual * _US, found.high * _US],
        "bound_us": found.bound * _US,
        "bottleneck": found.bottleneck.value,
        "roofline_percent": found.roofline_percent,
        "busy_us": {engine.value: seconds * _US for engine, seconds in found.busy.items()},
        "terms": dict(found.terms),
        "lines": [
            {
                "line": one.line,
                "count": one.count,
                "busy_us": {engine.value: seconds * _US for engine, seconds in one.busy.items()},
            }
            for one in found.lines
        ],
        "footprint": dump(found.footprint),
        "caveats": list(found.caveats),
    }


def _facts(found: NkiEstimate) -> Iterator[Fact]:
    by_model = (Source.ESTIMATE, Confidence.ESTIMATED)
    yield Fact("estimate.time", found.usual * _US, "us", *by_model, note=_range(found))
    yield Fact("estimate.bound", found.bound * _US, "us", *by_model)
    yield Fact("estimate.roofline", found.roofline_percent, "%", *by_model)
    for engine, seconds in found.busy.items():
        yield Fact(f"estimate.busy.{engine.value}", seconds * _US, "us", *by_model)


def _findings(found: NkiEstimate) -> Iterator[Finding]:
    """What takes the estimated time; nothing of it was measured."""
    for one in found.findings:
        yield Finding(
            one.id,
            f"by the estimate, {one.text}",
            one.weight,
            one.line,
            one.suggests,
            ("estimate.time",),
            measured=False,
        )


def _range(found: NkiEstimate) -> str:
    return f"between {found.low * _US:,.3g} and {found.high * _US:,.3g} us"


def sentence(told: dict[str, Any]) -> str:
    """``estimated 72.5 us [54.4, 97.8] on neuron:trn2, bench[0]; dma is the bottleneck; ...``."""
    low, usual, high = told["us"]
    where = f" ({told['case']})" if told["case"] else ""
    busy = sorted(told["busy_us"].items(), key=lambda one: -one[1])
    shares = ", ".join(f"{engine} {us:,.3g} us" for engine, us in busy if us)
    return (
        f"estimated {usual:,.3g} us [{low:,.3g}, {high:,.3g}] on {told['target']}{where}, not "
        f"measured; {told['bottleneck']} is busy longest ({shares}); at least "
        f"{told['bound_us']:,.3g} us; {told['roofline_percent']:.0f} % of the roofline"
    )
