"""Arithmetic as text: what it is worth, and that nothing else is ever run."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st

from recovery.expressions import ExpressionError, is_expression, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1 * 30", 3),
        ("0.1 + 0.2", 0.3),
        ("1 / 3", 1 / 3),
        ("round(2.5)", 3),
        ("round(-2.5)", -2),
        ("floor(2.9) + ceil(2.1)", 5),
        ("2 ** 10", 1024),
        ("2 ** 0.5", math.sqrt(2)),
        ("-n ** 2", -49),
        ("max(n, 3, planted.k)", 12),
        ("min(n, 3)", 3),
        ("sqrt(9)", 3),
        ("n / planted.k", 7 / 12),
        ("pi", math.pi),
    ],
)
def test_it_is_worth_what_arithmetic_says(text: str, value: float) -> None:
    assert parse(text).number({"n": 7, "planted.k": 12}) == value


@given(st.integers(-1000, 1000), st.integers(1, 1000), st.integers(-1000, 1000))
def test_decimals_are_exact(a: int, b: int, c: int) -> None:
    exact = Fraction(a, 100) * b + Fraction(c, 1000)
    assert parse("a * b + c").fraction({"a": a / 100, "b": b, "c": c / 1000}) == exact


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__import__('os').system('true')", "functions are"),
        ("().__class__", "allowed: numbers"),
        ("n.__class__.mro()", "functions are"),
        ("[1, 2]", "allowed: numbers"),
        ("n = 3", "cannot read"),
        ("n > 3", "allowed: numbers"),
        ("'text'", "allowed: numbers"),
        ("2^d", r"a power is written \*\*"),
        ("2d", r"a product needs a sign: 2 \* d"),
        ("(n", "cannot read"),
        ("", "found ''"),
        ("1e999", "numbers are finite"),
        ("sqr(n)", "did you mean 'sqrt'"),
        ("sqrt(n, 2)", "takes one number"),
        ("max(n)", "takes two or more numbers"),
        ("1" * 501, "up to 500 characters"),
    ],
)
def test_what_is_no_arithmetic_is_refused(text: str, words: str) -> None:
    with pytest.raises(ExpressionError, match=words):
        parse(text)


@pytest.mark.parametrize(
    "text", ["1 / n", "log(n)", "sqrt(n - 1)", "0 ** (n - 1)", "10 ** 10 ** 10", "exp(10 ** 6)", "(-8) ** 0.5"]
)
def test_what_has_no_value_says_so(text: str) -> None:
    with pytest.raises(ExpressionError, match="has no value"):
        parse(text).number({"n": 0})


@pytest.mark.parametrize(
    ("text", "more"),
    [("n-d", True), ("n - 2*d", True), ("n", False), ("planted.k", False), ("1.5", False), (None, False)],
)
def test_an_expression_is_more_than_a_name_or_a_number(text: str | None, more: bool) -> None:
    assert is_expression(text) == more


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ExpressionError, match="'dd'; known: n, d; did you mean 'd'"):
        parse("n / dd", ["n", "d"])
    assert parse("rho * n + rho", ["n", "rho"]).names == ("rho", "n")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("n = 200", [0, 2]),
        ("n == 200 and verdict == 'recovered'", [0]),
        ('n=200 and verdict=="not_optimal"', [2]),
        ("n != 200", [1]),
        ("not (n >= 200)", [1]),
        ("recovered", [0]),
        ("recovered = false", [2]),
        ("100 < n <= 200 or gap > 1", [0, 2]),
        ("n / 2 = 100", [0, 2]),
        ("verdict = 3", []),
        ("verdict != 3", [0, 1, 2]),
    ],
)
def test_conditions_pick_rows(text: str, rows: list[int]) -> None:
    columns = {
        "n": np.array([200, 100, 200]),
        "verdict": np.array(["recovered", None, "not_optimal"], dtype=object),
        "recovered": np.array([1.0, np.nan, 0.0]),
        "gap": np.array([np.nan, np.nan, 0.1]),
    }
    assert np.flatnonzero(parse(text, condition=True).holds(columns)).tolist() == rows


def test_text_has_no_order() -> None:
    with pytest.raises(ExpressionError, match="no order"):
        parse("verdict > 3", condition=True).array({"verdict": np.array(["a"], dtype=object)})
