"""Comparison of sweeps in each grid cell: exact tests, paired if trials share draws; false discoveries controlled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy

from recovery.errors import ReportError
from recovery.report.diagram import PLAIN, Diagram, Panel, coordinates
from recovery.report.statistics.proportions import mcnemar
from recovery.types import Array

FDR = 0.05
"""Controlled false-discovery rate."""
DRAW_COORDINATES = ("n", "d", "ensemble")
"""Trials that differ in one of these coordinates have different draws."""
SECTIONS = ("data", "planted", "patterns", "method")
"""Sections of a config that may differ between sweeps without a coordinate for it, such as `method.program`."""
COORDINATE_FIELDS = ("data.ensemble", "planted.kind", "method.kind")
"""Fields of a config that are always stored as the coordinates `ensemble`, `planted` and `method`."""


@dataclass(frozen=True)
class Comparison:
    """The second sweep compared with the first.

    cells: one row per common grid cell, with first, second, difference, trials, p, q and, if paired, gained and lost,
    the numbers of pairs in which the second or the first value is larger. q is p after the procedure of Benjamini and
    Yekutieli, which is valid under any dependence between grid cells.
    fixed: the coordinates and config fields in which the sweeps differ -> their values in both.
    paired: whether trials of both sweeps have the same draws. unmatched: number of grid cells that only one sweep has.
    """

    first: Diagram
    second: Diagram
    cells: pd.DataFrame
    keys: list[str]
    fixed: dict[str, tuple[object, object]]
    paired: bool
    unmatched: int
    names: tuple[str, str]

    @property
    def title(self) -> str:
        """The difference in words: `second minus first`, by their names."""
        return f"{self.names[1]} minus {self.names[0]}"

    @property
    def reach(self) -> float:
        """The limit of a colour scale symmetric about 0: the largest absolute difference, or 1 without differences."""
        return float(np.abs(self.cells["difference"]).max()) or 1.0

    @property
    def sign_test(self) -> tuple[int, int, float] | None:
        """The exact sign test over all pairs: (number gained, number lost, p); None for unpaired sweeps."""
        if not self.paired:
            return None
        gained, lost = int(self.cells["gained"].sum()), int(self.cells["lost"].sum())
        return gained, lost, mcnemar(gained, lost)

    @cached_property
    def panels(self) -> list[Panel]:
        """The common grid cells as panels, one per combination of the coordinates other than x and y."""
        layout = self.first.layout
        up = layout.y if layout.y in self.cells else None
        others = [name for name in self.keys if name not in (layout.x, up)]
        x = sorted(self.cells[layout.x].unique())
        y = sorted(self.cells[up].unique()) if up else [None]
        cells = self.cells.assign(ix=self.cells[layout.x].map(x.index), iy=self.cells[up].map(y.index) if up else 0)
        groups: list[tuple[Any, pd.DataFrame]] = list(cells.groupby(others, dropna=False)) if others else [((), cells)]
        wheres = [(dict(zip(others, key, strict=True)), part) for key, part in groups]
        return [Panel(PLAIN.where(where), where, part, x, y) for where, part in wheres]

    @property
    def different(self) -> pd.DataFrame:
        """The grid cells that differ at a false-discovery rate of `FDR`, smallest q first."""
        return self.cells[self.cells["q"] <= FDR].sort_values("q")


def compare_each(first: Diagram, *others: Diagram) -> list[Comparison]:
    """Compare each other sweep with the first, and control false discoveries over all comparisons together.

    Sweeps are identified by name, or by folder if names repeat. Raises `ReportError` as `compare` does, and if there
    is no other sweep.
    """
    if not others:
        raise ReportError(f"{first.grid.path}: a comparison needs at least two results folders; add another one")
    grids = [first, *others]
    compared = [compare(first, other) for other in others]
    names = [diagram.name for diagram in grids]
    if len(set(names)) < len(names):
        names = [diagram.grid.path.as_posix() for diagram in grids]
    p = pd.concat([comparison.cells["p"] for comparison in compared])
    q = np.split(_controlled(p), np.cumsum([len(comparison.cells) for comparison in compared])[:-1])
    return [
        replace(comparison, cells=comparison.cells.assign(q=own), names=(names[0], name))
        for comparison, own, name in zip(compared, q, names[1:], strict=True)
    ]


def _controlled(p: "pd.Series[float]") -> Array:
    """Return q for each p by the procedure of Benjamini and Yekutieli; NaN where p is NaN."""
    q = np.full(len(p), np.nan)
    if (tested := p.notna().to_numpy()).any():
        q[tested] = scipy.stats.false_discovery_control(p[tested], method="by")
    return q


def compare(first: Diagram, second: Diagram) -> Comparison:
    """Compare two sweeps on the coordinates that vary in one of them and that both have.

    Trials are paired by replicate if both sweeps have the same root seed, because then a replicate has the same draw.
    Fractions are tested by McNemar's exact test on discordant pairs, unpaired ones by Fisher's; numbers by Wilcoxon's
    signed-rank test on pairs, unpaired ones not at all. Raises `ReportError` for different quantities, and for sweeps
    without a common grid cell.
    """
    if first.quantity != second.quantity:
        raise ReportError(f"{first.quantity} and {second.quantity} are different quantities; choose one with --value")
    keys = [name for name in first.layout.keys if name in second.frame]
    keys += [name for name in second.layout.keys if name in first.frame and name not in keys]
    fixed = _differing_fields(first, second, keys)
    left, right = _values(first, keys), _values(second, keys)
    paired = (
        first.sweep.seed == second.sweep.seed
        and not any(name in DRAW_COORDINATES or name.startswith("data.") for name in fixed)
        and not any(rows.duplicated([*keys, "replicate"]).any() for rows in (left, right))
    )
    cells = _paired(left, right, keys, first.proportion) if paired else _unpaired(left, right, keys, first.proportion)
    if not len(cells):
        raise ReportError(f"{first.name} and {second.name} have no grid cell in common over {', '.join(keys)}")
    cells["q"] = _controlled(cells["p"])
    everywhere = pd.concat([left[keys], right[keys]]).drop_duplicates()
    unmatched = len(everywhere) - len(cells)
    return Comparison(first, second, cells, keys, fixed, paired, unmatched, (first.name, second.name))


def _differing_fields(first: Diagram, second: Diagram, keys: list[str]) -> dict[str, tuple[object, object]]:
    """Return the constant coordinates, and the other fields of the configs, in which two sweeps differ."""
    shared = [
        name for name in coordinates(first.frame, first.grid.columns) if name in second.frame and name not in keys
    ]
    values = {name: (first.frame[name].unique(), second.frame[name].unique()) for name in shared}
    constant = {name: (a[0], b[0]) for name, (a, b) in values.items() if len(a) == len(b) == 1}
    documents = [diagram.grid.sweep["config"] for diagram in (first, second)]
    fields = [
        {path: one for part in SECTIONS for path, one in _leaves(document.get(part), part)} for document in documents
    ]
    for path in dict.fromkeys([*fields[0], *fields[1]]):
        if path not in shared and path not in keys:
            constant[path] = (fields[0].get(path, "not given"), fields[1].get(path, "not given"))
    return {name: pair for name, pair in constant.items() if pair[0] != pair[1]}


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Yield (dotted path, value) of the fields of a section, except those that are stored as coordinates."""
    if isinstance(value, dict):
        for name, below in value.items():
            if f"{path}.{name}" not in COORDINATE_FIELDS:
                yield from _leaves(below, f"{path}.{name}")
    elif value is not None:
        yield path, value


