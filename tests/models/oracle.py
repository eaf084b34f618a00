"""An oracle model: a reply function for the scripted server that knows good edits and bad ones.

It reads the file and the goal out of the prompt and chooses among the changes that apply: our
rewrites, of which some gain more than others, and rewinds, which are correct and slower. Then it
slips at set rates: a syntax error, a name that Triton does not have, wrong results, no change at
all, or one of the cheats of ``tests/evidence``. On a later try it repairs what was refused, a slip
or its choice, with probability ``repairs`` if the observation names what is wrong, and with
``guesses`` if it does not.

The same request gives the same reply. Nothing measured with it says anything about a real model.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.knowledge.base import all_patterns
from tilewright.rewrites import rewrites_for
from tilewright.rewrites.model import Refusal
from tilewright.rewrites.rewinds import all_rewinds
from tilewright.source import parse_module

EVIDENCE = Path(__file__).parents[1] / "evidence"
_HEADING = re.compile(r"## (\d+)\. (.+)")
_NUMBER = re.compile(r" *\d+ \|(?: |(?=\n))")
_FENCE = re.compile(r"(`{3,})")
_FOUND = "The verifier found:"
_ENTRY = re.compile(r"^### `(\w+)`:", re.MULTILINE)
_PLAN = re.compile(r"Plan: (\S+) at line (\d+), draft (\w+)\.")


@dataclass(frozen=True)
class Knobs:
    """Rates of the choice of a change, of the slips in it, and of the repair of either.

    Attributes:
        follow: the probability to do what the goal says: a change that answers an issue of it.
        skill: the probability of the best change by ``GAINS`` where the goal is not followed; of
            all that apply, a random one otherwise.
        cheat: off, so that the slips of a first try add up to 0.4.
    """

    follow: float = 0.8
    skill: float = 0.5
    syntax: float = 0.05
    compile: float = 0.10
    wrong: float = 0.15
    noop: float = 0.10
    cheat: float = 0.0
    repairs: float = 0.6
    guesses: float = 0.1
    as_edits: float = 0.5


GAINS: Mapping[str, float] = {"goal": 1.25, "other": 1.05, "rewind": 0.9, "nothing": 1.0}
"""The table by which a change is better than another one: what each kind of it is worth."""


@dataclass(frozen=True)
class Edit:
    """A new text, and the rewrite or rewind that gives it.

    ``kind``: ``goal``: it answers an ``issue`` of the goal; ``other``: another one; ``rewind``;
    ``nothing``.
    """

    name: str
    line: int
    text: str
    kind: str = "goal"
    issue: str = ""

    @property
    def gain(self) -> float:
        """What the table says that the change is worth."""
        return GAINS[self.kind]


@dataclass(frozen=True)
class Slip:
    """One kind of mistake.

    Attributes:
        make: puts it into a text; None where it does not apply.
        clue: what an observation must say for the mistake to be found by it.
    """

    name: str
    make: Callable[[str, random.Random], str | None]
    clue: re.Pattern[str]


def sections(prompt: str) -> dict[int, str]:
    """The numbered sections of a prompt; a heading inside a fence is text."""
    found: dict[int, list[str]] = {}
    number, fence = 0, ""
    for line in prompt.splitlines():
        ticks = _FENCE.match(line)
        if ticks and not fence:
            fence = ticks[1]
        elif ticks and len(ticks[1]) >= len(fence) and not line.strip("` "):
            fence = ""
        heading = None if fence else _HEADING.fullmatch(line)
        if heading:
            number = int(heading[1])
        else:
            found.setdefault(number, []).append(line)
    return {number: "\n".join(lines).strip() for number, lines in found.items()}


def fences(text: str) -> Iterator[str]:
    """The texts in fences, in order."""
    fence, lines = "", list[str]()
    for line in text.splitlines():
        ticks = _FENCE.match(line)
        if ticks and not fence:
            fence, lines = ticks[1], []
        elif fence and ticks and len(ticks[1]) >= len(fence) and not line.strip("` "):
            fence = ""
            yield "\n".join(lines) + "\n"
        elif fence:
            lines.append(line)


def _calls(text: str, name: str) -> list[ast.Call]:
    """Calls of ``tl.name`` in the text."""
    return [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"tl.{name}"
    ]


def _span(text: str, node: ast.expr) -> tuple[int, int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (
        starts[node.lineno - 1] + node.col_offset,
        starts[node.end_lineno - 1] + node.end_col_offset,
    )


def _around_stored(text: str, draw: random.Random, before: str, after: str) -> str | None:
    """The text with what one store writes wrapped."""
    stores = [call for call in _calls(text, "store") + _calls(text, "atomic_add") if call.args[1:]]
    if not stores:
        return None
    begin, end = _span(text, draw.choice(stores).args[1])
    return f"{text[:begin]}{before}({text[begin:end]}){after}{text[end:]}"


def _unclosed(text: str, draw: random.Random) -> str | None:
    calls = _calls(text, "load") + _calls(text, "store")
    if not calls:
        return None
    end = _span(text, draw.choice(calls))[1]
    return text[: end - 1] + text[end:]


def _unknown_name(text: str, draw: random.Random) -> str | None:
    return _around_stored(text, draw, "tl.libdevice.rint", "")


def _wrong(text: str, draw: random.Random) -> str | None:
    return _around_stored(text, draw, "", draw.choice([" * 1.5", " + 1", " * 0"]))


SLIPS = (
    Slip("syntax", _unclosed, re.compile(r"syntax.*\bline \d+", re.I | re.S)),
    Slip("compile", _unknown_name, re.compile(r"\blibdevice\b")),
    Slip("wrong", _wrong, re.compile(r"differ|mismatch|expected", re.I)),
    Slip("noop", lambda text, draw: None, re.compile(r"chang|same|identical", re.I)),
    Slip("cheat", lambda text, draw: None, re.compile(r"\S.{40}", re.S)),
)
_CHOICE = re.compile(r"is not kept|\bslower\b|\bnot measurably faster\b|was tried before")
"""What an observation says of a change that is right and gains nothing."""


def good_edits(
    text: str, context: AnalysisContext, stage: str, wanted: Collection[str] = ()
) -> list[Edit]:
    """What our rewrites make of a text, those of the stage or of the wanted issues first."""
    module = parse_module(text, "kernel.py")
    found = []
    for issue in analyze(module, context):
        kind = "goal" if issue.stage.value == stage or issue.id in wanted else "other"
        for rewrite in rewrites_for(issue.id):
            new = rewrite.apply(module, issue, context)
            if not isinstance(new, Refusal) and new != text:
                found.append(Edit(rewrite.name, issue.range.line, new, kind, issue.id))
    return sorted(found, key=lambda edit: -edit.gain)


def bad_edits(text: str, context: AnalysisContext) -> list[Edit]:
    """What our rewinds make of it: correct, and worse."""
    module = parse_module(text, "kernel.py")
    return [
        Edit(rewind.name, rewound.line, rewound.text, "rewind")
        for rewind in all_rewinds()
        for kernel in module.kernels
        for rewound in rewind.apply(module, kernel, context)
        if rewound.text != text
    ]


def cheats_for(text: str) -> list[Path]:
    """The cheats of the evidence that are made from this text's base."""
    functions = _functions(text)
    bases = {
        path.parent.name
        for path in (EVIDENCE / "bases").glob("*/original.py")
        if _functions(path.read_text("utf-8")) <= functions
    }
    cheats = sorted((EVIDENCE / "cheats").glob("*.py"))
    return [path for path in cheats if path.name.partition("__")[0] in bases]


