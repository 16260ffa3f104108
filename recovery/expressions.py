"""Arithmetic expressions given as text: parsed to a tree of a few known operations, never run as code."""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from recovery.errors import ParameterError
from recovery.text import did_you_mean, syntax_tree
from recovery.types import Array, Mask

LONGEST = 500
"""Most characters of an expression."""
LARGEST_POWER = 4096
"""Bits up to which a power of fractions is computed exactly; beyond, it is computed in floating point."""
HELP = "numbers, names, + - * / ** and ( )"

CONSTANTS = {"pi": math.pi, "true": 1, "false": 0}
_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ONE: dict[str, tuple[Callable[[Fraction], Any], Callable[[Array], Array]]] = {
    "round": (lambda x: math.floor(x + Fraction(1, 2)), lambda x: np.floor(x + 0.5)),
    "floor": (math.floor, np.floor),
    "ceil": (math.ceil, np.ceil),
    "abs": (abs, np.abs),
    "sqrt": (math.sqrt, np.sqrt),
    "log": (math.log, np.log),
    "exp": (math.exp, np.exp),
}
"""Function of one number -> its implementations for fractions and for arrays. round: halves up."""
_SEVERAL: dict[str, tuple[Callable[..., Any], Any]] = {"min": (min, np.minimum), "max": (max, np.maximum)}
FUNCTIONS = (*_ONE, *_SEVERAL)


class ExpressionError(ParameterError):
    """Text that is not an expression, or an expression without a value."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression. `fraction` evaluates it exactly, `array` in floating point for whole arrays."""

    text: str
    node: ast.expr

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in the expression, each once and in order; a dotted path is one name."""
        return tuple(dict.fromkeys(_names(self.node)))

    def fraction(self, values: Mapping[str, int | float]) -> Fraction:
        """Return the exact value: 0.1 * 30 is 3. Raises `ExpressionError` if there is none, as for n / 0."""
        try:
            return Fraction(_value(self.node, {name: Fraction(repr(one)) for name, one in values.items()}, exact=True))
        except (ArithmeticError, ValueError) as error:
            given = ", ".join(f"{name} = {values[name]}" for name in self.names if name in values)
            raise ExpressionError(f"{self.text!r} has no value{f' at {given}' if given else ''}: {error}") from error

    def number(self, values: Mapping[str, int | float]) -> int | float:
        """Return the exact value as an integer if it is whole, otherwise as a float."""
        value = self.fraction(values)
        return int(value) if value.denominator == 1 else float(value)

    def array(self, values: Mapping[str, Any]) -> Array:
        """Return the value for arrays of numbers or text, which are broadcast; a comparison gives truth values."""
        with np.errstate(all="ignore"):
            return np.asarray(_value(self.node, values, exact=False))

    def holds(self, values: Mapping[str, Any]) -> Mask:
        """Return a mask of where a condition is true; a column alone is true where it is 1."""
        return np.asarray(_truth(self.array(values)), dtype=np.bool_)


def parse(text: str, known: Iterable[str] | None = None, *, condition: bool = False) -> Expression:
    """Parse an expression such as `rho * n`, `n / d` or `sqrt(d)`.

    known: the allowed names; by default any. condition: also allow comparisons, `and`, `or`, `not` and quoted text, and
    read `=` as `==`. Raises `ExpressionError`.
    """
    if not text.strip() or len(text) > LONGEST:
        raise ExpressionError(f"found {text[:40]!r}; allowed: up to {LONGEST} characters of {HELP}")
    source = re.sub(r"(?<![<>=!])=(?!=)", "==", text) if condition else text
    try:
        node = syntax_tree(source.strip()).body
        expression = Expression(text.strip(), node)
        _check(node, condition)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, ExpressionError):
            raise ExpressionError(f"cannot read {text.strip()!r}: {error}") from None
        hint = ""
        if product := re.search(r"\b(\d+(?:\.\d+)?)\s*([A-Za-z_(])", text):
            hint = f"; a product needs a sign: {product[1]} * {product[2]}..."
        raise ExpressionError(f"cannot read {text.strip()!r}; allowed: {HELP}{hint}") from None
    allowed = None if known is None else [*known]
    for name in expression.names:
        if allowed is not None and name not in allowed:
            hint = f"{', '.join(allowed) or 'none'}{did_you_mean(name, allowed)}"
            quotes = f"; text has quotes: '{name}'" if condition else ""
            raise ExpressionError(f"{text.strip()!r} has the name {name!r}; known: {hint}{quotes}")
    return expression


def is_expression(text: object) -> bool:
    """Return whether text is more than a single name or number."""
    return isinstance(text, str) and re.fullmatch(r"\s*[\w.:]*\s*", text) is None


def _check(node: ast.expr, condition: bool) -> None:
    """Raise `ExpressionError` for anything but the allowed operations."""
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.BitXor):
            raise ExpressionError("a power is written **")
        if type(node.op) not in _ARITHMETIC:
            raise ExpressionError(f"allowed: {HELP}")
    elif isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in FUNCTIONS or node.keywords or any(isinstance(part, ast.Starred) for part in node.args):
            raise ExpressionError(f"functions are {', '.join(FUNCTIONS)}{did_you_mean(name, FUNCTIONS)}")
        if (len(node.args) == 1) != (name in _ONE) or not node.args:
            raise ExpressionError(f"{name} takes {'one number' if name in _ONE else 'two or more numbers'}")
    elif isinstance(node, ast.Attribute | ast.Name):
        _dotted(node)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        if isinstance(node.value, float) and not math.isfinite(node.value):
            raise ExpressionError("numbers are finite")
    elif not (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd)) and not (
        condition and _is_condition(node)
    ):
        raise ExpressionError(f"allowed: {HELP}{', comparisons, and, or, not' if condition else ''}")
    for part in _operands(node):
        _check(part, condition)


def _is_condition(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return all(type(op) in _COMPARISONS for op in node.ops)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    return isinstance(node, ast.BoolOp) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bool))


def _operands(node: ast.expr) -> list[ast.expr]:
    """Return the expressions that an operation is applied to; none for a number or a name."""
    if isinstance(node, ast.Call):
        return node.args
    return [] if isinstance(node, ast.Attribute) else [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr)]


def _dotted(node: ast.expr) -> str:
    """Return the dotted name of a node. Raises `ExpressionError` if the node is not a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    raise ExpressionError(f"allowed: {HELP}")


