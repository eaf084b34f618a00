"""A changed byte of what was verified makes a certificate stale; an edit elsewhere does not."""

import pytest
from certified_samples import FILE, ORIGINAL, TEXT, certificate, subject

from tilewright.certificates.staleness import State, state_of
from tilewright.source import parse_module


def held(text: str) -> State:
    return state_of(certificate(), parse_module(text, FILE))


def test_the_verified_text_is_current() -> None:
    assert held(TEXT).is_current
    assert not held(TEXT).elsewhere


def test_every_changed_byte_of_what_is_covered_is_noticed() -> None:
    covered = TEXT.index("@triton.jit\ndef scale"), TEXT.index("@triton.jit\ndef negate")
    unnoticed = [
        at
        for at in range(*covered)
        if TEXT[at] not in "\n" and held(TEXT[:at] + "~" + TEXT[at + 1 :]).is_current
    ]
    assert unnoticed == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("UNUSED = 4", "UNUSED = 5"),
        ("-x, mask", "x, mask"),
        ("BLOCK=128", "BLOCK=64"),
        ("print(double", "print(negate"),
        ("nothing to do with", "nothing in common with"),
        ("import torch\n", "import os\nimport torch\n\n# a comment\n"),
        ("\n", "\r\n"),
    ],
)
def test_an_edit_elsewhere_leaves_it_valid(old: str, new: str) -> None:
    state = held(TEXT.replace(old, new))
    assert state.is_current
    assert state.elsewhere


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2.0)", "3.0)", "double_kernel changed (line 24)"),
        ("x * factor", "factor * x", "scale changed (line 15)"),
        ("WIDTH = 256", "WIDTH = 512", "WIDTH changed (line 9)"),
        ("n / WIDTH", "n // WIDTH", "blocks changed (line 28)"),
        ("    y = torch.empty_like(x)\n", "", "double changed (line 32)"),
        ("    mask = offsets < n\n", "    mask = (\n        offsets < n\n    )\n",
         "double_kernel changed (lines 22-24)"),
        ("import math", "import numpy as math", "blocks changed"),
        ("def scale(", "def scaled(", "scale is gone"),
        ("UNUSED = 4", "torch.set_default_dtype(torch.float64)",
         "torch.set_default_dtype(torch.float64) changed"),
    ],
)  # fmt: skip
def test_it_says_what_changed_and_where(old: str, new: str, said: str) -> None:
    state = held(TEXT.replace(old, new))
    assert not state.is_current
    assert said in next(change.text for change in state.changes)


def test_a_kernel_hears_of_its_own_change_first() -> None:
    state = held(TEXT.replace("WIDTH = 256", "WIDTH = 1").replace("2.0)", "3.0)"))
    assert [c.part for c in state.changes] == ["WIDTH", "double_kernel"]
    assert [c.part for c in state.of_kernel("double_kernel")] == ["double_kernel", "WIDTH"]


def test_going_back_makes_it_current_again() -> None:
    assert not held(ORIGINAL).is_current
    assert held(ORIGINAL.replace("x + x", "scale(x, 2.0)")).is_current


def test_a_file_that_does_not_parse_for_a_moment_is_stale_only_where_it_is_broken() -> None:
    assert held(TEXT.replace("return x\n", "return (x\n")).is_current
    assert not held(TEXT.replace("return x * factor", "return x * (factor")).is_current


def test_a_certificate_without_line_marks_names_the_part_alone() -> None:
    parts = tuple(type(p)(p.name, p.kind, p.hash) for p in subject().parts)
    own = certificate(subject=type(subject())(FILE, "0" * 32, ("double",), (), parts))
    state = state_of(own, parse_module(TEXT.replace("2.0)", "3.0)"), FILE))
    assert [change.text for change in state.changes] == ["double_kernel changed"]
