"""One file, checked."""

from dataclasses import dataclass, replace

from tilewright.analysis import AnalysisContext, analyze
from tilewright.analysis.model import Issue
from tilewright.analysis.suppression import Notice, notices
from tilewright.checking.configuration import Rules
from tilewright.source import parse_module
from tilewright.source.model import Module


@dataclass(frozen=True)
class Checked:
    """A file with the issues its project wants to hear of, and what is odd in its directives."""

    module: Module
    issues: tuple[Issue, ...]
    notices: tuple[Notice, ...]
    context: AnalysisContext


def check_text(text: str, path: str, rules: Rules, context: AnalysisContext) -> Checked:
    """Analyse a text under the rules of its project; what ``context`` states goes before them."""
    context = replace(
        context,
        target=context.target or rules.target,
        triton_version=context.triton_version or rules.triton,
    )
    module = parse_module(text, path)
    issues = tuple(i for i in analyze(module, context) if i.id in rules.issues)
    return Checked(module, issues, notices(module), context)