def _values(diagram: Diagram, keys: list[str]) -> pd.DataFrame:
    """Return coordinates, replicate and value of the finished trials that measured the quantity."""
    known = diagram.frame[[*keys, "replicate"]].assign(value=diagram.quantity.values(diagram.frame))
    return known[diagram.cells.finished & known["value"].notna().to_numpy()]


def _paired(left: pd.DataFrame, right: pd.DataFrame, keys: list[str], proportion: bool) -> pd.DataFrame:
    """Return the common grid cells with their paired tests."""
    how = "mean" if proportion else "median"
    both = left.merge(right, on=[*keys, "replicate"], suffixes=("_first", "_second"))
    both["gained"] = both["value_second"] > both["value_first"]
    both["lost"] = both["value_second"] < both["value_first"]
    cells = both.groupby(keys, dropna=False).agg(
        first=("value_first", how),
        second=("value_second", how),
        trials=("gained", "size"),
        gained=("gained", "sum"),
        lost=("lost", "sum"),
    )
    cells = cells.reset_index()
    cells["difference"] = cells["second"] - cells["first"]
    if proportion:
        counts = cells[["gained", "lost"]].to_numpy(dtype=int).tolist()
        return cells.assign(p=[mcnemar(gained, lost) for gained, lost in counts])
    moves = (both["value_second"] - both["value_first"]).groupby([both[key] for key in keys], dropna=False)
    return cells.assign(p=moves.agg(_signed_ranks).to_numpy(dtype=float))


def _unpaired(left: pd.DataFrame, right: pd.DataFrame, keys: list[str], proportion: bool) -> pd.DataFrame:
    """Return the common grid cells: for a proportion with Fisher's exact test, for other numbers without a test (p is
    NaN)."""
    how = "mean" if proportion else "median"
    summed = [side.groupby(keys, dropna=False)["value"].agg([how, "size", "sum"]) for side in (left, right)]
    cells = summed[0].add_suffix("_first").join(summed[1].add_suffix("_second"), how="inner").reset_index()
    cells = cells.rename(columns={f"{how}_first": "first", f"{how}_second": "second"})
    cells["difference"] = cells["second"] - cells["first"]
    cells["trials"] = cells[["size_first", "size_second"]].min(axis=1)
    counts = cells[["sum_first", "size_first", "sum_second", "size_second"]].to_numpy()
    cells["p"] = [_fisher(*row) for row in counts] if proportion else np.nan
    return cells.drop(columns=["size_first", "sum_first", "size_second", "sum_second"])


def _fisher(yes: float, total: float, other_yes: float, other_total: float) -> float:
    table = np.array([[yes, total - yes], [other_yes, other_total - other_yes]])
    return float(scipy.stats.fisher_exact(table)[1])


def _signed_ranks(differences: "pd.Series[float]") -> float:
    moved = differences[differences != 0].to_numpy()
    if not len(moved):
        return 1.0
    return float(scipy.stats.wilcoxon(moved, method="exact" if len(moved) <= 50 else "approx").pvalue)


def stacked(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Return the grid cells of all comparisons; with several, the column `grid` names the sweep."""
    if len(comparisons) == 1:
        return comparisons[0].cells
    named = [one.cells.assign(grid=one.names[1]) for one in comparisons]
    cells = pd.concat(named, ignore_index=True)
    return cells[["grid", *cells.columns.drop("grid")]]
