"""Means of a column over the replicates of each grid cell, compared with a table that a source prints."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from recovery.config.claims import TableClaim
from recovery.report.diagram import Diagram, Panel, has, is_same, rows_where
from recovery.report.diagram.quantity import Quantity
from recovery.report.statistics.samples import SAMPLES, Sample
from recovery.theory.normal import normal_reach
from recovery.types import Array, Mask

FAR = 3.0
"""z-score from which a number of a table is marked. Of 40 correct numbers, one is beyond it in 10 % of tables."""


@dataclass(frozen=True)
class MeanTable:
    """A claimed table, and the samples of its cells; arrays have the shape (rows, columns).

    stated, stated_error: the numbers that the source prints, and their standard errors. mean: NaN without a trial, or
    with an unmeasured one. error: the standard errors of the means; NaN with fewer than two trials. count: the numbers
    of trials with a value.
    """

    claim: TableClaim
    samples: Sequence[Sequence[Sample]]
    stated: Array
    stated_error: Array
    mean: Array
    error: Array
    count: Array

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [f"{at:g}" if isinstance(at, float) else str(at) for at in self.claim.at]

    @property
    def z(self) -> Array:
        """z-scores (mean - stated) / (error^2 + stated error^2)^(1/2); NaN where either error is missing."""
        return (self.mean - self.stated) / np.hypot(self.error, self.stated_error)

    def judged(self, alpha: float) -> tuple[Mask, Mask]:
        """Return which numbers agree, and which differ, each at the error rate `alpha`; the others are undecided.

        A number agrees if its z-score is inside the normal law's limits. Any other differs if the interval of its
        difference excludes 0: each end is at the root of the sum of squares of the distances to the ends of both
        intervals (Zou and Donner 2008).
        """
        reach = normal_reach(1 - alpha)
        known = np.array([[not one.unknown["unmeasured"] for one in row] for row in self.samples])
        agrees = known & (self.count >= SAMPLES) & (np.abs(self.z) <= reach)
        differs = np.zeros(self.stated.shape, np.bool_)
        for i, j in zip(*np.nonzero(~agrees), strict=True):
            found = self.samples[i][j].interval("mean", 1 - alpha)
            gap, other = found.estimate - self.stated[i, j], reach * self.stated_error[i, j]
            differs[i, j] = gap > np.hypot(found.estimate - found.low, other)
            differs[i, j] |= gap < -np.hypot(found.high - found.estimate, other)
        return agrees, differs


def claimed_table(diagram: Diagram, claim: TableClaim) -> MeanTable:
    """Return a claim's numbers beside the means of the finished trials in its `where`."""
    inside = rows_where(diagram.frame, claim.where)
    columns = [inside & has(diagram.frame, claim.across, column) for column in claim.at]
    lines = [has(diagram.frame, claim.axis, row) for row in claim.values]
    found = Sample.each(diagram, Quantity(claim.of), (line & one for line in lines for one in columns))
    samples = [[*islice(found, len(columns))] for _ in lines]
    numbers = [[(one.mean, one.error, len(one.values)) for one in row] for row in samples]
    stated = np.array([*claim.values.values()], float), np.array([claim.errors_of(row) for row in claim.values])
    return MeanTable(claim, samples, *stated, *np.moveaxis(np.array(numbers), -1, 0))


def claimed_tables(diagram: Diagram) -> list[MeanTable]:
    """Return the tables that the config claims."""
    return [claimed_table(diagram, claim) for claim in diagram.sweep.claims if isinstance(claim, TableClaim)]


def shown_tables(diagram: Diagram) -> list[TableClaim]:
    """Return the claimed tables of the shown quantity that have a row for each y and a column for each x."""
    wanted = (str(diagram.quantity), diagram.layout.y, diagram.layout.x)
    claims = (claim for claim in diagram.sweep.claims if isinstance(claim, TableClaim))
    return [claim for claim in claims if (claim.of, claim.axis, claim.across) == wanted]


def means_of(diagram: Diagram, cells: pd.DataFrame) -> tuple[Array, Array]:
    """Return the mean of the shown quantity in each of these grid cells, and its standard error."""
    samples = Sample.each(diagram, diagram.quantity, (diagram.cells.code == k for k in cells.index))
    mean, error = np.array([(one.mean, one.error) for one in samples]).reshape(-1, 2).T
    return mean, error


def printed_numbers(diagram: Diagram, panel: Panel, y: Any, cells: pd.DataFrame) -> list[list[float]]:
    """Return what each shown table prints for these grid cells of a panel with this y; NaN where it prints nothing."""
    claims = [one for one in shown_tables(diagram) if diagram.matching([panel], one.where)]
    rows = [zip(one.at, one.values[row], strict=True) for one in claims for row in one.values if is_same(y, row)]
    stated = [{x: number for at, number in row for x in panel.x if is_same(x, at)} for row in rows]
    return [[row.get(panel.x[k], np.nan) for k in cells["ix"]] for row in stated]
