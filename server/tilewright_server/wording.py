"""Sentences for people: evidence, facts and summaries. Nothing here says more than was measured."""

import time
from collections.abc import Mapping, Sequence
from itertools import accumulate
from textwrap import shorten
from typing import Any

from tilewright.figures import counted, detectable, kibibytes
from tilewright.rewrites.model import Numerics, Rewrite
from tilewright.targets.model import CompileReport
from tilewright_server.ignoring import Scope
from tilewright_server.kernel_facts import ProfileFacts, Timing

_LONGEST_REASON = 160
_LEFT_SHOWN = 420
_LONGEST_DOUBT = 90

VENDORS: Mapping[str, str] = {
    "cuda": "NVIDIA",
    "hip": "AMD",
    "xpu": "Intel XPU",
    "neuron": "AWS Trainium",
}

_NUMERICS: Mapping[Numerics, str] = {
    Numerics.EXACT: "exact",
    Numerics.REASSOCIATING: "sums in another order",
    Numerics.PRECISION_REDUCING: "fewer bits",
}


def sentence(text: str) -> str:
    """A phrase as a sentence of its own."""
    ended = text if text.endswith(("?", ".")) else f"{text}."
    return f"{ended[:1].upper()}{ended[1:]}"


def target_label(target: str) -> str:
    """``cuda:90`` as ``NVIDIA (cuda:90)``."""
    vendor = VENDORS.get(target.partition(":")[0])
    return f"{vendor} ({target})" if vendor else target


def fix_title(rewrite: Rewrite) -> str:
    """A quick fix's title, with what is known of the edit before anything was run."""
    return f"{rewrite.title} ({_NUMERICS[rewrite.numerics]}, not measured)"


def fix_evidence(rewrite: Rewrite) -> str:
    """The same for the edit itself, once its result was parsed."""
    return (
        f"parsed; results by construction: {_NUMERICS[rewrite.numerics]}; "
        "not compiled, not run, not measured"
    )


def exact_evidence(titles: str) -> str:
    """The same for several exact rewrites in one edit."""
    return f"{titles}: parsed; results by construction: exact; not compiled, not run, not measured"


def ignore_title(issue_id: str, scope: Scope) -> str:
    """The title of an action that silences an issue."""
    places = {
        Scope.LINE: "on this line",
        Scope.KERNEL: "in this kernel",
        Scope.FILE: "in this file",
    }
    return f"Ignore {issue_id} {places[scope]}"


def kind_title(issue_id: str, count: int) -> str:
    """The title of an action that fixes every report of one rule; ``count`` of them are there."""
    return f"Fix all {issue_id} in this file ({count} reports; exact edits alone, not measured)"


def lacking_launch(
    *, launched: bool, trusted: bool, running: bool, on_save: bool, tried: bool, failure: str
) -> str:
    """Why a fix that needs a captured launch cannot be made, and what would make it possible."""
    needs = "the fix needs the types and shapes the kernel is launched with"
    if not launched:
        return f"{needs}, and no launch of it is found in this file"
    if not trusted:
        return f"{needs}, and nothing of a workspace that is not trusted is run"
    if running:
        return f"{needs}; the running compilation provides them"
    if tried:
        return f"{needs}; the last profile recorded no launch of this kernel" + (
            f": {failure}" if failure else ""
        )
    do = "save the file once" if on_save else "profile the kernel once"
    return f"{do}: {needs}"


def facts_phrase(facts: ProfileFacts, *, limits: bool = False) -> str:
    """The same where the target is named already; with the chip's ``limits`` where known."""
    nothing = facts.compiled is None and facts.correct is None and facts.time is None
    if nothing and facts.notes and facts.correct_why in ("", facts.notes[-1]):
        return facts.notes[-1]
    parts = (_compile_phrase(facts, limits), _correct_phrase(facts), _time_phrase(facts))
    return " · ".join(parts)


def _compile_phrase(facts: ProfileFacts, limits: bool) -> str:
    if facts.compiled is None:
        return "not compiled"
    if not facts.compiled:
        return "does not compile"
    return ", ".join(resources(facts, limits=limits)) or "compiles"


