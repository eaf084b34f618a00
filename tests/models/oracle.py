"""An oracle model: a reply function for the scripted server that knows good edits and bad ones.

It reads the file out of the prompt, applies one of our rewrites (a good edit) or rewinds (a bad
one), and slips at set rates: a syntax error, a name that Triton does not have, wrong results, no
change at all, or one of the cheats of ``tests/evidence``. On a later try it repairs its slip with
probability ``repairs`` if the observation names what is wrong, and with ``guesses`` if it does not.

The same request gives the same reply. Nothing measured with it says anything about a real model.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.rewrites import rewrites_for
from tilewright.rewrites.model import Refusal
from tilewright.rewrites.rewinds import all_rewinds
from tilewright.source import parse_module

EVIDENCE = Path(__file__).parents[1] / "evidence"
_HEADING = re.compile(r"## (\d+)\. (.+)")
_NUMBER = re.compile(r" *\d+ \|(?: |(?=\n))")
_FENCE = re.compile(r"(`{3,})")
_FOUND = "The verifier found:"
_PLAN = re.compile(r"Plan: (\S+) at line (\d+), draft (\w+)\.")


@dataclass(frozen=True)
class Knobs:
    """Rates of the slips of a first try, and of their repair on a later one.

    ``bad`` is the share of rewinds in the edits: they are correct, and only a clock refuses them.
    """

    syntax: float = 0.05
    compile: float = 0.10
    wrong: float = 0.15
    noop: float = 0.10
    cheat: float = 0.05
    bad: float = 0.0
    repairs: float = 0.6
    guesses: float = 0.1
    as_edits: float = 0.5


@dataclass(frozen=True)
class Edit:
    """A new text, and the rewrite or rewind that gives it."""

    name: str
    line: int
    text: str


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


def good_edits(text: str, context: AnalysisContext, stage: str) -> list[Edit]:
    """What our rewrites make of a text in one stage."""
    module = parse_module(text, "kernel.py")
    found = []
    for issue in analyze(module, context):
        for rewrite in rewrites_for(issue.id) if issue.stage.value == stage else ():
            new = rewrite.apply(module, issue, context)
            if not isinstance(new, Refusal) and new != text:
                found.append(Edit(rewrite.name, issue.range.line, new))
    return found


def bad_edits(text: str, context: AnalysisContext) -> list[Edit]:
    """What our rewinds make of it: correct, and worse."""
    module = parse_module(text, "kernel.py")
    return [
        Edit(rewind.name, rewound.line, rewound.text)
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


@dataclass(frozen=True)
class Look:
    """A look at an observation: the slip that it is about, and whether it named and repaired it."""

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
        if role_of(whole) in ("analyzer", "planner"):
            return '```json\n{"issues": [], "order": [], "skip": [], "why": ""}\n```'
        text = parent_of(parts)
        steps = parts.get(11, "")
        plans = list(_PLAN.finditer(steps))
        if plans:
            observation = steps.rpartition(_FOUND)[2]
            slip = self._next_slip(plans[-1][3], observation, draw)
            edit = self._planned(text, stage_of(parts), plans[-1])
        else:
            slip = self._first_slip(draw)
            edit = self._chosen(text, stage_of(parts), draw)
        return self._answer(text, edit, slip, draw)

    def _chosen(self, text: str, stage: str, draw: random.Random) -> Edit:
        good = self._good(text, stage)
        if good and draw.random() >= self.knobs.bad:
            return good[0]
        bad = bad_edits(text, self.context)
        return draw.choice(bad) if bad and self.knobs.bad else Edit("nothing", 0, text)

    def _planned(self, text: str, stage: str, plan: re.Match[str]) -> Edit:
        every = [*self._good(text, stage), *bad_edits(text, self.context)]
        same = (e for e in every if (e.name, e.line) == (plan[1], int(plan[2])))
        return next(same, Edit("nothing", 0, text))

    def _good(self, text: str, stage: str) -> list[Edit]:
        known = self.known.get((text, stage))
        return [*([known] if known else []), *good_edits(text, self.context, stage)]

    def _first_slip(self, draw: random.Random) -> str:
        at, rates = draw.random(), self.knobs
        for slip in SLIPS:
            at -= getattr(rates, slip.name)
            if at < 0:
                return slip.name
        return "clean"

    def _next_slip(self, last: str, observation: str, draw: random.Random) -> str:
        named = any(slip.name == last and slip.clue.search(observation) for slip in SLIPS)
        repaired = draw.random() < (self.knobs.repairs if named else self.knobs.guesses)
        self.seen.append(Look(last, named, repaired, observation))
        return "clean" if repaired else last

    def _answer(self, text: str, edit: Edit, slip: str, draw: random.Random) -> str:
        new = self._slipped(text, edit.text, slip, draw)
        thought = f"Plan: {edit.name} at line {edit.line}, draft {slip}."
        short = slip not in ("noop", "cheat") and edit.name != "nothing"
        if short and draw.random() < self.knobs.as_edits:
            return f"{thought}\n\n{as_edits(text, new)}\n"
        return f"{thought}\n\n```python\n{new}```\n"

    def _slipped(self, text: str, good: str, slip: str, draw: random.Random) -> str:
        if slip == "noop":
            return text
        if slip == "cheat":
            cheats = cheats_for(text)
            return draw.choice(cheats).read_text("utf-8") if cheats else text
        made = next((one.make(good, draw) for one in SLIPS if one.name == slip), good)
        return good if made is None else made


def parent_of(parts: Mapping[int, str]) -> str:
    """The file in section 7, without its line numbers."""
    shown = next(fences(parts[7]))
    return "".join(_NUMBER.sub("", line, count=1) for line in shown.splitlines(keepends=True))


def stage_of(parts: Mapping[int, str]) -> str:
    """The stage in section 10."""
    found = re.match(r"Stage `(\w+)`", parts[10])
    assert found, parts[10]
    return found[1]


def role_of(prompt: str) -> str:
    """Whom a prompt speaks to."""
    parts = sections(prompt)
    if parts[1].startswith("You look for"):
        return "analyzer"
    if parts[1].startswith("You plan"):
        return "planner"
    return "extractor" if "All tries at this goal have failed" in parts[10] else "optimizer"
