"""What is said of kernels that nothing launches, or that do not compile."""

from textwrap import indent

import pytest

from tilewright.analysis import AnalysisContext, Issue, analyze
from tilewright.source import parse_module

_TEXT = """
import torch, triton
import triton.language as tl

@triton.jit
def used(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)

@triton.jit
def kept(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0))

def copy(x):
    y = torch.empty_like(x)
    used[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
"""
_SUMS = """
import triton
import triton.language as tl

@triton.jit
def sums(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    {first} = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(x, axis=0))
"""


def _found(text: str, issue: str) -> list[Issue]:
    return [one for one in analyze(parse_module(text, "kernels.py")) if one.id == issue]


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        ("", 2),
        ("# kept[(1,)](x, y, 1, BLOCK=128)", 2),
        ('__all__ = ["copy", "kept"]', 5),
        ("KERNELS = {True: used, False: kept}", 5),
        ("def twice(x, y):\n    kept[(2,)](x, y, x.numel())", 5),
    ],
)
def test_what_hangs_on_launches_is_advice_in_a_kernel_that_nothing_mentions(
    more: str, severity: int
) -> None:
    tuner = '@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 128)], key=["n"])\n'
    kept = "@triton.jit\ndef kept("
    added = _TEXT.replace(kept, tuner + kept).replace(
        "tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0))",
        "tl.atomic_add(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)",
    )
    (issue,) = _found(added + more + "\n", "autotune_missing_reset")
    assert issue.severity == severity


@pytest.mark.parametrize(
    "more", ["", "def twice(x, y):\n    kept[(2,)](x, y, x.numel(), BLOCK=128)"]
)
def test_a_mask_that_callers_may_make_needless_is_a_hint(more: str) -> None:
    (issue,) = _found(_TEXT + more + "\n", "missing_boundary_check")
    assert issue.severity == 1


@pytest.mark.parametrize(
    ("issue", "severity"), [("missing_boundary_check", 1), ("undefined_name", 5)]
)
def test_in_a_file_without_launches_every_kernel_may_be_used(issue: str, severity: int) -> None:
    text = _TEXT[: _TEXT.index("def copy")]
    if issue == "undefined_name":
        text = text.replace("other=0.0))", "other=0.0) + missing)")
    (found,) = _found(text, issue)
    assert found.severity == severity


def test_which_program_stores_is_not_known_without_a_name() -> None:
    assert _found(_SUMS.format(first="row"), "race_on_store")
    misspelt = _SUMS.format(first="rows")
    assert _found(misspelt, "undefined_name")
    assert not _found(misspelt, "race_on_store")


@pytest.mark.parametrize(("more", "severity"), [("", 3), ("USED = kept", 5)])
def test_what_does_not_compile_is_possible_in_a_kernel_without_a_use(
    more: str, severity: int
) -> None:
    text = _TEXT.replace("other=0.0))", "other=0.0) + missing)")
    (issue,) = _found(f"{text}{more}\n", "undefined_name")
    assert issue.severity == severity


def test_what_only_a_reader_of_source_sees_does_not_have_to_compile() -> None:
    text = _TEXT.replace("other=0.0))", "other=0.0) + missing)")
    read = "def show():\n    print(inspect.getsource(kept.fn))\n"
    (issue,) = _found(text + read, "undefined_name")
    assert issue.severity == 2


def test_a_kernel_that_does_not_compile_is_not_slow() -> None:
    text = """
import triton
import triton.language as tl

@triton.jit
def norm(x_ptr, y_ptr, n: tl.constexpr, B: tl.constexpr):
    row, total = tl.program_id(0), 0.0
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B))
        total += tl.sum(x * x, 0)
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B))
        tl.store(y_ptr + row * n + start + tl.arange(0, B), x{part} / total)

def normed(x, y):
    norm[(x.shape[0],)](x, y, 16384, B=2048)
"""
    (compiles,) = _found(text.format(part=""), "multi_pass_row")
    (refused,) = _found(text.format(part="[0]"), "multi_pass_row")
    assert (compiles.severity, refused.severity) == (4, 1)


