"""The optimizer and the extractor: ask for candidates of a stage, and for the best at its end."""

import re
from collections.abc import Mapping, Sequence

from tilewright.agents import cards, sections
from tilewright.agents.answers import AnswerError, answer, thought_of
from tilewright.agents.briefing import Briefing
from tilewright.agents.edits import applied
from tilewright.agents.model import Proposal, Step, Unusable
from tilewright.agents.prompt import Prompt, whole
from tilewright.agents.templates import sentences
from tilewright.knowledge.stages import Stage
from tilewright.models.model import Role
from tilewright.textfile import one_line

_SENTENCE = re.compile(r"(?<=[.!?])\s")
_MOST_RATIONALE = 200
_NO_REASON = "the model gave no reason"

PURPOSES: Mapping[Stage, str] = {
    Stage.CORRECTNESS: "results that are wrong, or wrong for some inputs.",
    Stage.ALGORITHMIC: "fewer operations or passes by another algorithm, such as an online softmax "
    "or tiles that stay on the chip.",
    Stage.DISCOVERY: "a gain that no other stage describes.",
    Stage.DTYPE_FIX: "types of operands, accumulators and constants that cost conversions or "
    "precision.",
    Stage.FUSION: "fewer launches and fewer trips to memory: work on a tile while it is on the "
    "chip.",
    Stage.MEMORY_ACCESS: "loads and stores that are contiguous, wide, masked once and made once.",
    Stage.BLOCK_POINTERS: "tensor descriptors or pointer arithmetic that suits the hardware.",
    Stage.PERSISTENT_KERNEL: "programs that stay and take several tiles, where launches or "
    "the last wave cost time.",
    Stage.DEVICE_SPECIFIC: "what this chip does better than others, and what it does badly.",
    Stage.AUTOTUNING: "tile shapes, warps, stages and what the autotuner chooses from.",
}
"""What each stage is about."""


def build(
    briefing: Briefing,
    stage: Stage,
    steps: Sequence[Step] = (),
    limit_tokens: int | None = None,
    role: Role = Role.OPTIMIZER,
) -> Prompt:
    """The prompt for one try; where it would exceed ``limit_tokens``, the oldest steps go first.

    Args:
        role: the extractor asks for the best candidate after the last try of a stage has failed.
    """
    here = [issue for issue in sections.by_severity(briefing.issues) if issue.stage is stage]
    issues = dict.fromkeys(issue.id for issue in here)
    goal = sentences(
        role.value,
        "goal",
        stage=stage.value,
        purpose=PURPOSES[stage],
        issues=cards.listed(issues),
        measured=briefing.measured,
    )
    parts = (
        (whole(1, "TASK", sentences(role.value, "role")), ()),
        sections.language(briefing, role),
        sections.chip(briefing, role),
        sections.problem(briefing, role),
        sections.schedule(briefing, role),
        sections.experiences(briefing, role),
        sections.parent(briefing, role),
        sections.facts(briefing, role, sections.issue_name),
        sections.tried(briefing, role),
        sections.goal(goal, here, cards.pattern_items(briefing, stage), role),
    )
    bare, _ = sections.goal(goal, here, (), role)
    outline = sections.Outline(role, parts, tuple(steps), bare)
    return sections.prompt(outline, limit_tokens)


def parse(reply: str, briefing: Briefing) -> Proposal | Unusable:
    """What the reply makes of ``briefing.text``."""
    try:
        given = answer(reply)
    except AnswerError as error:
        return Unusable(str(error), thought_of(reply))
    try:
        text = applied(given, briefing.text, briefing.entry)
    except AnswerError as error:
        return Unusable(str(error), given.thought)
    return Proposal(text, given.thought, _rationale(given.thought))


def _rationale(thought: str) -> str:
    """The first sentence of the reasoning, in one line."""
    plain = " ".join(thought.replace("**", "").lstrip("#*-> \n").split())
    first = _SENTENCE.split(plain, 1)[0].strip(" *#`")
    if len(first) > _MOST_RATIONALE:
        first = f"{first[:_MOST_RATIONALE].rpartition(' ')[0]} [...]"
    return one_line(first) or _NO_REASON


def shortened(steps: Sequence[Step]) -> tuple[Step, ...] | None:
    """The steps without the oldest, for a model that cannot read so much; None where one is left.

    A step is four entries of the trajectory: thought, call, candidate and observation.
    """
    return tuple(steps[1:]) if len(steps) > 1 else None
