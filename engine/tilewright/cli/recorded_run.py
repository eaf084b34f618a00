"""``tilewright show`` and ``tilewright replay``: one recorded run, looked at or decided again."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from tilewright.cli.optimize import show_result
from tilewright.cli.options import ReportPath
from tilewright.cli.output import OUT, AsFormat, Exit, Format, emit_json
from tilewright.cli.report_file import check_report, keep_report
from tilewright.cli.runs import cost_words, gain_words, records
from tilewright.cli.show import show_diff, speedup_line
from tilewright.errors import InputError
from tilewright.report.archive import BINS
from tilewright.report.curves import costs
from tilewright.report.steps import span, trial_word
from tilewright.strategies.recorded import detail, recorded_texts
from tilewright.strategies.replay import Replayed
from tilewright.strategies.replay import replay as run_replay

Json = Mapping[str, Any]
_Run = Annotated[str, typer.Argument(metavar="RUN", help="An id, its first digits, or `last`.")]
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
_CELL = 8


def show(
    run: _Run = "last",
    trial: Annotated[
        int | None, typer.Option(min=1, help="Show one trial: rationale, diff, model call.")
    ] = None,
    report: ReportPath = None,
    form: AsFormat = Format.TEXT,
) -> None:
    """Show a run: the tree of its trials, or one trial.

    A run may be running or interrupted: what is on record so far is shown.
    """
    check_report(report)
    with records() as found:
        record = found.named(run)
        value = detail(found, record)
        more = recorded_texts(found, record) if form is Format.JSON else {}
    chosen = _trial(value, trial) if trial is not None else None
    if form is Format.JSON:
        emit_json({**value, **more} if chosen is None else chosen)
    elif chosen is not None:
        _show_trial(chosen)
    else:
        _show_run(value)
    keep_report(value["run"], report)


def _trial(value: Json, number: int) -> dict[str, Any]:
    """A trial with its model calls."""
    trials: Sequence[Json] = value["trials"]
    found = next((one for one in trials if one["number"] == number), None)
    if found is None:
        there = f"it has trials 1 to {len(trials)}" if trials else "it has no trials"
        raise InputError(f"run {value['run']} has no trial {number}; {there}")
    calls = [call for call in value["calls"] if call["key"] == found.get("call")]
    return {**found, "calls": calls}


def _show_run(value: Json) -> None:
    for line in _head(value):
        OUT.print(line)
    if value["trials"]:
        for line in _tree(value["trials"]):
            OUT.print(line)
    else:
        OUT.print("Nothing was tried." if value["state"] == "finished" else "No trial is done yet.")
    for line in _end(value):
        OUT.print(line)


def _head(value: Json) -> Iterator[str]:
    device = value["device"] or "no device"
    named = f" ({value['device_name']})" if value["device_name"] else ""
    yield f"run {value['run']}: {value['state']}, started {value['started'][:19]} UTC"
    yield f"{value['path']}, target {value['target'] or 'none'}, on {device}{named}"
    if value["plan"]:
        yield f"Plan: {', '.join(value['plan'])}"


def _end(value: Json) -> Iterator[str]:
    yield from search_lines(value)
    yield from _compiled(value["compile"])
    yield f"Gain: {gain_words(value)}{cost_words(value)}"
    if value["state"] != "finished":
        counts = value["units"].items()
        done = ", ".join(f"{kind} {count['done']}" for kind, count in counts)
        under_way = ", ".join(f"{kind} {count['open']}" for kind, count in counts if count["open"])
        yield f"Units done: {done or 'none'}; not done: {under_way or 'none'}"
    for note in value["notes"]:
        yield f"note: {note}"


def _compiled(tables: Json) -> Iterator[str]:
    before = {row["kernel"]: row for row in tables["before"]}
    after = {row["kernel"]: row for row in tables["after"]}
    for kernel in dict.fromkeys((*before, *after)):
        sides = [(before, "no such kernel"), (after, "kernel removed" if after else "")]
        known = [_figures(rows[kernel]) if kernel in rows else lack for rows, lack in sides]
        yield f"Compiled {kernel}: {' -> '.join(filter(None, known))}"


def _figures(row: Json) -> str:
    known = [
        f"{span(row[name])} {unit}"
        for name, unit in (
            ("registers", "registers"),
            ("spill_bytes", "B spilled"),
            ("shared_bytes", "B shared"),
        )
    ]
    return f"{', '.join(known)} ({row['compiled']} of {row['configurations']} configurations)"


def _tree(trials: Sequence[Json]) -> Iterator[str]:
    """The trials as lines, each below its parent; those of an unknown parent come last."""
    children: dict[int | None, list[Json]] = {}
    for one in trials:
        children.setdefault(one["parent_trial"], []).append(one)
    yield "original"
    for parent in (0, None):
        yield from _branches(children, parent)


def _branches(children: Mapping[int | None, Sequence[Json]], parent: int | None) -> Iterator[str]:
    """What is below a trial; a stack in place of recursion, as trees may be a thousand deep."""
    waiting = _forks(children, parent, "")
    while waiting:
        one, fork, stem = waiting.pop()
        yield f"{fork}{_line(one)}"
        waiting += _forks(children, one["number"], stem)


def _forks(
    children: Mapping[int | None, Sequence[Json]], parent: int | None, before: str
) -> list[tuple[Json, str, str]]:
    """A trial's children, the last one first, each with the text before it and what is below."""
    below = children.get(parent, ())[::-1]
    return [
        (one, f"{before}{'├─ ' if at else '└─ '}", f"{before}{'│  ' if at else '   '}")
        for at, one in enumerate(below)
    ]


