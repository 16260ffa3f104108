"""The values of one axis: a list, a range, `logspace`, or multiples of another axis."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt
from pydantic import Field

from recovery.config.tree import ConfigError, Path, Problem, as_shown, invalid
from recovery.config.validate import build
from recovery.types import Array

DECADES = 15.0
"""Positive values whose ends differ by this factor, and whose ratios are more even than their steps, get a log axis."""
FAR = 1000.0
"""Positive values whose ends differ by this factor get a log axis however they are spaced."""
STEPS = 3
"""At least this many values with equal ratios get a log axis, however near their ends: they were chosen by ratio."""
ROUNDED = 0.05
"""Largest relative standard deviation of log ratios that count as equal, up to rounding: 16, 25, 40, 63."""

Number = Annotated[int | float, Field(description="a number")]
MOST_VALUES = 100_000
SHAPES = "a list such as [1, 2, 3], {start, stop, step}, {logspace: {start, stop, count}}, {times: d, values: [...]} "
SHAPES += "or an expression such as 2 * d"


@dataclass(frozen=True)
class Range:
    """start, start + step, ... up to stop, which is included if it is reached. Decimal arithmetic: 0.1 * 3 is 0.3."""

    start: Number
    stop: Number
    step: Annotated[int | float, Gt(0), Field(description="a number > 0")] = 1

    def values(self) -> Iterator[int | float]:
        """Yield the values in order. Raises `ConfigError` for an empty or too long range."""
        start, stop, step = (Decimal(str(number)) for number in (self.start, self.stop, self.step))
        whole = all(isinstance(number, int) for number in (self.start, self.stop, self.step))
        count = int(((stop - start) / step).to_integral_value(ROUND_FLOOR)) + 1
        if count < 1:
            raise invalid(f"an empty range: start {self.start} is beyond stop {self.stop}")
        if count > MOST_VALUES:
            raise invalid(f"a range of {count} values; at most {MOST_VALUES} are allowed")
        for i in range(count):
            value = start + i * step
            yield int(value) if whole else float(value)


@dataclass(frozen=True)
class Ends:
    """`count` numbers from start to stop, both positive and included, at equal ratios, to 12 significant digits."""

    start: Annotated[float, Gt(0)]
    stop: Annotated[float, Gt(0)]
    count: Annotated[int, Ge(2)]

    def values(self) -> Iterator[float]:
        """Yield the values in order. Raises `ConfigError` for too many."""
        if self.count > MOST_VALUES:
            raise invalid(f"{self.count} values; at most {MOST_VALUES} are allowed")
        low, high = math.log(self.start), math.log(self.stop)
        for i in range(self.count):
            yield float(f"{math.exp(low + (high - low) * i / (self.count - 1)):.12g}")


@dataclass(frozen=True)
class Logspace:
    """{logspace: {start, stop, count}}: see `Ends`. start and stop are the values themselves, not exponents."""

    logspace: Ends


@dataclass(frozen=True)
class Times:
    """Multiples of another size, e.g. n = 2.5 d: {times: d, values: [1.5, 2, 2.5]}.

    The product is rounded to the nearest integer, halves up, and is at least 1.
    """

    times: Literal["n", "d"]
    values: Any

    def factors(self) -> list[tuple[Any, Path]]:
        """Return the multiples, each with its path inside this mapping. Raises `ConfigError`."""
        try:
            factors = [(factor, ("values", *path)) for factor, path in listed(self.values)]
        except ConfigError as error:
            raise ConfigError(replace(one, path=("values", *one.path)) for one in error.problems) from None
        _refuse(
            Problem(path, f"found {as_shown(factor)}; allowed: a number > 0")
            for factor, path in factors
            if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < math.inf
        )
        return factors


def listed(spec: object, *, distinct: bool = True) -> list[tuple[Any, Path]]:
    """Return the values of a list, range or logspace, each with its path inside `spec`. Raises `ConfigError`.

    distinct: refuse values that occur twice; in zipped axes they may.
    """
    if isinstance(spec, list):
        values: list[tuple[Any, Path]] = [(value, (i,)) for i, value in enumerate(spec)]
    elif isinstance(spec, dict) and "logspace" in spec:
        ends: Logspace = build(Logspace, spec)
        values = [(value, ("logspace",)) for value in ends.logspace.values()]
    elif is_range(spec):
        span: Range = build(Range, spec)
        values = [(value, ()) for value in span.values()]
    else:
        hint = f"; did you mean [{spec}]?" if isinstance(spec, str | int | float) else ""
        raise invalid(f"found {as_shown(spec)}; allowed: {SHAPES}{hint}")
    if not values:
        raise invalid("found an empty list; an axis needs at least one value, or leave it out")
    if distinct:
        first = dict[object, int]()
        _refuse(
            Problem(path, f"found {as_shown(value)} a second time; values of an axis are distinct")
            for i, (value, path) in enumerate(values)
            if first.setdefault(same_as(value), i) < i
        )
    return values


def is_range(spec: object) -> bool:
    """Return whether `spec` is meant as {start, stop, step} or {logspace: ...}."""
    return isinstance(spec, dict) and bool({"start", "stop", "step", "logspace"} & set(spec))


def _refuse(faults: Iterable[Problem]) -> None:
    if found := tuple(faults):
        raise ConfigError(found)


def same_as(value: object) -> object:
    """Return a key that is equal for values with the same meaning: 3 and 3.0 are equal, 1 and true are not."""
    if isinstance(value, dict):
        return ("mapping", tuple(sorted((key, same_as(item)) for key, item in value.items())))
    if isinstance(value, list):
        return ("list", tuple(same_as(item) for item in value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", value)
    return (type(value).__name__, value)


def log_spaced(numbers: Array) -> bool:
    """Return whether positive numbers suit a log axis: equal ratios, a wide span, or ratios more even than steps."""
    if len(numbers) < 2:
        return False
    ratios, span = _spread(np.diff(np.log(numbers))), numbers.max() / numbers.min()
    if span >= FAR or (len(numbers) == 2 and span >= DECADES):
        return True
    equal = len(numbers) >= STEPS and ratios < ROUNDED
    return (equal or span >= DECADES) and ratios < _spread(np.diff(numbers))


def _spread(steps: Array) -> float:
    return float(np.std(steps) / np.abs(np.mean(steps)))
