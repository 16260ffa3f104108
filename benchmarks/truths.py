"""Does a threshold's interval cover, and does it decide? Grids are drawn from curves of every kind, on and off the
lattice of n and d, and analysed as a report does.

    python -m benchmarks.truths [--truth wendel ...] [--replicates 1 5 20 100] [--grids 250] [--jobs 1] [--out FILE.csv]
                               [--before FILE.csv]

n = 10, 20, ..., 400 and ten sizes d, in half of the grids multiples of 10 and in half not; the ratio is 1.93, 2.00,
2.03 or 2.07 in turn. Per truth and replicates: how often the 95 % interval covers, how often no threshold is given, how
true and false claims are judged, and how often "ratio +- 0.15" is decided. Each row is added to the CSV when it is
done, and one that stands there is not measured again. `--before` names the CSV of an earlier version, whose half widths
fill a column. Each grid has a seed of its own, so jobs change nothing.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

from benchmarks import arguments, commit, table, written
from recovery.report.claims.result import decided
from recovery.report.claims.threshold import tests_of
from recovery.report.diagram import Panel
from recovery.report.statistics import threshold_of
from recovery.report.statistics.panels import RATIO
from recovery.types import Array

N = np.arange(10.0, 401.0, 10.0)
SIZES = np.arange(10.0, 101.0, 10.0)
OFF = np.array([11.0, 18.0, 23.0, 37.0, 44.0, 52.0, 61.0, 73.0, 88.0, 97.0])
RATIOS = (1.93, 2.00, 2.03, 2.07)
REPLICATES = (1, 5, 20, 100)
RISE = 0.3
"""The drifting ratio rises by so much for a factor of ten in d."""
SPREAD = 0.1
"""Correlation of the trials of a beta-binomial cell."""


def _scaled(n: Array, d: Array, ratio: float) -> Array:
    scaled: Array = (n - ratio * d) / np.sqrt(n)
    return scaled


def _two_steps(n: Array, d: Array, ratio: float) -> Array:
    """35 % of the trials at 0.4 below the ratio; the place of the others makes one half lie at the ratio."""
    width, early = 0.12, 0.35
    share = early * float(expit(0.4 / width))
    late = -width * float(np.log((0.5 - share) / (1 - early - 0.5 + share)))
    mixed: Array = early * expit((n / d - ratio + 0.4) / width) + (1 - early) * expit((n / d - ratio - late) / width)
    return mixed


def _ratios(d: Array, ratio: float, truth: str) -> Array:
    """n50/d at each d; the drifting one has the mean `ratio`, weighed by d."""
    rise = RISE * np.log10(d / 10) if truth == "drifting" else np.zeros(len(d))
    shifted: Array = ratio + rise - d @ rise / d.sum()
    return shifted


CURVES: dict[str, Callable[[Array, Array, float], Array]] = {
    "wendel": lambda n, d, r: ndtr(_scaled(n, d, r)),
    "logistic": lambda n, d, r: expit((n / d - r) / 0.5),
    "skewed": lambda n, d, r: 1 - 2.0 ** -((n / (r * d)) ** 6),
    "gompertz": lambda n, d, r: np.exp(-np.log(2) * np.exp(-1.15 * _scaled(n, d, r))),
    "mirrored": lambda n, d, r: 1 - np.exp(-np.log(2) * np.exp(1.15 * _scaled(n, d, r))),
    "two steps": _two_steps,
    "plateau": lambda n, d, r: 0.9 * expit((n / d - r) / 0.25 + np.log(0.5 / 0.4)),
    "step": lambda n, d, r: np.where(n < r * d, 0.0, np.where(n > r * d, 1.0, 0.5)),
}
"""P(yes) at n and d, one half at n = ratio d. `wendel`: Wendel's law as the normal law has it, for any ratio."""
TRUTHS = (*CURVES, "drifting", "beta-binomial", "correlated", "correlated logistic", "missing")
"""`correlated`: one uniform number for a d and replicate over all n. `missing`: 30 % of the trials, at random."""

TRUE = ((0.0, 0.02), (0.0, 0.1), (0.1, 0.15), (0.0, 0.3))
FALSE = ((0.1, 0.05), (0.2, 0.15), (-0.2, 0.1), (0.5, 0.2), (0.16, 0.15))
"""(value less the ratio, tolerance) of claims that are true, and false."""


def draw(truth: str, replicates: int, seed: int) -> tuple[Panel, float, Array]:
    """One panel of counts, its ratio, and n50/d at each of its sizes."""
    rng = np.random.default_rng([TRUTHS.index(truth), replicates, seed])
    ratio, sizes = RATIOS[seed % len(RATIOS)], SIZES if seed // len(RATIOS) % 2 else OFF
    ratios = _ratios(sizes, ratio, truth)
    curve = CURVES.get(truth, CURVES["logistic" if truth == "correlated logistic" else "wendel"])
    chance = np.clip([curve(N, np.full(len(N), d), r) for d, r in zip(sizes, ratios, strict=True)], 0.0, 1.0)
    total = rng.binomial(replicates, 0.7, chance.shape) if truth == "missing" else np.full(chance.shape, replicates)
    if truth == "beta-binomial":
        doubtful = (chance > 1e-9) & (chance < 1 - 1e-9)
        trials = np.where(doubtful, chance, 0.5) * (1 / SPREAD - 1)
        chance = np.where(doubtful, rng.beta(trials, 1 / SPREAD - 1 - trials), chance)
    if truth.startswith("correlated"):
        yes = (rng.random((len(sizes), 1, replicates)) < chance[..., None]).sum(axis=-1)
    else:
        yes = rng.binomial(total, chance)
    n, d = np.meshgrid(N, sizes)
    columns = {"n": n.ravel(), "d": d.ravel(), "yes": yes.ravel(), "no": (total - yes).ravel()}
    columns |= {"missing": (replicates - total).ravel(), **dict.fromkeys(("failed", "undecided", "undefined"), 0)}
    return Panel(truth, {}, pd.DataFrame(columns), list(N), list(sizes)), ratio, ratios


