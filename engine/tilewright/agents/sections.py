"""The sections of a prompt, each from a briefing, and the prompt that they make.

Sections 1 to 4 are the same for a whole run, those up to 8 for a text that the search has reached;
those after them change with the candidates, the goal and the try.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tilewright.agents import cards
from tilewright.agents.answers import lines_of
from tilewright.agents.briefing import Briefing
from tilewright.agents.model import Step
from tilewright.agents.prompt import (
    PARENT_TOKENS,
    Prompt,
    Section,
    estimated,
    fenced,
    numbered,
    section,
    whole,
)
from tilewright.agents.protected import protected
from tilewright.agents.segments import UNPARSABLE, Segment, by_name, needed, segments
from tilewright.agents.templates import sentences
from tilewright.analysis.model import Issue
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import UNMEASURED
from tilewright.models.model import Role
from tilewright.problems.permissions import PERMISSIONS
from tilewright.source import parse_module
from tilewright.textfile import one_line

Part = tuple[Section | None, tuple[str, ...]]
CAPS = {2: 2500, 3: 300, 4: 1500, 5: 600, 6: 2000, 7: PARENT_TOKENS, 8: 900, 9: 400, 11: 1500}
"""Tokens of each section at most. Those that are not listed are never cut."""
MENU_TOKENS = 2000
"""Of the issues and transformations that section 10 shows with the goal."""
_ISSUE_TOKENS = 800
MOST_TOKENS = 14_000
"""Of a whole prompt, where the model does not ask for less."""
_GOAL = 10
_LET_GO = (9, 5, 6, _GOAL, 8)
"""Sections that are left out, in this order, where a prompt would be too long; of the goal, the
transformations alone."""
_MOST_NAMES = 12
_SHORT = 160
_FIRST_FACTS = 6


def language(briefing: Briefing, role: Role) -> Part:
    """Section 2: the language in this version."""
    version = briefing.triton_version
    package = cards.nki_package(briefing)
    lead = sentences(
        role.value,
        "language",
        version=f"{version[0]}.{version[1]}" if version else "",
        target=str(briefing.target) if briefing.target else "",
        package=package,
    )
    return section(2, "LANGUAGE", cards.language_items(briefing), CAPS[2], lead=lead)


def chip(briefing: Briefing, role: Role) -> Part:
    """Section 3: the chip's figures."""
    found = cards.chip_items(briefing)
    if found is None:
        why = (
            f"no figures of {briefing.target} are known" if briefing.target else "no target is set"
        )
        return None, (f"section 3 (CHIP): {why}",)
    lead = sentences(role.value, "chip", label=found[0], chip=found[1])
    return section(3, "CHIP", found[2], CAPS[3], lead=lead)


def problem(briefing: Briefing, role: Role) -> Part:
    """Section 4: what the file is run on, and what the project permits."""
    items = [one_line(line.strip()) for line in lines_of(briefing.problem) if line.strip()]
    allowed = sorted(briefing.permissions & set(PERMISSIONS))
    lead = sentences(
        role.value,
        "problem",
        permitted=[(name, PERMISSIONS[name]) for name in allowed],
        refused=[(name, PERMISSIONS[name]) for name in PERMISSIONS if name not in allowed],
        has_problem=bool(items),
    )
    found, cut = section(4, "PROBLEM", items, CAPS[4], lead=lead, wrap=fenced)
    return found or whole(4, "PROBLEM", lead), cut


def schedule(briefing: Briefing, role: Role) -> Part:
    """Section 5: the run's guidance, and what it has done so far."""
    items = [f"- {one_line(line)}" for line in briefing.schedule]
    advice = "\n".join(f"- {one_line(line)}" for line in briefing.guidance)
    lead = sentences(role.value, "schedule")
    lead = f"{advice}\n\n{lead}" if advice else lead
    found, cut = section(5, "SCHEDULE", items, CAPS[5], lead=lead, wrap=fenced)
    return (whole(5, "SCHEDULE", advice) if found is None and advice else found), cut


def experiences(briefing: Briefing, role: Role) -> Part:
    """Section 6: what earlier runs have shown."""
    lead = sentences(role.value, "experiences")
    items = briefing.experiences
    return section(6, "EXPERIENCES", items, CAPS[6], lead=lead, joint="\n\n", wrap=fenced)


def goal(text: str, issues: Sequence[Issue], menu: Sequence[str], role: Role) -> Part:
    """Section 10: the goal with its issues, and transformations that may serve it."""
    lines = [f"- {one_line(issue_words(issue))}" for issue in issues]
    while lines and estimated("\n".join(lines)) > _ISSUE_TOKENS:
        lines.pop()
    known = f"{text}\n\n{fenced(chr(10).join(lines))}" if lines else text
    bare = whole(_GOAL, "GOAL", known)
    lead = f"{known}\n\n{sentences(role.value, 'patterns')}"
    cap = whole(_GOAL, "GOAL", text).tokens + MENU_TOKENS
    found, cut = section(_GOAL, "GOAL", menu, cap, lead=lead, joint="\n\n")
    left = len(issues) - len(lines)
    gone = (f"section 10 (GOAL): {left} of {len(issues)} issues left out",) if left else ()
    return found or bare, (*gone, *cut)


