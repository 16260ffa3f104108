"""Claims that a source's table of means is what the grid has, cell by cell."""

import numpy as np

from recovery.config import TableClaim
from recovery.report.claims.result import Judgement
from recovery.report.statistics import Estimates
from recovery.report.statistics.means import FAR, claimed_table


def state_table(claim: TableClaim) -> str:
    return f"means of {claim.of} as tabulated, {len(claim.values)} x {len(claim.at)} numbers"


def judge_table(estimates: Estimates, panels: list[int], claim: TableClaim) -> tuple[str, Judgement]:
    """Holds if no number differs by more than `FAR` standard errors; open if some have fewer than two trials."""
    table = claimed_table(estimates.diagram, claim)
    z, known = table.z, np.isfinite(table.z)
    far = [(i, j) for i, j in zip(*np.nonzero(np.abs(np.where(known, z, 0.0)) > FAR), strict=True)]
    text = f"{int(known.sum()) - len(far)} of {z.size} numbers within {FAR:g} standard errors"
    if far:
        words = (
            f"{table.rows[i]} at {table.across} {table.columns[j]}: {table.mean[i, j]:.3g} for "
            f"{table.stated[i, j]:g} (z = {z[i, j]:+.1f})"
            for i, j in far
        )
        return f"{text}; {'; '.join(words)}", "contradicted"
    return text, "holds" if known.all() else "cannot tell"
