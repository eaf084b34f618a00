"""Does a certificate hold when it is repeated? Two certificates of one text, held together."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tilewright.certificates.model import CertificateFile, CheckFigures, SpeedFigures
from tilewright.evaluation.model import Level, StepName
from tilewright.problems.model import RAGGED

ERROR_GROWTH = 2.0
"""How much the largest error may grow on the same device: the order of sums is not fixed."""
ERROR_FLOOR = 0.1
"""Errors below this part of the absolute tolerance are as good as none."""


class Outcome(StrEnum):
    """What became of a recheck."""

    HOLDS = "holds"
    ELSEWHERE = "holds on another device"
    RENEWED = "verified anew"
    FAILS = "does not hold"
    STALE = "stale"
    CANNOT = "cannot be repeated here"


@dataclass(frozen=True)
class Recheck:
    """The outcome, what decided it, and notes."""

    outcome: Outcome
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return ": ".join(filter(None, (self.outcome.value, "; ".join(self.reasons))))


def compared(before: CertificateFile, now: CertificateFile | None, failed: str | None) -> Recheck:
    """Judge a repetition.

    Args:
        now: what was found; None where not even the compiler took it.
        failed: the message of the step that failed, if one did.
    """
    if now is None:
        return Recheck(Outcome.FAILS, (failed or "it does not compile any more",))
    elsewhere = before.device.name != now.device.name
    notes = list(_differences(before, now))
    faults = list(_level_faults(before, now, failed))
    if elsewhere:
        notes += _speeds_there(before, now)
    else:
        if before.seeds == now.seeds:  # other inputs differ by other amounts, within the tolerance
            faults += [fault for pair in _same_cases(before, now) for fault in _error_faults(*pair)]
        faults += [fault for pair in _same_speeds(before, now) for fault in _speed_faults(*pair)]
    if faults:
        return Recheck(Outcome.FAILS, tuple(faults), tuple(notes))
    missing = tuple(_not_repeated(before, now))
    if missing and not elsewhere:
        return Recheck(Outcome.CANNOT, missing, tuple(notes))
    if elsewhere:
        told = f"{now.device.name} instead of {before.device.name}"
        return Recheck(Outcome.ELSEWHERE, (told,), (*notes, *missing))
    return Recheck(Outcome.HOLDS, (now.summary,), tuple(notes))


def renewed(before: CertificateFile, now: CertificateFile | None, failed: str | None) -> Recheck:
    """Judge another text in the place of the certified one: it has to get as far."""
    if now is None:
        return Recheck(Outcome.FAILS, (failed or "it does not compile",))
    faults = tuple(_level_faults(before, now, failed))
    notes = tuple(f"not verified: {text}" for text in now.unverified)
    return (
        Recheck(Outcome.FAILS, faults)
        if faults
        else Recheck(Outcome.RENEWED, (now.summary,), notes)
    )


def _level_faults(
    before: CertificateFile, now: CertificateFile, failed: str | None
) -> Iterator[str]:
    wanted, reached = Level(before.level), Level(now.level)
    if wanted is Level.FASTER and before.device.can_time and not now.device.can_time:
        wanted = Level.CORRECT
    if not reached.reaches(wanted):
        yield f"certified {before.level}, now {now.level}" + (f": {failed}" if failed else "")


def _not_repeated(before: CertificateFile, now: CertificateFile) -> Iterator[str]:
    """Steps that passed and could not be taken this time."""
    status = {step.step: step for step in now.steps}
    for step in before.steps:
        again = status.get(step.step)
        if step.status == "passed" and again is not None and again.status == "skipped":
            yield f"{step.step} was not repeated: {again.message}"


def _same_cases(
    before: CertificateFile, now: CertificateFile
) -> Iterator[tuple[CheckFigures, CheckFigures]]:
    """Those of the same inputs: extents that fit no tile are drawn anew each time."""
    found = {check.case: check for check in now.checks}
    same = (check for check in before.checks if f"-{RAGGED}[" not in check.case)
    yield from ((check, found[check.case]) for check in same if check.case in found)


def _error_faults(before: CheckFigures, now: CheckFigures) -> Iterator[str]:
    if before.max_abs_error is None or now.max_abs_error is None:
        return
    allowed = max(ERROR_GROWTH * before.max_abs_error, ERROR_FLOOR * (before.atol or 0.0))
    if now.max_abs_error > allowed:
        yield (
            f"{before.case}: the largest difference is {now.max_abs_error:.2g}, "
            f"certified {before.max_abs_error:.2g}"
        )


def _same_speeds(
    before: CertificateFile, now: CertificateFile
) -> Iterator[tuple[SpeedFigures, SpeedFigures]]:
    found = {one.case: one for one in now.speed}
    yield from ((one, found[one.case]) for one in before.speed if one.case in found)


def _speed_faults(before: SpeedFigures, now: SpeedFigures) -> Iterator[str]:
    """Slower than certified by more than both intervals and the noise; faster is no fault."""
    noise = max(before.noise or 0.0, now.noise or 0.0)
    if now.high < before.low - noise:
        yield f"{before.case}: {now.words}, certified {before.words}"


def _speeds_there(before: CertificateFile, now: CertificateFile) -> Iterator[str]:
    for then, again in _same_speeds(before, now):
        yield f"{then.case}: {again.words} there, certified {then.words}"


def _differences(before: CertificateFile, now: CertificateFile) -> Iterator[str]:
    """What was not the same this time."""
    names = sorted({*before.toolchain, *now.toolchain})
    changed = [
        f"{name} {now.toolchain.get(name, 'unknown')} instead of "
        f"{before.toolchain.get(name, 'unknown')}"
        for name in names
        if before.toolchain.get(name) != now.toolchain.get(name)
    ]
    if changed:
        yield f"with {', '.join(changed)}"
    if before.subject.hash != now.subject.hash:
        yield "the file changed since, in nothing that the certificate is of"
    if before.tilewright != now.tilewright:
        yield f"with Tilewright {now.tilewright} instead of {before.tilewright}"
    cases = {check.case for check in before.checks} - {check.case for check in now.checks}
    if cases and now.level != "compiled":
        yield f"not compared again: {', '.join(sorted(cases))}"
    yield from _levels_of(now)


def _levels_of(now: CertificateFile) -> Iterator[str]:
    for step in now.steps:
        if step.step == StepName.SPEED.value and step.status == "failed":
            yield f"speed: {step.message}"
