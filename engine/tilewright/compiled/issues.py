"""From compile reports to issues: every rule over every report, merged."""

from collections.abc import Collection, Mapping, Sequence

from tilewright.analysis.model import Issue
from tilewright.analysis.suppression import visible_issues
from tilewright.compiled.merging import Sighting, merged
from tilewright.compiled.model import Probe, Rule, Subject
from tilewright.compiled.rules import RULES
from tilewright.knowledge import taxonomy
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import CompileReport


def compiled_issues(
    module: Module,
    reports: Sequence[CompileReport],
    probe: Probe | None = None,
    inferred: Collection[str] = (),
) -> tuple[Issue, ...]:
    """The issues that reports of a module's kernels show, by position.

    Several launches, configurations and targets of a kernel belong into one call: what they have
    in common is said once. What the file's own comments suppress is left out.

    Args:
        module: the text that was compiled, so that the lines of the reports are its own.
        probe: confirms reasons by compiling variations of a launch; costs compile time.
        inferred: kernels whose launches nobody has made; what rests on their arguments alone is
            not said, and the rest says that it was assumed.
    """
    issues: list[Issue] = []
    for name in dict.fromkeys(report.kernel for report in reports):
        kernel = module.kernel(name)
        if kernel is not None:
            own = tuple(report for report in reports if report.kernel == name)
            issues += _of_kernel(module, kernel, own, probe, name in inferred)
    ordered = sorted(issues, key=lambda issue: (issue.range, issue.id, issue.message))
    return visible_issues(module, ordered)


def _of_kernel(
    module: Module,
    kernel: Kernel,
    reports: tuple[CompileReport, ...],
    probe: Probe | None,
    inferred: bool,
) -> list[Issue]:
    subjects = [Subject(module, kernel, report, reports, probe, inferred) for report in reports]
    types = taxonomy()
    found: list[Issue] = []
    for issue_id, rule in RULES.items():
        sightings = [Sighting(seen, s.report, inferred) for s in subjects for seen in rule(s)]
        found += merged(types[issue_id], kernel.name, sightings, reports)
    return found


def rules() -> Mapping[str, Rule]:
    """The rule of each issue that reports can show."""
    return RULES
