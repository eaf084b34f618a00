"""What the text says does not compile, next to what a compiler made of it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from tilewright.analysis.model import Issue
from tilewright.compiled.model import REFUSED
from tilewright.figures import enumerated
from tilewright.targets.model import CompileReport

CLAIMS = frozenset(
    (
        *("broadcast_mismatch", "dot_shape_mismatch", "dot_tile_too_small", "global_not_constexpr"),
        *("invalid_memory_option", "loop_carried_type_change", "non_power_of_two_arange"),
        *("other_without_mask", "removed_api", "shape_not_constexpr", "tile_as_condition"),
        *("undefined_name", "unsupported_syntax"),
    )
)
"""Issues that say that a kernel does not compile."""
_HINT = 1
_INFERRED = ", for an inferred launch, which may leave out this branch"


def settled(
    told: Iterable[Issue],
    found: Sequence[Issue],
    reports: Sequence[CompileReport],
    inferred: Collection[str],
) -> tuple[list[Issue], list[Issue]]:
    """Issues of the text and of a compiler's reports, where both are about one place.

    A claim of the text that the compiler's message is about says so, and the message is not told
    again. One about a kernel that compiles is a hint.

    Args:
        told: issues of the text, for the version of Triton that compiled.
        found: what ``compiled_issues`` made of the reports.
        inferred: kernels whose launches were not captured.
    """
    refusals = [issue for issue in found if issue.id == REFUSED]
    settled_: list[Issue] = []
    confirmed: set[int] = set()
    for issue in told:
        own = [report for report in reports if report.kernel == issue.kernel]
        if issue.id not in CLAIMS or not own:
            settled_.append(issue)
        elif all(report.ok for report in own):
            settled_.append(_withdrawn(issue, own, is_inferred=issue.kernel in inferred))
        else:
            same = [one for one in refusals if _is_same_place(issue, one)]
            confirmed.update(map(id, same))
            settled_.append(_confirmed(issue, own) if same else issue)
    return settled_, [issue for issue in found if id(issue) not in confirmed]


def _is_same_place(claim: Issue, refusal: Issue) -> bool:
    places = (claim.range, *(related.range for related in claim.related))
    return claim.kernel == refusal.kernel and any(
        place.line <= refusal.range.line <= place.end_line for place in places
    )


def _confirmed(issue: Issue, reports: Sequence[CompileReport]) -> Issue:
    where = "; ".join(_compilers(report for report in reports if not report.ok))
    return replace(issue, message=f"{issue.message} Confirmed: refused by {where}.")


def _withdrawn(issue: Issue, reports: Sequence[CompileReport], *, is_inferred: bool) -> Issue:
    where = "; ".join(_compilers(reports))
    text = f"{issue.message} But it compiled: {where}{_INFERRED if is_inferred else ''}."
    return replace(issue, message=text, severity=min(issue.severity, _HINT))


def _compilers(reports: Iterable[CompileReport]) -> Iterator[str]:
    """``triton 3.9.0 for cuda:80 and cuda:90``, for each Triton: not its assemblers."""
    by_version: dict[str, dict[str, None]] = {}
    for report in reports:
        version = report.toolchain.partition(",")[0]
        by_version.setdefault(version, {})[str(report.target)] = None
    for version, targets in by_version.items():
        yield f"{version} for {enumerated(list(targets))}"
