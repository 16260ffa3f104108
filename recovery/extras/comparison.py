"""Comparison of sweeps, or of the values of one axis: differences with intervals and exact tests, from pairs of trials
if both sides share their draws; false discoveries controlled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy

from recovery.config import user_axes
from recovery.errors import ReportError
from recovery.expressions import is_expression, parse
from recovery.interval import LEVEL
from recovery.report.diagram import PLAIN, Diagram, Panel, coordinates, is_number, rows_where
from recovery.report.statistics.differences import ThresholdDifference, threshold_differences
from recovery.report.statistics.estimates import levels
from recovery.report.statistics.proportions import mcnemar, paired_difference, unpaired_difference
from recovery.report.statistics.samples import median_interval
from recovery.types import Array

FDR = 0.05
"""Controlled false-discovery rate."""
SECTIONS = ("data", "planted", "patterns", "method")
"""Sections of a config that may differ between sweeps without a coordinate for it, such as `method.program`."""
STORED_AS = {"data.ensemble": "ensemble", "planted.kind": "planted", "method.kind": "method"}
"""Fields of a config -> the coordinate that always stores them."""


@dataclass(frozen=True)
class Comparison:
    """The second sweep compared with the first.

    cells: one row per common grid cell, with first, second, difference, low, high, trials and p. q is p after the
    procedure of Benjamini and Yekutieli, which is valid under any dependence between grid cells. slices, whole: the
    same over the cells of a slice along x, and over all cells. fixed: the coordinates and config fields in which the
    sweeps differ -> their values in both. unpaired: the reasons why trials of the sweeps do not have the same draws;
    empty for paired sweeps. unmatched: number of grid cells that only one sweep has.
    """

    first: Diagram
    second: Diagram
    cells: pd.DataFrame
    slices: pd.DataFrame
    whole: pd.DataFrame
    keys: list[str]
    fixed: dict[str, tuple[object, object]]
    unpaired: tuple[str, ...]
    unmatched: int
    names: tuple[str, str]
    tolerance: float | None = None

    @property
    def slice_keys(self) -> list[str]:
        """The coordinates that are equal in all cells of a slice."""
        return [name for name in self.keys if name != self.first.along.x]

    @property
    def paired(self) -> bool:
        """Whether trials of both sweeps have the same draws."""
        return not self.unpaired

    @property
    def title(self) -> str:
        """The difference in words: `second minus first`, by their names."""
        return f"{self.names[1]} minus {self.names[0]}"

    @property
    def reach(self) -> float:
        """The limit of a colour scale symmetric about 0: the largest absolute difference, or 1 without differences."""
        return float(np.abs(self.cells["difference"]).max()) or 1.0

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

    @cached_property
    def thresholds(self) -> list[tuple[Panel, ThresholdDifference]]:
        """The differences of thresholds of an event along a numeric axis, with the panels that they belong to."""
        along, cells = self.first.along, self.cells
        if not self.first.proportion or along != self.second.along or not is_number(cells[along.x]):
            return []
        found = []
        for panel in self.first.panels:
            match = [self.second.panels[i] for i in self.second.panels_where(panel.where)]
            if len(match) != 1 or not len(panel.cells) or not len(match[0].cells):
                continue
            here = {name: value for name, value in panel.where.items() if name in cells}
            both = cells[rows_where(cells, here)] if self.paired else cells[:0]
            level = max(levels(diagram)(panel.title) for diagram in (self.first, self.second))
            found += [(panel, one) for one in threshold_differences(panel, match[0], along, both, level)]
        return found

    @property
    def different(self) -> pd.DataFrame:
        """The grid cells that differ at a false-discovery rate of `FDR`, smallest q first."""
        return self.cells[self.cells["q"] <= FDR].sort_values("q")


def compare_each(first: Diagram, *others: Diagram, tolerance: float | None = None) -> list[Comparison]:
    """Compare each other sweep with the first, and control false discoveries over all comparisons together.

    Sweeps are identified by name, or by folder if names repeat. Raises `ReportError` as `compare_two` does, and if
    there is no other sweep.
    """
    if not others:
        raise ReportError(
            f"{first.grid.path}: a comparison needs at least two results folders; add another one, or give --by AXIS"
        )
    grids = [first, *others]
    compared = [compare_two(first, other, tolerance) for other in others]
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


def compare_two(first: Diagram, second: Diagram, tolerance: float | None = None) -> Comparison:
    """Compare two sweeps on the coordinates that vary in one of them and that both have.

    Trials are paired by replicate if both sweeps have the same root seed, because then a replicate has the same draw.
    Raises `ReportError` for different quantities, and for sweeps without a common grid cell.
    """
    if first.quantity != second.quantity:
        raise ReportError(f"{first.quantity} and {second.quantity} are different quantities; choose one with --value")
    if tolerance is not None and first.proportion:
        raise ReportError(f"--tolerance: {first.quantity} is an event; leave --tolerance out, or choose a number")
    keys = [name for name in first.layout.keys if name in second.frame]
    keys += [name for name in second.layout.keys if name in first.frame and name not in keys]
    fixed = _differing_fields(first, second, keys)
    left, right = _values(first, keys), _values(second, keys)
    for diagram, side in ((first, left), (second, right)):
        if not len(side) and len(diagram.frame):
            raise ReportError(
                f"{diagram.name}: no finished trial measures {first.quantity}; choose another quantity with --value"
            )
    unpaired = tuple(_unpaired(first, second, fixed))
    if not unpaired and any(rows.duplicated([*keys, "replicate"]).any() for rows in (left, right)):
        unpaired = ("several trials of a grid cell have the same replicate",)
    if unpaired:
        how = "mean" if first.proportion else "median"
        counts = [side.groupby(keys, dropna=False)["value"].agg([how, "size", "sum"]) for side in (left, right)]
        rows = counts[0].set_axis(["first", "size_first", "sum_first"], axis=1)
        rows = rows.join(counts[1].set_axis(["second", "size_second", "sum_second"], axis=1), how="inner").reset_index()
    else:
        rows = left.merge(right, on=[*keys, "replicate"], suffixes=("_first", "_second"))
    if not len(rows):
        apart = [name for name in keys if not set(first.frame[name]) & set(second.frame[name])]
        why = f"; no value of {apart[0]} is in both" if apart else ""
        raise ReportError(f"{first.name} and {second.name} have no grid cell in common over {', '.join(keys)}{why}")
    slices = [name for name in keys if name != first.along.x]
    cells, parts, whole = (
        unpaired_summary(rows, names, first.proportion)
        if unpaired
        else paired_summary(rows, names, first.proportion, tolerance)
        for names in (keys, slices, [])
    )
    cells["q"] = _controlled(cells["p"])
    everywhere = pd.concat([left[keys], right[keys]]).drop_duplicates()
    unmatched = len(everywhere) - len(cells)
    return Comparison(
        first, second, cells, parts, whole, keys, fixed, unpaired, unmatched, (first.name, second.name), tolerance
    )


def _unpaired(first: Diagram, second: Diagram, fixed: dict[str, tuple[object, object]]) -> Iterator[str]:
    """Yield the reasons why a replicate has different draws in two sweeps."""
    if first.sweep.seed != second.sweep.seed:
        yield f"seed differs ({first.sweep.seed} and {second.sweep.seed})"
    for name, (one, other) in fixed.items():
        if name in ("n", "d") or name.startswith("data.") or name in _operands(first) | _operands(second):
            yield f"{name} differs ({one} and {other})"


def _operands(diagram: Diagram) -> set[str]:
    """Return the user axes in expressions of the config's axes: two of their values have separate draws."""
    axes = diagram.sweep.document.get("axes", {})
    texts = [text for block in (axes if isinstance(axes, list) else [axes]) for _, text in _leaves(block, "axes")]
    names = [parse(text).names for text in texts if isinstance(text, str) and is_expression(text)]
    return set(user_axes(name for some in names for name in some))


