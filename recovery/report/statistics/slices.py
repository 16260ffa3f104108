"""The counts of several slices side by side, and where they cross a probability: for the counts, and for bootstrap
samples."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from recovery.report.statistics.transition import numbers, rising_blocks
from recovery.types import Array, Mask

DRAWS = 200
"""Bootstrap samples; they give a standard error to 5 %."""
MOST_COUNTS = 2_000_000
"""Counts of bootstrap samples processed at once: 16 MiB, of which `crossed` makes about twenty arrays."""


@dataclass(frozen=True)
class Slices:
    """Counts of an outcome that becomes more frequent with x, shape (slices, cells). Row i has `cells[i]` cells; the
    rest is padding. probability: of the outcome at the threshold."""

    x: Array
    rising: Array
    total: Array
    cells: Array
    probability: float = 0.5

    def at(self, which: Mask) -> "Slices":
        return replace(self, **{name: getattr(self, name)[which] for name in ("x", "rising", "total", "cells")})


def stack(
    places: Sequence[Array],
    parts: Sequence[pd.DataFrame],
    falling: bool,
    probability: float,
    share: float | None = None,
) -> Slices:
    """Return the counts of slices, with the cells that have trials in the order of their places along x.

    share: the share of failed and undecided trials that count as rising; None leaves these trials out.
    """
    rows = []
    for x, cells in zip(places, parts, strict=True):
        rising, other = counts(cells, falling)
        open_ = np.zeros(len(x)) if share is None else unfinished(cells)
        total = rising + other + open_
        order = np.argsort(x, kind="stable")
        order = order[total[order] > 0]
        rows.append((x[order], (rising + (share or 0.0) * open_)[order], total[order]))
    count = np.array([len(x) for x, _, _ in rows])
    filled = np.zeros((3, len(rows), max(int(count.max()), 1)))
    for i, row in enumerate(rows):
        filled[:, i, : count[i]] = row
    return Slices(filled[0], filled[1], filled[2], count, round(1 - probability, 12) if falling else probability)


def counts(cells: pd.DataFrame, falling: bool) -> tuple[Array, Array]:
    """Return the counts of the outcomes that become more frequent and rarer as x grows."""
    yes, no = numbers(cells, "yes"), numbers(cells, "no")
    return (no, yes) if falling else (yes, no)


def smoothed(slices: Slices, added: float = 0.5) -> Array:
    """Return the isotonic fractions with `added` trials of each kind in each block of equal fractions, because a few
    trials that end alike are no certainty."""
    chance = np.empty(slices.rising.shape)
    for row, rising, total in zip(chance, slices.rising, slices.total, strict=True):
        blocks = rising_blocks(rising / np.maximum(total, 1e-9), np.maximum(total, 1e-9))
        # half a trial of each kind is added, because otherwise a block of 5 successes in 5 trials would be sampled
        # without error
        won, there = np.add.reduceat(rising, blocks[:-1]), np.add.reduceat(total, blocks[:-1])
        row[:] = np.repeat((won + added) / np.maximum(there + 2 * added, 1e-9), np.diff(blocks))
    return chance


def resampled(slices: Slices) -> tuple[Array, Array, tuple[Mask, Mask]]:
    """Return `crossed` of `DRAWS` binomial samples from the `smoothed` fractions; each array has shape (DRAWS, k).

    The seed is made of the counts, so that a report reproduces its numbers.
    """
    chance = smoothed(slices)
    rng = np.random.default_rng(np.concatenate([slices.rising, slices.total]).astype(np.uint32).ravel())
    # samples are drawn in parts, from one stream of random numbers: all samples of a million cells at once would take
    # gigabytes
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
    """Return the x of the crossing, its uncertainty hidden by the grid, and whether no fraction lies below, or above,
    the probability p.

    `rising` has shape (..., slices, cells). Let S_j = sum_{i <= j} (rising_i - p total_i). The isotonic fit is below p
    up to the first minimum of S and above p from the last minimum on. So only the fractions next to the crossing are
    computed: one is a largest mean, the other a least mean. Where the fit jumps by q over a step of x, step q^3 is
    hidden: nothing shows where within a step a jump from 0 to 1 lies, while interpolation follows a transition over a
    few cells. (Between these cases, the error for probit curves is smaller.)
    """
    shape, cells = rising.shape[:-1], rising.shape[-1]
    # the slopes of the greatest convex minorant of S are the fitted fractions minus p (Barlow et al. 1972), so the fit
    # crosses p where S is least. Pooling adjacent violators in each sample took a hundred times as long
    at = np.arange(cells + 1)
    zero = np.zeros((*shape, 1))
    won = np.concatenate([zero, np.cumsum(rising, axis=-1)], axis=-1)
    seen = np.concatenate([zero, np.cumsum(np.broadcast_to(slices.total, rising.shape), axis=-1)], axis=-1)
    walk = np.where(at <= slices.cells[:, None], won - seen * slices.probability, np.inf)
    lowest = walk <= walk.min(axis=-1, keepdims=True) + 1e-9
    first = lowest.argmax(axis=-1)[..., None]
    last = cells - lowest[..., ::-1].argmax(axis=-1)[..., None]
    # `below` is the fitted fraction left of the minimum of S, the largest success fraction of consecutive cells that
    # end there; `above`, right of it, is the least success fraction of consecutive cells that begin there
    with np.errstate(all="ignore"):
        left = (np.take_along_axis(won, first, -1) - won) / (np.take_along_axis(seen, first, -1) - seen)
        right = (won - np.take_along_axis(won, last, -1)) / (seen - np.take_along_axis(seen, last, -1))
    below = np.where((at < first) & np.isfinite(left), left, -np.inf).max(axis=-1)
    above = np.where((at > last) & np.isfinite(right), right, np.inf).min(axis=-1)
    spread = np.broadcast_to(slices.x, rising.shape)
    before, after, start, end = (
        np.take_along_axis(spread, np.clip(place, 0, cells - 1), -1)[..., 0]
        for place in (first - 1, last, first, last - 1)
    )
    none_below, none_above = first[..., 0] == 0, last[..., 0] == slices.cells
    cut = (none_below, none_above)
    # between two equal minima of S the isotonic fit is exactly p, and every x there is a crossing: take the middle
    flat = first[..., 0] < last[..., 0]
    step = after - before
    with np.errstate(all="ignore"):
        jump = np.where(flat | none_below | none_above, 0.0, above - below)
        half = np.where(flat, (start + end) / 2, before + (slices.probability - below) / (above - below) * step)
    half = np.where(none_below, spread[..., 0], np.where(none_above, end, half))
    return half, step * jump**3, cut


def unfinished(cells: pd.DataFrame) -> Array:
    """Return the number of failed and undecided trials of each cell."""
    return numbers(cells, "failed") + numbers(cells, "undecided")
