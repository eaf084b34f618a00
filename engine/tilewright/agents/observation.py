"""What the cascade found, in words for the next try."""

import re
from collections.abc import Iterator

from tilewright.evaluation.model import Evaluation, StepName, StepStatus
from tilewright.serialize import load
from tilewright.targets.model import CompileReport
from tilewright.textfile import encodable

MOST_CHARACTERS = 1200
_MOST_MESSAGE = 800
_MOST_QUOTES = 3
_MOST_LINE = 120
_LINE = re.compile(r"\blines? (\d+)|\.py:(\d+)\b")
_PATH = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?(?:[/\\][\w.+@~=-]+){2,}")
_OURS = re.compile(r"tilewright|site-packages|dist-packages|[/\\]lib[/\\]python")
_RESOURCES = (
    ("registers", "registers a thread"),
    ("spill_bytes", "bytes spilled a thread"),
    ("shared_bytes", "bytes of shared memory"),
)


def words(evaluation: Evaluation, text: str, before: Evaluation | None = None) -> str:
    """What became of the candidate ``text``, in at most ``MOST_CHARACTERS``.

    ``before``: the evaluation of the text that it was made from, to compare resources with.
    """
    found = [_outcome(evaluation), *_quotes(evaluation, text), *_times(evaluation)]
    found += [*_resources(evaluation, before), *_skipped(evaluation)]
    out = ""
    for line in filter(None, found):
        longer = f"{out}\n{line}" if out else line
        if len(longer) > MOST_CHARACTERS:
            break
        out = longer
    return out


def _outcome(evaluation: Evaluation) -> str:
    """The step that ended it, with its message; what was passed."""
    passed = [step.step.value for step in evaluation.steps if step.status is StepStatus.PASSED]
    after = f" after it passed {', '.join(passed)}" if passed else ""
    ended = evaluation.error or evaluation.failed
    if ended is None:
        return f"No check failed; it is {evaluation.level.value}{after}."
    said = _clipped(_without_paths(ended.message))
    if ended.status is StepStatus.ERROR:
        return f"It got no verdict at {ended.step.value}{after}: {said}"
    if ended.step is StepName.SPEED:
        return f"It is correct and is not kept: {said}"
    return f"Refused at {ended.step.value}{after}: {said}"


def _without_paths(text: str) -> str:
    """A message with the names of files alone, and without those of the harness and libraries."""

    def named(found: re.Match[str]) -> str:
        path = found[0]
        if _OURS.search(path):
            return "(library)"
        return re.split(r"[/\\]", path)[-1]

    return encodable(_PATH.sub(named, text))


def _clipped(text: str) -> str:
    """Beginning and end of a message that is too long: compilers put the cause last."""
    if len(text) <= _MOST_MESSAGE:
        return text
    head, tail = text[: _MOST_MESSAGE * 2 // 3], text[-_MOST_MESSAGE // 3 :]
    return f"{head.rpartition(' ')[0] or head} [...] {tail.partition(' ')[2] or tail}"


def _quotes(evaluation: Evaluation, text: str) -> Iterator[str]:
    """The source lines of the candidate that a message names."""
    ended = evaluation.failed
    if ended is None or ended.step is StepName.SPEED:
        return
    lines = text.splitlines()
    numbers = dict.fromkeys(int(a or b) for a, b in _LINE.findall(ended.message))
    there = [number for number in numbers if 0 < number <= len(lines)]
    for number in there[:_MOST_QUOTES]:
        source = lines[number - 1].strip()
        if source and source not in ended.message:
            shown = source if len(source) <= _MOST_LINE else f"{source[:_MOST_LINE]} [...]"
            yield f"Line {number} of the candidate: `{shown}`"


def _times(evaluation: Evaluation) -> Iterator[str]:
    found = evaluation.speedup
    if found is not None:
        yield (
            f"Timed on {found.device}, {found.case}: {found.candidate_us:.4g} us, where the text "
            f"before takes {found.original_us:.4g} us; speed-up {found.value:.3f} "
            f"[{found.low:.3f}, {found.high:.3f}], above {1 + (found.noise or 0):.3f} counts."
        )


def _resources(evaluation: Evaluation, before: Evaluation | None) -> Iterator[str]:
    """What each kernel takes of the chip, at the configuration that spills least."""
    old = _best(before)
    for name, report in _best(evaluation).items():
        was = old.get(name)
        parts = []
        for field, unit in _RESOURCES:
            value = getattr(report, field)
            if value is not None:
                had = getattr(was, field) if was is not None else None
                change = f" ({had} before)" if had not in (None, value) else ""
                parts.append(f"{value} {unit}{change}")
        if report.shared_bytes and report.shared_limit:
            parts[-1] += f" of {report.shared_limit}"
        if parts:
            yield f"Compiled, {name}: {', '.join(parts)}.{_bottleneck(report, was)}"


def _bottleneck(report: CompileReport, was: CompileReport | None) -> str:
    spilled, had = report.spill_bytes or 0, (was.spill_bytes or 0) if was is not None else 0
    if spilled > had:
        return " It spills registers: use smaller tiles, more warps or fewer live values."
    shared, limit = report.shared_bytes or 0, report.shared_limit or 0
    if limit and shared > 0.5 * limit and (was is None or shared > (was.shared_bytes or 0)):
        return " Shared memory for one program at a time: use smaller tiles or fewer stages."
    return ""


def _best(evaluation: Evaluation | None) -> dict[str, CompileReport]:
    """The report of each kernel's configuration that spills least."""
    step = evaluation.step(StepName.COMPILE) if evaluation is not None else None
    found: dict[str, CompileReport] = {}
    for each in step.data.get("reports", ()) if step is not None else ():
        report = load(CompileReport, each)
        known = found.get(report.kernel)
        if report.ok and (known is None or _spilled(report) < _spilled(known)):
            found[report.kernel] = report
    return found


def _spilled(report: CompileReport) -> int:
    return report.spill_bytes or 0


def _skipped(evaluation: Evaluation) -> Iterator[str]:
    for step in evaluation.steps:
        if step.status is StepStatus.SKIPPED and step.message:
            yield f"Not checked, {step.step.value}: {_clipped(_without_paths(step.message))}"
