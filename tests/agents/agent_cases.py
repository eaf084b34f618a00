"""A file, a briefing and replies that the tests of the roles share."""

from tilewright.agents.briefing import Briefing
from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.problems.model import Entry, EntryKind
from tilewright.source import parse_module
from tilewright.targets.model import Target

KERNEL = '''# A header that stays.
"""Adds one."""

import torch
import triton
import triton.language as tl

SIZES = {"small": 64}  # by name


@triton.jit
def add_one_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x + 1, mask=offs < n)


# The wrapper.
def add_one(x):
    y = torch.empty_like(x)
    n = x.numel()
    add_one_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y


def test_add_one():
    x = torch.zeros(8)
    assert (add_one(x) == 1).all()


if __name__ == "__main__":
    print(add_one(torch.zeros(4)))
'''

ENTRY = Entry(EntryKind.FUNCTION, "add_one")
HOPPER = Target("cuda", "90")


def briefing(text: str = KERNEL, entry: Entry | None = ENTRY, **more: object) -> Briefing:
    """A briefing of a text, with what the detectors say of it."""
    context = AnalysisContext(HOPPER, (3, 6))
    known: dict[str, object] = {
        "context": context,
        "entry": entry,
        "problem": "Entry point: function add_one.\nTimed: bench[0]: x float32 [4096]",
        "issues": analyze(parse_module(text, "add.py"), context),
    }
    return Briefing("/home/somebody/add.py", text, text, **{**known, **more})  # type: ignore[arg-type]


def block(search: str, replace: str) -> str:
    """One SEARCH/REPLACE block."""
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


def fence(code: str, mark: str = "```", language: str = "python") -> str:
    """Code in a fence."""
    return f"{mark}{language}\n{code.rstrip()}\n{mark}\n"
