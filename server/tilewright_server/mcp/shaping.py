"""Results of the engine as answers of the tools; pure, nothing is added to what was measured."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tilewright.figures import counted, ratio
from tilewright_server.mcp.answers import (
    Certified,
    CheckAnswer,
    Comparison,
    CompileAnswer,
    Compiled,
    CompiledKernel,
    EvidenceAnswer,
    Found,
    Measured,
    OptimizeAnswer,
    ProfileAnswer,
    ProfiledKernel,
    Speedup,
    Step,
    Tried,
    VerifyAnswer,
)
from tilewright_server.mcp.refusal import RefusedError

Value = Mapping[str, Any]

_MOST_ISSUES = 60
_MOST_TRIALS = 64
_MOST_KERNELS = 40
LONGEST_DIFF = 60_000
_LONGEST_MESSAGE = 1200
BEST_SO_FAR = "stopped because the time was over; this is the best so far, and more was not tried"


def check_answer(value: Value) -> CheckAnswer:
    """What ``check`` says of files.

    Raises:
        RefusedError: no file could be read.
    """
    files, faults = value["files"], [_fault(fault) for fault in value["faults"]]
    if not files:
        raise RefusedError("; ".join(faults) or "no Python file with kernels is there")
    found = [_finding_of(file["path"], issue) for file in files for issue in file["issues"]]
    found.sort(key=lambda issue: -issue.severity)
    kernels = sum(len(file["kernels"]) for file in files)
    odd = [
        f"{file['path']}:{item['line']}: {item['message']}"
        for file in files
        for kind in ("problems", "remarks", "notices")
        for item in file[kind]
    ]
    verdict = f"{counted(len(found), 'issue')} in {counted(kernels, 'kernel')}; nothing was run."
    if faults:
        verdict += f" {counted(len(faults), 'file')} could not be checked."
    return CheckAnswer(
        verdict=verdict,
        issues=found[:_MOST_ISSUES],
        left_out=max(0, len(found) - _MOST_ISSUES),
        unreadable=faults[:_MOST_ISSUES],
        notes=[*odd[:_MOST_ISSUES], *map(str, value["notes"])],
    )


def _fault(fault: Value) -> str:
    line = f":{fault['line']}" if fault.get("line") else ""
    return f"{fault['path']}{line}: {fault['message']}"


def _finding_of(path: str, issue: Value) -> Found:
    return Found(
        id=issue["id"],
        severity=issue["severity"],
        stage=issue["stage"],
        kernel=issue["kernel"],
        path=path,
        line=issue["line"],
        message=issue["message"],
        gain=issue["gain"] if issue["gain_source"] else None,
    )


def compile_answer(value: Value) -> CompileAnswer:
    """What the compilers say."""
    kernels = [_compiled_kernel(kernel) for kernel in value["kernels"]]
    done = [one for kernel in kernels for one in kernel.targets]
    good = sum(one.compiles for one in done)
    without = [kernel.kernel for kernel in kernels if not kernel.targets]
    verdict = f"{good} of {counted(len(done), 'compilation')} succeeded; nothing was run or timed."
    if without:
        verdict += f" Not compiled: {_listed(without)}."
    return CompileAnswer(
        verdict=verdict, kernels=kernels[:_MOST_KERNELS], notes=_more_kernels(kernels)
    )


def _compiled_kernel(kernel: Value) -> CompiledKernel:
    pairs = zip(kernel["reports"], kernel["estimates"], strict=True)
    return CompiledKernel(
        kernel=kernel["name"],
        line=kernel["line"],
        launches=": ".join(filter(None, (kernel["origin"], kernel["why"]))),
        targets=[_compiled(report, estimate) for report, estimate in pairs],
        issues=[f"line {i['range']['line']}: {i['id']}: {i['message']}" for i in kernel["issues"]],
        notes=[_short(note) for note in kernel["notes"]],
    )


def _compiled(report: Value, estimate: Value | None) -> Compiled:
    return Compiled(
        target=f"{report['target']['backend']}:{report['target']['arch']}",
        compiles=report["ok"],
        registers=report["registers"],
        spill_bytes=report["spill_bytes"],
        shared_bytes=report["shared_bytes"],
        estimated_us=round(estimate["us"], 2) if estimate else None,
        bound=estimate["bound"] if estimate else None,
        toolchain=report["toolchain"],
        messages=[_short(_message(message)) for message in report["messages"]],
    )


def _message(message: Any) -> str:
    if not isinstance(message, Mapping):
        return str(message)
    line = f"line {message['line']}: " if message.get("line") else ""
    return f"{line}{message.get('text') or message.get('message') or ''}"


def verify_answer(value: Value) -> VerifyAnswer:
    """How far a candidate was verified."""
    certificate = value["certificate"]
    steps = [_step(step) for step in certificate["steps"]]
    blocking = value["error"] or value["failed"]
    status = next((s.status for s in steps if blocking and s.step == blocking["step"]), "skipped")
    failed = None
    if blocking is not None:
        failed = Step(step=blocking["step"], status=status, message=_short(blocking["message"]))
    accepted = None if failed is not None and status != "failed" else bool(value["accepted"])
    speedup = _speedup(value["speedup"])
    return VerifyAnswer(
        verdict=_verify_verdict(value, accepted, failed, speedup),
        accepted=accepted,
        level=value["level"],
        required=value["required"],
        failed=failed,
        speedup=speedup,
        steps=steps,
        comparisons=_comparisons(value),
        device=certificate["device"],
        target=certificate["target"],
        isolation=(certificate["isolation"] or {}).get("level"),
        not_verified=[_short(text) for text in certificate["unverified"]],
        evidence=certificate["candidate"],
        notes=[_short(note) for note in value["notes"]],
    )


def _verify_verdict(
    value: Value, accepted: bool | None, failed: Step | None, speedup: Speedup | None
) -> str:
    if accepted:
        gain = f", {speed_words(speedup)}" if speedup else "; speed was not measured"
        return f"Accepted: {value['level']}{gain}."
    if failed is None:
        return f"Not accepted: {value['level']}, and {value['required']} is required."
    if accepted is None:
        return (
            f"Not judged, neither right nor wrong: {failed.step} did not run to its end: "
            f"{failed.message or 'no reason was given'}"
        )
    return f"Refused at {failed.step}: {failed.message}"


def _step(step: Value) -> Step:
    return Step(step=step["step"], status=step["status"], message=_short(step["message"]))


def _comparisons(value: Value) -> list[Comparison]:
    """From the certificate file where there is one, otherwise those of the correctness step."""
    file = value["certificate_file"]
    if file is not None and file.get("checks"):
        return [_figures(check) for check in file["checks"]]
    steps = value["certificate"]["steps"]
    checks = (check for step in steps for check in step["data"].get("checks", ()))
    wrong = [check for check in checks if check.get("fault") and check.get("wrong")]
    return [_figures({**check, "count": 1}) for check in wrong[:8]]


def _figures(check: Value) -> Comparison:
    return Comparison(
        case=check.get("name") or check["case"],
        count=check["count"],
        oracle=str(check.get("oracle", "")),
        max_abs_error=check.get("max_abs_error"),
        rtol=check.get("rtol"),
        atol=check.get("atol"),
        wrong=check.get("wrong"),
    )


def _speedup(value: Value | None) -> Speedup | None:
    return Speedup(**{name: value[name] for name in Speedup.model_fields}) if value else None


def speed_words(speedup: Speedup) -> str:
    """``1.94x [1.93, 1.94] on NVIDIA H200, bench-gpu[0]: 251.5 us -> 130.4 us``."""
    return (
        f"{ratio(speedup.value, speedup.low, speedup.high)} on {speedup.device}, "
        f"{speedup.case}: {speedup.original_us:.1f} us -> {speedup.candidate_us:.1f} us"
    )


def profile_answer(value: Value) -> ProfileAnswer:
    """What was found on an unchanged file."""
    kernels = [_profiled(kernel) for kernel in value["kernels"]]
    wrong = [kernel.kernel for kernel in kernels if kernel.correct is False]
    timed = sum(kernel.time is not None for kernel in kernels)
    verdict = f"{counted(len(kernels), 'kernel')} profiled, {timed} timed"
    verdict += f"; wrong result: {_listed(wrong)}." if wrong else "."
    call = value["call"] or {}
    return ProfileAnswer(
        verdict=verdict,
        device=value["device"],
        kernels=kernels[:_MOST_KERNELS],
        call=[_short(one["text"]) for one in call.get("findings", ())],
        notes=[*_more_kernels(kernels), *(_short(note) for note in value["notes"])],
    )


def _profiled(kernel: Value) -> ProfiledKernel:
    time = kernel["time"]
    return ProfiledKernel(
        kernel=kernel["name"],
        line=kernel["line"],
        correct=kernel["correct"],
        why=_short(kernel["correct_why"]) if kernel["correct_why"] else None,
        time=Measured(**{name: time[name] for name in Measured.model_fields}) if time else None,
        bottleneck=_bottleneck(kernel["bottleneck"]),
        findings=[_finding(finding) for finding in kernel["findings"]],
        notes=[_short(note) for note in kernel["notes"]],
    )


def _bottleneck(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return str(value.get("kind") or value.get("name") or dict(value))
    return None if value is None else str(value)


def _finding(finding: Value) -> str:
    ids = f" [{', '.join(finding['suggests'])}]" if finding["suggests"] else ""
    return f"{_short(finding['text'])}{ids}"


def optimize_answer(value: Value, *, stopped: bool) -> OptimizeAnswer:
    """What an optimization came to; the edit is in the diff, and no file was written."""
    certificate = value["certificate"]
    speedup = _speedup(value["speedup"])
    faults = [fault["message"] for fault in value["harness_faults"]]
    kept = sum(trial["kept"] for trial in value["trials"])
    tried = f"{counted(len(value['trials']), 'candidate')} tried, {kept} kept"
    if not value["changed"]:
        verdict = f"No edit: no candidate beat the original by evidence ({tried})."
    else:
        gain = speed_words(speedup) if speedup else "speed was not measured"
        verdict = f"Edit verified as {value['level']}; {gain} ({tried}). No file was written."
    diff = value["diff"]
    is_complete = len(diff) <= LONGEST_DIFF
    return OptimizeAnswer(
        verdict=verdict,
        changed=value["changed"],
        level=value["level"],
        speedup=speedup,
        diff=diff if is_complete else diff[:LONGEST_DIFF],
        diff_complete=is_complete,
        trials=[_tried(trial) for trial in value["trials"][:_MOST_TRIALS]],
        remaining=[f"line {i['line']}: {i['id']}: {i['message']}" for i in value["remaining"]],
        device=value["device"],
        target=value["target"],
        not_verified=[_short(text) for text in certificate["unverified"]] if certificate else [],
        evidence=certificate["candidate"] if certificate and value["changed"] else None,
        notes=[
            *([BEST_SO_FAR] if stopped else []),
            *(_short(note) for note in value["notes"]),
            *dict.fromkeys(_short(fault) for fault in faults),
        ],
    )


def _tried(trial: Value) -> Tried:
    return Tried(
        number=trial["number"],
        stage=trial["stage"],
        proposer=trial["proposer"],
        rationale=_short(trial["rationale"]),
        level=trial["level"],
        kept=trial["kept"],
        reason=_short(trial["reason"]),
        speedup=trial["speedup"]["value"] if trial["speedup"] else None,
    )


def certificates_answer(value: Value) -> EvidenceAnswer:
    """Which kernels of files have a certificate that holds for their current text.

    Raises:
        RefusedError: no file could be read.
    """
    faults = [_fault(fault) for fault in value["faults"]]
    if not value["files"]:
        raise RefusedError("; ".join(faults) or "no Python file is there")
    kernels = [
        Certified.model_validate({**kernel, "path": file["path"]})
        for file in value["files"]
        for kernel in file["kernels"]
    ]
    counts = [sum(one.status == status for one in kernels) for status in _STATUSES]
    verdict = f"{counts[0]} certified, {counts[1]} stale, {counts[2]} without a certificate."
    broken = [fault for file in value["files"] for fault in file["faults"]]
    return EvidenceAnswer(
        verdict=verdict,
        kernels=kernels[:_MOST_ISSUES],
        notes=[
            *map(_short, (*faults, *broken)),
            *([f"{len(kernels) - _MOST_ISSUES} more"] if len(kernels) > _MOST_ISSUES else []),
        ],
    )


_STATUSES = ("current", "stale", "none")


def repeated_answer(value: Value) -> EvidenceAnswer:
    """How the repetition of a certificate's checks ended."""
    reasons = "; ".join(map(_short, value["reasons"]))
    said = f": {reasons}" if reasons else ""
    return EvidenceAnswer(
        verdict=f"Certificate {value['path']}: {value['outcome']}{said}.",
        repeated=value["outcome"],
        certificate=lean(value["certificate"]) if value["certificate"] else None,
        notes=[_short(note) for note in value["notes"]],
    )


