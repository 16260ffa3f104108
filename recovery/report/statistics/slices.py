"""The counts of several sizes d side by side, and where one half is crossed at each: of the counts, and of samples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from recovery.report.statistics.transition import numbers, rising_blocks
from recovery.types import Array, Mask

DRAWS = 200
"""Bootstrap samples: they tell a standard error to 5 %."""
MOST_COUNTS = 2_000_000
"""Of samples that are looked at together: 16 MiB, of which `crossed` makes some twenty arrays."""


@dataclass(frozen=True)
class Slices:
    """Counts of outcomes that become more frequent with n, shape (sizes, cells), of which the first `cells` are."""

    d: Array
    n: Array
    rising: Array
    total: Array
    cells: Array

    def at(self, which: Mask) -> "Slices":
        return Slices(*(a[which] for a in (self.d, self.n, self.rising, self.total, self.cells)))


def stack(parts: Sequence[tuple[float, pd.DataFrame]], falling: bool, share: float | None = None) -> Slices:
    """The sizes side by side, cells with trials in the order of n. share: of the open trials that count as rising."""
    rows = []
    for _, cells in parts:
        n, rising, other = counts_along(cells, falling)
        open_ = np.zeros(len(n)) if share is None else unfinished(cells)
        total = rising + other + open_
        order = np.argsort(n, kind="stable")
        order = order[total[order] > 0]
        rows.append((n[order], (rising + (share or 0.0) * open_)[order], total[order]))
    count = np.array([len(n) for n, _, _ in rows])
    filled = np.zeros((3, len(rows), max(int(count.max()), 1)))
    for i, row in enumerate(rows):
        filled[:, i, : count[i]] = row
    return Slices(np.array([d for d, _ in parts]), filled[0], filled[1], filled[2], count)


def counts_along(cells: pd.DataFrame, falling: bool) -> tuple[Array, Array, Array]:
    """n, and the outcomes that become more frequent and rarer as it grows."""
    yes, no = numbers(cells, "yes"), numbers(cells, "no")
    return (numbers(cells, "n"), no, yes) if falling else (numbers(cells, "n"), yes, no)


def resampled(slices: Slices) -> tuple[Array, Array, tuple[Mask, Mask]]:
    """Crossings of binomial samples from the rising fractions, half a trial of either kind added to each block of equal
    ones: few trials that end alike are no certainty. The seed is the counts', so that a report says the same again."""
    chance = np.empty(slices.rising.shape)
    for row, rising, total in zip(chance, slices.rising, slices.total, strict=True):
        blocks = rising_blocks(rising / np.maximum(total, 1e-9), np.maximum(total, 1e-9))
        # without the half trials a block of five in five would be sampled as certain, and its error as zero
        won, there = np.add.reduceat(rising, blocks[:-1]), np.add.reduceat(total, blocks[:-1])
        row[:] = np.repeat((won + 0.5) / (there + 1), np.diff(blocks))
    rng = np.random.default_rng(np.concatenate([slices.rising, slices.total]).astype(np.uint32).ravel())
    # a few samples at a time, from the one stream: all of a million cells would take gigabytes
    some = max(MOST_COUNTS // max(chance.size, 1), 1)
    parts = []
    for start in range(0, DRAWS, some):
        size = (min(some, DRAWS - start), *chance.shape)
        parts.append(crossed(slices, rng.binomial(slices.total.astype(int), chance, size=size).astype(float)))
    half, hidden, below, above = (
        np.concatenate(column) for column in zip(*((at, step, *cut) for at, step, cut in parts), strict=True)
    )
    return half, hidden, (below, above)


def crossed(slices: Slices, rising: Array) -> tuple[Array, Array, tuple[Mask, Mask]]:
    """(n50, what of n may be hidden there, whether no fraction lies below one half, or above), of counts (..., cells).

    The fit is below one half up to the first minimum of S_j = sum_{i <= j} (rising_i - total_i / 2), and above from the
    last one on, so that no fit is made: only its fractions beside the crossing are, each a largest or least mean.
    Of the step there, with a jump q of the fractions, (step q^3) is hidden: lines follow a transition that a few cells
    show, and nothing tells where within a step a jump from 0 to 1 lies (between, probit curves err by less).
    """
    shape, cells = rising.shape[:-1], rising.shape[-1]
    # The greatest convex minorant of the walk S has the fitted fractions less one half as slopes (Barlow et al. 1972),
    # so it turns from falling to rising where S is least. Finding that is one cumulative sum for all samples at once;
    # pooling adjacent violators sample by sample took a hundred times as long.
    at = np.arange(cells + 1)
    zero = np.zeros((*shape, 1))
    won = np.concatenate([zero, np.cumsum(rising, axis=-1)], axis=-1)
    seen = np.concatenate([zero, np.cumsum(np.broadcast_to(slices.total, rising.shape), axis=-1)], axis=-1)
    walk = np.where(at <= slices.cells[:, None], won - seen / 2, np.inf)
    lowest = walk <= walk.min(axis=-1, keepdims=True) + 1e-9
    first = lowest.argmax(axis=-1)[..., None]
    last = cells - lowest[..., ::-1].argmax(axis=-1)[..., None]
    # The minorant's slope just left of the minimum is the largest chord into it, just right the least chord out of it.
    with np.errstate(all="ignore"):
        left = (np.take_along_axis(won, first, -1) - won) / (np.take_along_axis(seen, first, -1) - seen)
        right = (won - np.take_along_axis(won, last, -1)) / (seen - np.take_along_axis(seen, last, -1))
    below = np.where((at < first) & np.isfinite(left), left, -np.inf).max(axis=-1)
    above = np.where((at > last) & np.isfinite(right), right, np.inf).min(axis=-1)
    spread = np.broadcast_to(slices.n, rising.shape)
    before, after, start, end = (
        np.take_along_axis(spread, np.clip(place, 0, cells - 1), -1)[..., 0]
        for place in (first - 1, last, first, last - 1)
    )
    none_below, none_above = first[..., 0] == 0, last[..., 0] == slices.cells
    cut = (none_below, none_above)
    # between two equal minima the fit is exactly one half, and any n there is a crossing: the middle stands for it
    flat = first[..., 0] < last[..., 0]
    step = after - before
    with np.errstate(all="ignore"):
        jump = np.where(flat | none_below | none_above, 0.0, above - below)
        half = np.where(flat, (start + end) / 2, before + (0.5 - below) / (above - below) * step)
    half = np.where(none_below, spread[..., 0], np.where(none_above, end, half))
    return half, step * jump**3, cut


def unfinished(cells: pd.DataFrame) -> Array:
    return numbers(cells, "failed") + numbers(cells, "undecided")
