"""A tree over the signs of rows that covers all cells of an arrangement, for proofs that bound each cell.

Each leaf fixes the signs of the first rows, and is one of the following:
- closed: a bound that the proof verifies excludes all of its cells;
- empty: integers y >= 0, not all zero, satisfy sum y_i s_i x_i = 0 (Gordan's theorem);
- a planted cell.
Floating-point arithmetic chooses the tree; integers verify each y.
"""

from abc import ABC, abstractmethod

import numpy as np
from flint import fmpz_mat
from scipy.optimize import nnls

from recovery.conditions.balls import Unproved
from recovery.conditions.cell_search import THIN, cell_point
from recovery.programs.integers import integer_rows
from recovery.types import Array, Codes, Index, Mask


class CellTree(ABC):
    """The tree over the signs of rows (m, d), none of them zero, with planted cells (k, m)."""

    def __init__(self, rows: Array, planted: Mask) -> None:
        self.planted = planted
        self.normals = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self.whole = integer_rows(rows)

    @abstractmethod
    def close(self, sides: Codes) -> bool:
        """Record a bound that excludes all cells with these signs of the first rows, if found; return whether."""

    @abstractmethod
    def value(self, sides: Codes) -> float:
        """Return the dual norm of the cell with these signs of all rows."""

    def run(self, nodes: int) -> None:
        """Grow the tree until every leaf is closed, empty or planted. Raises `Unproved`."""
        m, point = len(self.normals), np.empty(self.normals.shape[1])
        pending: list[tuple[Codes, Array | None]] = [(np.zeros(0, dtype=np.int8), None)]
        while pending:
            nodes -= 1
            if nodes < 0:
                raise Unproved("the search over all patterns reached the limit of nodes")
            sides, inside = pending.pop()
            depth = len(sides)
            if self.close(sides):
                continue
            if depth and inside is None:
                if cell_point(self.normals, sides, depth, point) == 1:
                    inside = point / np.linalg.norm(point)
                elif self.is_empty(sides):
                    continue
            if depth == m:
                if not (self.planted == (sides > 0)).all(axis=1).any():
                    raise Unproved(f"the dual norm over all patterns reaches {self.value(sides):.9g}")
                continue
            product = 0.0 if inside is None else float(self.normals[depth] @ inside)
            for side in (1, -1):
                kept = inside if side * product > THIN else None
                pending.append((np.append(sides, np.int8(side)), kept))

    def is_empty(self, sides: Codes) -> bool:
        """Return whether integers prove that no point has these signs of its products with the first rows."""
        signed = self.normals[: len(sides)] * sides[:, None]
        # a convex combination equal to zero, with a minimal number of rows
        y, _ = nnls(np.vstack([signed.T, np.ones(len(sides))]), np.append(np.zeros(signed.shape[1]), 1.0))
        # for exactly dependent rows, rounding may leave small positive weights: try again without these rows
        return any(self._vanishes(sides, np.flatnonzero(y > least)) for least in (0.0, 1e-12))

    def _vanishes(self, sides: Codes, chosen: Index) -> bool:
        """Return whether these signed rows have exactly one linear dependence, whose weights share one sign."""
        columns = [[int(sides[i]) * a for a in self.whole[i]] for i in chosen]
        null, nullity = fmpz_mat([list(row) for row in zip(*columns, strict=True)]).nullspace()
        weights = [int(row[0]) for row in null.tolist()]
        return nullity == 1 and (min(weights) >= 0 or max(weights) <= 0)
