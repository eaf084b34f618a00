"""How many of the faults that rewinds put into clean kernels the detectors find.

``python tests/mutation/write_recall.py`` writes the table of ``docs/recall.md``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import tilewright.analysis  # noqa: F401
from tilewright.analysis.detectors.registry import table
from tilewright.analysis.flow import flow_of
from tilewright.analysis.model import AnalysisContext, Finding, Issue
from tilewright.knowledge.stages import Stage
from tilewright.rewrites import all_rewrites
from tilewright.rewrites.rewinds import Rewind, Rewound, all_rewinds
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Language, Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

HOST = {"call_outside_kernel", "device_host_sync", "method_not_called"}
"""Issues of host code, which are found beside the kernels."""

_EXTENT = 700
MOST = 3
"""Sites of one kernel that are tried for each issue: a long kernel has no more say than that."""


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

    @property
    def place(self) -> str:
        """File, kernel and line, to look at."""
        return f"{self.module.path}:{self.kernel}:{self.rewound.line} {self.rewound.form}"


def recall_of(found: Sequence[Trial]) -> float:
    """The share of faults found; 1 where there are none."""
    return sum(trial.found for trial in found) / len(found) if found else 1.0


def goes_back(trial: Trial) -> bool | None:
    """Whether the rewrite takes the fault out; None where it refuses, or nothing was found."""
    after = parse_module(trial.rewound.text, trial.module.path)
    kernel = after.kernel(trial.kernel)
    rewind, known = trial.rewind, trial.rewound.context
    (rewrite,) = (r for r in all_rewrites() if r.name == rewind.rewrite)
    if kernel is None:
        return None
    for finding in findings(after, kernel, rewind.issue, known):
        if finding.range.line != trial.rewound.line:
            continue
        supposed = known if known.launches else replace(known, launches=_launches(after, kernel))
        text = rewrite.apply(after, _issue(rewind.issue, kernel, finding), supposed)
        if isinstance(text, str):
            fixed = parse_module(text, trial.module.path)
            left = _lines(fixed, trial.kernel, rewind.issue, known)
            before = _lines(after, trial.kernel, rewind.issue, known)
            return len(left) < len(before)
    return None


def trials(modules: Iterable[Module], rewinds: Iterable[Rewind] | None = None) -> Iterator[Trial]:
    """Every rewind of every clean kernel of these modules."""
    chosen = tuple(rewinds if rewinds is not None else all_rewinds())
    for module in modules:
        for kernel in module.kernels:
            if kernel.language is Language.TRITON:
                for rewind in chosen:
                    yield from _tried(module, kernel, rewind)
                    clean = rewritten(module, kernel, rewind)
                    after = None if clean is None else clean.kernel(kernel.name)
                    if clean is not None and after is not None:
                        yield from _tried(clean, after, rewind)


def rewritten(module: Module, kernel: Kernel, rewind: Rewind) -> Module | None:
    """A module whose kernel has the issue, after the rewrite, where that applies."""
    (rewrite,) = (r for r in all_rewrites() if r.name == rewind.rewrite)
    for finding in findings(module, kernel, rewind.issue, AnalysisContext()):
        known = AnalysisContext(launches=_launches(module, kernel))
        text = rewrite.apply(module, _issue(rewind.issue, kernel, finding), known)
        if isinstance(text, str):
            return parse_module(text, module.path)
    return None


def _issue(issue: str, kernel: Kernel, finding: Finding) -> Issue:
    return Issue(issue, Stage.ALGORITHMIC, 3, finding.message, kernel.name, finding.range)


def _launches(module: Module, kernel: Kernel) -> tuple[LaunchFacts, ...]:
    """A launch on fp16 tensors with every integer at a size that one block holds."""
    pointers = {access.base for access in flow_of(module, kernel).accesses}
    arguments = [
        ArgumentFacts(p.name, "tensor", "*fp16")
        if p.name in pointers
        else ArgumentFacts(p.name, "int", "i32", _EXTENT)
        for p in kernel.parameters
        if not p.is_constexpr
    ]
    return (LaunchFacts(kernel.name, (64, 64), tuple(arguments)),)


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
    return [f.range.line for f in found if f.kernel == kernel or issue in HOST]


def findings(
    module: Module, kernel: Kernel | None, issue: str, context: AnalysisContext
) -> list[Finding]:
    """What one detector says of one kernel."""
    seen = module if issue in HOST else replace(module, focus=kernel)
    return list(table()[issue](seen, context))
