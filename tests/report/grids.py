"""Grids for the tests, drawn from Wendel's law instead of solved: P(recovered) = 1 - P(all-ones pattern)."""

import math
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from matplotlib.figure import Figure
from rich.console import Console

from recovery.methods.columns import COLUMNS, columns_document
from recovery.report.claims import Analysis
from recovery.report.claims.result import ClaimResult
from recovery.report.diagram import Diagram
from recovery.report.figures import main_figure
from recovery.report.texts.terminal import print_diagram
from recovery.store import Grid
from recovery.store.folder import Folder
from recovery.store.row_schema import row_schema
from recovery.theory import CURVES


def wendel_rows(
    n: Any = range(10, 101, 10), d: Any = range(5, 31, 5), replicates: int = 5, seed: int = 0, **axes: Any
) -> pd.DataFrame:
    """One row a trial, all of them ok; further axes by keyword, each with its values."""
    levels = {**axes, "n": n, "d": d, "replicate": range(replicates)}
    product = pd.MultiIndex.from_product([list(values) for values in levels.values()], names=list(levels))
    rows = product.to_frame(index=False)
    rng = np.random.default_rng(seed)
    recovered = rng.random(len(rows)) >= CURVES["wendel"].function(rows["n"], rows["d"])
    defaults = {"noise": 0.0, "ensemble": "gaussian", "planted": "linear", "architecture": "relu_skip"}
    defaults["method"] = "min_norm"
    deviation = np.where(recovered, 10 ** rng.normal(-7, 1, len(rows)), 10 ** rng.normal(-0.5, 0.2, len(rows)))
    more = {
        **{name: value for name, value in defaults.items() if name not in rows},
        "trial_id": [f"{i:032x}" for i in range(len(rows))],
        "sweep": "drawn",
        "status": "ok",
        "recovered": pd.array(recovered, dtype="boolean"),
        "verdict": np.where(recovered, "recovered", "not_unique"),
        "certificate": np.where(recovered, "isometry", "duplicate"),
        "max_deviation": deviation,
        "absolute_distance": deviation * 3,
        "seconds": rng.gamma(2, 0.1, len(rows)),
        "started_at": pd.Timestamp("2026-01-01", tz="UTC"),
        "error_type": pd.array([None] * len(rows), dtype="str"),
        "error_message": pd.array([None] * len(rows), dtype="str"),
    }
    return pd.concat([rows, pd.DataFrame(more, index=rows.index)], axis=1)  # `assign` takes twice as long


def bent_rows() -> pd.DataFrame:
    """Rows with the transition at n = 1.6d for d = 20 and 2.4d for d = 60: one ratio fits neither."""
    parts = {c: wendel_rows(n=range(5, 201, 5), d=[d], replicates=40, seed=d) for d, c in ((20, 0.8), (60, 1.2))}
    return pd.concat([rows.assign(n=rows["n"] * c) for c, rows in parts.items()], ignore_index=True)


def fail(rows: pd.DataFrame, which: Any, message: str = "the solver broke down") -> pd.DataFrame:
    """The same rows, with those at the positions `which` (a slice or a list) turned into failed trials."""
    rows = rows.copy()
    which = rows.index[which]
    rows.loc[which, "status"] = "failed"
    rows.loc[which, ["recovered", "verdict", "certificate", "max_deviation", "absolute_distance"]] = None
    rows.loc[which, "error_type"] = "SolverError"
    rows.loc[which, "error_message"] = message
    return rows


def leave_undecided(rows: pd.DataFrame, which: Any) -> pd.DataFrame:
    """The same rows, with the verdicts at the positions `which` (a slice, a list or a mask) undecided."""
    rows = rows.copy()
    rows.loc[rows.index[which], "recovered"] = pd.NA
    rows.loc[rows.index[which], ["verdict", "certificate"]] = ["undecided", "none"]
    return rows


def grid(rows: pd.DataFrame, path: Path | str = "results/drawn", trials: int | None = None, **document: Any) -> Grid:
    """A stored grid of these rows; `document` overrides keys of its config."""
    config = {"name": "drawn", "title": "Drawn from the law", "axes": {}}
    config |= {"planted": {"kind": "linear"}, "method": {"kind": "min_norm"}, "data": {"ensemble": "gaussian"}}
    config |= {"replicates": max(rows["replicate"].nunique(), 1)}
    config |= {"report": {"value": "recovered", "x": "n", "y": "d", "curves": ["wendel", {"ratio": 2.0}]}}
    config |= {"architecture": str(rows["architecture"].iloc[0])} if "architecture" in rows and len(rows) else {}
    config |= document
    if "architecture" in config["axes"]:
        del config["architecture"]
    code = {} if "own_code" in rows else {"own_code": pd.array([None] * len(rows), dtype="str")}
    table = pa.Table.from_pandas(rows.assign(**code), preserve_index=False)
    count = len(rows) if trials is None else trials
    sweep = {"name": "drawn", "digest": "0", "trials": count, "cells": math.ceil(count / config["replicates"])}
    sweep |= {"config": config, "columns": columns_document(COLUMNS), "provenance": {}}
    return Grid(Path(path), sweep, table)


def analysed(rows: pd.DataFrame, value: str | None = None, **document: Any) -> Analysis:
    """The analysis of a grid of these rows."""
    return Analysis(Diagram.of(grid(rows, **document), value))


def judge(rows: pd.DataFrame, claim: dict[str, Any], **document: Any) -> ClaimResult:
    """The result of a claim about a grid of these rows."""
    return analysed(rows, claims=[claim], **document).claims[0]


def drawn(analysis: Analysis) -> Figure:
    """The main figure."""
    return main_figure(analysis)[1].draw()


def as_stored(table: pa.Table) -> pa.Table:
    """Return rows with the columns and types that each row of this program has; what the rows lack is null."""
    wanted = row_schema({"n": pa.int64(), "d": pa.int64()}, {})
    for field in wanted:
        missing = pa.repeat("0.4.0", len(table)) if field.name == "made_by" else pa.nulls(len(table), field.type)
        column = table[field.name] if field.name in table.column_names else missing
        table = table.drop_columns([field.name] if field.name in table.column_names else []).append_column(
            field, column.cast(field.type)
        )
    return table


def store(rows: pd.DataFrame, path: Path, **document: Any) -> Path:
    """Store a grid of these rows as a sweep stores it."""
    made, folder = grid(rows, path, **document), Folder(path)
    folder.create(made.sweep)
    if len(rows):
        folder.write(as_stored(made.table))
    return path


def text_of(analysis: Analysis | Diagram, width: int = 160, colour: bool = False) -> str:
    """Return the text that a terminal of this width shows."""
    buffer = StringIO()
    console = Console(file=buffer, width=width, force_terminal=colour, color_system="truecolor" if colour else None)
    print_diagram(Analysis(analysis) if isinstance(analysis, Diagram) else analysis, console)
    return buffer.getvalue()
