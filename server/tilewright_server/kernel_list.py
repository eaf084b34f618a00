"""The kernels of folders in a list: worst issue, certificate, and time where one is known.

Issues and certificates are the engine's, read from files; times of open documents are those that
this server has seen. Nothing of a workspace is run for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tilewright_server.kernel_facts import CompiledFacts, ProfileFacts
from tilewright_server.nki_estimates import KernelEstimate

_MEASURED, _ESTIMATED = "measured", "estimated"


@dataclass(frozen=True)
class KernelTime:
    """The time of one call of a kernel.

    Attributes:
        us: microseconds; of an estimate its usual value.
        kind: "measured" or "estimated".
        where: the device it was measured on, or the chip it was estimated for.
        case: the inputs, where they have a name.
        roof_percent: share of the roofline; None where it is not known.
    """

    us: float
    kind: str
    where: str
    case: str = ""
    roof_percent: float | None = None


@dataclass(frozen=True)
class KernelRow:
    """One kernel.

    Attributes:
        line: 1-based.
        issues: how many there are.
        worst: the most severe one: ``id``, ``message``, ``line`` (1-based), ``severity`` (4 to 1).
        certificate: "current", "stale" or "none"; ``proof`` is what it says, or what changed since.
        time: None where none is known.
    """

    path: str
    kernel: str
    line: int
    issues: int
    worst: Mapping[str, Any] | None
    certificate: str
    proof: str
    time: KernelTime | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def kernel_rows(checked: Mapping[str, Any], certified: Mapping[str, Any]) -> Iterator[KernelRow]:
    """Rows of what ``check`` and ``certificates`` answer, file by file and line by line.

    Raises:
        KeyError, TypeError, ValueError: these are no such answers.
    """
    proofs = {
        (file["path"], one["kernel"]): one for file in certified["files"] for one in file["kernels"]
    }
    for file in checked["files"]:
        path = str(file["path"])
        for entry in file.get("entries") or ():
            issues = [one for one in file["issues"] if one.get("kernel") == entry["kernel"]]
            yield _row(path, entry, issues, proofs.get((path, entry["kernel"])))


def _row(
    path: str,
    entry: Mapping[str, Any],
    issues: Sequence[Mapping[str, Any]],
    proof: Mapping[str, Any] | None,
) -> KernelRow:
    worst = max(issues, key=lambda issue: issue["severity"], default=None)
    named = ("id", "message", "line", "severity")
    status = proof["status"] if proof is not None else "none"
    return KernelRow(
        path=path,
        kernel=entry["kernel"],
        line=int(entry["line"]),
        issues=len(issues),
        worst=None if worst is None else {name: worst[name] for name in named},
        certificate=status,
        proof=_proof_words(proof) if proof is not None else "",
        time=_certified_time(proof) if proof is not None and status == "current" else None,
    )


def _proof_words(proof: Mapping[str, Any]) -> str:
    """What a certificate says; of a stale one, what changed since."""
    if proof["status"] == "current":
        return str(proof["summary"] or "")
    return "; ".join(proof["changes"])


def _certified_time(proof: Mapping[str, Any]) -> KernelTime | None:
    time = proof.get("time")
    return KernelTime(time["us"], _MEASURED, time["device"], time["case"]) if time else None


def profiled_time(facts: Sequence[ProfileFacts]) -> KernelTime | None:
    """The newest time that was measured of a kernel's present text."""
    for one in facts:
        if one.time is not None:
            time = one.time
            return KernelTime(time.median_us, _MEASURED, time.device, time.case, one.roof_percent)
    return None


def compiled_time(facts: CompiledFacts | None) -> KernelTime | None:
    """The estimate of the fastest configuration for the first chip that has one."""
    if facts is None:
        return None
    for target in facts.targets:
        known = [found for r in facts.of_target(target) if (found := facts.estimate_of(r))]
        if known:
            best = min(known, key=lambda found: found.us)
            return KernelTime(best.us, _ESTIMATED, target, roof_percent=best.roofline_percent)
    return None


def estimated_time(estimates: Sequence[KernelEstimate]) -> KernelTime | None:
    """Of an NKI kernel: the estimate for the newest chip that has one."""
    from tilewright.costs.nki.launches import Unestimated

    for one in reversed(estimates):
        if not isinstance(one.found, Unestimated):
            us = one.found.usual * 1e6
            share = one.found.roofline_percent
            return KernelTime(us, _ESTIMATED, one.chip.id, one.case or "", share)
    return None


def roots_of(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths that exist, none inside another."""
    real = sorted({Path(path) for path in paths if Path(path).exists()})
    return tuple(
        str(path) for path in real if not any(path.is_relative_to(a) for a in real if a != path)
    )
