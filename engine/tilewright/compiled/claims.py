"""What the text says does not compile, next to what a compiler made of it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from tilewright.analysis.detectors.constexpr_branches import branches_of
from tilewright.analysis.model import Issue
from tilewright.compiled.model import REFUSED
from tilewright.figures import enumerated
from tilewright.knowledge.api import Version
from tilewright.knowledge.model import HINT
from tilewright.source.model import Module
from tilewright.targets.model import CompileReport

CLAIMS = frozenset(
    (
        *("broadcast_mismatch", "dot_shape_mismatch", "dot_tile_too_small", "global_not_constexpr"),
        *("invalid_memory_option", "loop_carried_type_change", "non_power_of_two_arange"),
        *("other_without_mask", "removed_api", "shape_not_constexpr", "tile_as_condition"),
        *("undefined_name", "unsupported_syntax", "method_of_number"),
    )
)
"""Issues that say that a kernel does not compile."""


def reports_of(version: Version | None, reports: Iterable[CompileReport]) -> list[CompileReport]:
    """The reports of the Triton that a text was checked for; all where none was named."""
    wanted = "" if version is None else "triton {}.{}.".format(*version)
    return [report for report in reports if report.toolchain.startswith(wanted)]


def settled(
    module: Module,
    told: Iterable[Issue],
    found: Sequence[Issue],
    reports: Sequence[CompileReport],
    inferred: Collection[str],
) -> tuple[list[Issue], list[Issue]]:
    """Issues of the text and of a compiler's reports, where both are about one place.

    A claim of the text that the compiler's message is about says so, and the message is not told
    again. One about a kernel that compiles is a hint, unless it is about a branch that an inferred
    launch may leave out.

    Args:
        told: issues of the text, for the version of Triton that compiled.
        found: what ``compiled_issues`` made of the reports.
        inferred: kernels whose launches were not captured.
    """
    failed = {report.kernel for report in reports if not report.ok}
    refusals = [one for one in found if one.id == REFUSED and one.kernel in failed]
    settled_: list[Issue] = []
    confirmed: set[int] = set()
    for issue in told:
        same = [r for r in refusals if issue.id in CLAIMS and _is_same_place(issue, r)]
        own = [report for report in reports if report.kernel == issue.kernel]
        if same:
            # The compiler names the line of a function where it names the kernel that calls it.
            kernels = {one.kernel for one in same}
            refused = [r for r in reports if r.kernel in kernels and not r.ok]
            confirmed.update(map(id, same))
            settled_.append(
                _with_words(issue, f"Confirmed: {_compilers(refused)}: {_first_words(refused)}.")
            )
        elif issue.id in CLAIMS and own and all(report.ok for report in own):
            if issue.kernel in inferred and _is_in_branch(module, issue):
                settled_.append(issue)
            else:
                less = replace(issue, severity=min(issue.severity, HINT))
                settled_.append(_with_words(less, f"But it compiled: {_compilers(own)}."))
        else:
            settled_.append(issue)
    return settled_, [issue for issue in found if id(issue) not in confirmed]


def _is_same_place(claim: Issue, refusal: Issue) -> bool:
    places = (claim.range, *(related.range for related in claim.related))
    return any(place.line <= refusal.range.line <= place.end_line for place in places)


def _is_in_branch(module: Module, issue: Issue) -> bool:
    """Whether a condition decides if the compiler comes to a place."""
    kernel = module.kernel_at(issue.range.line)
    return kernel is not None and any(
        one.lineno <= issue.range.line <= (one.end_lineno or 0) for one in branches_of(kernel)
    )


def _first_words(reports: Sequence[CompileReport]) -> str:
    """What the compiler says first, in a line."""
    messages = (message for report in reports for message in report.messages)
    first = next(messages, None)
    return "no reason was given" if first is None else " ".join(first.text.split()).rstrip(".")


def _with_words(issue: Issue, further: str) -> Issue:
    return replace(issue, message=f"{issue.message} {further}")


def _compilers(reports: Iterable[CompileReport]) -> str:
    """``triton 3.9.0 for cuda:80 and cuda:90``, for each Triton: not its assemblers."""
    by_version: dict[str, dict[str, None]] = {}
    for report in reports:
        version = report.toolchain.partition(",")[0]
        by_version.setdefault(version, {})[str(report.target)] = None
    return "; ".join(f"{version} for {enumerated(list(on))}" for version, on in by_version.items())