def _line(trial: Json) -> str:
    node = trial.get("node")
    slot = f" [{node['slot']}]" if node else ""
    unknown = "" if trial["parent_trial"] is not None else " (parent not on record)"
    return (
        f"{trial['number']}{slot} {trial_word(trial)}, {trial['level']}: {trial['stage']}, "
        f"{trial['proposer']}: {trial['reason']}{unknown}"
    )


def _show_trial(trial: Json) -> None:
    OUT.print(_line(trial))
    OUT.print(f"Rationale: {trial['rationale']}")
    parent = trial["parent_trial"]
    OUT.print(f"Parent: {'not on record' if parent is None else parent or 'the original'}")
    speedup = trial["speedup"]
    OUT.print(f"Speed-up: {speedup_line(speedup) if speedup else 'not measured'}")
    for call in trial["calls"]:
        _show_call(call)
    if trial["diff"] is None:
        OUT.print("Diff: the texts are not on record")
    elif trial["diff"]:
        show_diff(trial)
    else:
        OUT.print("Diff: none, the text is that of its parent")


def _show_call(call: Json) -> None:
    OUT.rule(f"{call['role']}, {call['model']}")
    for message in call["messages"]:
        OUT.print(f"[{message['role']}]")
        OUT.print(message["text"] or "(not on record)")
    OUT.rule("reply")
    reply = call["reply"] or {}
    OUT.print(reply.get("text") or reply.get("message") or "(none on record)")
    OUT.rule()


def replay(run: _Run = "last", form: AsFormat = Format.TEXT) -> None:
    """Decide a recorded run again from its record, and compare the results.

    No device, model or network is used. The exit code is 1 where the results differ.
    """
    with records() as found:
        replayed = run_replay(found, found.named(run))
    if form is Format.JSON:
        emit_json(
            {
                "run": replayed.run,
                "equal": replayed.difference is None,
                "difference": replayed.difference,
                "result": replayed.result,
            }
        )
    else:
        _show_replay(replayed)
    raise typer.Exit(Exit.DONE if replayed.difference is None else Exit.FINDINGS)


def _show_replay(replayed: Replayed) -> None:
    result = replayed.result
    if "error" in result:
        OUT.print(result["error"])
    elif result:
        show_result(dict(result))
    if replayed.difference is None:
        OUT.print(f"run {replayed.run}: replayed from its record; the results are equal")
    else:
        OUT.print(f"run {replayed.run}: the results differ: {replayed.difference}")


