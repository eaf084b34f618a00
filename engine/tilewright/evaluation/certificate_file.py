"""From the evidence of a run to the certificate file next to the kernel."""

import ast
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.certificates.files import default_place, git_blob, packed
from tilewright.certificates.model import (
    VERSION,
    CertificateFile,
    CheckFigures,
    CompiledFigures,
    DeviceFacts,
    Edit,
    EstimateFigures,
    Isolation,
    Original,
    ProblemFacts,
    ProblemKind,
    SpeedFigures,
    Step,
    Subject,
)
from tilewright.certificates.parts import reached
from tilewright.devices.model import DeviceInfo
from tilewright.evaluation.model import (
    Certificate,
    EstimatedGain,
    Level,
    StepName,
    text_hash,
)
from tilewright.figures import detectable
from tilewright.problems.model import Problem
from tilewright.source import parse_module
from tilewright.source.model import Module

_LONGEST_MESSAGE = 240
_MODULE_NAMES = ("get_inputs", "get_init_inputs")
Json = Mapping[str, Any]


def certificate_file(
    certificate: Certificate,
    texts: tuple[str, str],
    problem: Problem,
    info: DeviceInfo,
    source: Path,
    place: Path | None = None,
    edits: Sequence[Edit] = (),
) -> CertificateFile | None:
    """The file of a certificate; None where nothing was verified.

    Args:
        texts: original and candidate.
        info: the device that it was verified on.
        source: the file that has, or is to have, the candidate's text.
        place: where the certificate will lie; beside ``source`` by default.
        edits: from the original to the candidate, where they are known.
    """
    if not certificate.level.reaches(Level.COMPILED) or compared_with_itself(certificate):
        return None
    folder = (place or default_place(source)).resolve().parent
    placeless = _Placeless(folder, info.id.rpartition("#")[0])
    subject, foreign = _subject(texts[1], problem, source, folder)
    steps = {step.step: step.data for step in certificate.steps}
    checks = tuple(_checks(steps.get(StepName.CORRECTNESS, {}).get("checks", ())))
    speed = tuple(_speeds(steps.get(StepName.SPEED, {}).get("cases", ())))
    return CertificateFile(
        version=VERSION,
        hash="",
        level=certificate.level.value,  # type: ignore[arg-type]  # a level that is kept
        summary=_summary(certificate, info, speed, checks),
        subject=subject,
        original=Original(text_hash(texts[0]), packed(texts[0]), git_blob(texts[0])),
        problem=_problem(problem, source, folder),
        target=certificate.target,
        device=_device(info),
        toolchain=certificate.toolchain,
        steps=tuple(_steps(certificate, placeless)),
        created=certificate.created,
        tilewright=certificate.tilewright,
        seeds=certificate.seeds,
        compiled=tuple(_compiled(steps.get(StepName.COMPILE, {}).get("reports", ()))),
        checks=checks,
        speed=speed,
        isolation=_isolation(certificate.isolation),
        honesty=tuple(map(placeless, _honesty(steps.get(StepName.CORRECTNESS, {})))),
        estimate=_estimate(certificate.estimate),
        unverified=tuple(map(placeless, (*certificate.unverified, *foreign))),
        edits=tuple(edits),
    )


def compared_with_itself(certificate: Certificate) -> bool:
    """Whether results were compared only with the same text's own, which proves nothing."""
    checked = next((s for s in certificate.steps if s.step is StepName.CORRECTNESS), None)
    checks = checked.data.get("checks", ()) if checked is not None else ()
    itself = certificate.original == certificate.candidate
    return itself and all(check.get("oracle") in (None, "original") for check in checks)


def roots_of(problem: Problem, source: Path, module: Module) -> tuple[str, ...]:
    """What of a file is called from outside: by the problem's entry, or by captured launches."""
    if problem.is_captured:
        return tuple(dict.fromkeys(_launched(problem, module)))
    entry = problem.entry
    classes = [node.name for node in module.tree.body if isinstance(node, ast.ClassDef)]
    names = [entry.name_in(classes)]
    reference = problem.reference
    if reference is not None and _is(reference.path, source):
        names.append(reference.name)
    if _is(problem.path, source):
        names += _MODULE_NAMES
    return tuple(dict.fromkeys(names))


def _launched(problem: Problem, module: Module) -> Iterator[str]:
    for cases in problem.cases.values():
        for case in cases:
            if case.launch is not None:
                yield case.launch.kernel
                launches = module.launches_of(case.launch.kernel)
                yield from (one.host_function for one in launches if one.host_function)


