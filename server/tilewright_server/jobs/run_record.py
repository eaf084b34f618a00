"""What is known of an optimization while it goes on, built from the engine's events."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tilewright_server import wording
from tilewright_server.run_view import (
    CandidateView,
    KernelFigures,
    RunHead,
    RunState,
    RunView,
    Verdict,
)

Json = Mapping[str, Any]
_SHARE_FROM = 10
"""Percent from which on the time that is left can be reckoned from the time that has passed."""
_SPEEDUP = ("value", "low", "high", "original_us", "candidate_us", "device", "case")
_STEPS = {
    "syntax": "parsing",
    "structure": "parsing",
    "compile": "compiling",
    "correctness": "checking its results",
    "estimate": "estimating its time",
    "speed": "timing",
}


class RunRecord:
    """One run: its head, its candidates by identity, and their texts.

    Attributes:
        sent: the text that it works on.
        around: what its verdicts depend on outside the file, as ``surroundings`` has it; None where
            that is not known.
        problem: the content hash of the spec, where that alone is on record.
    """

    def __init__(self, head: RunHead, text: str) -> None:
        self.head = head
        self.sent = text
        self.around: Mapping[str, str] | None = None
        self.problem: str | None = None
        self.notes: tuple[str, ...] = ()
        self._candidates: dict[str, CandidateView] = {}
        self._texts: dict[str, str] = {}
        self._began: float | None = None
        self._ended: float | None = None
        self._step = ""

    @property
    def view(self) -> RunView:
        """The run with its tree, as of now."""
        return RunView(self.now(), tuple(self._candidates.values()), self.notes)

    def text(self, candidate: str) -> str | None:
        """The text of a candidate or of the original."""
        return self._texts.get(candidate)

    def begin(self) -> None:
        """The engine starts to work; from here on the time counts."""
        if self._began is None:
            self._began = time.monotonic()
        self.change(state=RunState.RUNNING, position=0)

    def end(self, state: RunState, message: str) -> None:
        """Nothing of it is judged any more; of a candidate that was, nothing is said."""
        self._ended = time.monotonic()
        for name, one in self._candidates.items():
            if one.verdict is Verdict.JUDGING:
                said = "the run ended before its verdict"
                self._candidates[name] = replace(one, verdict=Verdict.BROKE_OFF, reason=said)
        position = None if state.is_over or state is RunState.OFFERED else self.head.position
        self.change(state=state, message=message, position=position)

    def change(self, **fields: Any) -> None:
        """Set fields of the head."""
        self.head = replace(self.head, **fields)

    def now(self) -> RunHead:
        """The head with the time that has passed, and an estimate of what is left."""
        elapsed = self._elapsed()
        return replace(self.head, elapsed_s=round(elapsed, 1), left_s=self._seconds_left(elapsed))

    def keep(self, one: CandidateView, text: str | None) -> None:
        """A candidate of a run on record, with its text where that is on record as well."""
        self._candidates[one.id] = one
        if text is not None:
            self._texts[one.id] = text

    def take(self, event: Json) -> CandidateView | None:
        """Bring it up to date; the candidate that the event is about, if it is about one."""
        known = {
            "started": self._started,
            "progress": self._progress,
            "step": self._stepped,
            "original": self._original,
            "judging": self._judging,
            "trial": self._trial,
        }
        take = known.get(str(event.get("event")))
        return take(event) if take is not None else None

    def words(self) -> str:
        """How far it is, for a person: what is done, how many, the best, the time."""
        head = self.now()
        said = [head.message.replace("_", " ") or "starting"]
        if self._step:
            said.append(self._step)
        if head.judged:
            kept = f", {head.kept} kept" if head.kept else ""
            said.append(f"{head.judged} tried{kept}")
        said.append(_seconds(head.elapsed_s))
        if head.left_s is not None:
            said.append(f"about {_seconds(head.left_s)} left (estimate)")
        return "; ".join(said)

    def best(self) -> CandidateView | None:
        """The candidate that was kept last."""
        kept = [one for one in self._candidates.values() if one.verdict is Verdict.KEPT]
        return max(kept, key=lambda one: one.number or 0, default=None)

    def _elapsed(self) -> float:
        if self._began is None:
            return self.head.elapsed_s  # of a run on record, else 0
        return (self._ended or time.monotonic()) - self._began

    def _seconds_left(self, elapsed: float) -> float | None:
        percent = self.head.percent or 0
        if self.head.state.is_over or self._ended is not None or percent < _SHARE_FROM:
            return None
        return round(elapsed * (100 - percent) / percent, 0)

    def _started(self, event: Json) -> None:
        self.change(record=str(event.get("run")))

    def _progress(self, event: Json) -> None:
        percent = event.get("percent")
        reached = max(self.head.percent or 0, int(percent)) if isinstance(percent, int) else None
        given = {
            "percent": reached,
            "stage": event.get("stage"),
            "judged": event.get("judged"),
            "budget": event.get("budget"),
            "best": event.get("best"),
            "cost": event.get("spent"),
        }
        self.change(**{name: value for name, value in given.items() if value is not None})
        self.change(message=wording.progress_text(event))
        self._step = ""

    def _stepped(self, event: Json) -> None:
        judged = next(
            (one for one in self._candidates.values() if one.verdict is Verdict.JUDGING), None
        )
        step = _STEPS.get(str(event.get("step")), "")
        self._step = f"candidate {self.head.judged + 1}: {step}" if judged and step else step

    def _original(self, event: Json) -> CandidateView:
        name = str(event.get("candidate"))
        self._texts[name] = self.sent
        return self._put(
            CandidateView(name, None, Verdict.ORIGINAL, figures=figures_of(event.get("figures")))
        )

    def _judging(self, event: Json) -> CandidateView:
        name = str(event.get("candidate"))
        self._texts[name] = str(event.get("text", ""))
        return self._put(
            CandidateView(
                name,
                _text(event.get("parent")),
                Verdict.JUDGING,
                stage=_text(event.get("stage")),
                proposer=str(event.get("proposer", "")),
                rationale=str(event.get("rationale", "")),
            )
        )

    def _trial(self, event: Json) -> CandidateView | None:
        trial = event.get("trial")
        if not isinstance(trial, Mapping):
            return None
        self._step = ""
        made = candidate_view(trial, event.get("figures"))
        if isinstance(event.get("text"), str):
            self._texts[made.id] = event["text"]
        kept = self.head.kept + (made.verdict is Verdict.KEPT)
        self.change(judged=max(self.head.judged, made.number or 0), kept=kept)
        return self._put(made)

    def _put(self, one: CandidateView) -> CandidateView:
        self._candidates[one.id] = one
        return one


def candidate_view(trial: Json, figures: Any) -> CandidateView:
    """A trial as the engine tells it, with what its compilers said."""
    number = int(trial.get("number") or 0)
    verdict = Verdict.KEPT if trial.get("kept") else Verdict.REFUSED
    node = trial.get("node")
    if isinstance(node, Mapping) and node.get("state") == "alive":
        verdict = Verdict.KEPT
    if trial.get("error"):
        verdict = Verdict.BROKE_OFF
    speedup, estimate = trial.get("speedup"), trial.get("estimate")
    measured = speedup if isinstance(speedup, Mapping) else None
    return CandidateView(
        str(trial.get("candidate") or f"trial {number}"),
        _text(trial.get("parent")),
        verdict,
        number,
        _text(trial.get("stage")),
        str(trial.get("proposer", "")),
        str(trial.get("rationale", "")),
        _text(trial.get("level")),
        str(trial.get("reason", "")),
        bool(trial.get("kept")),
        {name: measured.get(name) for name in _SPEEDUP} if measured is not None else None,
        estimate if isinstance(estimate, Mapping) else None,
        figures_of(figures),
        trial.get("seconds"),
    )


def figures_of(rows: Any) -> tuple[KernelFigures, ...]:
    """Rows of the engine, one a kernel; what is not one is left out."""
    if not isinstance(rows, Sequence):
        return ()
    return tuple(_kernel(row) for row in rows if isinstance(row, Mapping))


def _kernel(row: Json) -> KernelFigures:
    def span(name: str) -> Any:
        value = row.get(name)
        return (value[0], value[-1]) if isinstance(value, Sequence) and value else None

    return KernelFigures(
        str(row.get("kernel")),
        int(row.get("configurations") or 0),
        int(row.get("compiled") or 0),
        span("registers"),
        span("spill_bytes"),
        span("shared_bytes"),
        span("estimate_us"),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _seconds(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60} s"