def _functions(text: str) -> set[str]:
    return set(re.findall(r"^def (\w+)", text, re.M))


def as_edits(old: str, new: str) -> str:
    """SEARCH/REPLACE blocks that make one text of the other; each SEARCH is unique in the old."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    blocks: list[tuple[int, int, int, int]] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if tag == "equal":
            continue
        above = below = 0
        while old.count("".join(before[a - above : b + below])) != 1 or a - above == b + below:
            above, below = min(above + 1, a), min(below + 1, len(before) - b)
        a, b, c, d = a - above, b + below, c - above, d + below
        if blocks and a < blocks[-1][1]:
            a, c = blocks[-1][0], blocks[-1][2]
            blocks.pop()
        blocks.append((a, b, c, d))
    return "\n".join(
        f"<<<<<<< SEARCH\n{''.join(before[a:b])}=======\n{''.join(after[c:d])}>>>>>>> REPLACE"
        for a, b, c, d in blocks
    )


_NOTHING = Edit("nothing", 0, "", "nothing")
_CHOSEN = "choice"


@dataclass(frozen=True)
class Look:
    """A look at an observation: the slip or the choice that it is about, and whether it named and
    repaired it."""

    slip: str
    named: bool
    repaired: bool
    observation: str


@dataclass(frozen=True)
class Oracle:
    """The model.

    ``context``: the target and the version of Triton that its analysis assumes.
    ``known``: good edits by (text, stage) that no rewrite gives.
    ``seed``: another one draws other slips for the same requests.
    ``seen``: the later tries, with what was slipped before and whether the observation named it.
    """

    knobs: Knobs = Knobs()
    context: AnalysisContext = field(default_factory=AnalysisContext)
    known: Mapping[tuple[str, str], Edit] = field(default_factory=dict)
    seed: int = 0
    seen: list[Look] = field(default_factory=list)

    def reply(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The answer to a chat request."""
        whole = "\n".join(message["content"] for message in messages)
        draw = random.Random(hashlib.sha256(f"{self.seed} {whole}".encode()).hexdigest())
        parts = sections(whole)
        if parts[1].startswith("You plan one change"):
            return self._plan(parts, draw)
        if role_of(whole) in ("analyzer", "planner"):
            return '```json\n{"issues": [], "order": [], "skip": [], "why": ""}\n```'
        text, stage = parent_of(parts), stage_of(parts)
        steps = parts.get(11, "")
        plans = list(_PLAN.finditer(steps))
        moves = self.moves(text, stage, wanted_issues(parts))
        if not plans:
            return self._answer(text, self._chosen(moves, draw), self._first_slip(draw), draw)
        tried, last = [_planned(moves, plan) for plan in plans], plans[-1][3]
        if self._is_repaired(last, steps.rpartition(_FOUND)[2], draw):
            if last != "clean":
                return self._answer(text, tried[-1], "clean", draw)
            left = [edit for edit in moves if edit not in tried]
            return self._answer(text, self._chosen(left, draw), self._first_slip(draw), draw)
        return self._answer(text, tried[-1], last, draw)

    def _plan(self, parts: Mapping[int, str], draw: random.Random) -> str:
        """A plan by an entry of the menu: one that answers an issue of the file, or any."""
        good = good_edits(parent_of(parts), self.context, "")
        entries = [all_patterns()[name] for name in _ENTRY.findall(parts[10])]
        best = [one for one in entries if any(edit.issue in one.issues for edit in good)]
        if not entries:
            return '{"plan": "Launch it otherwise.", "entry": null, "stage": "discovery"}'
        chosen = best[0] if best and draw.random() < self.knobs.skill else draw.choice(entries)
        plan = f"Apply {chosen.id}: {chosen.title}"
        return json.dumps({"plan": plan, "entry": chosen.id, "stage": chosen.stage.value})

    def moves(self, text: str, stage: str, wanted: Collection[str] = ()) -> list[Edit]:
        """The changes that apply to a text, the best first."""
        known = self.known.get((text, stage))
        good = [*([known] if known else []), *good_edits(text, self.context, stage, wanted)]
        every = [*good, *bad_edits(text, self.context)]
        by_text = {edit.text: edit for edit in reversed(every)}
        by_place = {(edit.name, edit.line): edit for edit in by_text.values()}
        return sorted(by_place.values(), key=lambda edit: -edit.gain)

    def _chosen(self, moves: Sequence[Edit], draw: random.Random) -> Edit:
        """One of the changes: as the goal says, the best, or any."""
        asked = [edit for edit in moves if edit.kind == "goal"]
        if not moves:
            return _NOTHING
        if asked and draw.random() < self.knobs.follow:
            moves = asked
        return moves[0] if draw.random() < self.knobs.skill else draw.choice(moves)

    def _first_slip(self, draw: random.Random) -> str:
        at, rates = draw.random(), self.knobs
        for slip in SLIPS:
            at -= getattr(rates, slip.name)
            if at < 0:
                return slip.name
        return "clean"

    def _is_repaired(self, last: str, observation: str, draw: random.Random) -> bool:
        """Whether what the last try was refused for is repaired: its slip, or else its choice."""
        clues = {slip.name: slip.clue for slip in SLIPS} | {"clean": _CHOICE}
        named = clues[last].search(observation) is not None
        repaired = draw.random() < (self.knobs.repairs if named else self.knobs.guesses)
        self.seen.append(Look(_CHOSEN if last == "clean" else last, named, repaired, observation))
        return repaired

    def _answer(self, text: str, edit: Edit, slip: str, draw: random.Random) -> str:
        new, slip = _slipped(text, edit.text or text, slip, draw)
        thought = f"Plan: {edit.name} at line {edit.line}, draft {slip}."
        short = slip not in ("noop", "cheat") and edit.kind != "nothing"
        if short and draw.random() < self.knobs.as_edits:
            return f"{thought}\n\n{as_edits(text, new)}\n"
        return f"{thought}\n\n```python\n{new}```\n"


