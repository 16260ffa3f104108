"""The values of one axis: a list, a range, `logspace`, or multiples of another axis."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt
from pydantic import Field

from recovery.config.build import Fault, Invalid, build
from recovery.config.problems import Path, as_shown

Number = Annotated[int | float, Field(description="a number")]
MOST_VALUES = 100_000
SHAPES = "a list such as [1, 2, 3], {start, stop, step}, {logspace: {start, stop, count}}, {times: d, values: [...]} "
SHAPES += "or an expression such as 2 * d"


@dataclass(frozen=True)
class Range:
    """start, start + step, ... up to and including stop where it is met. Decimal arithmetic: 0.1 * 3 is 0.3."""

    start: Number
    stop: Number
    step: Annotated[int | float, Gt(0), Field(description="a number > 0")] = 1

    def values(self) -> Iterator[int | float]:
        start, stop, step = (Decimal(str(number)) for number in (self.start, self.stop, self.step))
        whole = all(isinstance(number, int) for number in (self.start, self.stop, self.step))
        count = int(((stop - start) / step).to_integral_value(ROUND_FLOOR)) + 1
        if count < 1:
            raise Invalid([Fault((), f"an empty range: start {self.start} is beyond stop {self.stop}")])
        if count > MOST_VALUES:
            raise Invalid([Fault((), f"a range of {count} values; at most {MOST_VALUES} are allowed")])
        for i in range(count):
            value = start + i * step
            yield int(value) if whole else float(value)


@dataclass(frozen=True)
class Ends:
    """`count` numbers from start to stop, both positive and included, at equal ratios; to 12 significant digits."""

    start: Annotated[float, Gt(0)]
    stop: Annotated[float, Gt(0)]
    count: Annotated[int, Ge(2)]

    def values(self) -> Iterator[float]:
        if self.count > MOST_VALUES:
            raise Invalid([Fault((), f"{self.count} values; at most {MOST_VALUES} are allowed")])
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
        """The multiples, each with its path inside this spec. Raises `Invalid`."""
        try:
            factors = listed(self.values)
        except Invalid as error:
            raise Invalid([Fault(("values", *fault.path), fault.text) for fault in error.faults]) from None
        wrong = [
            Fault(("values", *path), f"found {as_shown(factor)}; allowed: a number > 0")
            for factor, path in factors
            if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < math.inf
        ]
        if wrong:
            raise Invalid(wrong)
        return [(factor, ("values", *path)) for factor, path in factors]


def listed(spec: object) -> list[tuple[Any, Path]]:
    """The values of a list, range or logspace, each with its path inside `spec`. Raises `Invalid`."""
    if isinstance(spec, list):
        return _distinct([(value, (i,)) for i, value in enumerate(spec)])
    if isinstance(spec, dict) and "logspace" in spec:
        ends: Logspace = build(Logspace, spec)
        return _distinct([(value, ("logspace",)) for value in ends.logspace.values()])
    if isinstance(spec, dict) and {"start", "stop", "step"} & set(spec):
        span: Range = build(Range, spec)
        return _distinct([(value, ()) for value in span.values()])
    raise Invalid([Fault((), f"found {as_shown(spec)}; allowed: {SHAPES}{_as_list(spec)}")])


def _as_list(spec: object) -> str:
    return f"; did you mean [{spec}]?" if isinstance(spec, str | int | float) else ""


def _distinct(values: list[tuple[Any, Path]]) -> list[tuple[Any, Path]]:
    if not values:
        raise Invalid([Fault((), "found an empty list; an axis needs at least one value, or leave it out")])
    seen, faults = set(), []
    for value, path in values:
        key = same_as(value)
        if key in seen:
            faults.append(Fault(path, f"found {as_shown(value)} a second time; values of an axis are distinct"))
        seen.add(key)
    if faults:
        raise Invalid(faults)
    return values


def same_as(value: object) -> object:
    """A key that is equal for values that mean the same: 3 and 3.0 do, 1 and true do not."""
    if isinstance(value, dict):
        return ("mapping", tuple(sorted((key, same_as(item)) for key, item in value.items())))
    if isinstance(value, list):
        return ("list", tuple(same_as(item) for item in value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", value)
    return (type(value).__name__, value)
