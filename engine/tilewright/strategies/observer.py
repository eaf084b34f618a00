"""How a run reports what it does, without knowing who listens."""

from dataclasses import dataclass
from typing import Protocol

from tilewright.evaluation.model import Candidate, Evaluation, StepName
from tilewright.knowledge.stages import Stage
from tilewright.models.model import Spent
from tilewright.strategies.model import Trial


@dataclass(frozen=True)
class Standing:
    """Where a run stands.

    Attributes:
        attempt: the number of the model's try in this stage; None where no model is asked.
        best: the product of the kept speed-ups; None where nothing was kept or timed.
        spent: on models; None where no model is asked in this run.
        judged, budget: candidates that were judged, and that may be.
    """

    stage: Stage | None = None
    attempt: int | None = None
    best: float | None = None
    spent: Spent | None = None
    judged: int | None = None
    budget: int | None = None


class Observer(Protocol):
    """Hears of a run's progress; must return quickly."""

    def started(self, run: str, *, resumed: bool) -> None: ...

    def progress(self, percent: int, message: str, standing: Standing | None = None) -> None: ...

    def original(self, text: str, evaluation: Evaluation) -> None:
        """The text to optimize ran; what compilers say of it."""
        ...

    def judging(self, candidate: Candidate, stage: Stage) -> None:
        """A candidate is about to be judged."""
        ...

    def step(self, step: StepName) -> None:
        """A step of the text that is being judged begins."""
        ...

    def trial(self, trial: Trial) -> None: ...


class Silent:
    """An observer that ignores everything."""

    def started(self, run: str, *, resumed: bool) -> None:
        del run, resumed

    def progress(self, percent: int, message: str, standing: Standing | None = None) -> None:
        del percent, message, standing

    def original(self, text: str, evaluation: Evaluation) -> None:
        del text, evaluation

    def judging(self, candidate: Candidate, stage: Stage) -> None:
        del candidate, stage

    def step(self, step: StepName) -> None:
        del step

    def trial(self, trial: Trial) -> None:
        del trial
