"""What an evaluation leaves open, in sentences: a certificate says these as loudly as the rest."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.devices.model import INTERPRETER, NEURON_SIM
from tilewright.evaluation.model import Certificate, StepName, StepResult, StepStatus

INTERPRETER_LIMITS = (
    "Correctness was checked in Triton's interpreter on a CPU, not on the chip: what the compiler "
    "and the chip's own instructions do otherwise would not show."
)
SIMULATOR_LIMITS = (
    "Correctness was checked in Tilewright's NKI simulator on a CPU, not on the chip and not with "
    "the vendor's compiler: what these do otherwise would not show."
)
NO_REFERENCE = (
    "Results were compared with the original's alone, as there is no independent reference that "
    "could be used: a mistake that both make would not show."
)
FORWARD_ONLY = "Forward only, under no_grad: gradients were not compared."
_OPEN = (StepStatus.SKIPPED, StepStatus.ERROR)
_MOST_NAMED = 3
_LONGEST = 300
_NUMBERS = re.compile(r"\d+")
Json = Mapping[str, Any]


def unverified(certificate: Certificate) -> tuple[str, ...]:
    """Each thing once, in the order of the cascade."""
    return tuple(dict.fromkeys(_sentence(text) for text in _open(certificate)))


def _but_numbers(text: str) -> str:
    """Shapes and counts differ from check to check where the matter is the same."""
    return _NUMBERS.sub("#", text)


def _sentence(text: str) -> str:
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    if "[" in text.split(" ", 1)[0]:
        return text  # begins with the name of a case
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "…")) else ".")


def _open(certificate: Certificate) -> Iterator[str]:
    steps = {step.step: step for step in certificate.steps}
    for name in (StepName.COMPILE, StepName.CORRECTNESS):
        step = steps.get(name)
        if step is None or step.status in _OPEN:
            why = step.message if step and step.message else "no reason given"
            yield f"{name.value} was skipped: {why}"
    if (compiled := steps.get(StepName.COMPILE)) is not None:
        yield from _texts(compiled.data, "caveats")
    if (text := steps.get(StepName.STRUCTURE)) is not None:
        yield from _texts(text.data, "evidence_needed", "permitted")
    checked = steps.get(StepName.CORRECTNESS)
    if checked is not None and checked.status not in _OPEN:
        device = (certificate.device or "").rpartition("#")[2]
        simulated = device.startswith(NEURON_SIM)
        interpreted = simulated or device.startswith(INTERPRETER)
        if interpreted:
            yield SIMULATOR_LIMITS if simulated else INTERPRETER_LIMITS
        yield from _of_checks(checked)
        if not interpreted and not checked.data.get("left_out"):
            itself = certificate.original == certificate.candidate
            yield from _of_accesses(checked.data.get("watched") or (), itself)
    yield from _of_estimate(steps.get(StepName.ESTIMATE))
    yield from _of_speed(steps.get(StepName.SPEED))
    yield from _of_isolation(certificate)


def _of_checks(step: StepResult) -> Iterator[str]:
    checks = [check for check in step.data.get("checks", ()) if isinstance(check, Mapping)]
    if checks and all(check.get("oracle") == "original" for check in checks):
        yield NO_REFERENCE
    yield from _texts(step.data, "inputs", "notes", "permitted", "facts")
    noted: dict[str, str] = {}
    for check in checks:
        for text in () if check.get("skipped") else _texts(check, "caveats", "note"):
            noted.setdefault(_but_numbers(text), text)
    yield from noted.values()
    simulated = str(step.data.get("device", "")).rpartition("#")[2] == NEURON_SIM
    if checks and not simulated and not any(check.get("gradients") for check in checks):
        yield FORWARD_ONLY
    yield from _not_asked(checks)
    left_out = step.data.get("left_out")
    if left_out:
        yield f"{len(left_out)} further checks were left out, as it was measured not to be faster"
    else:
        yield from _of_repetition(step.data.get("repetition"))
    watched = step.data.get("honesty")
    yield from _texts(watched if isinstance(watched, Mapping) else {}, "notes")


def _not_asked(checks: Sequence[Json]) -> Iterator[str]:
    """Checks that the original itself does not stand, by the reason why."""
    skipped: dict[str, tuple[str, list[str]]] = {}
    for check in checks:
        if check.get("skipped"):
            name, why = str(check.get("name") or check.get("case")), str(check["skipped"])
            skipped.setdefault(_but_numbers(why), (why, []))[1].append(name)
    for why, names in skipped.values():
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield f"{'; '.join(names[:_MOST_NAMED])}{more}: {why}"


def _of_repetition(found: Any) -> Iterator[str]:
    if not isinstance(found, Mapping) or found.get("skipped"):
        why = found["skipped"] if isinstance(found, Mapping) else "it was not recorded"
        yield f"many calls in a row were not compared: {why}"


def _of_accesses(watched: Sequence[Json], itself: bool) -> Iterator[str]:
    """Whether the interpreter looked at single loads and stores, which no device shows."""
    if any("skipped" not in check for check in watched):
        return
    reasons = dict.fromkeys(str(check["skipped"]) for check in watched)
    told = "original and candidate are the same" if itself else "there is no small case for it"
    why = "; ".join(reasons) or told
    yield f"single loads and stores were not watched in the interpreter: {why}"


def _of_estimate(step: StepResult | None) -> Iterator[str]:
    """What an estimate leaves out; nothing where there is no such step, as for Triton kernels."""
    if step is None:
        return
    if step.status in _OPEN:
        yield f"time was not estimated: {step.message.removeprefix('not estimated: ')}"
    yield from _texts(step.data, "caveats")


def _of_speed(step: StepResult | None) -> Iterator[str]:
    if step is None or step.status in _OPEN:
        told = step.message if step is not None else "no device that can time took part"
        yield f"speed was not measured: {told.removeprefix('not measured: ')}"
        return
    cases: Sequence[Json] = step.data.get("cases", ())
    if not cases:
        yield f"speed is not known: {step.message}"
    for case in cases:
        if case.get("noise") is None:
            yield f"the noise of timings was not measured on {case.get('case')}"
    yield from _texts(step.data, "notes", "caveats")


def _of_isolation(certificate: Certificate) -> Iterator[str]:
    isolation = certificate.isolation
    if isolation is None:
        yield "how far the candidate was isolated from the rest of the machine was not recorded"
    elif isolation.get("level") != "strong":
        reasons = "; ".join(map(str, isolation.get("reasons", ())))
        yield f"isolation was {isolation.get('level')}" + (f": {reasons}" if reasons else "")


def _texts(data: Json, *names: str) -> Iterator[str]:
    for name in names:
        value = data.get(name)
        values = value if isinstance(value, list | tuple) else [value]
        yield from (text for text in values if isinstance(text, str) and text)
