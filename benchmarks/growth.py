"""How the rows that a sweep needs grow with the number of variables: the n at which half of the draws are recovered at
each d, fitted by a + b log d, a + b log^4 d, a + b d and a power of d, weighted by the intervals.

    python -m benchmarks.growth

Every panel of p3-support and p3-support-lasso with at least four such n is fitted; the p-value of chi-square says which
law fits.
"""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import curve_fit
from scipy.stats import chi2

from benchmarks import HERE, table
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.store import read
from recovery.types import Array

LAWS: dict[str, Callable[[Array, float, float], Array]] = {
    "a + b log d": lambda d, a, b: a + b * np.log(d),
    "a + b log^4 d": lambda d, a, b: a + b * np.log(d) ** 4,
    "a + b d": lambda d, a, b: a + b * d,
    "a d^b": lambda d, a, b: a * d**b,
}
LEAST = 4


def rows() -> Iterator[list[str]]:
    """Yield the fit of each law in each panel."""
    for name in ("p3-support", "p3-support-lasso"):
        records = Analysis(Diagram.of(read(HERE.parent / "results" / "papers" / name))).thresholds()
        sizes = [one | {"d": one["where"]["d"]} for one in records if not one["pooled"]]
        for panel in dict.fromkeys(row["panel"] for row in sizes):
            points = np.array(
                [[row[of] for of in ("d", "estimate", "low", "high")] for row in sizes if row["panel"] == panel]
            )
            d, n, low, high = points[np.isfinite(points.astype(float)).all(axis=1)].astype(float).T
            if len(d) < LEAST:
                continue
            error = (high - low) / (2 * 1.96)
            for law, function in LAWS.items():
                (a, b), _ = curve_fit(function, d, n, p0=(1.0, 0.1), sigma=error)
                square = float((((function(d, a, b) - n) / error) ** 2).sum())
                p = chi2.sf(square, len(d) - 2)
                yield [name, str(panel), law, f"a = {a:.3g}, b = {b:.3g}", f"{square:.1f} on {len(d) - 2}", f"{p:.2g}"]


if __name__ == "__main__":
    table(("sweep", "panel", "law", "fit", "chi-square", "p"), rows())