def judged(truth: str, replicates: int, seed: int) -> dict[str, float]:
    """Analysis of one grid, compared with the truth."""
    panel, ratio, ratios = draw(truth, replicates, seed)
    found = threshold_of(panel, RATIO)
    given = found.interval
    pairs = zip(found.slices, ratios, strict=True)
    inside = [one.interval.low <= true * one.y <= one.interval.high for one, true in pairs]
    row = {
        "given": float(np.isfinite(given.estimate)),
        "covers": float(given.low <= ratio <= given.high),
        "error": given.estimate - ratio,
        "half": (given.high - given.low) / 2,
        "drift": float(not found.constant),
        "sizes": float(np.mean(inside)),
        "decided": float(decided(tests_of(found, (ratio - 0.15, ratio + 0.15)))[1] == "supported"),
    }
    spread = np.ptp(ratios)
    for kind, claims in (("true", TRUE), ("false", FALSE)):
        verdicts = [decided(tests_of(found, (ratio + by - room, ratio + by + room)))[1] for by, room in claims]
        row[f"{kind}_contradicted"] = float(np.mean([verdict == "contradicted" for verdict in verdicts]))
        row[f"{kind}_held"] = float(np.mean([verdict == "supported" for verdict in verdicts]))
    return row | {"spread": float(spread)}


def measure(truth: str, replicates: int, grids: int, pool: ProcessPoolExecutor) -> dict[str, object]:
    """Return means over the grids, and the bias and spread of the error."""
    rows = list(pool.map(partial(judged, truth, replicates), range(grids), chunksize=max(1, grids // 16)))
    table = pd.DataFrame(rows)
    means: dict[str, object] = {str(name): value for name, value in table.mean().items()}
    means |= {"bias": table["error"].mean(), "error": table["error"].std()}
    return {"truth": truth, "replicates": replicates, "grids": grids, **means}


COLUMNS = {
    **{name: name for name in ("truth", "replicates", "grids", "covers", "given", "bias")},
    **{"error": "spread", "half": "half width", "before": "before", "decided": "+-0.15 decided"},
    **{name: name.replace("_", " ") for name in ("true_contradicted", "false_held", "true_held", "false_contradicted")},
    **{"drift": "drift seen", "sizes": "n50 at each d covers"},
}
"""Measured name -> heading."""


HEAD = "Thresholds and claims on n = 10, 20, ..., 400 and ten sizes d, with the ratios 1.93, 2.00, 2.03 and 2.07."
NOTE = """
- `given`: a threshold has an estimate. `bias` and `spread` of the estimate; `half width` of the 95 % interval.
- `before`: half width of the version before one curve or common bounds of all d could give the interval, at 6754ee7
  (`git show 6754ee7:benchmarks/truths.csv`).
- True claims: ratio +- 0.02, 0.1, 0.3, and one that is 0.1 off +- 0.15. False ones miss by 0.01 to 0.3.
- The ratio of `drifting` is the mean over d, weighed by d; a claim that holds of the mean is a true one.
- Correlated trials share a uniform number over all n: the scatter over d tells, whatever trials of one d share. It
  widens n50 at each d too.
"""


def rows(given: Any) -> Iterator[list[str]]:
    """Yield the cells of each row; add it to the CSV when it is measured."""
    known = pd.read_csv(given.out) if given.out.exists() else pd.DataFrame(columns=list(COLUMNS))
    before: Any = pd.read_csv(given.before).set_index(["truth", "replicates"])["half"] if given.before.is_file() else {}
    known = known[(known["grids"] == given.grids) & (known.get("commit") == commit())]
    with ProcessPoolExecutor(given.jobs) as pool:
        for replicates, truth in product(given.replicates, given.truth):
            found = known[(known["truth"] == truth) & (known["replicates"] == replicates)]
            if not len(found):
                found = pd.DataFrame([measure(truth, replicates, given.grids, pool) | {"commit": commit()}])
                known = pd.concat([known, found], ignore_index=True) if len(known) else found
                known.to_csv(given.out, index=False, float_format="%.6g")
            found = found.assign(before=before.get((truth, replicates), np.nan))
            cells = [found.iloc[0].to_dict()[name] for name in COLUMNS]
            yield [f"{value:.3f}" if isinstance(value, float) else str(value) for value in cells]


if __name__ == "__main__":
    out = Path(__file__).with_suffix(".csv")
    options = arguments(__doc__, truth=TRUTHS, replicates=REPLICATES, grids=250, jobs=1, out=out, before=Path())
    written(options.out, [HEAD, "", *table(tuple(COLUMNS.values()), rows(options)), NOTE])