def _is(path: str | None, source: Path) -> bool:
    return path is None or Path(path).resolve() == source.resolve()


def _subject(
    text: str, problem: Problem, source: Path, folder: Path
) -> tuple[Subject, tuple[str, ...]]:
    """The verified text, and a sentence on what of other files it uses."""
    module = parse_module(text, str(source))
    roots = roots_of(problem, source, module)
    found = reached(module, roots)
    subject = Subject(
        file=_relative(source, folder),
        hash=text_hash(text),
        roots=roots,
        kernels=found.kernels,
        parts=tuple(placed.part for placed in found.parts),
    )
    if not found.foreign:
        return subject, ()
    return subject, (f"Changes in {', '.join(found.foreign)} would not make this stale.",)


def _relative(path: str | Path, folder: Path) -> str:
    return Path(os.path.relpath(Path(path).resolve(), folder)).as_posix()


def _problem(problem: Problem, source: Path, folder: Path) -> ProblemFacts:
    kind: ProblemKind = "captured" if problem.is_captured else "spec"
    kind = "module" if _is(problem.path, source) else kind
    reference = problem.reference.name if problem.reference else None
    return ProblemFacts(_relative(problem.path, folder), kind, problem.content_hash, reference)


def _device(info: DeviceInfo) -> DeviceFacts:
    """The id of a device on its host: user and host name are stripped from a remote device."""
    target = str(info.target) if info.target else None
    return DeviceFacts(info.id.rpartition("#")[2], info.name, target, info.can_time)


def _isolation(found: Json | None) -> Isolation | None:
    if found is None:
        return None
    return Isolation(str(found.get("level")), tuple(map(str, found.get("reasons", ()))))


def _honesty(data: Json) -> Iterator[str]:
    """What was seen of the candidate while it ran, in words."""
    found: Json = data.get("honesty") or {}
    facts: Json = found.get("candidate") or {}
    for name, launch in (facts.get("launches") or {}).items():
        yield f"{name} was launched, {launch.get('programs')} programs in all"
    if rule := data.get("own_rule"):
        yield own_rule_text(rule)
    if isinstance(facts.get("skipped_same"), int | float):
        yield f"with no launch made, {100 * facts['skipped_same']:.0f} % of its results were right"
    calls = (data.get("repetition") or {}).get("calls")
    if calls:
        yield f"{calls} calls in a row, on changing inputs, all agreed"
    watched = [one["name"] for one in data.get("watched") or () if "skipped" not in one]
    if watched:
        yield f"in the interpreter each load and store was watched: {'; '.join(watched)}"
    yield from (str(note) for note in found.get("notes") or ())


def own_rule_text(found: Json) -> str:
    """What a benchmark's own rule said, in a sentence."""
    name, seeds = found["name"], ", ".join(map(str, found["seeds"]))
    if not found["passed"]:
        return f"{name}'s own rule refuses it: {found['message']}"
    return (
        f"{name}'s own rule accepts it: relative error {found['largest_error']:.2g} at seeds "
        f"{seeds}, less than {found['tolerance']:g}"
    )


@dataclass(frozen=True)
class _Placeless:
    """Makes texts whose paths are relative to the certificate's folder, as others have other
    folders, and that name no ``host`` (its address; empty where it ran here)."""

    folder: Path
    host: str

    def __call__(self, text: str) -> str:
        text = text.replace(f"{self.folder}{os.sep}", "")
        return text.replace(self.host, "the device's host") if self.host else text


def _steps(certificate: Certificate, placeless: _Placeless) -> Iterator[Step]:
    for step in certificate.steps:
        message = placeless(step.message)
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[: _LONGEST_MESSAGE - 1]}…"
        # A step that broke off is in no certificate: there is none then.
        yield Step(step.step.value, step.status.value, message)  # type: ignore[arg-type]


def _compiled(reports: Sequence[Json]) -> Iterator[CompiledFigures]:
    for name in dict.fromkeys(str(report["kernel"]) for report in reports):
        own = [report for report in reports if report["kernel"] == name]
        good = [report for report in own if report.get("ok")]
        yield CompiledFigures(
            name,
            len(own),
            len(good),
            *(_span(good, key) for key in ("registers", "spill_bytes", "shared_bytes")),
        )


def _span(reports: Sequence[Json], key: str) -> tuple[int, int] | None:
    values = [int(report[key]) for report in reports if report.get(key) is not None]
    return (min(values), max(values)) if values else None


