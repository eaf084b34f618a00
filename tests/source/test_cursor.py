"""What surrounds a place of a text that is being typed."""

import time

import pytest

from tilewright.source.cursor import Cursor, constexprs_below, cursor_at, definition_around

TEXT = '''\
import triton
@triton.autotune(
    configs=[triton.Config({"BM": 64, "BN": 3
    ], key=["M"],
)
@triton.jit
def k(a, b, BM: tl.constexpr, BN: "tl.constexpr"):
    """a = tl.load("""
    x = tl.load(a + f(1, 2), mask=x[:, None] < 3, ev
    y = tl.lo
    z = g("it's (", 'a"', h(1)[0](q

def host(a):
    k[grid](a, b, num_warps=4, BM=
    for i in c.run(1,
    return k[(1, 2)](
'''
LINES = tuple(TEXT.split("\n"))


def _at(what: str) -> Cursor:
    for number, line in enumerate(LINES, 1):
        if what in line:
            return cursor_at(LINES, number, line.index(what) + len(what))
    raise AssertionError(what)


def test_a_name_and_its_owner() -> None:
    cursor = _at("y = tl.lo")
    assert (cursor.owner, cursor.word, cursor.calls) == ("tl", "lo", ())


def test_an_open_call_knows_its_place_and_what_was_given() -> None:
    call = _at("3, ev").call
    assert call is not None
    assert (call.callee, call.position, call.keyword, dict(call.given)) == (
        "tl.load",
        2,
        None,
        {"mask": None},
    )


def test_a_launch_is_a_call_of_a_subscript() -> None:
    call = _at("BM=").call
    assert call is not None
    assert (call.callee, call.subscripted, call.keyword) == ("k", True, "BM")
    assert call.given == {"num_warps": 4, "BM": None}
    last = _at("(1, 2)](").call
    assert last is not None
    assert (last.callee, last.subscripted) == ("k", True)


def test_a_dict_knows_its_key_and_numbers() -> None:
    cursor = _at('"BN": 3')
    inner = cursor.calls[-1]
    assert (inner.bracket, inner.key, inner.given) == ("{", "BN", {"BM": 64, "BN": 3})
    assert cursor.call is not None
    assert cursor.call.callee == "triton.Config"


@pytest.mark.parametrize("what", ['"BM', '"""a = tl.load('])
def test_strings_are_strings(what: str) -> None:
    assert _at(what).in_text


def test_brackets_in_strings_do_not_count() -> None:
    calls = _at("h(1)[0](q").calls
    assert [call.callee for call in calls] == ["g", ""]


def test_the_function_around() -> None:
    found = [definition_around(LINES, n) for n in (1, 3, 8, 10, 12, 14)]
    assert [f and (f.name, f.is_jitted) for f in found] == [
        None,
        ("k", True),
        ("k", True),
        ("k", True),
        ("k", True),
        ("host", False),
    ]


def test_constexprs_as_they_are_annotated() -> None:
    assert constexprs_below(LINES, 7) == ("BM", "BN")


@pytest.mark.parametrize("text", ["", "(", "'", '"""', "@", "a.b.", "é.ß(", "\\"])
def test_every_place_of_any_text_has_surroundings(text: str) -> None:
    lines = tuple(f"x = 1\n{text}".split("\n"))
    for number, line in enumerate(lines, 1):
        for column in range(len(line) + 1):
            assert isinstance(cursor_at(lines, number, column), Cursor)
        definition_around(lines, number)


def test_a_long_word_below_a_line_is_read_once() -> None:
    start = time.process_time()
    assert constexprs_below(("def k(" + "x" * 100_000,), 1) == ()
    assert time.process_time() - start < 2
