"""How a run tells what it does, without knowing who listens."""

from typing import Protocol

from tilewright.strategies.model import Trial


class Observer(Protocol):
    """Hears of a run's progress; must return quickly."""

    def started(self, run: str, *, resumed: bool) -> None: ...

    def progress(self, percent: int, message: str) -> None: ...

    def trial(self, trial: Trial) -> None: ...


class Silent:
    """An observer that ignores everything."""

    def started(self, run: str, *, resumed: bool) -> None:
        del run, resumed

    def progress(self, percent: int, message: str) -> None:
        del percent, message

    def trial(self, trial: Trial) -> None:
        del trial