def _checks(every: Sequence[Json]) -> Iterator[CheckFigures]:
    """One entry a case, whatever was tried on it; without what the original did not stand."""
    checks = [check for check in every if not check.get("skipped")]
    for case in dict.fromkeys(str(check.get("case")) for check in checks):
        own = [check for check in checks if str(check.get("case")) == case]
        seeds = sorted({int(check["seed"]) for check in own if "seed" in check})
        oracles = dict.fromkeys(str(check["oracle"]) for check in own if check.get("oracle"))
        yield CheckFigures(
            case=case,
            count=len(own),
            seeds=tuple(seeds),
            oracle=" and ".join(oracles) or None,
            families=tuple(dict.fromkeys(text for check in own for text in _families(check))),
            max_abs_error=_largest(own, "max_abs_error"),
            max_rel_error=_largest(own, "max_rel_error"),
            error_ratio=_largest(own, "error_ratio_max") or _largest(own, "error_ratio"),
            rtol=_largest(own, "rtol"),
            atol=_largest(own, "atol"),
        )


def _families(check: Json) -> Iterator[str]:
    """What is out of the ordinary in one comparison, in the words of its name: extents too, where
    they were drawn."""
    _, *said = str(check.get("name", "")).split(", ")
    yield from said


def _largest(checks: Sequence[Json], key: str) -> float | None:
    values = [check[key] for check in checks if isinstance(check.get(key), int | float)]
    return max((_round(value, 3) for value in values if math.isfinite(value)), default=None)


def _round(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _speeds(cases: Sequence[Json]) -> Iterator[SpeedFigures]:
    for case in cases:
        if case.get("value") is None:
            continue
        yield SpeedFigures(
            case=str(case["case"]),
            **{name: _round(case[name], 5) for name in ("value", "low", "high", "confidence")},
            **{name: _round(case[name], 5) for name in ("original_us", "candidate_us")},
            samples=int(case["samples"]),
            noise=_known(case, "noise"),
            detectable=_known(case, "detectable"),
            original_host_us=_known(case, "original_host_us"),
            candidate_host_us=_known(case, "candidate_host_us"),
        )


def _estimate(gain: EstimatedGain | None) -> EstimateFigures | None:
    if gain is None:
        return None
    before, after = (
        tuple(_round(one, 4) for one in times) for times in (gain.before_us, gain.after_us)
    )
    return EstimateFigures(
        gain.case, gain.target, _round(gain.value, 4), gain.error,
        before,  # type: ignore[arg-type]  # three each
        after,  # type: ignore[arg-type]
        gain.bottlenecks,
    )  # fmt: skip


def _known(data: Json, name: str) -> float | None:
    value = data.get(name)
    if isinstance(value, int | float) and math.isfinite(value):
        return _round(value, 3)
    return None


def _summary(
    certificate: Certificate,
    info: DeviceInfo,
    speed: Sequence[SpeedFigures],
    checks: Sequence[CheckFigures],
) -> str:
    parts = []
    if certificate.level.reaches(Level.CORRECT):
        count = sum(check.count for check in checks)
        compared = f" in {count} comparisons" if count else ""
        where = f"in the {info.name}" if info.runs_nki else f"on {info.name}"
        parts.append(f"correct{compared} {where}")
    compiled = next((s for s in certificate.steps if s.step is StepName.COMPILE), None)
    if compiled is not None and compiled.status.value == "passed":
        parts.append(f"compiled for {certificate.target}")
    slowest = min(speed, key=lambda one: one.low, default=None)
    if slowest is None and (gain := certificate.estimate) is not None:
        parts.append(f"{gain.verdict}: {gain.words}, {gain.case}")
        parts.append("not compiled; nothing was measured")
    elif slowest is None:
        parts.append("speed not measured")
    else:
        parts.insert(0, speed_text(certificate.level, slowest))
    return "; ".join(parts)


def speed_text(level: Level, one: SpeedFigures) -> str:
    """``faster: 1.94x [1.93, 1.94], bench-gpu[0]``; else the minimum detectable speed-up."""
    told = f"{one.words}, {one.case}"
    if level is Level.FASTER:
        return f"faster: {told}"
    if one.high < 1.0 - (one.noise or 0.0):
        return f"slower: {told}"
    seen = one.detectable
    more = "" if seen is None else f" ({detectable(seen)})"
    return f"not measurably faster: {told}{more}"