def test_a_loop_that_waits_in_each_turn_is_said_once() -> None:
    text = """
import torch, triton
import triton.language as tl

@triton.jit
def part(x_ptr, y_ptr, start, length, B: tl.constexpr):
    o = tl.arange(0, B)
    tl.store(y_ptr + start + o, tl.load(x_ptr + start + o, mask=o < length), mask=o < length)

def parts(x, starts, lengths):
    y = torch.empty_like(x)
    for i in range(starts.shape[0]):
        start = starts[i].item()
        length = lengths[i].item()
        part[(1,)](x, y, start, length, B=1024)
    part[(1,)](starts, lengths, 0, 1, B=16)
    return y
"""
    (issue,) = _found(text, "device_host_sync")
    assert issue.range.line == 13
    assert [place.range.line for place in issue.related if "as well" in place.message] == [14]


_BREAKS = """
@triton.jit
def first(x_ptr, n, B: tl.constexpr):
    for i in range(n):
        if i == 3:
            break
        tl.store(x_ptr + i, 0.0)
"""
_FILLS = """
@triton.jit
def first(x_ptr, n, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 0.0)
"""
_LAUNCH = "first[(1,)](x, 3, B=16)\n"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"{_FILLS}\n{_BREAKS}\ndef run(x):\n    {_LAUNCH}", 1),
        (f"{_BREAKS}\n{_FILLS}\ndef run(x):\n    {_LAUNCH}", 0),
        (f"{_BREAKS}\nx = make()\n{_LAUNCH}\n{_FILLS}", 1),
        (f"if HAS_TRITON:\n{indent(_BREAKS + _FILLS, '    ')}\ndef run(x):\n    {_LAUNCH}", 0),
        (
            f"if NEW:\n{indent(_BREAKS, '    ')}\nelse:\n{indent(_FILLS, '    ')}\n"
            f"def run(x):\n    {_LAUNCH}",
            1,
        ),
    ],
)
def test_what_a_later_definition_replaces_has_no_issues(text: str, count: int) -> None:
    found = analyze(parse_module(text), AnalysisContext())
    assert [i.id for i in found].count("unsupported_syntax") == count


def test_a_function_that_does_nothing_has_no_issues() -> None:
    text = (
        _FILLS
        + """
if not hasattr(tl, "gather"):

    @triton.jit
    def gather(x, index, axis):
        del x, index, axis
        return None
"""
    )
    assert "unsupported_syntax" not in {
        i.id for i in analyze(parse_module(text), AnalysisContext())
    }


_FRAGMENT = """
@triton.jit
def filled(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)

def fill(n):
    x = torch.empty(n)
    filled[(1,)](x, B=16)
    return x
"""


@pytest.mark.parametrize(
    ("head", "names"),
    [("", 0), ("import triton\nimport triton.language as tl\n", 1), ("import torch, triton\n", 0)],
)
def test_a_part_of_a_file_lacks_what_its_rest_imports(head: str, names: int) -> None:
    assert len(_found(head + _FRAGMENT, "undefined_name")) == names


_TWO_EXTENTS = """
import triton
import triton.language as tl

@triton.jit
def product(x_ptr, w_ptr, y_ptr):
    r, c = tl.arange(0, 32), tl.arange(0, 64)
    x = tl.load(x_ptr + r[:, None] * 64 + c[None, :])
    w = tl.load(w_ptr + r[:, None] * 64 + c[None, :])
    acc = tl.zeros((32, 32), tl.float32)
    acc += tl.dot(x, {w})
    tl.store(y_ptr + r[:, None] * 32 + r[None, :], acc)

def run(x, w, y):
    product[(1,)](x, w, y)
"""


def test_a_wrong_extent_that_leads_to_another_is_said_once() -> None:
    text = _TWO_EXTENTS.format(w="w")
    (first,) = _found(text, "dot_shape_mismatch")
    assert first.severity == 5
    text = text.replace("acc += tl.dot(x, w)", "p = tl.dot(x, w)\n    acc += p")
    (later,) = _found(text, "broadcast_mismatch")
    assert later.severity == 2
    assert not _found(_TWO_EXTENTS.format(w="w.T"), "broadcast_mismatch")
