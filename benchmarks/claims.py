"""How often is a true claim contradicted, and a false one? 16 kinds of claims, 8 laws each.

    python -m benchmarks.claims [--grids 200] --out COUNTS.csv      counts only, for another checkout
    python -m benchmarks.claims --before COUNTS.csv [--after COUNTS.csv]      the table, beside earlier counts

Laws of numbers have two grid cells of 10 or 40 trials. Laws of events have the chance curves of `benchmarks.laws`,
10 values of n, 3 of d and 10 or 40 trials. The wrong claims of numbers are 0.8 standard deviations off.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import arguments, table, written
from benchmarks.crossings import diagram_of
from benchmarks.laws import TRUTHS
from recovery.report.claims import Analysis
from recovery.theory import CURVES as THEORY

TRIALS = (10, 40)
VALID = 0.02
"""Rate of false contradictions up to which an interval counts as valid for a law."""
Draw = Callable[[np.random.Generator, int], Any]
NUMBERS: dict[str, tuple[Draw, float, float, float, float]] = {
    "normal": (lambda rng, k: rng.normal(0, 1, k), 0, 0, -99, 1),
    "uniform": (lambda rng, k: rng.uniform(0, 1, k), 0.5, 0.5, 0, 12**-0.5),
    "exponential": (lambda rng, k: rng.exponential(1, k), 1, np.log(2), 0, 1),
    "lognormal": (lambda rng, k: rng.lognormal(0, 1, k), np.exp(0.5), 1, 0, (np.exp(2) - np.exp(1)) ** 0.5),
    "rare": (lambda rng, k: np.where(rng.random(k) < 0.1, 5.0, 0.0), 0.5, 0, 0, 1.5),
    "two values": (lambda rng, k: np.where(rng.random(k) < 0.4, 1.0, 0.0), 0.4, 0, 0, 0.24**0.5),
    "t, 3 degrees": (lambda rng, k: rng.standard_t(3, k), 0, 0, -9999, 3**0.5),
    "Pareto, index 2.5": (lambda rng, k: rng.pareto(2.5, k), 2 / 3, 2**0.4 - 1, 0, (20 / 9) ** 0.5),
}
"""Law -> draw, mean, median, a number below all values, standard deviation."""
CURVES = {law.name: law.chance for law in TRUTHS[:8]}
N, D = np.arange(10, 101, 10), np.array([10, 20, 30])


def frame(n: Any, d: Any, trials: int, methods: tuple[str, ...] = ("a",)) -> pd.DataFrame:
    """Return the rows of a grid without measured columns."""
    levels = {"method": methods, "n": n, "d": d, "replicate": range(trials)}
    rows = pd.MultiIndex.from_product([list(one) for one in levels.values()], names=list(levels)).to_frame(index=False)
    ids = [f"{i:032x}" for i in range(len(rows))]
    return rows.assign(sweep="claims", trial_id=ids, status="ok", seconds=1.0, error_type=None, error_message=None)


def contradicted(rows: pd.DataFrame, *claims: dict[str, Any]) -> list[bool]:
    """Return whether the grid contradicts each claim."""
    report = {"value": claims[0]["of"], "x": "n", "y": "d"}
    found = Analysis(diagram_of(rows, report=report, claims=list(claims))).claims
    return [one.verdict == "contradicted" for one in found]


def of_numbers(law: str, trials: int, rng: np.random.Generator) -> dict[str, tuple[bool, bool]]:
    """Kind -> whether one grid contradicts a true claim, and a wrong one."""
    draw, mean, median, least, spread = NUMBERS[law]
    rows, off = frame([10, 20], [10], trials), 0.8 * spread
    rows["test_distance"] = draw(rng, len(rows))
    bound, value = ({"kind": kind, "of": "test_distance"} for kind in ("bound", "value"))
    table = {"kind": "table", "of": "test_distance", "axis": "method", "across": "n", "at": [10, 20], "error": 0.02}
    rises = {"kind": "monotone", "of": "test_distance", "along": "n"}
    middle = {"statistic": "median"}
    every = {"statistic": "every"}
    claims: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "bound, mean at least": (bound | {"at_least": mean}, bound | {"at_least": mean + off}),
        "bound, mean at most": (bound | {"at_most": mean}, bound | {"at_most": mean - off}),
        "value, mean": (value | {"value": mean, "tolerance": 0.0}, value | {"value": mean + off, "tolerance": 0.0}),
        "value, mean at least": (value | {"at_least": mean}, value | {"at_least": mean + off}),
        "value, mean at most": (value | {"at_most": mean}, value | {"at_most": mean - off}),
        "bound, median": (bound | middle | {"at_least": median}, bound | middle | {"at_least": median + off}),
        "value, median": (value | middle | {"at_least": median}, value | middle | {"at_least": median + off}),
        "bound, every": (bound | every | {"at_least": least}, bound | every | {"at_least": median + off}),
        "value, every": (value | every | {"at_least": least}, value | every | {"at_least": median + off}),
        "table": (table | {"values": {"a": [mean, mean]}}, table | {"values": {"a": [mean, mean + off]}}),
    }
    found = contradicted(rows, *(one for both in claims.values() for one in both))
    kinds = dict(zip(claims, zip(found[::2], found[1::2], strict=True), strict=True))
    falling = rows.assign(test_distance=rows["test_distance"] - (rows["n"] == 20) * 1.5 * spread)
    true, wrong = (contradicted(one, rises | {"direction": "rises"})[0] for one in (rows, falling))
    return kinds | {"monotone": (true, wrong)}


def of_events(law: str, trials: int, rng: np.random.Generator) -> dict[str, tuple[bool, bool]]:
    """Kind -> whether one grid contradicts a true claim, and a wrong one."""
    rows = frame(N, D, trials, ("a", "b"))
    n, d, first = rows["n"].to_numpy(float), rows["d"].to_numpy(float), (rows["method"] == "a").to_numpy()
    of = {"of": "recovered"}
    chance = np.clip(CURVES[law](n / d, d, 2.0), 0.0, 1.0)
    order: dict[str, Any] = of | {"kind": "order", "axis": "method", "values": ["a", "b"]}
    threshold: dict[str, Any] = of | {"kind": "threshold", "ratio": "n/d", "tolerance": 0.05}
    rows["recovered"] = rng.random(len(rows)) < chance
    true, wrong = (
        contradicted(rows.assign(recovered=rows["recovered"] & ~(first & (rng.random(len(rows)) > keep))), order)[0]
        for keep in (1.0, 0.7)
    )
    at = {"where": {"n": 60, "d": 30}} | of
    here = float(np.clip(CURVES[law](np.array([2.0]), np.array([30.0]), 2.0), 0, 1)[0])
    part, pair = rows[first], (here, min(here + 0.35, 1.0))
    claims = [threshold | {"value": x} for x in (2.0, 2.6)]
    claims += [at | {"kind": "value", "at_least": p} for p in pair]
    claims += [at | {"kind": "binomial", "probability": p} for p in pair]
    found = contradicted(part, *claims)
    names = ("threshold", "value, frequency", "binomial")
    kinds = dict(zip(names, zip(found[::2], found[1::2], strict=True), strict=True))
    kinds["order"] = true, wrong
    drawn = [(rng.random(len(rows)) < THEORY["wendel"].function(by * n, d))[first] for by in (1.0, 1.15)]
    bound = of | {"kind": "bound", "at_least": "wendel"}
    kinds["bound, frequency"] = tuple(contradicted(part.assign(recovered=one), bound)[0] for one in drawn)  # type: ignore[assignment]
    return {kind: (bool(true), bool(wrong)) for kind, (true, wrong) in kinds.items()}


def counts(grids: int) -> pd.DataFrame:
    """Return one row per kind, law and number of trials: grids, and how many contradict the true and the wrong
    claim."""
    rows = []
    for judge, laws in ((of_numbers, NUMBERS), (of_events, CURVES)):
        for law in laws:
            for trials in TRIALS:
                rng = np.random.default_rng([list(laws).index(law), trials])
                found = pd.DataFrame([judge(law, trials, rng) for _ in range(grids // len(TRIALS))])
                for kind in found:
                    false, right = (int(found[kind].str[side].sum()) for side in (0, 1))
                    rows.append((kind, law, trials, len(found), false, right))
                print(law, trials, flush=True)
    return pd.DataFrame(rows, columns=["kind", "law", "trials", "grids", "false", "right"])


COLUMNS = (
    *("kind", "grids", "false contradictions", "earlier", "worst law", "valid laws of 40 trials", "right", "earlier"),
)


def rows(now: pd.DataFrame, before: pd.DataFrame) -> Iterator[tuple[object, ...]]:
    """Yield a row per kind: rates of all laws, and power for the laws where the earlier interval is valid."""
    both = now.merge(before, on=["kind", "law", "trials"], suffixes=("", "_before"))
    for kind, part in both.groupby("kind", sort=False):
        laws = part.groupby("law")[["false", "grids"]].sum()
        worst: Any = (laws["false"] / laws["grids"]).idxmax()
        valid = part[(part["trials"] == TRIALS[1]) & (part["false_before"] <= VALID * part["grids_before"])]
        rates = [f"{part[f'false{end}'].sum() / part[f'grids{end}'].sum():.2%}" for end in ("", "_before")]
        power = [f"{valid[f'right{end}'].sum() / max(valid[f'grids{end}'].sum(), 1):.2f}" for end in ("", "_before")]
        shown = f"{worst}, {laws.loc[worst, 'false']} of {laws.loc[worst, 'grids']}"
        yield kind, part["grids"].sum(), *rates, shown, valid["law"].nunique(), *power


if __name__ == "__main__":
    given = arguments(__doc__, grids=200, out=Path(), before=Path(), after=Path())
    now = counts(given.grids) if given.after == Path() else pd.read_csv(given.after)
    if given.out != Path():
        now.to_csv(given.out, index=False)
    else:
        before = now if given.before == Path() else pd.read_csv(given.before)
        written(__file__, ["True and wrong claims of 16 kinds.", "", *table(COLUMNS, rows(now, before))])