def issue_types(briefing: Briefing, role: Role) -> Part:
    """Section 6 of the analyzer: what may be reported by id."""
    lead = sentences(role.value, "types")
    return section(6, "ISSUE TYPES", cards.type_items(briefing), CAPS[6], lead=lead)


def parent(briefing: Briefing, role: Role) -> Part:
    """Section 7: the file with line numbers; of a long one, the parts that matter most."""
    module = parse_module(briefing.text, briefing.file_name)
    try:
        found, _ = segments(briefing.text)
    except UNPARSABLE:
        found = ()
    lines = lines_of(briefing.text)
    fixed = [f"`{one.title}` (line {one.line})" for one, _ in protected(found, briefing.entry)]
    kernels = [f"`{k.name}` (line {k.range.line})" for k in module.kernels]
    lead = sentences(
        role.value,
        "parent",
        name=briefing.file_name,
        lines=len(lines),
        kernels=_some(kernels),
        entry=_entry_name(briefing, found),
        instead=_stand_in(briefing, found),
        protected=_some(fixed),
    )
    shown = numbered(lines)
    full = whole(7, "FILE", f"{lead}\n\n{fenced(chr(10).join(shown), 'python')}")
    if full.tokens <= CAPS[7]:
        return full, ()
    if not found:
        return section(7, "FILE", shown, CAPS[7], lead=lead, wrap=_as_python)
    return _most_of(found, shown, lead, briefing)


def _entry_name(briefing: Briefing, found: Sequence[Segment]) -> str:
    """What the problem calls in the file; empty where that is in another one."""
    entry = briefing.entry
    return entry.name_in(by_name(found)) if entry is not None and entry.path is None else ""


def _stand_in(briefing: Briefing, found: Sequence[Segment]) -> str:
    """The name under which the file may define an entry point in place of the one it has."""
    name = _entry_name(briefing, found)
    preferred = briefing.entry.preferred if briefing.entry is not None else None
    return preferred if preferred and name and name != preferred else ""


def _as_python(text: str) -> str:
    return fenced(text, "python")


def _most_of(found: Sequence[Segment], shown: Sequence[str], lead: str, briefing: Briefing) -> Part:
    """Whole statements of the file, kernels and what the entry point comes to first."""
    entry = _entry_name(briefing, found)
    kernels = {k.name for k in parse_module(briefing.text, briefing.file_name).kernels}
    work = {id(s) for s in needed([entry], found)}
    order = sorted(
        found,
        key=lambda s: (
            not kernels.intersection(s.names),
            id(s) not in work,
            not s.is_import,
            s.line,
        ),
    )
    kept = list(order)

    def text() -> str:
        return f"{lead}\n\n{_as_python(chr(10).join(_shown(kept, shown)))}"

    while kept and estimated(text()) > CAPS[7]:
        kept.pop()
    left = [s for s in found if s not in kept]
    at = ", ".join(f"{s.line}-{s.last_line}" for s in left)
    return whole(7, "FILE", text()), (f"section 7 (FILE): lines {at} left out",)


def _shown(kept: Sequence[Segment], numbered: Sequence[str]) -> Iterator[str]:
    """Lines of the kept statements, with a row for each gap."""
    done = 0
    for one in sorted(kept, key=lambda s: s.line):
        if one.line - 1 > done and any(
            not line.endswith("|") for line in numbered[done : one.line - 1]
        ):
            yield f"(lines {done + 1} to {one.line - 1} are not shown)"
        yield from numbered[one.line - 1 : one.last_line]
        done = one.last_line
    if done < len(numbered):
        yield f"(lines {done + 1} to {len(numbered)} are not shown)"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


def facts(briefing: Briefing, role: Role, words: Callable[[Issue], str] | None = None) -> Part:
    """Section 8: the first facts of the text, its issues by severity, and the other facts.

    ``words``: of an issue; all that is known of it by default.
    """
    known = [f"- {one_line(fact)}" for fact in briefing.facts]
    found = (f"- {one_line((words or issue_words)(one))}" for one in by_severity(briefing.issues))
    items = [*known[:_FIRST_FACTS], *found, *known[_FIRST_FACTS:]]
    lead = sentences(role.value, "facts")
    return section(8, "FACTS", items, CAPS[8], lead=lead, wrap=fenced)


def by_severity(issues: Sequence[Issue]) -> list[Issue]:
    """Issues, the most severe first."""
    return sorted(issues, key=lambda i: (-i.severity, i.range.line, i.id))


def issue_name(issue: Issue) -> str:
    """An issue with its place, in a few words."""
    return f"line {issue.range.line}: {issue.id} ({issue.stage.value})"


