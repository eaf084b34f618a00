"""What a rewind is: a deterministic edit that puts an issue into a kernel that lacks it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilewright.analysis.model import AnalysisContext
from tilewright.source.model import Kernel, Module


@dataclass(frozen=True)
class Rewound:
    """A text with one issue put in.

    Attributes:
        line: the 1-based line of the text on which the issue starts.
        context: what has to be known in addition to the text for the issue to be one.
        form: which spelling of the issue it is, where a rewind has several.
    """

    text: str
    line: int
    context: AnalysisContext
    form: str = ""


@dataclass(frozen=True)
class Rewind:
    """The inverse of a rewrite.

    Attributes:
        issue: the taxonomy id it puts in.
        name: "rewind_sigmoid".
        rewrite: the rewrite that it undoes.
        applies: where the result has the issue by the issue's definition; one sentence.
        apply: a text for each site and spelling; nothing where no site qualifies.
    """

    issue: str
    name: str
    rewrite: str
    applies: str
    apply: Callable[[Module, Kernel, AnalysisContext], Iterator[Rewound]]