def resources(facts: ProfileFacts | CompileReport, *, limits: bool = False) -> list[str]:
    """What a compiled kernel takes, as far as it is known."""
    parts = [f"{facts.registers} registers"] if facts.registers is not None else []
    if facts.spill_bytes is not None:
        parts.append(f"{facts.spill_bytes} B spilled" if facts.spill_bytes else "no spills")
    if facts.shared_bytes is not None:
        limit = f" of {kibibytes(facts.shared_limit)}" if limits and facts.shared_limit else ""
        parts.append(f"{kibibytes(facts.shared_bytes)}{limit} shared")
    return parts


def _correct_phrase(facts: ProfileFacts) -> str:
    if facts.correct is None:
        why = shorten(facts.correct_why, _LONGEST_DOUBT, placeholder="…")
        return f"not judged: {why}" if why else "not checked"
    where = f" on {facts.device}" if facts.device else " on a device the engine did not name"
    return f"correct{where}" if facts.correct else f"WRONG RESULT{where}"


def _time_phrase(facts: ProfileFacts) -> str:
    if facts.time is not None:
        return time_text(facts.time) + bound_text(facts.bottleneck)
    untimed = "time not measured"
    return next((note for note in facts.notes if note.startswith(untimed)), untimed)


def time_text(timing: Timing) -> str:
    """A measured time with its interval and where it was measured."""
    interval = f"{timing.low_us:.4g} to {timing.high_us:.4g}"
    return f"{timing.median_us:.4g} µs ({interval}) on {timing.device}, {timing.case}"


def bound_text(bottleneck: str | None) -> str:
    """ ", memory-bound" where a profile could tell."""
    return f", {bottleneck}-bound" if bottleneck and bottleneck != "unknown" else ""


def age(taken: float) -> str:
    """How long ago something was, roughly."""
    seconds = max(0.0, time.time() - taken)
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86400:
        return f"{int(seconds // 3600)} h ago"
    return f"{int(seconds // 86400)} days ago"


def evidence(result: Mapping[str, Any]) -> str:
    """How far an optimization's edit was verified, and where: ``correct on interpreter; ...``."""
    certificate = result.get("certificate") or {}
    level = str(certificate.get("level") or result.get("level") or "parsed")
    steps = {str(s["step"]): s for s in certificate.get("steps") or ()}
    device = certificate.get("device") or result.get("device")
    target = certificate.get("target") or result.get("target")
    estimate = result.get("estimate")
    parts = []
    if level in ("correct", "faster"):
        parts.append(f"correct on {device}" if device else "correct")
    if estimate:
        return "; ".join([*parts, f"estimated {estimate['words']}", "not compiled, not measured"])
    if _passed(steps, "compile") or (level == "compiled" and not steps):
        parts.append(f"compiled for {target}" if target else "compiled")
    elif "compile" in steps:
        parts.append(_not_compiled(steps["compile"]))
    if not parts:
        parts.append("parsed only")
    parts.append(speed(certificate.get("speedup") or result.get("speedup")))
    return "; ".join(parts)


def description(result: Mapping[str, Any]) -> str:
    """What an edit does, and what was not verified of it, as far as a message has room."""
    kept = [trial for trial in result.get("trials") or () if trial.get("kept")]
    done = "; ".join(map(attributed, kept)) or "optimized kernel"
    open_points = (result.get("certificate") or {}).get("unverified") or ()
    left = [f"{str(one).removesuffix('.')}." for one in open_points]
    return f"{done}. Left open: {_as_many_as_fit(left)}" if left else done


def _as_many_as_fit(left: Sequence[str]) -> str:
    """The first of the open points, at least one: VS Code hides a message that is too tall."""
    ends = accumulate(len(one) + 1 for one in left)
    shown = max(sum(end <= _LEFT_SHOWN for end in ends), 1)
    text = " ".join(left[:shown])
    rest = len(left) - shown
    return f"{text} And {rest} more, which the certificate lists." if rest else text


def _not_compiled(step: Mapping[str, Any]) -> str:
    message = str(step.get("message") or "")
    if step.get("status") == "skipped":
        message = message.partition(": ")[0]  # the way out is among the open points
    why = shorten(message, _LONGEST_REASON, placeholder="…")
    return f"not compiled ({why})" if why else "not compiled"


