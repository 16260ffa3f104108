"""Means of a column over the replicates of each grid cell, compared with a table that a source prints."""

from dataclasses import dataclass

import numpy as np

from recovery.config import TableClaim
from recovery.report.diagram import Diagram, finished, has
from recovery.types import Array, Index

FAR = 3.0
"""Standard errors by which a number may differ. Of 40 correct numbers, one differs by more in 10 % of tables."""


@dataclass(frozen=True)
class MeanTable:
    """Means and their standard errors, shape (rows, columns). A mean needs one trial and a standard error two; both are
    NaN without them.

    stated, stated_error: the numbers that the source prints, and their standard errors.
    """

    value: str
    axis: str
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    mean: Array
    error: Array
    count: Index
    stated: Array
    stated_error: Array
    source: str

    @property
    def z(self) -> Array:
        """z-scores (mean - stated) / (error^2 + stated error^2)^(1/2); NaN where either error is missing."""
        return (self.mean - self.stated) / np.hypot(self.error, self.stated_error)


def claimed_table(diagram: Diagram, claim: TableClaim) -> MeanTable:
    """Return the table of a claim, from finished trials that match its `where`."""
    frame, rows = diagram.frame, list(claim.values)
    inside = finished(frame)
    for name, wanted in claim.where.items():
        inside = inside & has(frame, name, wanted)
    numbers = frame[claim.of].to_numpy(np.float64, na_value=np.nan)
    shape = (len(rows), len(claim.at))
    mean, error, count = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, np.intp)
    columns = [has(frame, claim.across, column) for column in claim.at]
    for i, row in enumerate(rows):
        line = inside & has(frame, claim.axis, row)
        for j, column in enumerate(columns):
            measured = numbers[line & column]
            measured = measured[np.isfinite(measured)]
            count[i, j] = len(measured)
            if len(measured):
                mean[i, j] = measured.mean()
            if len(measured) > 1:
                error[i, j] = measured.std(ddof=1) / np.sqrt(len(measured))
    return MeanTable(
        value=claim.of,
        axis=claim.axis,
        across=claim.across,
        rows=tuple(rows),
        columns=tuple(f"{c:g}" if isinstance(c, float) else str(c) for c in claim.at),
        mean=mean,
        error=error,
        count=count,
        stated=np.array([list(claim.values[row]) for row in rows]),
        stated_error=np.array([claim.errors_of(row) for row in rows]),
        source=claim.source,
    )


def claimed_tables(diagram: Diagram) -> list[MeanTable]:
    """Return the tables that the config claims."""
    return [claimed_table(diagram, claim) for claim in diagram.sweep.claims if isinstance(claim, TableClaim)]
