"""Which threshold a panel has: along which axis, at which probability, and what makes its slices comparable."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from recovery.errors import ReportError
from recovery.expressions import is_expression, parse
from recovery.types import Array


@dataclass(frozen=True)
class ThresholdAxis:
    """The threshold is the value of `x` at which an event has `probability`, in each slice of cells with equal `by`.

    pool: the expression of x and other coordinates whose value at the threshold is taken to be the same in all slices,
    such as n/d; None if each slice has a threshold of its own. transposed: `x` is the vertical axis of the diagram.
    """

    x: str = "n"
    by: str | None = "d"
    pool: str | None = "n/d"
    probability: float = 0.5
    transposed: bool = False

    @property
    def what(self) -> str:
        """The quantity that is estimated: the pooled expression, or the axis."""
        return self.pool or self.x

    @property
    def percent(self) -> str:
        """The probability, as `50 %`."""
        return f"{100 * self.probability:.4g} %"

    def needed(self) -> tuple[str, ...]:
        """Return the names of the coordinates that the pooled expression uses."""
        return () if self.pool is None else parse(self.pool).names if is_expression(self.pool) else (self.pool,)

    def values(self, cells: pd.DataFrame) -> Array:
        """Return the value of the pooled expression in each cell, or x. Raises `ReportError`."""
        if self.pool is None or self.pool in cells:
            return cells[self.what].to_numpy(dtype=float)
        columns = {name: cells[name].to_numpy(dtype=float) for name in self.needed()}
        values = np.broadcast_to(parse(self.pool).array(columns), len(cells)).astype(float)
        if not np.isfinite(values).all():
            raise ReportError(f"report.pool: {self.pool} has no value in some grid cells; choose another expression")
        return values
