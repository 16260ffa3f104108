"""A sweep that goes on until its threshold is known: does its last interval cover, and what does it cost?

    python -m benchmarks.until [--grids 500] [--half 0.05] [--replicates 2] [--jobs 1] [--out FILE.csv]

Truths in turn are the curves of `benchmarks.truths`, with their ratios and sizes on and off the lattice. Rounds are
planned and tested as `recover sweep --until` does; only the trials are drawn from the curve instead of being run. The
sweep refines a grid of n = 40, 80, ..., 400. Beside it, for the first ratio: the even grid of n, of several spacings,
and its fewest replicates whose usual 95 % interval is as short as required, with the fewest trials.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import arguments, commit, table, written
from benchmarks.laws import EVEN, RATIOS, SIZES
from benchmarks.truths import LAWS
from recovery.config.refinement import quarters
from recovery.config.sampling import Until
from recovery.report.diagram import Panel, ThresholdAxis
from recovery.report.statistics import Threshold, threshold_of
from recovery.report.statistics.estimates import interim_level
from recovery.report.until import Goal, record_of, steps_to_divide
from recovery.runner.placement import Slice, sharpen
from recovery.types import Array, Rng

TRUTHS = ("wendel", "logistic", "skewed", "gompertz", "mirrored", "two steps", "plateau", "drifting")
"""Without `step`, whose place between two n no number of trials tells."""
COARSE = np.arange(40.0, 401.0, 40.0)
SPACINGS = (80, 40, 20, 10, 5)
"""Steps of n that fixed designs may have."""
LADDER = tuple(sorted({round(1.25**k) for k in range(1, 38)}))
"""Replicates that fixed designs may have."""
DRAWS = 3
"""Draws of a fixed design; most of their intervals have to be as short as required."""
Chance = Callable[[Array, Array], Array]
"""The chance of a yes at n and d."""


def cells(n: Array, sizes: Array) -> pd.DataFrame:
    """Grid cells without trials, as a report has them."""
    at, d = (values.ravel() for values in np.meshgrid(n, sizes))
    return pd.DataFrame(
        {"n": at, "d": d, **dict.fromkeys(("yes", "no", "trials", "failed", "undecided", "unmeasured", "undefined"), 0)}
    )


def drawn(rng: Rng, table: pd.DataFrame, more: Any, chance: Chance) -> pd.DataFrame:
    """The cells with `more` further trials of each."""
    yes: Any = rng.binomial(more, chance(table["n"].to_numpy(), table["d"].to_numpy()))
    columns = {"yes": yes, "no": more - yes, "trials": more}
    return table.assign(**{name: table[name] + added for name, added in columns.items()})


def panel(table: pd.DataFrame) -> Panel:
    return Panel("", {}, table, sorted(table["n"].unique()), sorted(table["d"].unique()))


def chances(truth: str, seed: int) -> tuple[Array, Chance, dict[float, float]]:
    """The sizes, the chance of a yes, and the ratio at each size."""
    law, ratio, sizes = LAWS[truth], RATIOS[seed // 2 % len(RATIOS)], EVEN if seed % 2 else np.array(SIZES[10])
    ratios = np.full(len(sizes), ratio) if law.change is None else law.change(sizes, ratio)
    own = dict(zip(sizes.tolist(), ratios.tolist(), strict=True))

    def chance(n: Array, d: Array) -> Array:
        at = np.array([own[size] for size in d.tolist()])
        return np.clip(law.chance(n / d, d, at), 0.0, 1.0)

    return sizes, chance, own


def goes_on(rng: Rng, n: Array, sizes: Array, chance: Chance, until: Until, replicates: int) -> dict[str, Any]:
    """One sweep: its trials, tests and last interval."""
    first = replicates * len(n) * len(sizes)
    table = drawn(rng, cells(n, sizes), np.full(len(n) * len(sizes), replicates), chance)
    history: list[dict[str, Any]] = []
    while True:
        level = interim_level(history[-1]["level_of"] if history else 1)
        found, goal = threshold_of(panel(table), ThresholdAxis(), level), Goal(until, [])
        left = until.ceiling * first - int(table["trials"].sum())
        record, factor = record_of(found, goal, history, True, left)
        history.append(record)
        new = _between(table, steps_to_divide(found, goal, record))
        if new := new[: max(left, 0) // replicates]:
            record["aimed"] = False
            more = cells(np.zeros(1), np.zeros(len(new))).assign(n=[a for a, _ in new], d=[d for _, d in new])
            more = drawn(rng, more, np.full(len(new), replicates), chance)
            table = pd.concat([table, more], ignore_index=True)
            continue
        groups = [part.sort_values("n") for _, part in table.groupby("d")]
        columns = [[part[name].to_numpy(float) for name in ("n", "yes", "no")] for part in groups]
        parts = [Slice(n, yes, no) for n, yes, no in columns]
        placed = sharpen(parts, factor, max(left, 0) if factor > 1 else 0)
        added = np.zeros(len(table), int)
        for part, (_, many) in zip(groups, placed, strict=True):
            added[part.index] = many
        if not added.any():
            break
        table = drawn(rng, table, added, chance)
    return ended(found, record, len(history))


def ended(found: Threshold, record: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """Return the last interval of a sweep, its cost, and the sizes that are pooled."""
    interval = {name: getattr(found.interval, name) for name in ("estimate", "low", "high")}
    cost = {"trials": record["trials"], "tests": record["tests"], "rounds": rounds, "met": record["known"]}
    return interval | cost | {"method": found.found and found.found.method, "sizes": [one.y for one in found.each]}


def _between(table: pd.DataFrame, wide: list[tuple[Any, Any]]) -> list[tuple[float, float]]:
    """The n and d of new cells inside these steps; none where no integer is in between."""
    pairs = [(table["n"][low], table["n"][high], table["d"][low]) for low, high in wide]
    return [(n, d) for low, high, d in pairs for n in quarters(low, high, whole=True, log=False)]


def fixed(half: float, seed: int) -> float:
    """The trials of the smallest even design whose interval is as short in most draws; NaN if none."""
    rng, (_, sizes, chance, _) = np.random.default_rng([seed, 0]), law(seed)
    best = np.inf
    for step in SPACINGS:
        cells_of = cells(np.arange(float(step), 401.0, step), sizes)
        sized = (one for one in LADDER if one * len(cells_of) < best)
        found = next((one for one in sized if _is_short(rng, cells_of, one, chance, half)), np.inf)
        best = min(best, found * len(cells_of))
    return best if np.isfinite(best) else np.nan


def _is_short(rng: Rng, grid: pd.DataFrame, replicates: int, chance: Chance, half: float) -> bool:
    """Return whether most of the intervals of an even design are as short as `half`."""
    short, many = 0, np.full(len(grid), replicates)
    for i in range(DRAWS):
        given = threshold_of(panel(drawn(rng, grid, many, chance)), ThresholdAxis()).interval
        short += (given.high - given.low) / 2 <= half
        if max(short, i + 1 - short) > DRAWS / 2:
            break
    return bool(short > DRAWS / 2)


def law(seed: int) -> tuple[str, Array, Chance, dict[float, float]]:
    """The name of the truth of a sweep, and its `chances`."""
    truth = TRUTHS[seed % len(TRUTHS)]
    return truth, *chances(truth, seed // len(TRUTHS))


def measured(half: float, replicates: int, seed: int) -> dict[str, object]:
    """One sweep."""
    truth, sizes, chance, own = law(seed)
    rng, rule = np.random.default_rng([seed, replicates]), f"threshold +-{half:g}"
    row = goes_on(rng, COARSE, sizes, chance, Until(rule, refine=True, ceiling=200), replicates)
    ratio = float(np.average([own[d] for d in row["sizes"]], weights=row["sizes"])) if row["sizes"] else np.nan
    known = {"sizes": len(row["sizes"]), "covers": row["low"] <= ratio <= row["high"]}
    return {"seed": seed, "truth": truth, "ratio": ratio} | row | known


COLUMNS = (
    *("truth", "sweeps", "met", "covers", "half width", "tests", "rounds", "trials", "even grid"),
    "of its trials",
)
NOTE = """
- `covers`: the interval at which the sweep stopped holds the true ratio of the sizes d that are pooled. `met`: stopped
  because the rule was met.
