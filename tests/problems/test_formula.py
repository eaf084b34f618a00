"""The formula language is Python's arithmetic over dimensions, and nothing else."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.problems.formula import MAX_MAGNITUDE, FormulaError, evaluate

DIMS = {"M": 4, "N": 7, "N1": 2, "K": 3, "L": (2, 3, (5, 7)), "EPS": 0.5, "ON": True, "MODE": "x"}

_atoms = st.sampled_from(["M", "N", "N1", "K", "EPS", "L[0]", "L[1]"]) | st.integers(0, 50).map(str)


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["+", "-", "*", "/", "//"])
    return st.one_of(
        st.tuples(inner, operators, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda text: f"(-{text})"),
        st.tuples(inner, st.integers(0, 3)).map(lambda t: f"({t[0]} ** {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
    )


@given(st.recursive(_atoms, _grow, max_leaves=12))
def test_agrees_with_python(formula: str) -> None:
    names = {**DIMS, "min": min, "max": max}
    try:
        expected = eval(formula, {"__builtins__": {}}, names)
    except (ZeroDivisionError, OverflowError):
        with pytest.raises(FormulaError):
            evaluate(formula, DIMS)
        return
    try:
        got = evaluate(formula, DIMS)
    except FormulaError:
        assert abs(expected) > MAX_MAGNITUDE or "**" in formula  # an inner power may be too large
        return
    assert got == expected
    assert type(got) is type(expected)


@given(st.text(max_size=60))
def test_any_text_gives_a_finite_number_or_a_formula_error(text: str) -> None:
    try:
        value = evaluate(text, DIMS)
    except FormulaError:
        return
    assert math.isfinite(value)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("2*M*N*K", 168),
        ("3*N1", 6),
        ("adjacent_prod_sum(M, L, K)", 4 * 2 + 2 * 3 + 3 * 5 + 5 * 7 + 7 * 3),
        ("ceil_div(N, M)", 2),
        ("L[2][1] + L[-2]", 10),
        ("min(L)", 2),
        ("1e3 * ON", 1000.0),
        ("-M ** 2", -16),
    ],
)
def test_values(formula: str, expected: float) -> None:
    assert evaluate(formula, DIMS) == expected


@pytest.mark.parametrize(
    ("formula", "named"),
    [
        ("__import__('os').system('true')", "__import__('os').system('true')"),
        ("M.bit_length()", "M.bit_length()"),
        ("[M for M in L]", "[M for M in L]"),
        ("M if N else K", "M if N else K"),
        ("M % N", "M % N"),
        ("lambda: 1", "lambda: 1"),
        ("print(M)", "print(M)"),
        ("'text'", "'text'"),
        ("2*M*Q", "'Q' is not a dimension"),
        ("2**65", "exponent"),
        ("10**30*10", "beyond"),
        ("9**99**9", "exponent"),
        ("9**64**64", "beyond"),
        ("M/0", "cannot be computed"),
        ("(0-M)**0.5", "not a real number"),
        ("1e999", "not a finite number"),
        ("L*2", "'L' is a list"),
        ("M[0]", "is not a list"),
        ("L[9]", "none of them"),
        ("MODE", "the text 'x'"),
        ("2*", "not an arithmetic expression"),
        ("", "not an arithmetic expression"),
        ("-" * 1500 + "1", "nested"),
        ("1+" * 1200 + "1", "longer than"),
        ("ceil_div(M)", "two numbers"),
        ("ceil_div(M, 0)", "cannot be computed"),
        ("max(key=M)", "not allowed"),
    ],
)
def test_rejects_and_names_the_piece(formula: str, named: str) -> None:
    with pytest.raises(FormulaError) as caught:
        evaluate(formula, DIMS)
    assert named in str(caught.value)
