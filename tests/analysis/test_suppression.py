"""``# tilewright: ignore[...]``: where it stands decides what it covers."""

import pytest

from tilewright.analysis import analyze
from tilewright.analysis.suppression import notices
from tilewright.source import parse_module
from tilewright.source.comments import comments
from tilewright.source.text import LineIndex

KERNEL = """\
import triton
import triton.language as tl

{above}
@triton.jit{decorator}
def rows(x_ptr, out_ptr, n, B: tl.constexpr):{head}
    offs = tl.arange(0, 48){first}
    {between}
    more = tl.arange(
        0, 24,
    ){second}
    tl.store(out_ptr + offs, tl.load(x_ptr + offs))
    tl.store(out_ptr + more, tl.load(x_ptr + more))

@triton.jit
def other(x_ptr):
    tl.store(x_ptr + tl.arange(0, 40), 0)
"""
PLACES = ("above", "decorator", "head", "first", "between", "second")
IGNORE = "# tilewright: ignore[non_power_of_two_arange]"


def lines(**places: str) -> list[str]:
    text = KERNEL.format(**{place: places.get(place, "") for place in PLACES})
    module = parse_module(text)
    assert module.problems == ()
    found = [i.range for i in analyze(module) if i.id == "non_power_of_two_arange"]
    return [module.index.slice(r).replace("\n", "") for r in found]


FIRST, SECOND, OTHER = "tl.arange(0, 48)", "tl.arange(        0, 24,    )", "tl.arange(0, 40)"


def test_without_a_comment_all_are_reported() -> None:
    assert lines() == [FIRST, SECOND, OTHER]


@pytest.mark.parametrize(
    ("place", "left"),
    [
        ("first", [SECOND, OTHER]),
        ("second", [FIRST, OTHER]),
        ("between", [FIRST, OTHER]),
        ("head", [OTHER]),
        ("decorator", [OTHER]),
        ("above", [OTHER]),
    ],
)
def test_a_comment_covers_its_statement_the_next_one_or_the_kernel(
    place: str, left: list[str]
) -> None:
    gap = "" if place in ("between", "above") else "  "
    assert lines(**{place: gap + IGNORE}) == left


def test_a_comment_for_the_file() -> None:
    assert lines(between="# tilewright: ignore-file[non_power_of_two_arange]") == []


def test_only_what_is_named_is_ignored_and_other_tools_may_share_the_comment() -> None:
    assert lines(first="  # tilewright: ignore[missing_autotune]") == [FIRST, SECOND, OTHER]
    assert lines(first="  # noqa: E501 # tilewright: ignore[x, non_power_of_two_arange]") == [
        SECOND,
        OTHER,
    ]


def test_a_tuned_kernel_too() -> None:
    tuned = '@triton.autotune(configs=[triton.Config({"B": 64})], key=["n"])'
    assert lines(above=tuned, first=f"  {IGNORE}") == [SECOND, OTHER]
    assert lines(above=f"{tuned}  {IGNORE}") == [OTHER]


def test_a_string_is_no_comment() -> None:
    assert lines(first=f'; "{IGNORE}"') == [FIRST, SECOND, OTHER]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# tilewright: ignore[missing_autotun]", "did you mean missing_autotune?"),
        ("# tilewright: ignore[zzzz]", "no issue is called zzzz"),
        ("# tilewright: ignore", "write `# tilewright: ignore["),
        ("# tilewright: ignore[]", "no issue is named"),
        ("# tilewright: nonsense[a]", "write `# tilewright: ignore["),
    ],
)
def test_what_is_not_understood_is_reported(comment: str, message: str) -> None:
    module = parse_module(f"x = 1  {comment}\n")
    (notice,) = notices(module)
    assert message in notice.message
    assert (notice.range.line, notice.range.column) == (1, 7)


def test_a_hash_within_a_string_begins_no_comment_nor_a_quote_within_a_comment_a_string() -> None:
    text = "a = \"# one\"  # it's\nb = '''\n# two\n'''\n# \"three\nc = \"\\\\\"  # \"four\"\n"
    found = comments(LineIndex(text))
    assert [(c.text, c.range.line, c.stands_alone) for c in found] == [
        ("# it's", 1, False), ('# "three', 5, True), ('# "four"', 6, False),
    ]  # fmt: skip


def test_broken_files_still_have_comments() -> None:
    module = parse_module(f"def broken(:\n    pass\nx = 1  {IGNORE.replace('non', 'nan')}\n")
    (notice,) = notices(module)
    assert notice.range.line == 3
