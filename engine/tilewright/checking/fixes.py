"""``check --fix``: rewrites that change no result, applied until none is left."""

from dataclasses import dataclass

from tilewright.analysis import AnalysisContext
from tilewright.analysis.model import Issue
from tilewright.checking.checked import Checked, check_text
from tilewright.checking.configuration import Rules
from tilewright.rewrites import Numerics, Refusal, Rewrite, rewrites_for
from tilewright.source import parse_module

_AT_MOST = 200


@dataclass(frozen=True)
class Fix:
    """A rewrite that was applied, and the issue it was applied to as it then stood."""

    rewrite: Rewrite
    issue: Issue


@dataclass(frozen=True)
class Fixed:
    """The text after all fixes, the fixes, and the remaining messages."""

    text: str
    fixes: tuple[Fix, ...]
    checked: Checked


def fix_text(text: str, path: str, rules: Rules, context: AnalysisContext) -> Fixed:
    """Apply exact rewrites one by one; each result is parsed and analysed before the next."""
    fixes: list[Fix] = []
    checked = check_text(text, path, rules, context)
    while len(fixes) < _AT_MOST:
        step = _next(checked)
        if step is None:
            break
        fix, text = step
        fixes.append(fix)
        checked = check_text(text, path, rules, context)
    return Fixed(text, tuple(fixes), checked)


def is_exact(rewrite: Rewrite) -> bool:
    """Whether results stay the same bit for bit, so that no confirmation is needed."""
    return rewrite.numerics is Numerics.EXACT


def _next(checked: Checked) -> tuple[Fix, str] | None:
    module = checked.module
    for issue in checked.issues:
        for rewrite in filter(is_exact, rewrites_for(issue.id)):
            result = rewrite.apply(module, issue, checked.context)
            if isinstance(result, Refusal) or result == module.text:
                continue
            if not parse_module(result, module.path).problems:
                return Fix(rewrite, issue), result
    return None
