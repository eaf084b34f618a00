"""How many of the faults that rewinds put into clean kernels the detectors find.

``python tests/mutation/recall.py`` writes the table of ``docs/recall.md``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tilewright.analysis import analyze
from tilewright.analysis.detectors.registry import needs_whole_file, table
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.rewrites.rewinds import Rewind, Rewound, all_rewinds
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language, Module

__all__ = ["Trial", "analyze", "trials"]

MOST = 6
"""Sites of one kernel that are tried: a long kernel has no more say than that."""


@dataclass(frozen=True)
class Trial:
    """One fault put in, and what the detector said."""

    rewind: Rewind
    module: Module
    kernel: str
    rewound: Rewound
    lines: tuple[int, ...]

    @property
    def found(self) -> bool:
        """Whether the detector points at the line of the fault."""
        return self.rewound.line in self.lines


def trials(modules: Iterable[Module], rewinds: Iterable[Rewind] | None = None) -> Iterator[Trial]:
    """Every rewind of every clean kernel of these modules."""
    chosen = tuple(rewinds if rewinds is not None else all_rewinds())
    for module in modules:
        for kernel in module.kernels:
            if kernel.language is Language.TRITON:
                for rewind in chosen:
                    yield from _tried(module, kernel, rewind)


def _tried(module: Module, kernel: Kernel, rewind: Rewind) -> Iterator[Trial]:
    count = 0
    for rewound in rewind.apply(module, kernel, AnalysisContext()):
        if count == MOST:
            return
        if _lines(module, kernel.name, rewind.issue, rewound.context):
            continue
        count += 1
        after = parse_module(rewound.text, module.path)
        lines = _lines(after, kernel.name, rewind.issue, rewound.context)
        yield Trial(rewind, module, kernel.name, rewound, tuple(lines))


def _lines(module: Module, kernel: str, issue: str, context: AnalysisContext) -> list[int]:
    """Lines of one kernel on which an issue is found."""
    found = findings(module, module.kernel(kernel), issue, context)
    return [f.range.line for f in found if f.kernel == kernel or needs_whole_file(issue)]


def findings(
    module: Module, kernel: Kernel | None, issue: str, context: AnalysisContext
) -> list[Finding]:
    """What one detector says of one kernel."""
    seen = module if needs_whole_file(issue) else replace(module, focus=kernel)
    return list(table()[issue](seen, context))
