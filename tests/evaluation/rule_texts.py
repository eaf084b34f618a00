"""Candidates of a short kernel, and what the rules say of a text against its original."""

from pathlib import Path

from tilewright.evaluation.rules.comparison import Verdict, rule_verdict
from tilewright.problems.model import Entry, EntryKind
from tilewright.source import parse_module

BASES = Path(__file__).parents[1] / "evidence" / "bases"
AXPY = (BASES / "axpy" / "original.py").read_text()
ENTRY = Entry(EntryKind.FUNCTION, "axpy")
HEAD = "def axpy(x: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:\n"
LAUNCH = "    axpy_kernel[(triton.cdiv(n, 256),)](x, y, out, alpha, n, BLOCK=256)\n"


def held(
    text: str, original: str = AXPY, entry: Entry | None = ENTRY, allow: tuple[str, ...] = ()
) -> Verdict:
    before, after = parse_module(original, "original.py"), parse_module(text, "candidate.py")
    return rule_verdict(before, after, entry, allow)


def before_launch(*lines: str) -> str:
    assert LAUNCH in AXPY
    return AXPY.replace(LAUNCH, "".join(f"    {line}\n" for line in lines) + LAUNCH)


def at_module_level(*lines: str) -> str:
    return AXPY.replace(HEAD, "".join(f"{line}\n" for line in lines) + "\n\n" + HEAD)
