"""What the memory holds, what it is asked, and what it gives back."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from tilewright.evaluation.model import Evaluation
from tilewright.knowledge.stages import Stage
from tilewright.search.node import Idea
from tilewright.serialize import dump


class Outcome(StrEnum):
    """Whether the change made the kernel faster or slower, by the bound of its interval."""

    HELPED = "helped"
    HURT = "hurt"


class Origin(StrEnum):
    """``MINED``: a rewind of a good kernel, measured alone. ``CONTEST``: a step of a search."""

    MINED = "mined"
    CONTEST = "contest"


@dataclass(frozen=True)
class Signature:
    """What a kernel computes, as far as issues and their fixes leave it alone.

    Attributes:
        dot: whether it has a matrix product.
        reductions: functions that reduce a tile, each with ``axis`` or ``all``, sorted.
        elementwise: classes of elementwise functions ("exp", "sqrt", ...), sorted.
        launches: of kernels in the file; 0 where none is known.
        dtypes: element types of the tensors, sorted; empty where they are not known.
        rank: most dimensions of a tensor of the problem; None where that is not known.
        chip: "cuda:90"; "" where no chip is chosen.
        tiles: kinds of tiles ("dot", "row", "elementwise"), sorted.
        extents: of the problem's largest tensor; empty where they are not known.
    """

    language: str
    dot: bool = False
    reductions: tuple[str, ...] = ()
    elementwise: tuple[str, ...] = ()
    launches: int = 0
    dtypes: tuple[str, ...] = ()
    rank: int | None = None
    chip: str = ""
    tiles: tuple[str, ...] = ()
    extents: tuple[int, ...] = ()

    @property
    def backend(self) -> str:
        """ "cuda" of "cuda:90"."""
        return self.chip.partition(":")[0]

    @property
    def operations(self) -> str:
        """Everything that has to be equal for two problems to be related, as one word."""
        parts = [
            self.language, self.dot, self.reductions, self.elementwise, self.launches,
            self.dtypes, self.rank, self.chip,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Condition:
    """A precondition of a pattern that held where the entry was measured.

    ``name`` and ``parameters`` are those of the knowledge base, so that it can be asked again of
    another kernel; an empty name is a sentence for a person alone.
    """

    statement: str
    name: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Provenance:
    """Where an entry comes from.

    Attributes:
        project: the root folder of the project (``projects.project_of``).
        path: of the file, below that root.
        kernel: hash of the text that was made slower or faster.
        run: id of the run in the store; "" for what was mined.
        generation: of the run's tree; 0 for what was mined.
    """

    project: str
    path: str
    kernel: str
    run: str
    origin: Origin
    generation: int = 0


@dataclass(frozen=True)
class Measured:
    """The contest behind an entry: how much faster the text is after the change.

    ``before`` and ``after`` are figures of the compilers on both sides, where they are known.
    """

    ratio: float
    low: float
    high: float
    device: str
    case: str
    before: Mapping[str, float] = field(default_factory=dict)
    after: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Experience:
    """A change that was measured, and where it may be made again.

    Attributes:
        key: what was changed, without its place: "rewrite:hoist_load", "pattern:...", "free:...".
        issue: the taxonomy id that the change removes; None where it names none.
        mechanism: why it is faster or slower; of the taxonomy, never of a person's file.
        when: what held where it helped; ``avoid``: what held where it hurt, and the taxonomy's
            exception.
        diff: hunks from the text before to the text after.
        identifiers: names that the diff touches, for the search by words.
        private: its title may quote the file, as a model's free text or a launch's names do.
        shared: its project permits others to see its code.
        bank_id: the id in the bank, of an entry without the parts that the id is made of.
    """

    outcome: Outcome
    key: str
    issue: str | None
    stage: Stage | None
    title: str
    mechanism: str
    signature: Signature
    measured: Measured
    source: Provenance
    bottleneck: str | None = None
    when: tuple[Condition, ...] = ()
    avoid: tuple[Condition, ...] = ()
    diff: str = ""
    identifiers: tuple[str, ...] = ()
    private: bool = False
    shared: bool = False
    created: str = ""
    bank_id: str = ""

    @property
    def id(self) -> str:
        """The same for the same change of the same text on the same chip, in any run."""
        if self.bank_id:
            return self.bank_id
        parts = [
            self.source.project, self.source.kernel, self.key, self.signature.chip,
            self.signature.extents, hashlib.sha256(self.diff.encode()).hexdigest(),
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Step:
    """One step of a schedule: a key as of ``Experience``, and what it gained over its parent."""

    key: str
    text: str
    issue: str | None
    stage: Stage | None
    ratio: float


@dataclass(frozen=True)
class Schedule:
    """The ideas on the path to a run's best text, in their order.

    ``ratio`` and its interval are of the best text over the original, measured at the end.
    """

    signature: Signature
    steps: tuple[Step, ...]
    ratio: float
    low: float
    high: float
    source: Provenance
    shared: bool = False
    created: str = ""

    @property
    def id(self) -> str:
        """The same for the same steps on the same problem."""
        parts = [
            self.source.project, self.source.kernel, dump(self.signature),
            [step.key for step in self.steps],
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _not_known(condition: Condition) -> bool | None:
    """The answer of a text of which nothing is known."""
    del condition
    return None


@dataclass(frozen=True)
class Query:
    """What a search wants to know: a text, what is known of it, and who asks.

    Attributes:
        project: the asking project; entries of others come without code.
        kernel: the kernel asked about, the same for all texts of a run.
        issues: ids that are found in the text.
        bottleneck: of its profile; None where there is none.
        words: identifiers and words of the text.
        text: its hash.
        asks: whether a condition holds in the text; None: not known.
    """

    project: str
    kernel: str
    signature: Signature
    issues: tuple[str, ...] = ()
    bottleneck: str | None = None
    words: tuple[str, ...] = ()
    text: str = ""
    asks: Callable[[Condition], bool | None] = field(default=_not_known, compare=False)


@dataclass(frozen=True)
class Recalled:
    """An entry that fits a query, how well, and why in words for a person.

    The code and the names of an entry of another project are left out.
    """

    entry: Experience
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Transition:
    """A step of a search from a text to the next, with its contest.

    Attributes:
        before, after: the texts.
        bottleneck: of the text before, where a profile named one.
        source: the run, the project and the file; ``kernel`` is the hash of ``before``.
        when: the conditions of the idea's issue that held in the text before.
    """

    before: str
    after: str
    idea: Idea | None
    evaluation: Evaluation
    signature: Signature
    source: Provenance
    facts_before: Mapping[str, float] = field(default_factory=dict)
    facts_after: Mapping[str, float] = field(default_factory=dict)
    bottleneck: str | None = None
    when: tuple[Condition, ...] = ()


class Memory(Protocol):
    """The memory of one run: what the bank held when it began, and what the run learned."""

    def recall(self, query: Query, k: int) -> Sequence[Recalled]:
        """The ``k`` best entries of each outcome; nothing where nothing fits."""
        ...

    def learn(self, transition: Transition) -> None:
        """Take in what became of a step."""
        ...

    def version(self) -> str:
        """What the run recalls from, as a hash."""
        ...


def key_of(idea: Idea) -> str:
    """An idea's id without its place, the same on every text."""
    return idea.id.partition("@")[0].partition("#")[0]


def condition_word(condition: Condition) -> str:
    """A condition as one word: equal conditions have the same."""
    return f"{condition.name}:{json.dumps(dict(condition.parameters), sort_keys=True)}"