def _passed(steps: Mapping[str, Any], name: str) -> bool:
    return name in steps and steps[name].get("status") == "passed"


def speed(speedup: Mapping[str, Any] | None) -> str:
    """A measured ratio with its interval and device, or that there is none.

    Where no difference was found, also what gain would have been.
    """
    if not speedup:
        return "speed not measured"
    where = f" on {speedup['device']}" if speedup.get("device") else ""
    case = f", {speedup['case']}" if speedup.get("case") else ""
    low, high = speedup["low"], speedup["high"]
    ratio = f"{speedup['value']:.2f}x the original's speed ({low:.2f} to {high:.2f})"
    seen = speedup.get("detectable")
    noise = speedup.get("noise") or 0.0
    if seen is None or low > 1.0 + noise or high < 1.0 - noise:
        return f"{ratio}{where}{case}"
    return f"{ratio}{where}{case}, {detectable(seen)}"


def progress_text(event: Mapping[str, Any]) -> str:
    """``stage fusion, try 2, best 1.84x, $0.12 in 14 calls``; what is not known is left out."""
    message, stage, best = str(event.get("message", "")), event.get("stage"), event.get("best")
    parts = [message]
    if stage and str(stage) not in message:
        parts.append(f"stage {stage}")
    if event.get("try"):
        parts.append(f"try {event['try']}")
    if isinstance(best, int | float):
        parts.append(f"best {best:.2f}x")
    if isinstance(event.get("spent"), Mapping):
        parts.append(cost(event["spent"]))
    return ", ".join(part for part in parts if part)


def cost(spent: Mapping[str, Any]) -> str:
    """What models have cost so far; empty where none was asked. An unknown price is said."""
    calls, cached = int(spent.get("calls") or 0), int(spent.get("calls_cached") or 0)
    if not calls and not cached:
        return ""
    dollars = spent.get("dollars")
    price = "cost not known" if dollars is None else f"${dollars:.2f}"
    return f"{price} in {counted(calls, 'call')}" + (
        f" and {cached} replies from the cache" if cached else ""
    )


def model_use(models: Mapping[str, Any]) -> str:
    """What the models of a run cost, the limit that ended their calls, and calls that failed."""
    calls = models.get("calls") or ()
    failed = [str(call["error"]) for call in calls if call.get("error")]
    parts = [cost(models.get("spent") or {})]
    if models.get("ended"):
        parts.append(f"the limit of {models['ended']} ended the calls")
    elif failed:
        why = shorten(plain(failed[0]), _LONGEST_REASON, placeholder="…")
        parts.append(f"{len(failed)} of {len(calls)} calls failed: {why}")
    return "; ".join(part for part in parts if part)


def trial_line(trial: Mapping[str, Any]) -> str:
    """A trial in one line, for progress."""
    kept = "kept" if trial.get("kept") else "not kept"
    return f"trial {trial.get('number')} {kept}: {short_rationale(trial)}"


def attributed(trial: Mapping[str, Any]) -> str:
    """What a kept trial did and who proposed it."""
    by = proposed_by(str(trial.get("proposer") or ""))
    done = short_rationale(trial)
    return f"{done.removesuffix('.')} ({by})" if by else done


def proposed_by(proposer: str) -> str:
    """``rewrite:one_pass`` as ``rewrite``, ``model:NAME`` as ``model NAME``."""
    kind, _, name = proposer.partition(":")
    return f"{kind} {plain(name)}" if kind == _MODEL and name else kind


def short_rationale(trial: Mapping[str, Any]) -> str:
    """What a trial did, without the finding that led to it."""
    proposer = str(trial.get("proposer") or "")
    text = str(trial.get("rationale") or proposer or "no rationale").partition(" (line ")[0]
    written = plain(text) if proposer.startswith(_MODEL) else text
    return shorten(written, _LONGEST_REASON, placeholder="…")


_MODEL = "model"
_INERT = str.maketrans({"[": "(", "]": ")", "`": "'", "<": "\u2039", ">": "\u203a"})


def plain(text: str) -> str:
    """What a model wrote without marks that an editor would show as a link, an image or code."""
    return "".join(c for c in text.translate(_INERT) if c.isprintable() or c.isspace())