def _names(node: ast.expr) -> Iterable[str]:
    if isinstance(node, ast.Name | ast.Attribute) and (name := _dotted(node)) not in CONSTANTS:
        yield name
    for part in _operands(node):
        yield from _names(part)


def _value(node: ast.expr, values: Mapping[str, Any], exact: bool) -> Any:
    """Evaluate a node of an expression: exactly, in fractions, or in floating point for arrays of values."""
    if isinstance(node, ast.Constant):
        return Fraction(repr(node.value)) if exact else node.value
    if isinstance(node, ast.Name | ast.Attribute):
        name = _dotted(node)
        if name in values:
            return values[name]
        return _fraction(CONSTANTS[name]) if exact else CONSTANTS[name]
    parts = [_value(part, values, exact) for part in _operands(node)]
    if isinstance(node, ast.Compare):
        pairs = zip(parts, node.ops, parts[1:], strict=False)
        return np.logical_and.reduce(np.broadcast_arrays(*(_compared(*pair) for pair in pairs)))
    if isinstance(node, ast.BoolOp):
        both = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return both.reduce(np.broadcast_arrays(*map(_truth, parts)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return np.logical_not(_truth(parts[0]))
    if not exact:
        parts = [_numbers(part) for part in parts]
    if isinstance(node, ast.UnaryOp):
        return -parts[0] if isinstance(node.op, ast.USub) else parts[0]
    if isinstance(node, ast.Call):
        name = _dotted(node.func)
        if exact:
            return _fraction((_ONE | _SEVERAL)[name][0](*parts))
        return _ONE[name][1](*parts) if name in _ONE else _SEVERAL[name][1].reduce(np.broadcast_arrays(*parts))
    assert isinstance(node, ast.BinOp)
    if exact and isinstance(node.op, ast.Pow):
        return _power(*parts)
    return _ARITHMETIC[type(node.op)](*parts)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator == 1 and bits * abs(exponent) <= LARGEST_POWER:
        return Fraction(base ** int(exponent))
    return _fraction(math.pow(base, exponent))


def _fraction(value: Any) -> Fraction:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("it is not finite")
        return Fraction(repr(value))
    return Fraction(value)


def _numbers(value: Any) -> Array:
    """Return a value as floats. Raises `ExpressionError` for text."""
    try:
        return np.asarray(value, dtype=float)
    except ValueError:
        raise ExpressionError("text is not a number; compare it by == or !=") from None


def _truth(value: Any) -> Any:
    """Return a mask of where a comparison or a column is true; null is false."""
    return np.asarray(value) == 1


def _compared(left: Any, op: ast.cmpop, right: Any) -> Any:
    """Compare two sides; text and numbers are never equal, and have no order."""
    texts = [np.asarray(side).dtype.kind in "OU" for side in (left, right)]
    if texts[0] != texts[1]:
        if isinstance(op, ast.Eq | ast.NotEq):
            shape = np.broadcast(np.asarray(left), np.asarray(right)).shape
            return np.full(shape, isinstance(op, ast.NotEq))
        raise ExpressionError("text and numbers have no order; compare them by == or !=")
    return _COMPARISONS[type(op)](np.asarray(left), np.asarray(right))
