"""Where the values of an axis stand: at themselves, at even ratios on a log axis, or evenly spaced."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from recovery.types import Array

DECADES = 20.0
"""Positive values that span such a factor, and more evenly in their ratios than in their steps, stand on a log axis."""
FAR = 1000.0
"""Beyond this factor they do so however they are spaced."""
STEPS = 4
"""So many values whose ratios are all alike stand on one whatever they span: they were chosen by their ratios."""
FEWEST_TICKS, MOST_TICKS = 3, 7

AxisKind = Literal["linear", "log", "even"]


@dataclass(frozen=True)
class Axis:
    """The values that a coordinate takes, in order; [None] where there is no coordinate. `asked`: one of `kinds`."""

    values: Sequence[Any]
    asked: AxisKind | None = None

    @cached_property
    def kinds(self) -> tuple[AxisKind, ...]:
        """How the values can stand, the best way first. `even`, one step apart: words, and numbers that would be
        log-spaced but for zero or negative ones."""
        try:
            numbers = np.array(self.values, dtype=float)
        except (TypeError, ValueError):
            return ("even",)
        if not np.isfinite(numbers).all() or any(isinstance(value, bool | np.bool_) for value in self.values):
            return ("even",)
        if (numbers > 0).all():
            return ("log", "linear") if _log_spaced(numbers) else ("linear", "log")
        return ("even", "linear") if _log_spaced(numbers[numbers > 0]) else ("linear",)

    @property
    def kind(self) -> AxisKind:
        """How they stand: as asked for, or the best way."""
        return self.asked or self.kinds[0]

    @cached_property
    def at(self) -> Array:
        """The position of each value, in the units of the axis."""
        if self.kind == "even":
            return np.arange(len(self.values), dtype=float)
        return np.array(self.values, dtype=float)

    @cached_property
    def edges(self) -> Array:
        """Cell borders half way between the values, on a log axis by their ratio; one more than there are values."""
        centres = np.log(self.at) if self.kind == "log" else self.at
        if len(centres) == 1:
            half = max(abs(float(centres[0])) / 2, 0.5)
            borders = np.array([centres[0] - half, centres[0] + half])
        else:
            middle = (centres[1:] + centres[:-1]) / 2
            borders = np.concatenate([[2 * centres[0] - middle[0]], middle, [2 * centres[-1] - middle[-1]]])
        return np.exp(borders) if self.kind == "log" else borders

    @cached_property
    def reach(self) -> tuple[float, float]:
        """From the first value to the last and a twentieth of that on either side; of one value, its cell."""
        if len(self.values) == 1:
            return float(self.edges[0]), float(self.edges[1])
        centres = np.log(self.at) if self.kind == "log" else self.at
        ends = np.array([centres.min(), centres.max()]) + 0.05 * np.ptp(centres) * np.array([-1, 1])
        low, high = np.exp(ends) if self.kind == "log" else ends
        return float(low), float(high)

    @cached_property
    def ticks(self) -> list[tuple[float, Any]]:
        """(position, value) of the values to be labelled: all of a few, else some at even steps, round ones first."""
        pairs = list(zip(self.at.tolist(), self.values, strict=True))
        if len(pairs) <= MOST_TICKS or self.kind == "even":
            return pairs
        if self.kind == "log":
            decades = [pair for pair in pairs if np.isclose(np.log10(pair[0]) % 1, [0, 1], atol=1e-9).any()]
            return decades[:: -(-len(decades) // MOST_TICKS)] if len(decades) >= 3 else self._apart(pairs)
        for step in (s * 10.0**k for k in range(-9, 12) for s in (1, 2, 2.5, 5)):
            multiples = self.at / step
            round_ = [pairs[i] for i in np.flatnonzero(np.isclose(multiples, np.round(multiples), atol=1e-9))]
            if 3 <= len(round_) <= MOST_TICKS and self._spanned([at for at, _ in round_]):
                return round_
        return self._apart(pairs)

    def _apart(self, pairs: list[tuple[float, Any]]) -> list[tuple[float, Any]]:
        """The pairs from the first on that stand a MOST_TICKS-th of the axis from the last one kept."""
        where = np.log(self.at) if self.kind == "log" else self.at
        gap, kept, last = float(np.ptp(where)) / MOST_TICKS, [], -np.inf
        for pair, place in sorted(zip(pairs, where.tolist(), strict=True), key=lambda entry: entry[1]):
            if place - last >= gap * (1 - 1e-9):
                kept.append(pair)
                last = place
        return kept

    def _spanned(self, ticks: Sequence[float]) -> bool:
        """Whether ticks stand at even steps and over most of the axis."""
        steps = np.diff(ticks)
        return bool(np.allclose(steps, steps[0]) and np.ptp(ticks) >= 0.6 * np.ptp(self.at))


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between two positive numbers, at most `MOST_TICKS`; over less than two decades, or where those are
    fewer than three, 1, 2, 5 of each; else multiples of the largest round step of which there are three."""
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    for steps in ((1.0,), (1.0, 2.0, 5.0))[0 if high >= 100 * low else 1 :]:
        ticks = [step * 10.0**k for k in range(first, last + 1) for step in steps]
        inside = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(inside) >= FEWEST_TICKS:
            return inside[:: -(-len(inside) // MOST_TICKS)]
    for step in (s * 10.0**k for k in range(last, last - 9, -1) for s in (5, 2, 1)):
        multiples = step * np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1)
        if len(multiples) >= FEWEST_TICKS:
            return [float(tick) for tick in multiples]
    return [low, high]


def _log_spaced(numbers: Array) -> bool:
    """Whether positive numbers in rising or falling order span decades, and their ratios are the more even."""
    if len(numbers) >= STEPS and _spread(np.diff(np.log(numbers))) < 1e-6:
        return True
    if len(numbers) < 2 or numbers.max() < DECADES * numbers.min():
        return False
    if len(numbers) == 2 or numbers.max() >= FAR * numbers.min():
        return True
    return _spread(np.diff(np.log(numbers))) < _spread(np.diff(numbers))


def _spread(steps: Array) -> float:
    return float(np.std(steps) / np.abs(np.mean(steps)))
