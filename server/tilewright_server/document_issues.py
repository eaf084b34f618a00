"""The issues of a document: those of its text, and those of its kernels' compiled code.

Where a compiler has judged what the text says does not compile, the issue of the text says so and
the compiler's is not shown again (``compiled.claims``).
"""

from dataclasses import dataclass

from tilewright.analysis.model import Issue
from tilewright.analysis.suppression import visible_issues
from tilewright.compiled.claims import reports_of, settled
from tilewright_server.analysis_cache import Analysis
from tilewright_server.kernel_facts import CompiledFacts, KernelFactStore
from tilewright_server.snapshot import Snapshot


@dataclass(frozen=True)
class DocumentIssues:
    """What is shown of a document.

    Attributes:
        told: issues of the text, with what compilers made of them, and those of its launches of
            imported kernels.
        compiled: what else is known of each compiled kernel.
    """

    told: tuple[Issue, ...]
    compiled: tuple[tuple[CompiledFacts, tuple[Issue, ...]], ...] = ()

    def every(self) -> list[Issue]:
        """What the text shows, and then what its compiled code shows."""
        return [*self.told, *(issue for _, issues in self.compiled for issue in issues)]


def document_issues(
    store: KernelFactStore, snapshot: Snapshot, analysis: Analysis
) -> DocumentIssues:
    """The issues of a document, as far as its kernels have been compiled as they are."""
    facts = tuple(store.all_compiled(analysis, snapshot))
    found = store.imported_launches(snapshot)
    imported = tuple(issue for issue in found if issue.id not in analysis.silenced)
    if not facts:
        return DocumentIssues((*analysis.issues, *imported))
    shown = [compiled_issues_now(analysis, each) for each in facts]
    told, rest = settled(
        analysis.module,
        analysis.issues,
        [issue for issues in shown for issue in issues],
        reports_of(analysis.context.triton_version, (r for one in facts for r in one.reports)),
        {one.kernel for one in facts if one.origin == "inferred"},
    )
    left = set(map(id, rest))
    kept = (tuple(issue for issue in issues if id(issue) in left) for issues in shown)
    return DocumentIssues((*told, *imported), tuple(zip(facts, kept, strict=True)))


def compiled_issues_now(analysis: Analysis, facts: CompiledFacts) -> tuple[Issue, ...]:
    """A kernel's compiled issues in the text as it is now, without the ignored ones."""
    issues = facts.issues_in(analysis.module)
    return visible_issues(analysis.module, issues, analysis.silenced)
