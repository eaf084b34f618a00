"""How a long command reports what it does: JSON lines, a bar on a terminal, or nothing."""

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tilewright.cli.output import ERR, StreamFormat, emit_event
from tilewright.strategies.model import Trial
from tilewright.strategies.observer import Observer, Silent, Standing
from tilewright.strategies.present import dump_standing, dump_trial, standing_words


class EventObserver:
    """Reports a run's progress as JSON lines."""

    def started(self, run: str, *, resumed: bool) -> None:
        emit_event("started", run=run, resumed=resumed)

    def progress(self, percent: int, message: str, standing: Standing | None = None) -> None:
        emit_event("progress", percent=percent, message=message, **dump_standing(standing))

    def trial(self, trial: Trial) -> None:
        emit_event("trial", trial=dump_trial(trial))


class BarObserver:
    """Shows a run's progress on standard error."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=ERR
        )
        self._task = self._bar.add_task("starting", total=100)

    def started(self, run: str, *, resumed: bool) -> None:
        self._bar.start()
        if resumed:
            self._bar.console.print(f"taking up run {run} where it was interrupted")

    def progress(self, percent: int, message: str, standing: Standing | None = None) -> None:
        said = f"{message}{standing_words(standing)}"
        self._bar.update(self._task, completed=percent, description=said)

    def trial(self, trial: Trial) -> None:
        mark = "kept" if trial.kept else "left"
        if trial.node is not None:
            mark = "best" if trial.kept else "kept" if trial.node.alive else "left"
        self._bar.console.print(
            f"{trial.number:3d} {mark} {trial.candidate.proposer}: {trial.reason}", markup=False
        )

    def close(self) -> None:
        self._bar.stop()


def observer_for(form: StreamFormat, *, diff: bool) -> Observer:
    """The observer of a command that answers in a format."""
    if form is StreamFormat.EVENTS:
        return EventObserver()
    if form is StreamFormat.TEXT and not diff and ERR.is_terminal:
        return BarObserver()
    return Silent()