def search_lines(run: Json) -> Iterator[str]:
    """All of it; nothing for a run that timed nothing and has no tree."""
    yield from _curves(run)
    for ended in (run.get("search") or {}).get("ended", ()):
        yield f"Ended: {ended}"
    if run.get("archive") is not None:
        yield from _archive(run["archive"])
    yield from _memory(run)


def _curves(run: Json) -> Iterator[str]:
    """The best so far over trials and, with models, over what they cost."""
    best = [one["best"] for one in run["best"]]
    if not any(one["own"] is not None for one in run["best"]):
        return
    yield f"Best so far over {len(best)} trials: {curve(best)}"
    if run["calls"]:
        unit, spent = costs(run)
        yield f"Best so far over {spent[-1]:.4g} {unit}: {curve(best_at_steps(best, spent))}"


def best_at_steps(best: Sequence[float | None], positions: Sequence[float]) -> list[float | None]:
    """The best at equal steps of another axis, from nothing to its end."""
    end = positions[-1]
    found: list[float | None] = []
    for step in range(_WIDTH):
        at = end * (step + 1) / _WIDTH
        reached = [one for one, where in zip(best, positions, strict=True) if where <= at]
        found.append(reached[-1] if reached else 1.0)
    return found


def curve(values: Sequence[float | None]) -> str:
    """``1.00x ▁▁▃█ 2.10x``, on a logarithmic scale; a blank where nothing is known."""
    shown = _fewer(values)
    known = [one for one in shown if one is not None]
    if not known:
        return "not measured"
    low, high = math.log(min(1.0, *known)), math.log(max(1.0, *known))
    bars = "".join(" " if one is None else _bar(math.log(one), low, high) for one in shown)
    return f"1.00x {bars} {known[-1]:.2f}x"


def _fewer(values: Sequence[float | None]) -> list[float | None]:
    """At most a line's width of them, the last of each part."""
    if len(values) <= _WIDTH:
        return list(values)
    return [values[(at + 1) * len(values) // _WIDTH - 1] for at in range(_WIDTH)]


def _bar(value: float, low: float, high: float) -> str:
    share = (value - low) / (high - low) if high > low else 0.0
    return _BARS[min(len(_BARS) - 1, int(share * len(_BARS)))]


def _archive(archive: Json) -> Iterator[str]:
    """Next to each other one table for each value of the third axis."""
    first, second, third = archive["axes"]
    cells = {tuple(one["cell"]): one for one in archive["cells"]}
    yield f"Archive: {len(cells)} of {BINS**3} cells hold a correct text; its fastest in each cell"
    planes = sorted({cell[2] for cell in cells})
    if not planes:
        return
    gap = "   "
    yield gap + gap.join(f"{f'{third} {plane}':<{BINS * _CELL}}" for plane in planes).rstrip()
    for row in reversed(range(BINS)):
        lines = [
            "".join(f"{_words(cells.get((row, column, plane))):>{_CELL}}" for column in range(BINS))
            for plane in planes
        ]
        yield f"{row}  " + gap.join(lines)
    numbers = "".join(f"{column:>{_CELL}}" for column in range(BINS))
    yield gap + gap.join([numbers] * len(planes))
    yield f"{gap}upwards: {first}; to the right: {second}"


def _words(cell: Json | None) -> str:
    if cell is None:
        return "."
    return f"({cell['texts']})" if cell["speed"] is None else f"{cell['speed']:.2f}x"


def _memory(run: Json) -> Iterator[str]:
    kept = {trial["number"] for trial in run["trials"] if trial["kept"]}
    for one in run.get("memory", ()):
        tried = ", ".join(f"{n}{' (best)' if n in kept else ''}" for n in one["trials"])
        yield (
            f"Recalled {one['id'][:8]} ({one['outcome']}, {one['ratio']:.2f}x "
            f"[{one['low']:.2f}, {one['high']:.2f}] on {one['device']}): {one['title']}; "
            f"trials: {tried or 'none'}"
        )
