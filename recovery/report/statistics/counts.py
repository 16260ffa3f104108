"""The counts of a threshold: successes and trials of every grid cell of every slice, and which trials share a draw."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from recovery.types import Array, Index, Mask


class Draws(NamedTuple):
    """Trials that share draws, such as one X at every x: the cell, the outcome (1 or 0) and the draw of each trial. A
    draw in `Counts` is of one slice."""

    cell: Index
    outcome: Array
    draw: Index

    def numbered(self, new: Index) -> "Draws":
        """Return the trials of the cells that have a new number; new: the number of each cell, -1 for none."""
        kept = new[self.cell] >= 0
        return Draws(new[self.cell[kept]], self.outcome[kept], self.draw[kept])


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
        pairs, which = np.unique(np.column_stack([y, v])[used], axis=0, return_inverse=True)
        which = which.ravel()
        new = np.full(len(n), -1)
        new[used] = which
        won, total = (np.bincount(which, counts[used]).astype(float) for counts in (k, n))
        sizes, of = np.unique(pairs[:, 0], return_inverse=True)
        if draws is not None:
            draws = draws.numbered(new)
            in_slice = np.unique(np.column_stack([of[draws.cell], draws.draw]), axis=0, return_inverse=True)[1]
            draws = draws._replace(draw=in_slice.ravel())
        return cls(sizes, of, pairs[:, 1], won, total, draws)

    @property
    def slices(self) -> int:
        return len(self.y)

    @cached_property
    def each(self) -> "list[Counts]":
        """The counts of each slice alone."""
        cells = (self.where(self.of == i) for i in range(self.slices))
        return [replace(one, y=self.y[[i]], of=0 * one.of) for i, one in enumerate(cells)]

    @property
    def mirrored(self) -> "Counts":
        """The counts of the opposite outcome."""
        draws = self.draws and self.draws._replace(outcome=1 - self.draws.outcome)
        return replace(self, k=self.n - self.k, draws=draws)

    def where(self, cells: Mask) -> "Counts":
        """Return the counts of some cells, with all slices."""
        draws = self.draws and self.draws.numbered(np.where(cells, np.cumsum(cells) - 1, -1))
        return Counts(self.y, self.of[cells], self.v[cells], self.k[cells], self.n[cells], draws)

    def sums(self, values: Array) -> Array:
        """Return the sums of one value per cell (last axis) over the cells of each slice."""
        return np.asarray(values @ (self.of[:, None] == np.arange(self.slices)))
