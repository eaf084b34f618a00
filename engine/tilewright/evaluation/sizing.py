"""The size that a problem is checked at whose module makes its own inputs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.devices.model import Device, JobStatus
from tilewright.evaluation.pytest_run import with_tests
from tilewright.evaluation.recorded_calls import with_calls
from tilewright.evaluation.workbench import TIMEOUT_S, Workbench, explain
from tilewright.problems.model import Case, Dim, Problem, ProblemError, Ragged
from tilewright.problems.modules import OWN, SMALL
from tilewright.scratch import scratch_folder
from tilewright.serialize import dump
from tilewright.worker.messages.jobs import Sized, SizeJob

MOST_BYTES = 1 << 19
"""Of inputs, weights and results together: the interpreter is slow."""


def sized(problem: Problem | None, device: Device, source: Path, text: str) -> Problem | None:
    """The problem with its cases at a size that the interpreter can do and the original stands.

    Its own size stays what is timed. Asked of the file under test as it was, on no device.

    Raises:
        ProblemError: it can be run at none, with what it says.
    """
    if problem is None or not (problem.sizes or problem.has_tests or problem.pytest):
        return problem
    with scratch_folder() as scratch:
        bench = Workbench(device, problem, source, scratch, 0)
        if problem.has_tests:
            return with_calls(problem, bench, text)
        if problem.pytest is not None:
            return with_tests(problem, bench, text)
        job: SizeJob = {
            "kind": "size",
            "module": str(bench.place(text)),
            "entry": bench.entry,
            "inputs_from": bench.inputs_from,
            "choices": [[dump(case) for case in size.cases] for size in problem.sizes],
            "variants": [[dump(case) for case in _variants(size.ragged)] for size in problem.sizes],
            "most_bytes": MOST_BYTES,
        }
        outcome = bench.run(job, TIMEOUT_S)
    if outcome.status is not JobStatus.OK:
        raise ProblemError(f"its inputs cannot be made: {explain(outcome)}", problem.path)
    found = outcome.value
    if found["chosen"] is None:
        raise ProblemError(_none_works(found), problem.path)
    return _problem_at_size(problem, found, found["chosen"])


def _problem_at_size(problem: Problem, found: Sized, at: int) -> Problem:
    """The problem at the size that was found."""
    chosen = problem.sizes[at]
    built = [_arguments(given) for given in found["init_args"]]
    kept = [chosen.cases[at] for at in found["working"]]
    cases = tuple(_with_arguments(case, given) for case, given in zip(kept, built, strict=False))
    ragged = _renewed(chosen.ragged, built[len(kept) :])
    if not at:
        return replace(problem, cases={SMALL: cases}, ragged=ragged, sizes=())
    own = problem.sizes[0]
    given = [_arguments(one) for one in found["own_args"]]
    large = tuple(
        replace(_with_arguments(case, one), category=OWN)
        for case, one in zip(own.cases, given, strict=True)
    )
    if found["bytes"][0] is None:
        large = ()
    notes = [*problem.warnings, _size_sentence(problem, cases, found)]
    return replace(
        problem,
        cases={SMALL: cases, **({OWN: large} if large else {})},
        default_category=OWN if large else SMALL,
        ragged=ragged,
        warnings=tuple(notes),
        sizes=(),
    )


def _size_sentence(problem: Problem, cases: Sequence[Case], found: Sized) -> str:
    """Which sizes stand for its own, in a sentence."""
    name = Path(problem.path).name
    sizes = "; ".join(
        ", ".join(f"{key}={value}" for key, value in {**case.init_named, **case.dims}.items())
        for case in cases
    )
    taken = found["bytes"][0]
    why = f"fail ({found['failures'][0]})" if taken is None else f"take {taken / 2**20:.0f} MiB"
    return f"the sizes of {name} {why}; checked in the interpreter at smaller ones: {sizes}"


def _none_works(found: Sized) -> str:
    why = next(filter(None, found["failures"]), "it fails at every size")
    sizes = [size for size in found["bytes"] if size is not None]
    if sizes:
        return (
            f"its inputs take {sizes[0] / 2**20:.0f} MiB and no smaller size works ({why}); name "
            "their extents as whole numbers at the top of the module, so that they can be made less"
        )
    return f"it runs at none of its sizes: {why}"


def _variants(ragged: Ragged | None) -> list[Case]:
    if ragged is None:
        return []
    thin = (case for several in ragged.thin for case in several)
    return [*ragged.primes, *thin, *ragged.single]


def _renewed(ragged: Ragged | None, built: list[tuple[Dim, ...]]) -> Ragged | None:
    """The variants, each with its constructor's arguments."""
    if ragged is None:
        return None
    rest = iter(built)
    return replace(
        ragged,
        primes=tuple(_with_arguments(case, next(rest)) for case in ragged.primes),
        thin=tuple(
            tuple(_with_arguments(case, next(rest)) for case in several) for several in ragged.thin
        ),
        single=tuple(_with_arguments(case, next(rest)) for case in ragged.single),
    )


def _with_arguments(case: Case, arguments: tuple[Dim, ...]) -> Case:
    return replace(case, init_args=arguments)


def _arguments(given: list[Any] | None) -> tuple[Dim, ...]:
    """Constructor arguments from JSON; none where they are no numbers, words or lists of them."""
    return tuple(_dim(value) for value in given or ())


def _dim(value: Any) -> Dim:
    if isinstance(value, list):
        return tuple(_dim(one) for one in value)  # type: ignore[misc]  # two lists deep at most
    found: Dim = value
    return found
