"""The charts of a run with the numbers they show; what was not measured is in neither."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tilewright.figures import NOT_MEASURED, speedup, time_text
from tilewright.report.charts import Point, best_chart, roof_chart, short, tree_chart
from tilewright.report.steps import trial_word

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    """A chart and its numbers as a table; ``note`` says what is missing or how to read it.

    ``chart`` is None where there is nothing to draw.
    """

    title: str
    chart: Markup | None
    note: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def best_so_far(run: Json) -> Curve:
    """The speed-up reached over the number of trials."""
    title = "Best so far over trials"
    trials: Sequence[Json] = run["trials"]
    timed = [trial for trial in trials if trial.get("speedup")]
    if not timed:
        return Curve(title, None, f"No trial was timed, so the speed-ups are {NOT_MEASURED}.")
    positions = [float(trial["number"]) for trial in trials]
    return _curve_over(run, title, "trial", positions)


def tree_by_generation(run: Json) -> Curve | None:
    """Every timed text of a tree by its generation; None where there is no tree."""
    trials = [trial for trial in run["trials"] if trial.get("node")]
    if not trials:
        return None
    title = "Tree by generation"
    speeds = {one["trial"]: one["own"] for one in run["best"]}
    timed = [trial for trial in trials if speeds[trial["number"]] is not None]
    if not timed:
        return Curve(title, None, f"No trial was timed, so the speed-ups are {NOT_MEASURED}.")
    points = [Point(0.0, 1.0, "original", "original")]
    places = {0: 0}
    for trial in timed:
        number, own = trial["number"], speeds[trial["number"]]
        word = trial_word(trial)
        kind = {"best": "kept", "parent": "alive"}.get(word, "refused")
        places[number] = len(points)
        points.append(
            Point(_slot_position(trial["node"]), own, f"trial {number}: {own:.2f}×", kind)
        )
    edges = [
        (places[trial["parent_trial"]], places[trial["number"]])
        for trial in timed
        if trial["parent_trial"] in places
    ]
    generations = max(trial["node"]["generation"] for trial in trials)
    about = f"{len(trials)} texts in {generations} generations, {len(timed)} of them timed"
    note = (
        f"{about}. Filled circles became the best, rings may be parents, crosses were dropped; a "
        "line leads from a parent to its child."
    )
    return Curve(title, tree_chart(points, edges, about), note)


def _slot_position(node: Json) -> float:
    """Slots of a generation next to each other."""
    _, _, number = str(node["slot"]).partition(".")
    place = int(number) if number.isdigit() else 0
    return float(node["generation"]) + 0.8 * (1 - 1 / (1 + place / 8)) - 0.2


def best_over_cost(run: Json) -> Curve | None:
    """The speed-up reached over what models cost; None where no model was asked."""
    if not run["calls"]:
        return None
    unit, positions = costs(run)
    title = f"Best so far over {unit}"
    if not any(trial.get("speedup") for trial in run["trials"]):
        return Curve(title, None, f"No trial was timed, so the speed-ups are {NOT_MEASURED}.")
    return _curve_over(run, title, unit, positions)


def costs(run: Json) -> tuple[str, list[float]]:
    """What had been spent on models when each trial was judged; tokens where a price is unknown."""
    replies = [(call["key"], _reply(call)) for call in run["calls"]]
    priced = all(reply.get("dollars") is not None for _, reply in replies if reply)
    sums, total = {}, 0.0
    for key, reply in replies:
        if reply and not reply["from_cache"]:
            total += reply["dollars"] if priced else reply["tokens_in"] + reply["tokens_out"]
        sums[key] = total
    costs, so_far = [], 0.0
    for trial in run["trials"]:
        so_far = max(so_far, sums.get(trial.get("call"), so_far))
        costs.append(so_far)
    return ("dollars" if priced else "tokens"), costs


def _reply(call: Json) -> Json:
    """The reply of a call; empty where there was none."""
    reply: Json = call.get("reply") or {}
    return reply if "text" in reply else {}


def _curve_over(run: Json, title: str, x_label: str, positions: Sequence[float]) -> Curve:
    points, steps, rows = [], [(0.0, 1.0)], []
    for trial, position, reached in zip(run["trials"], positions, run["best"], strict=True):
        kept, own, before = bool(trial["kept"]), reached["own"], reached["best"]
        if own is not None:
            kind = "kept" if kept else "refused"
            points.append(Point(position, own, f"trial {trial['number']}: {own:.2f}×", kind))
        if before is not None:
            steps.append((position, before))
        rows.append(
            (f"{trial['number']}", short(position), speedup(own), speedup(before), _word(kept))
        )
    chart = best_chart(points, steps, x_label, f"{title}: {_reached(steps)}")
    head = ("Trial", f"After {x_label}", "Speed-up", "Best so far", "Decision")
    is_tree = any(trial.get("node") for trial in run["trials"])
    return Curve(title, chart, _TREE_NOTE if is_tree else _BEST_NOTE, head, tuple(rows))


_BEST_NOTE = (
    "The line multiplies the measured speed-ups of the kept trials, each over its parent; the gain "
    "of the run is measured once more at its end. Circles are kept, crosses are refused; a trial "
    "that was not timed has no mark."
)

_TREE_NOTE = (
    "The line is the fastest text so far that may be returned. A text's speed-up over the original "
    "is that of its contests along the tree, or of one with the original where there was one; the "
    "gain of the run is measured at its end. Circles became the best, crosses did not; a "
    "trial that was not timed has no mark."
)


def _reached(steps: Sequence[tuple[float, float]]) -> str:
    return f"{steps[-1][1]:.2f} times as fast as the original at the end"


def _word(kept: bool) -> str:
    return "kept" if kept else "refused"


def roofline(run: Json) -> Curve:
    """What each timed trial reaches of the chip's peaks."""
    title, roof = "Roofline", run["roof"]
    if "missing" in roof:
        return Curve(title, None, f"There is no roofline: {roof['missing']}.")
    timed = [trial for trial in run["trials"] if trial.get("speedup")]
    intensity = roof["flop"] / roof["bytes"]
    least_us = max(roof["flop"] / roof["peak_flop"], roof["bytes"] / roof["peak_bytes"]) * 1e6
    marks = [("original", timed[0]["speedup"]["original_us"], "original")]
    marks += [
        (str(t["number"]), t["speedup"]["candidate_us"], "kept" if t["kept"] else "refused")
        for t in timed
    ]
    points = [Point(intensity, roof["flop"] / us * 1e6, name, kind) for name, us, kind in marks]
    rows = tuple(
        (name, time_text(us), f"{roof['flop'] / us / 1e6:.3g} TFLOP/s", f"{least_us / us:.1%}")
        for name, us, _ in marks
    )
    about = (
        f"Roofline of {roof['chip']} for {roof['case']}: {short(intensity)} operations a byte, "
        f"at least {time_text(least_us)} a call"
    )
    untimed = len(run["trials"]) - len(timed)
    note = (
        f"{about}. Peaks are those of the data sheet; operations and bytes are those that the spec "
        f"gives for one call. {untimed} of {len(run['trials'])} trials were not timed."
    )
    chart = roof_chart(roof["peak_flop"], roof["peak_bytes"], points, about)
    return Curve(title, chart, note, ("Trial", "Time", "Rate", "Share of the roof"), rows)