def lean(certificate: Value) -> dict[str, Any]:
    """A certificate without what only the file needs: packed texts and hashes of lines."""
    kept = {name: item for name, item in certificate.items() if name not in ("original", "subject")}
    subject = certificate.get("subject")
    if isinstance(subject, Mapping):
        kept["subject"] = {n: i for n, i in subject.items() if n != "parts"}
    return kept


def evidence_of(value: Value) -> dict[str, Any] | None:
    """The certificate in a result of verify or optimize; of a refused one its steps."""
    file, certificate = value.get("certificate_file"), value.get("certificate")
    if file is not None:
        return lean(file)
    if certificate is None:
        return None
    steps = [_step(step).model_dump(exclude_defaults=True) for step in certificate["steps"]]
    checks = [_bare(c) for step in certificate["steps"] for c in step["data"].get("checks", ())]
    return {**certificate, "steps": steps, "checks": checks}


def _bare(check: Value) -> dict[str, Any]:
    return {name: item for name, item in check.items() if item not in (None, "", [], {})}


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more


def _more_kernels(kernels: Sequence[object]) -> list[str]:
    left = len(kernels) - _MOST_KERNELS
    return [f"{counted(left, 'more kernel')} not listed; name a smaller file"] if left > 0 else []


def _short(text: Any) -> str:
    plain = str(text or "")
    return plain if len(plain) <= _LONGEST_MESSAGE else f"{plain[: _LONGEST_MESSAGE - 1]}…"


def lines(title: str, items: Iterable[str]) -> Sequence[str]:
    """A titled list in text; nothing for an empty one."""
    listed = [f"- {item}" for item in items]
    return [title, *listed] if listed else []