def _differing_fields(first: Diagram, second: Diagram, keys: list[str]) -> dict[str, tuple[object, object]]:
    """Return the constant coordinates, and the other fields of the configs, in which two sweeps differ."""
    shared = [
        name for name in coordinates(first.frame, first.grid.columns) if name in second.frame and name not in keys
    ]
    values = {name: (first.frame[name].unique(), second.frame[name].unique()) for name in shared}
    paths = {name: path for path, name in STORED_AS.items()}
    constant = {paths.get(name, name): (a[0], b[0]) for name, (a, b) in values.items() if len(a) == len(b) == 1}
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
            if f"{path}.{name}" not in STORED_AS:
                yield from _leaves(below, f"{path}.{name}")
    elif value is not None:
        yield path, value


def _values(diagram: Diagram, keys: list[str]) -> pd.DataFrame:
    """Return coordinates, replicate and value of the finished trials that measured the quantity."""
    known = diagram.frame[[*keys, "replicate"]].assign(value=diagram.quantity.values(diagram.frame))
    return known[diagram.cells.finished & known["value"].notna().to_numpy()]


def stacked(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """Return the grid cells of all comparisons; with several, the column `grid` names the sweep."""
    if len(comparisons) == 1:
        return comparisons[0].cells
    named = [one.cells.assign(grid=one.names[1]) for one in comparisons]
    cells = pd.concat(named, ignore_index=True)
    return cells[["grid", *cells.columns.drop("grid")]]


def paired_summary(rows: pd.DataFrame, names: list[str], proportion: bool, tolerance: float | None) -> pd.DataFrame:
    """Return the differences over each group of pairs with the same values of `names`; one row over all without names.

    rows: one row per pair, with `value_first` and `value_second`. gained, lost: the numbers of pairs in which the
    second or the first value is larger. p: the exact sign test on these pairs, which is McNemar's for an event. An
    event also has the numbers `both` and `neither` of pairs. For a number, first, second and difference are medians,
    with the largest difference, the largest relative to the larger absolute value of its pair, and with a tolerance
    the number of pairs that differ by more.
    """
    one, two = rows["value_first"].to_numpy(dtype=float), rows["value_second"].to_numpy(dtype=float)
    # equal values have the difference 0; subtracting them would give NaN if both are infinite
    moved = np.subtract(two, one, where=one != two, out=np.zeros(len(rows)))
    groups = rows[names].assign(first=one, second=two, gained=two > one, lost=two < one, moved=moved)
    how = "mean" if proportion else "median"
    sums = {"first": ("first", how), "second": ("second", how), "trials": ("gained", "size")}
    sums |= {"gained": ("gained", "sum"), "lost": ("lost", "sum"), "difference": ("moved", how)}
    if proportion:
        groups = groups.assign(both=(one == 1) & (two == 1), neither=(one == 0) & (two == 0))
        sums |= {"both": ("both", "sum"), "neither": ("neither", "sum")}
    else:
        size = np.maximum(np.abs(one), np.abs(two))
        relative = np.divide(np.abs(moved), size, where=np.isfinite(size) & (size > 0), out=np.zeros(len(rows)))
        groups = groups.assign(largest=np.abs(moved), largest_relative=relative)
        sums |= {name: (name, "max") for name in ("largest", "largest_relative")}
        if tolerance is not None:
            groups = groups.assign(beyond=np.abs(moved) > tolerance)
            sums |= {"beyond": ("beyond", "sum")}
    grouped = groups.groupby(names or np.zeros(len(rows)), dropna=False)
    cells = grouped.agg(**sums).reset_index(drop=not names)
    counts = cells[["gained", "lost"]].to_numpy(dtype=int).tolist()
    if proportion:
        low, high = paired_difference(cells["gained"], cells["lost"], cells["trials"])
    else:
        ends = [median_interval(part.to_numpy()) for _, part in grouped["moved"]]
        low, high = (np.array([getattr(one, end) for one in ends]) for end in ("low", "high"))
    return cells.assign(low=low, high=high, level=LEVEL, p=[mcnemar(gained, lost) for gained, lost in counts])


def unpaired_summary(rows: pd.DataFrame, names: list[str], proportion: bool) -> pd.DataFrame:
    """Return the differences over each group of grid cells with the same values of `names`; one row without names.

    rows: one row per grid cell, with first, second and the counts of each side. p: Fisher's exact test, for an event
    in a single cell. Numbers have neither an interval nor a test. For several cells, first and second are means over
    the cells, and the difference of an event has the weights of Mantel and Haenszel.
    """
    trials = rows[["size_first", "size_second"]].min(axis=1)
    moved = rows.assign(difference=rows["second"] - rows["first"], trials=trials)
    grouped = moved.groupby(names or np.zeros(len(rows)), dropna=False)
    sums = {"first": "mean", "second": "mean", "difference": "median", "trials": "sum"}
    cells = grouped[list(sums)].agg(sums).reset_index(drop=not names)
    cells = cells.assign(low=np.nan, high=np.nan, level=LEVEL, p=np.nan)
    if not proportion:
        return cells
    yes, total = (rows[[f"{name}_first", f"{name}_second"]].to_numpy(dtype=float).T for name in ("sum", "size"))
    difference, low, high = unpaired_difference(yes, total, np.asarray(grouped.ngroup(), dtype=np.intp))
    cells = cells.assign(difference=difference, low=low, high=high)
    if len(cells) == len(rows):
        cells["p"] = [scipy.stats.fisher_exact(np.array([a, b - a]).T)[1] for a, b in zip(yes.T, total.T, strict=True)]
    return cells