def _slipped(text: str, good: str, slip: str, draw: random.Random) -> tuple[str, str]:
    """The text of an answer and its slip: none where it does not apply to the text."""
    if slip == "noop":
        return text, slip
    cheats = cheats_for(text) if slip == "cheat" else []
    if cheats:
        return draw.choice(cheats).read_text("utf-8"), slip
    made = next((one.make(good, draw) for one in SLIPS if one.name == slip), None)
    return (good, "clean") if made is None else (made, slip)


def _planned(moves: Sequence[Edit], plan: re.Match[str]) -> Edit:
    same = (edit for edit in moves if (edit.name, edit.line) == (plan[1], int(plan[2])))
    return next(same, _NOTHING)


def parent_of(parts: Mapping[int, str]) -> str:
    """The file in section 7, without its line numbers."""
    shown = next(fences(parts[7]))
    return "".join(_NUMBER.sub("", line, count=1) for line in shown.splitlines(keepends=True))


def stage_of(parts: Mapping[int, str]) -> str:
    """The stage in section 10; empty for one change of a search."""
    found = re.match(r"Stage `(\w+)`", parts[10])
    return found[1] if found else ""


def wanted_issues(parts: Mapping[int, str]) -> frozenset[str]:
    """The issues that the one transformation answers which section 10 asks for."""
    if not parts[10].startswith("Make this change"):
        return frozenset()
    names = _ENTRY.findall(parts[10])
    return frozenset(issue for name in names for issue in all_patterns()[name].issues)


def role_of(prompt: str) -> str:
    """Whom a prompt speaks to."""
    parts = sections(prompt)
    if parts[1].startswith("You look for"):
        return "analyzer"
    if parts[1].startswith("You plan"):
        return "planner"
    return "extractor" if "All tries at this goal have failed" in parts[10] else "optimizer"
