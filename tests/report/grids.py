"""Grids for the tests, drawn from Wendel's law instead of solved: P(recovered) = 1 - P(all-ones pattern)."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from recovery.store import Grid
from recovery.theory import CURVES

EMPTY = {"verdict": None, "certificate": None, "error_type": None, "error_message": None}


def wendel_rows(
    n: Any = range(10, 101, 10), d: Any = range(5, 31, 5), replicates: int = 5, seed: int = 0, **axes: Any
) -> pd.DataFrame:
    """One row a trial, all of them ok; further axes by keyword, each with its values."""
    levels = {**axes, "n": n, "d": d, "replicate": range(replicates)}
    rows = pd.MultiIndex.from_product([list(values) for values in levels.values()], names=list(levels)).to_frame(
        index=False
    )
    rng = np.random.default_rng(seed)
    recovered = rng.random(len(rows)) >= CURVES["wendel"].function(rows["n"], rows["d"])
    defaults = {
        "noise": 0.0,
        "ensemble": "gaussian",
        "planted": "linear",
        "architecture": "relu_skip",
        "method": "min_norm",
    }
    for name, value in defaults.items():
        if name not in rows:
            rows[name] = value
    rows["trial_id"] = [f"{i:032x}" for i in range(len(rows))]
    rows["sweep"] = "drawn"
    rows["status"] = "ok"
    rows["recovered"] = pd.array(recovered, dtype="boolean")
    rows["verdict"] = np.where(recovered, "recovered", "not_unique")
    rows["certificate"] = np.where(recovered, "isometry", "duplicate")
    rows["max_deviation"] = np.where(
        recovered, 10 ** rng.normal(-7, 1, len(rows)), 10 ** rng.normal(-0.5, 0.2, len(rows))
    )
    rows["absolute_distance"] = rows["max_deviation"] * 3
    rows["seconds"] = rng.gamma(2, 0.1, len(rows))
    rows["started_at"] = pd.Timestamp("2026-01-01", tz="UTC")
    rows["error_type"] = pd.array([None] * len(rows), dtype="str")
    rows["error_message"] = pd.array([None] * len(rows), dtype="str")
    return rows


def fail(rows: pd.DataFrame, which: Any, message: str = "the solver broke down") -> pd.DataFrame:
    """The same rows, with those at the positions `which` (a slice or a list) turned into failed trials."""
    rows = rows.copy()
    which = rows.index[which]
    rows.loc[which, "status"] = "failed"
    rows.loc[which, ["recovered", "verdict", "certificate", "max_deviation", "absolute_distance"]] = None
    rows.loc[which, "error_type"] = "SolverError"
    rows.loc[which, "error_message"] = message
    return rows


def grid(rows: pd.DataFrame, path: Path | str = "results/drawn", trials: int | None = None, **document: Any) -> Grid:
    """A stored grid of these rows; `document` overrides keys of its config."""
    config = {
        "name": "drawn",
        "title": "Drawn from the law",
        "replicates": max(rows["replicate"].nunique(), 1),
        "axes": {},
    }
    config |= {"report": {"value": "recovered", "x": "n", "y": "d", "curves": ["wendel", {"ratio": 2.0}]}} | document
    table = pa.Table.from_pandas(rows, preserve_index=False)
    count = len(rows) if trials is None else trials
    return Grid(
        Path(path), {"name": "drawn", "digest": "0", "config": config, "trials": count, "provenance": {}}, table
    )
