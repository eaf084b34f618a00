"""Programs are equal where only comments, layout, docstrings or local names differ."""

import pytest

from tilewright.search.menu import program_hash

TEXT = """
def kernel(x, n):
    offset = n * 2
    value = x + offset
    return value
"""


@pytest.mark.parametrize(
    "same",
    [
        TEXT.replace("offset", "start").replace("value", "result"),
        TEXT.replace("    return", "    # the result\n    return"),
        TEXT.replace("n * 2", "( n*2 )"),
        TEXT.replace("    offset = n", '    """Add twice."""\n    offset = n'),
    ],
)
def test_equal_programs(same: str) -> None:
    assert same != TEXT
    assert program_hash(same) == program_hash(TEXT)


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("n * 2", "n * 3"),
        TEXT.replace("(x, n)", "(x, m)").replace("n * 2", "m * 2"),  # a caller may name it
        TEXT.replace("x + offset", "offset + x"),
        TEXT.replace("return value", "return offset"),
        TEXT.replace("value", "other").replace("kernel", "function"),
        "def kernel(",
    ],
)
def test_other_programs(other: str) -> None:
    assert program_hash(other) != program_hash(TEXT)


def test_names_that_are_read_by_their_text_are_kept() -> None:
    text = TEXT.replace("return value", "return locals()['value']")
    assert program_hash(text) != program_hash(text.replace("offset", "start"))


def test_a_name_that_another_function_sees_is_kept() -> None:
    text = "def outer():\n    a = 1\n    def inner():\n        return a\n    return inner\n"
    renamed = text.replace("a = 1", "b = 1").replace("return a", "return b")
    assert program_hash(text) != program_hash(renamed)
