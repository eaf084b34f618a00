"""What the roles give back, and the steps of the loop of tries."""

from dataclasses import dataclass

from tilewright.knowledge.stages import Stage


@dataclass(frozen=True)
class Step:
    """One earlier try of a stage.

    Attributes:
        thought: what the model said before its answer.
        diff: unified, against the text that the stage began with; empty for an unusable reply.
        observation: what the verifier found, or why the reply was unusable.
    """

    thought: str
    diff: str
    observation: str


@dataclass(frozen=True)
class Proposal:
    """A whole new text of the file, with the model's reasons.

    Attributes:
        thought: the text before the answer, for the next try's prompt.
        rationale: its first sentence, for a person.
    """

    text: str
    thought: str
    rationale: str


@dataclass(frozen=True)
class Unusable:
    """A reply that gives no text; ``message`` says what to change in it, to the model and to a
    person."""

    message: str
    thought: str = ""


@dataclass(frozen=True)
class ProposedIssue:
    """An issue that a model reports and no detector found.

    Attributes:
        id: of the taxonomy; None for an open-ended issue.
        line: 1-based, in the file.
        evidence: the words of the source that show it.
        gain: the estimated speed-up, 1.2 for 20 %; None where the model gave none.
    """

    id: str | None
    title: str
    stage: Stage
    severity: int
    line: int
    evidence: str
    fix: str
    gain: float | None
