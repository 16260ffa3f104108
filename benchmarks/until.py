"""A sweep that goes on until its threshold is known: does its last interval cover, and what does it cost?

    python -m benchmarks.until [--grids 300] [--half 0.05] [--replicates 2] [--out FILE.csv]

Truths in turn are the curves of `benchmarks.truths`, with their ratios and sizes on and off the lattice. Rounds are
planned and tested as `recover sweep --until` does; only the trials are drawn from the curve instead of being run.
Beside it: the fewest replicates of every cell at which the usual 95 % interval of a fixed design is as short.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import commit, written
from benchmarks.truths import CURVES, OFF, RATIOS, SIZES, N, _ratios
from recovery.config.sampling import Until
from recovery.report.diagram import Panel
from recovery.report.statistics import pooled
from recovery.report.statistics.estimates import interim_level
from recovery.report.until import Goal, record_of
from recovery.sampling.placement import Slice, sharpen
from recovery.types import Array, Rng

TRUTHS = ("wendel", "logistic", "skewed", "gompertz", "mirrored", "two steps", "plateau", "drifting")
"""Without `step`, whose place between two n no number of trials tells."""
LADDER = tuple(sorted({round(1.25**k) for k in range(1, 38)}))
"""Replicates that fixed designs may have."""


def panel(sizes: Array, yes: Any, total: Any) -> Panel:
    """Counts, shape (sizes, cells), as a report has them."""
    n, d = np.meshgrid(N, sizes)
    columns = {"n": n.ravel(), "d": d.ravel(), "yes": yes.ravel(), "no": (total - yes).ravel(), "trials": total.ravel()}
    return Panel("", {}, pd.DataFrame({**columns, **dict.fromkeys(("failed", "undecided", "undefined"), 0)}), N, sizes)  # type: ignore[arg-type]


def chances(truth: str, seed: int) -> tuple[Array, Array, float]:
    """The sizes, the chance of a yes in each cell, and the ratio."""
    ratio, sizes = RATIOS[seed % len(RATIOS)], SIZES if seed // len(RATIOS) % 2 else OFF
    curve = CURVES.get(truth, CURVES["wendel"])
    pairs = zip(sizes, _ratios(sizes, ratio, truth), strict=True)
    return sizes, np.clip([curve(N, np.full(len(N), d), r) for d, r in pairs], 0.0, 1.0), ratio


def goes_on(rng: Rng, sizes: Array, chance: Array, until: Until, replicates: int) -> dict[str, Any]:
    """One sweep: its trials, tests and last interval."""
    total = np.full(chance.shape, replicates)
    yes, rounds = rng.binomial(total, chance), 1
    record: dict[str, Any] | None = None
    while True:
        level = interim_level(record["level_of"] if record else 1)
        found = pooled(panel(sizes, yes, total), level)
        left = until.ceiling * replicates * total.size - int(total.sum())
        record, factor = record_of(found, Goal(until, []), record, True, left)
        parts = [Slice(N, yes[i].astype(float), (total - yes)[i].astype(float)) for i in range(len(sizes))]
        added = np.array([more for _, more in sharpen(parts, factor, max(left, 0) if factor > 1 else 0)])
        if not added.any():
            break
        yes, total, rounds = yes + rng.binomial(added, chance), total + added, rounds + 1
    given = found.interval
    return {"low": given.low, "high": given.high, "trials": int(total.sum()), "tests": record["tests"]} | {
        "rounds": rounds, "met": record["known"], "estimate": given.estimate
    }  # fmt: skip


def fixed(rng: Rng, sizes: Array, chance: Array, half: float) -> float:
    """The trials of the smallest fixed design whose interval is as short, found by halving the ladder; NaN if none."""
    low, high = 0, len(LADDER)
    while low < high:
        middle = (low + high) // 2
        total = np.full(chance.shape, LADDER[middle])
        given = pooled(panel(sizes, rng.binomial(total, chance), total)).interval
        if (given.high - given.low) / 2 <= half:
            high = middle
        else:
            low = middle + 1
    return LADDER[low] * chance.size if low < len(LADDER) else np.nan


def measured(seed: int, until: Until, replicates: int) -> dict[str, object]:
    """One truth, both designs."""
    truth = TRUTHS[seed % len(TRUTHS)]
    sizes, chance, ratio = chances(truth, seed // len(TRUTHS))
    rng = np.random.default_rng([seed, replicates])
    row = goes_on(rng, sizes, chance, until, replicates)
    assert until.half is not None
    uniform = fixed(rng, sizes, chance, until.half)
    return {
        "seed": seed,
        "truth": truth,
        "ratio": ratio,
        **row,
        "covers": row["low"] <= ratio <= row["high"],
        "fixed": uniform,
    }


def lines(rows: pd.DataFrame) -> list[str]:
    """A line for each truth, and one for all."""
    table = ["| truth | sweeps | met | covers | half width | tests | rounds | trials | fixed design | of its trials |"]
    table.append("|" + "---|" * 10)
    for name, part in [*rows.groupby("truth", sort=False), ("all", rows)]:
        half = ((part["high"] - part["low"]) / 2).mean()
        both = part[part["met"].astype(bool) & part["fixed"].notna()]
        ratio = float(np.exp(np.log(both["trials"] / both["fixed"]).mean())) if len(both) else np.nan
        counts = f"{part['met'].mean():.3f} | {part['covers'].mean():.3f} | {half:.4f} | {part['tests'].mean():.2f}"
        trials = (
            f"{part['rounds'].mean():.2f} | {part['trials'].median():.0f} | {part['fixed'].median():.0f} | {ratio:.2f}"
        )
        table.append(f"| {name} | {len(part)} | {counts} | {trials} |")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grids", type=int, default=300)
    parser.add_argument("--half", type=float, default=0.05)
    parser.add_argument("--replicates", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    arguments = parser.parse_args()
    until = Until(f"threshold +-{arguments.half:g}")
    rows: list[Any] = pd.read_csv(arguments.out).to_dict("records") if arguments.out.exists() else []
    rows = [row for row in rows if row.get("commit") == commit()]
    for seed in range(len(rows), arguments.grids):
        rows.append(measured(seed, until, arguments.replicates) | {"commit": commit()})
        if seed % 10 == 9 or seed == arguments.grids - 1:
            pd.DataFrame(rows).to_csv(arguments.out, index=False, float_format="%.6g")
    head = f"`--until '{until.rule}'` from {arguments.replicates} replicates of 400 cells, and a fixed design."
    written(arguments.out, [head, "", *lines(pd.DataFrame(rows)), NOTE])


NOTE = """
- `covers`: the interval at which the sweep stopped holds the true ratio. `met`: stopped by the rule, not the ceiling.
- `fixed design`: median trials of the fewest replicates of all cells whose usual 95 % interval is as short.
- `of its trials`: geometric mean of trials by trials of the fixed design, where both are known.
- Where the ratio drifts, its interval has what the sizes scatter: no number of trials makes it as short as asked.
"""


if __name__ == "__main__":
    main()