- `even grid`: trials of the cheapest even grid: of the spacings 80, 40, 20, 10 and 5 and their fewest replicates whose
  usual 95 % interval is as short as required in two of three draws; for the ratio 1.93. The median over the sweeps.
- `of its trials`: geometric mean of trials by trials of the even grid, where both are known.
"""


def summaries(rows: pd.DataFrame) -> Iterator[list[object]]:
    """Yield the cells of a row per truth, and of one for all."""
    for name, part in [*rows.groupby("truth", sort=False), ("all", rows)]:
        half = ((part["high"] - part["low"]) / 2).mean()
        both = part[part["met"].astype(bool) & np.isfinite(part["fixed"])]
        ratio = float(np.exp(np.log(both["trials"] / both["fixed"]).mean())) if len(both) else np.nan
        shares = [f"{value:.3f}" for value in (part["met"].mean(), part["covers"].mean())]
        means = [f"{half:.4f}", *(f"{part[column].mean():.2f}" for column in ("tests", "rounds"))]
        medians = [f"{part[column].median():.0f}" for column in ("trials", "fixed")]
        yield [name, len(part), *shares, *means, *medians, f"{ratio:.2f}"]


def main() -> None:
    given = arguments(__doc__, grids=500, half=0.05, replicates=2, jobs=1, out=Path(__file__).with_suffix(".csv"))
    laws = 2 * len(TRUTHS)
    rows: list[Any] = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    rows = [row for row in rows if row.get("commit") == commit()]
    with ProcessPoolExecutor(given.jobs) as pool:
        even = [row["fixed"] for row in rows[:laws]]
        even += pool.map(partial(fixed, given.half), range(len(even), min(laws, given.grids)))
        sweeps = pool.map(partial(measured, given.half, given.replicates), range(len(rows), given.grids))
        for row in sweeps:
            rows.append(row | {"fixed": even[len(rows) % laws], "commit": commit()})
            if len(rows) % 10 == 0 or len(rows) == given.grids:
                pd.DataFrame(rows).to_csv(given.out, index=False, float_format="%.6g")
    rule = f"`--until 'threshold +-{given.half:g}'`"
    head = f"{rule} from {given.replicates} replicates of 100 cells, and the cheapest even grid."
    written(given.out, [head, "", *table(COLUMNS, summaries(pd.DataFrame(rows))), NOTE])


if __name__ == "__main__":
    main()