def issue_words(issue: Issue) -> str:
    """An issue with its place, severity, fix and what the fix is worth."""
    known = taxonomy().get(issue.id)
    fix = (
        f" Fix: {' '.join(known.fix.split())}" if known and "suspected_by" not in issue.data else ""
    )
    gain = issue.data.get("gain") or (known.gain if known else UNMEASURED)
    worth = f" Estimated gain: {gain}." if gain != UNMEASURED else ""
    where = f"line {issue.range.line}" + (f", kernel {issue.kernel}" if issue.kernel else "")
    return (
        f"{where}: {issue.id} ({issue.stage.value}, severity {issue.severity} of 5): "
        f"{issue.message}{fix}{worth}"
    )


def tried(briefing: Briefing, role: Role) -> Part:
    """Section 9: earlier candidates, one line each."""
    items = [f"- {one_line(line)}" for line in briefing.tried]
    lead = sentences(role.value, "tried")
    return section(9, "TRIED", items, CAPS[9], lead=lead, wrap=fenced)


def steps(found: Sequence[Step], role: Role) -> Part:
    """Section 11: earlier tries at the stage, the newest last.

    Over the cap, the oldest become one line each; then the newest goes without its diff; then the
    oldest are left out.
    """
    if not found:
        return None, ()
    brief = [_in_a_line(step, n) for n, step in enumerate(found, 1)]
    full = [_step(step, n) for n, step in enumerate(found, 1)]
    last = _step(replace(found[-1], diff=""), len(found))
    choices = [[*brief[:n], *full[n:]] for n in range(len(found))]
    choices.append([*brief[:-1], last])
    choices += [brief[n:] for n in range(len(found))]
    lead = sentences(role.value, "steps")
    for items in choices:
        text = "\n\n".join((lead, *items))
        if estimated(text) <= CAPS[11]:
            cut = f"section 11 (TRIES): {len(found)} tries are shown in short"
            return whole(11, "TRIES", text), (cut,) if items != full else ()
    return None, (f"section 11 (TRIES): {len(found)} tries left out",)


def _step(step: Step, number: int) -> str:
    parts = [f"### Try {number}"]
    if step.thought:
        parts += ["You wrote:", fenced(step.thought)]
    if step.diff:
        parts += ["You changed:", fenced(step.diff, "diff")]
    return "\n\n".join((*parts, "The verifier found:", fenced(step.observation)))


def _in_a_line(step: Step, number: int) -> str:
    thought, seen = (_start(text) for text in (step.thought, step.observation))
    return f"### Try {number}\n\n{fenced(f'{thought} -> {seen}')}"


def _start(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _SHORT else f"{plain[:_SHORT].rpartition(' ')[0]} [...]"


@dataclass(frozen=True)
class Outline:
    """A prompt before its length is known; ``goal`` is section 10 without its transformations."""

    role: Role
    parts: tuple[Part, ...]
    steps: tuple[Step, ...] = ()
    goal: Section | None = None


def prompt(outline: Outline, limit_tokens: int | None) -> Prompt:
    """The prompt of an outline. Where it would exceed the limit, the oldest tries are left out
    first, then whole sections that help without being needed."""
    found = _prompt_with_steps(outline, outline.steps)
    limit = MOST_TOKENS if limit_tokens is None else min(limit_tokens, MOST_TOKENS)
    left = outline.steps
    while found.tokens > limit and len(left) > 1:
        left = left[1:]
        cut = f"section 11 (TRIES): the oldest {len(outline.steps) - len(left)} left out"
        found = _prompt_with_steps(outline, left, (cut,))
    for number in _LET_GO:
        if found.tokens <= limit:
            break
        found = _bare(found, outline.goal) if number == _GOAL else _without_section(found, number)
    return found


def _prompt_with_steps(
    outline: Outline, left: Sequence[Step], more: tuple[str, ...] = ()
) -> Prompt:
    parts = (*outline.parts, steps(left, outline.role))
    there = sorted((one for one, _ in parts if one is not None), key=lambda s: s.number)
    return Prompt(outline.role, tuple(there), (*(cut for _, cuts in parts for cut in cuts), *more))


def _bare(found: Prompt, bare: Section | None) -> Prompt:
    """The prompt with the goal alone in section 10."""
    if bare is None or bare in found.sections:
        return found
    left = tuple(bare if one.number == _GOAL else one for one in found.sections)
    cut = "section 10 (GOAL): transformations left out, as the prompt would be too long"
    return Prompt(found.role, left, (*found.cut, cut))


def _without_section(found: Prompt, number: int) -> Prompt:
    gone = [one for one in found.sections if one.number == number]
    if not gone:
        return found
    left = tuple(one for one in found.sections if one.number != number)
    cut = f"section {number} ({gone[0].name}): left out, as the prompt would be too long"
    return Prompt(found.role, left, (*found.cut, cut))
