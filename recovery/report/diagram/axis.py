"""Positions of the values of an axis: linear, logarithmic, or evenly spaced."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from recovery.config.values import log_spaced
from recovery.types import Array

FEWEST_TICKS, MOST_TICKS = 3, 7

AxisKind = Literal["linear", "log", "even"]


@dataclass(frozen=True)
class Axis:
    """The values of a coordinate in order, or [None] without a coordinate. asked: a kind instead of the best."""

    values: Sequence[Any]
    asked: AxisKind | None = None

    @cached_property
    def kinds(self) -> tuple[AxisKind, ...]:
        """The possible kinds of axis, the best first.

        `even`, with steps of one, is for words, and for numbers that would be log-spaced without their zero or negative
        values.
        """
        try:
            numbers = np.array(self.values, dtype=float)
        except (TypeError, ValueError):
            return ("even",)
        if not np.isfinite(numbers).all() or any(isinstance(value, bool | np.bool_) for value in self.values):
            return ("even",)
        if (numbers > 0).all():
            return ("log", "linear") if log_spaced(numbers) else ("linear", "log")
        return ("even", "linear") if log_spaced(numbers[numbers > 0]) else ("linear",)

    @property
    def kind(self) -> AxisKind:
        """The kind of the axis: the requested one, or the best."""
        return self.asked or self.kinds[0]

    @cached_property
    def at(self) -> Array:
        """The position of each value in the units of the axis; 0, 1, 2, ... on an even axis."""
        if self.kind == "even":
            return np.arange(len(self.values), dtype=float)
        return np.array(self.values, dtype=float)

    @cached_property
    def edges(self) -> Array:
        """Cell borders midway between the values, by ratio on a log axis; one more than there are values."""
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
        """The range of the values, extended by a twentieth on either side; for one value, the borders of its cell."""
        if len(self.values) == 1:
            return float(self.edges[0]), float(self.edges[1])
        centres = np.log(self.at) if self.kind == "log" else self.at
        ends = np.array([centres.min(), centres.max()]) + 0.05 * np.ptp(centres) * np.array([-1, 1])
        low, high = np.exp(ends) if self.kind == "log" else ends
        return float(low), float(high)

    @cached_property
    def ticks(self) -> list[tuple[float, Any]]:
        """(position, value) of the values with a label: all if few or `even`, otherwise round or distant values.

        Where no round values are evenly spaced but the values are, every k-th value up to the last has a label.
        """
        pairs = list(zip(self.at.tolist(), self.values, strict=True))
        if len(pairs) <= MOST_TICKS or self.kind == "even":
            return pairs
        if self.kind == "log":
            decades = [pair for pair in pairs if np.isclose(np.log10(pair[0]) % 1, [0, 1], atol=1e-9).any()]
            return decades[:: -(-len(decades) // MOST_TICKS)] if len(decades) >= 3 else self._apart(pairs)
        for step in (s * 10.0**k for k in range(-9, 12) for s in (1, 2, 2.5, 5)):
            if step > np.ptp(self.at):
                break
            multiples = self.at / step
            round_ = [pairs[i] for i in np.flatnonzero(np.isclose(multiples, np.round(multiples), atol=1e-9))]
            if 3 <= len(round_) <= MOST_TICKS and self._spanned([at for at, _ in round_]):
                return round_
        if np.allclose(np.diff(self.at), self.at[1] - self.at[0]):
            return pairs[::-1][:: -(-len(pairs) // MOST_TICKS)][::-1]
        return self._apart(pairs)

    def _apart(self, pairs: list[tuple[float, Any]]) -> list[tuple[float, Any]]:
        """Return the first pair, and each pair at least one MOST_TICKS-th of the axis behind the last pair returned."""
        where = np.log(self.at) if self.kind == "log" else self.at
        gap, kept, last = float(np.ptp(where)) / MOST_TICKS, [], -np.inf
        for pair, place in sorted(zip(pairs, where.tolist(), strict=True), key=lambda entry: entry[1]):
            if place - last >= gap * (1 - 1e-9):
                kept.append(pair)
                last = place
        return kept

    def _spanned(self, ticks: Sequence[float]) -> bool:
        """Return whether ticks have even steps and cover most of the axis."""
        steps = np.diff(ticks)
        return bool(np.allclose(steps, steps[0]) and np.ptp(ticks) >= 0.6 * np.ptp(self.at))


def log_ticks(low: float, high: float) -> list[float]:
    """Return at most `MOST_TICKS` ticks between two positive numbers.

    They are powers of ten; over less than two decades, or with fewer than three powers, 1, 2 and 5 of each decade; with
    fewer than three of those, multiples of the largest round step that occurs three times.
    """
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
