"""From compile reports to issues: every rule over every report, merged."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.analysis.model import Issue
from tilewright.analysis.suppression import visible_issues
from tilewright.compiled.model import Probe, Rule, Seen, Subject
from tilewright.compiled.rules import RULES
from tilewright.figures import enumerated
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import IssueType
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import CompileReport, LaunchFacts, Target, in_a_line

_NUMBER = re.compile(r"\d+")


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
        inferred: kernels whose launches were not captured; what rests on their arguments alone is
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


@dataclass(frozen=True)
class Sighting:
    """What a rule said of a report."""

    seen: Seen
    report: CompileReport
    inferred: bool = False


def merged(
    kind: IssueType, kernel: str, sightings: Sequence[Sighting], reports: Sequence[CompileReport]
) -> Iterator[Issue]:
    """Issues of one kind and one kernel.

    Args:
        reports: all of this kernel, those of which nothing was said too.
    """
    told: dict[tuple[object, ...], list[tuple[Target, Sighting]]] = {}
    for group in _by_place_and_target(sightings):
        worst = max(group, key=lambda one: one.seen.amount)
        target = worst.report.target
        which = _which(group, worst, [r for r in reports if r.target == target])
        which += ", for an inferred launch" if worst.inferred else ""
        seen = worst.seen
        form = _NUMBER.sub("#", seen.what)
        key = (seen.where, seen.lead, which, form, seen.do, seen.severity)
        told.setdefault(key, []).append((target, worst))
    for common, found in told.items():
        yield _issue(kind, kernel, str(common[2]), found)


def _by_place_and_target(sightings: Iterable[Sighting]) -> Iterable[list[Sighting]]:
    groups: dict[tuple[object, ...], list[Sighting]] = {}
    for one in sightings:
        groups.setdefault((one.seen.where, one.report.target), []).append(one)
    return groups.values()


def _issue(
    kind: IssueType, kernel: str, which: str, found: Sequence[tuple[Target, Sighting]]
) -> Issue:
    targets = [str(target) for target, _ in found]
    worst = found[0][1]
    seen, report = worst.seen, worst.report
    lead = seen.lead.format(targets=enumerated(targets), which=which)
    what = _joined([one.seen.what for _, one in found])
    text = f"{lead}{what}; {seen.do}." if seen.do else f"{lead}{what}."
    return Issue(
        id=kind.id,
        stage=kind.stage,
        severity=min(kind.severity, seen.severity or kind.severity),
        message=text[:1].upper() + text[1:],
        kernel=kernel,
        range=seen.where,
        data={
            "targets": ",".join(targets),
            "toolchain": report.toolchain,
            "configuration": in_a_line(report.launch.settings),
            **seen.data,
        },
    )


def _joined(texts: Sequence[str]) -> str:
    """Texts that differ in numbers alone, in one: "25 and 72 instructions"."""
    numbers = zip(*(_NUMBER.findall(text) for text in texts), strict=True)
    said = iter([enumerated(list(dict.fromkeys(each))) for each in numbers])
    return _NUMBER.sub(lambda _: next(said), texts[0])


def _which(group: Sequence[Sighting], worst: Sighting, reports: Sequence[CompileReport]) -> str:
    """How many of a target's reports it holds for, and for which most; empty where there is one."""
    launches = list({_identity(r.launch): r.launch for r in reports}.values())
    holds = {_identity(one.report.launch) for one in group}
    if len(launches) < 2:
        return ""
    varying = _varying(launches)
    noun = "configurations" if varying else "launches"
    if len(holds) < len(launches):
        told = f"{len(holds)} of {len(launches)}"
    else:
        told = "both" if len(launches) == 2 else f"all {len(launches)}"
    example = _example(worst.report.launch, varying) or _types(worst.report.launch, launches)
    if len({one.seen.amount for one in group}) > 1:
        example = f"worst {example}" if example else ""
    elif len(holds) > 1:
        example = ""
    return f" in {told} {noun}{f' ({example})' if example else ''}"


def _example(launch: LaunchFacts, varying: Sequence[str]) -> str:
    settings = launch.settings
    return " ".join(f"{name}={settings[name]}" for name in varying if name in settings)


def _types(launch: LaunchFacts, launches: Sequence[LaunchFacts]) -> str:
    """The first argument whose type is not the same in all launches."""
    for argument in launch.arguments:
        given = (other.argument(argument.name) for other in launches)
        if len({each.type for each in given if each is not None}) > 1:
            return f"{argument.name}: {argument.type}"
    return ""


def _varying(launches: Sequence[LaunchFacts]) -> list[str]:
    """Constexprs and options that are not the same in all launches."""
    all_settings = [launch.settings for launch in launches]
    names = dict.fromkeys(name for settings in all_settings for name in settings)
    return [n for n in names if len({str(settings.get(n)) for settings in all_settings}) > 1]


def _identity(launch: LaunchFacts) -> str:
    return repr((launch.arguments, launch.grid, sorted(launch.options.items())))
