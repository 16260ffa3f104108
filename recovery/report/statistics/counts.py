"""The counts of a threshold: successes and trials of every grid cell of every slice, and which trials share a draw."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from recovery.types import Array, Index, Mask


class Draws(NamedTuple):
    """Trials that share draws, such as one X at every x: the cell, the outcome (1 or 0) and the draw of each trial."""

    cell: Index
    outcome: Array
    draw: Index


@dataclass(frozen=True)
class Counts:
    """Counts of an outcome that becomes more frequent with v. Cells are in the order of slices, then of v.

    y: the value of each slice, such as d. of: the slice of each cell. v: the value along which the threshold lies, such
    as n/d. k, n: successes and trials. draws: the single trials, if the design makes some of them share draws.
    """

    y: Array
    of: Index
    v: Array
    k: Array
    n: Array
    draws: Draws | None = None

    @classmethod
    def make(cls, y: Array, v: Array, k: Array, n: Array, draws: Draws | None = None) -> "Counts":
        """Return the counts of these cells: those without trials are left out, those of equal y and v are merged."""
        used = n > 0
        sizes = np.unique(y[used])
        pairs, which = np.unique(np.column_stack([y, v])[used], axis=0, return_inverse=True)
        which = which.ravel()
        if draws is not None:
            new = np.full(len(n), -1)
            new[used] = which
            kept = new[draws.cell] >= 0
            draws = Draws(new[draws.cell[kept]], draws.outcome[kept], draws.draw[kept])
        of = np.searchsorted(sizes, pairs[:, 0])
        return cls(sizes, of, pairs[:, 1], _sums(which, k[used]), _sums(which, n[used]), draws)

    @property
    def slices(self) -> int:
        return len(self.y)

    def slice(self, i: int) -> "Counts":
        """Return the counts of slice i alone."""
        return self.where(self.of == i, np.arange(len(self.y)) == i)

    def where(self, cells: Mask, slices: Mask | None = None) -> "Counts":
        """Return the counts of some cells, with all slices or with these."""
        y, of = (self.y, self.of) if slices is None else (self.y[slices], np.cumsum(slices)[self.of] - 1)
        draws, number = self.draws, np.cumsum(cells) - 1
        if draws is not None:
            kept = cells[draws.cell]
            draws = Draws(number[draws.cell[kept]], draws.outcome[kept], draws.draw[kept])
        return replace(self, y=y, of=of[cells], v=self.v[cells], k=self.k[cells], n=self.n[cells], draws=draws)

    def sums(self, values: Array) -> Array:
        """Return the sums of one value per cell (last axis) over the cells of each slice."""
        return np.asarray(values @ (self.of[:, None] == np.arange(self.slices)))


def _sums(which: Index, values: Array) -> Array:
    return np.bincount(which, values).astype(float)
