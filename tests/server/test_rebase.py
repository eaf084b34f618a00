"""A result is put into a text that changed since, or the reason is given why not."""

import pytest

from tilewright.evaluation.surroundings import roots_of, wide_roots_of
from tilewright.source import parse_module
from tilewright_server.rebase import Fitted, Unfit, fit, merge

SENT = """\
import triton
import triton.language as tl

SCALE = 2.0


@triton.jit
def k(x_ptr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, tl.load(x_ptr + offs) * 2.0)


def run(x):
    k[(1,)](x, BLOCK=64 * int(SCALE))


def other(y):
    return y
"""
FINAL = SENT.replace("* 2.0)", "+ tl.load(x_ptr + offs))").replace("BLOCK=64", "BLOCK=128")


def _fit(now: str) -> Fitted | Unfit:
    return fit(SENT, now, FINAL, "k.py", ("k", "run"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import triton\n", "# a comment above\nimport triton\n"),
        ("    return y\n", "    return y + 1\n"),
        ("    return y\n", "    return y\n\n\ndef new():\n    pass\n"),
        ("\n\ndef other(y):\n    return y\n", ""),
    ],
)
def test_an_edit_of_what_the_verdict_is_not_about_is_kept(old: str, new: str) -> None:
    now = SENT.replace(old, new, 1)
    found = _fit(now)
    assert isinstance(found, Fitted)
    assert found.moved
    assert found.text == FINAL.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("tl.arange(0, BLOCK)", "tl.arange(0, 2 * BLOCK)", "k"),
        ("k[(1,)]", "k[(2,)]", "run"),
        ("SCALE = 2.0", "SCALE = 3.0", "SCALE"),
        ("import triton.language as tl", "import other_language as tl", "k"),
        ("def run(x)", "def started(x)", "run"),
    ],
)
def test_an_edit_of_what_it_is_about_is_named(old: str, new: str, part: str) -> None:
    found = _fit(SENT.replace(old, new))
    assert isinstance(found, Unfit)
    assert part in found.reason.split(" changed since")[0].replace(",", "").split()


def test_a_text_that_does_not_parse_waits() -> None:
    found = _fit(SENT + "\ndef half(:\n")
    assert found == Unfit("a statement does not parse at the moment")


def test_an_unchanged_text_gets_the_result_as_it_is() -> None:
    assert _fit(SENT) == Fitted(FINAL, moved=False)


def test_windows_line_ends_stay() -> None:
    sent = SENT.replace("\n", "\r\n")
    found = fit(sent, f"# above\r\n{sent}", FINAL, "k.py", ("k", "run"))
    assert isinstance(found, Fitted)
    assert found.text == f"# above\r\n{FINAL}".replace("\r\n", "\n").replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        ("a\nB\nc\n", "a\nb\nC\n", "a\nB\nC\n"),
        ("a\nB\nc\n", "a\nX\nc\n", None),
        ("new\na\nb\nc\n", "other\na\nb\nc\n", None),
        ("new\na\nb\nc\n", "A\nb\nc\n", "new\nA\nb\nc\n"),
        ("a\nb\nc\nnew", "a\nc\n", "a\nc\nnew"),
        ("b\nc\n", "a\nb\nnew\nc\n", "b\nnew\nc\n"),
    ],
)
def test_changes_of_both_sides_are_merged_or_meet(ours: str, theirs: str, both: str | None) -> None:
    assert merge("a\nb\nc\n", ours, theirs) == both


TUNED = """\
import triton

CONFIGS = []
WIDTH = 64
{build}


@triton.autotune(configs=CONFIGS, key=[])
@triton.jit
def k(x_ptr):
    pass  # old


def run(x):
    k[(1,)](x, WIDTH)


def solve(x):
    return run(x.contiguous())
"""
FILL = "def fill():\n    CONFIGS.append(triton.Config({}))\n\n\nfill()"


@pytest.mark.parametrize(
    ("build", "old", "new"),
    [
        ("for n in (1, 2):\n    CONFIGS.append(n)", "(1, 2)", "(1, 2, 4)"),
        (FILL, "Config({})", "Config({'BLOCK': 64})"),
        ("from sizes import *", "sizes", "others"),
        ("", "import triton", "from sizes import *\nimport triton"),
        ("", "import triton", "from __future__ import annotations\nimport triton"),
        (
            "HALF = WIDTH\nWIDTH += HALF",
            "HALF = WIDTH\nWIDTH += HALF",
            "WIDTH += HALF\nHALF = WIDTH",
        ),
    ],
)
def test_what_changes_a_value_from_elsewhere_counts_too(build: str, old: str, new: str) -> None:
    sent = TUNED.format(build=build)
    final = sent.replace("  # old", "  # new")
    assert isinstance(fit(sent, f"# above\n{sent}", final, "k.py", ("k", "run")), Fitted)
    assert isinstance(fit(sent, sent.replace(old, new), final, "k.py", ("k", "run")), Unfit)


def test_without_an_entry_point_all_that_comes_to_a_launch_is_a_root() -> None:
    module = parse_module(TUNED.format(build=""), "k.py")
    assert roots_of(module) == ("k", "run")
    assert wide_roots_of(module) == ("k", "run", "solve")
