"""The result of a comparison: its tables, and the same in words."""

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from tabulate import tabulate

from recovery.interval import Interval
from recovery.report.texts.tables import records, shown
from recovery.text import many

FDR = 0.05
"""Controlled false-discovery rate."""


@dataclass(frozen=True)
class Comparison:
    """Tables that compare each further sweep, or value of an axis, with the first.

    label: what is compared. table: a row over all cells (`scope` overall), per slice along x, and per common grid cell.
    Its `difference` is the second minus the first, between `low` and `high`; `gained` and `lost` count the pairs whose
    second or first value is larger; `p` is the sign test of pairs, which is McNemar's for an event, and for unpaired
    events Fisher's test in a cell, the score test elsewhere; `q` is p of a cell after the procedure of Benjamini and
    Yekutieli over all cells, valid under any dependence.
    thresholds: both sides' thresholds as they are printed, and their difference. notes: what is compared, and whether
    trials are paired.
    """

    label: str
    table: pd.DataFrame
    thresholds: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def overall(self) -> pd.DataFrame:
        """The rows over all common grid cells, one per comparison."""
        return self._scope("overall")

    @property
    def cells(self) -> pd.DataFrame:
        """The rows of grid cells."""
        return self._scope("cell")

    def _scope(self, scope: str) -> pd.DataFrame:
        rows = self.table[self.table["scope"] == scope].drop(columns="scope").reset_index(drop=True)
        return rows.dropna(axis="columns", how="all")

    @property
    def different(self) -> pd.DataFrame:
        """The grid cells that differ at a false-discovery rate of `FDR`, smallest q first."""
        return self.cells[self.cells["q"] <= FDR].sort_values("q") if "q" in self.cells else self.cells[:0]

    @property
    def sentence(self) -> str:
        """The differences over all cells, and how many cells differ."""
        parts = []
        for row in self.overall.to_dict("records"):
            size = "not known" if np.isnan(row.get("difference", np.nan)) else f"{row['difference']:+.4g}"
            text = f"{row['second']} minus {row['first']}: difference {size}"
            if not np.isnan(row.get("low", np.nan)):
                text += f", {_interval(row).entry('+.4g')}"
            if "largest" in row:
                text += f"; largest difference {row['largest']:.3g}"
            if row.get("unknown", 0):
                sides = " and ".join(f"{row[f'unknown_{side}']:g} in {row[side]}" for side in ("first", "second"))
                text += f"; not known in {row['unknown']:g} of {row['trials']} ({sides})"
                text += ": the interval allows for any value"
            parts.append(text)
        if "q" in self.cells:
            tested = f"{len(self.different)} of {many(len(self.cells), 'grid cell')}"
            parts.append(f"{tested} differ at a false-discovery rate of {FDR:.0%}")
        return "; ".join(parts)

    def lines(self, most: int = 20) -> list[str]:
        """Return the lines of the terminal. most: limit of the rows of a table."""
        found = [f"{self.label}: {self.notes[0]}", *self.notes[1:]]
        hidden = ["where", "level", "difference", "difference_low", "difference_high"]
        parts = {"All cells": self.overall, "Slices": self._scope("slice")}
        parts |= {"Thresholds": self.thresholds.drop(columns=hidden, errors="ignore")}
        parts |= {"Grid cells that differ": self.different}
        for title, frame in parts.items():
            if len(frame):
                left = f"; the first {most} of {len(frame)}, --most {len(frame)} lists all" if len(frame) > most else ""
                found += ["", f"{title}{left}:", *_shown(frame.head(most)).splitlines()]
        return [*found, "", self.sentence]

    def as_json(self) -> str:
        """Return the tables as one JSON object; numbers that do not exist are null, infinities text."""
        tables = {name: records(getattr(self, name)) for name in ("table", "thresholds")}
        return json.dumps({"value": self.label, "sentence": self.sentence, "notes": self.notes, **tables}, default=str)

    def _repr_html_(self) -> str:
        frames = "".join(frame.to_html(index=False, border=0) for frame in (self.overall, self.thresholds))
        return f"<p>{escape(self.sentence)}</p>{frames}"

    def __repr__(self) -> str:
        return "\n".join(self.lines())


def _shown(frame: pd.DataFrame) -> str:
    """Return rows as a table of text, with the ends of intervals in one column."""
    rows = [
        {name: shown(value) for name, value in row.items() if name not in ("low", "high", "level", "paired")}
        | ({"interval": _interval(row).entry("+.4g")} if "low" in row else {})
        for row in frame.to_dict("records")
    ]
    return tabulate(rows, headers="keys", disable_numparse=True)


def _interval(row: Mapping[Hashable, Any]) -> Interval:
    return Interval(row.get("difference", np.nan), row["low"], row["high"], row["level"])
