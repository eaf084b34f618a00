"""What a step of the cascade recorded, in one sentence for a person."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.evaluation.model import StepName
from tilewright.figures import seconds_text

Json = Mapping[str, Any]


@dataclass(frozen=True)
class StepRow:
    """One step of the cascade for the accepted edit."""

    name: str
    status: str
    message: str
    seconds: str


def trial_word(trial: Json) -> str:
    """What became of a trial, in a word; one of a tree may be a parent without being the best."""
    node = trial.get("node")
    if node is None:
        return "kept" if trial["kept"] else "refused"
    if trial["kept"]:
        return "best"
    return "parent" if node["state"] == "alive" else "dropped"


def step_row(step: Json) -> StepRow:
    """A step with its own message, or else what its data says."""
    data: Json = step.get("data") or {}
    tell = {StepName.COMPILE.value: _compiled, StepName.CORRECTNESS.value: _compared}
    told = tell[step["step"]](data) if step["step"] in tell else ""
    message = "; ".join(part for part in (step.get("message", ""), told) if part)
    return StepRow(step["step"], step["status"], message, seconds_text(step.get("seconds")))


def _compiled(data: Json) -> str:
    reports: Sequence[Json] = data.get("reports", [])
    names = dict.fromkeys(report["kernel"] for report in reports)
    return "; ".join(_kernel(name, [r for r in reports if r["kernel"] == name]) for name in names)


def _kernel(name: str, reports: Sequence[Json]) -> str:
    good = [report for report in reports if report["ok"]]
    text = f"{name}: " + ", ".join(_figures(good)) if good else f"{name}: none"
    if len(reports) > 1:
        text += f" ({len(good)} of {len(reports)} configurations compile)"
    return text


def _figures(reports: Sequence[Json]) -> Iterator[str]:
    yield _span(reports, "registers", "registers", 1)
    yield _span(reports, "spill_bytes", "bytes spilled", 1)
    yield _span(reports, "shared_bytes", "KiB shared memory", 1024)


def span(low_high: Sequence[float] | None) -> str:
    """``40``, ``40 to 64``, or that there is no figure."""
    if low_high is None:
        return "unknown"
    low, high = low_high
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _span(reports: Sequence[Json], key: str, unit: str, scale: int) -> str:
    values = sorted({r[key] for r in reports if r.get(key) is not None})
    if not values:
        return f"{unit} unknown"
    return f"{span((values[0] / scale, values[-1] / scale))} {unit}"


def _compared(data: Json) -> str:
    checks: Sequence[Json] = [c for c in data.get("checks", ()) if not c.get("skipped")]
    if not checks:
        return ""
    cases = ", ".join(dict.fromkeys(check["case"] for check in checks))
    text = f"{len(checks)} comparisons on {data.get('device', 'an unnamed device')} ({cases})"
    oracles = dict.fromkeys(check["oracle"] for check in checks if check.get("oracle"))
    if oracles:
        text += f" against {' and '.join(oracles)}"
    errors = [c["max_abs_error"] for c in checks if c.get("max_abs_error") is not None]
    return f"{text}, largest difference {max(errors):.2g}" if errors else text


def caveats(step: Json) -> tuple[str, ...]:
    """What the run itself said limits its comparison, each once."""
    checks: Sequence[Json] = (step.get("data") or {}).get("checks", [])
    return tuple(
        dict.fromkeys(
            text
            for check in checks
            for text in (*check.get("caveats", ()), *filter(None, [check.get("note")]))
        )
    )
