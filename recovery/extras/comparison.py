"""Grids cell by cell: paired where trials share their draws, exact tests, false discoveries controlled."""

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
DRAWN = ("n", "d", "ensemble")
"""Coordinates without which two trials have no draw in common."""
PARTS = ("data", "planted", "patterns", "method")
"""Of a config: what tells two grids apart though no coordinate does, as `method.program`."""
TOLD = ("data.ensemble", "planted.kind", "method.kind")
"""Fields that are the coordinates `ensemble`, `planted` and `method`."""


@dataclass(frozen=True)
class Comparison:
    """`cells`: one row a common cell with first, second, difference, trials, p, q; `fixed`: coordinate -> its value in
    either grid, for what tells the grids apart; `paired`: whether trials met the same draws; `gained`, `lost`: pairs in
    which the second or the first is larger, and `p` their exact sign test; `names`: what the grids are called.

    q is the p-value after Benjamini and Yekutieli, which holds under any dependence between cells.
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
        """`second less first`, by their names."""
        return f"{self.names[1]} less {self.names[0]}"

    @property
    def reach(self) -> float:
        """The largest difference either way, or 1: where a scale symmetric about 0 ends."""
        return float(np.abs(self.cells["difference"]).max()) or 1.0

    @property
    def sign_test(self) -> tuple[int, int, float] | None:
        """(pairs in which the second is larger, the first is larger, exact p); None for grids that do not pair."""
        if not self.paired:
            return None
        gained, lost = int(self.cells["gained"].sum()), int(self.cells["lost"].sum())
        return gained, lost, mcnemar(gained, lost)

    @cached_property
    def panels(self) -> list[Panel]:
        """The common cells as panels: a combination of the coordinates that go neither across nor up."""
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
        """The cells that differ at a false-discovery rate of 5 %, smallest q first."""
        return self.cells[self.cells["q"] <= FDR].sort_values("q")


def compare_each(first: Diagram, *others: Diagram) -> list[Comparison]:
    """Each of the others less the first; q over the cells of all comparisons together.

    Grids are called by their sweeps, or by their folders where two sweeps have one name. Raises `ReportError` for no
    other grid, and what `compare` does.
    """
    if not others:
        raise ReportError(f"{first.grid.path} alone is no comparison; name another results folder")
    grids = [first, *others]
    compared = [compare(first, other) for other in others]
    called = [diagram.name for diagram in grids]
    if len(set(called)) < len(called):
        called = [diagram.grid.path.as_posix() for diagram in grids]
    p = pd.concat([comparison.cells["p"] for comparison in compared])
    q = np.split(_controlled(p), np.cumsum([len(comparison.cells) for comparison in compared])[:-1])
    return [
        replace(comparison, cells=comparison.cells.assign(q=own), names=(called[0], name))
        for comparison, own, name in zip(compared, q, called[1:], strict=True)
    ]


def _controlled(p: "pd.Series[float]") -> Array:
    """q of each p, after Benjamini and Yekutieli; NaN where there was no test."""
    q = np.full(len(p), np.nan)
    if (tested := p.notna().to_numpy()).any():
        q[tested] = scipy.stats.false_discovery_control(p[tested], method="by")
    return q


def compare(first: Diagram, second: Diagram) -> Comparison:
    """Join two grids on the coordinates that vary in either and that both have.

    Trials pair by replicate when both sweeps have the same root seed: then the same replicate meets the same draws.
    Proportions: McNemar's exact test on the discordant pairs, else Fisher's; numbers: Wilcoxon's signed ranks on
    pairs, else no test. Raises `ReportError` for different quantities and for grids without a common cell.
    """
    if first.quantity != second.quantity:
        raise ReportError(f"{first.quantity} and {second.quantity} cannot be compared; give one --value")
    keys = [name for name in first.layout.keys if name in second.frame]
    keys += [name for name in second.layout.keys if name in first.frame and name not in keys]
    fixed = _told_apart(first, second, keys)
    left, right = _values(first, keys), _values(second, keys)
    paired = (
        first.sweep.seed == second.sweep.seed
        and not any(name in DRAWN or name.startswith("data.") for name in fixed)
        and _unique(left, keys)
        and _unique(right, keys)
    )
    cells = _paired(left, right, keys, first.proportion) if paired else _unpaired(left, right, keys, first.proportion)
    if not len(cells):
        raise ReportError(f"{first.name} and {second.name} have no cell in common over {', '.join(keys)}")
    cells["q"] = _controlled(cells["p"])
    everywhere = pd.concat([left[keys], right[keys]]).drop_duplicates()
    unmatched = len(everywhere) - len(cells)
    return Comparison(first, second, cells, keys, fixed, paired, unmatched, (first.name, second.name))


def _told_apart(first: Diagram, second: Diagram, keys: list[str]) -> dict[str, tuple[object, object]]:
    """Coordinates that are one value throughout each grid, and not the same one; then other fields of the configs."""
    shared = [
        name for name in coordinates(first.frame, first.grid.columns) if name in second.frame and name not in keys
    ]
    values = {name: (first.frame[name].unique(), second.frame[name].unique()) for name in shared}
    constant = {name: (a[0], b[0]) for name, (a, b) in values.items() if len(a) == len(b) == 1}
    documents = [diagram.grid.sweep["config"] for diagram in (first, second)]
    fields = [
        {path: one for part in PARTS for path, one in _leaves(document.get(part), part)} for document in documents
    ]
    for path in dict.fromkeys([*fields[0], *fields[1]]):
        if path not in shared and path not in keys:
            constant[path] = (fields[0].get(path, "not given"), fields[1].get(path, "not given"))
    return {name: pair for name, pair in constant.items() if pair[0] != pair[1]}


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """The fields below one, by their dotted paths; not those that have a coordinate in every row."""
    if isinstance(value, dict):
        for name, below in value.items():
            if f"{path}.{name}" not in TOLD:
                yield from _leaves(below, f"{path}.{name}")
    elif value is not None:
        yield path, value


def _values(diagram: Diagram, keys: list[str]) -> pd.DataFrame:
    known = diagram.frame[[*keys, "replicate"]].assign(value=diagram.quantity.values(diagram.frame))
    return known[diagram.cells.finished & known["value"].notna().to_numpy()]


def _unique(rows: pd.DataFrame, keys: list[str]) -> bool:
    return not rows.duplicated([*keys, "replicate"]).any()


def _paired(left: pd.DataFrame, right: pd.DataFrame, keys: list[str], proportion: bool) -> pd.DataFrame:
    both = left.merge(right, on=[*keys, "replicate"], suffixes=("_first", "_second"))
    both["gained"] = both["value_second"] > both["value_first"]
    both["lost"] = both["value_second"] < both["value_first"]
    cells = both.groupby(keys, dropna=False).agg(
        first=("value_first", "mean" if proportion else "median"),
        second=("value_second", "mean" if proportion else "median"),
        trials=("gained", "size"),
        gained=("gained", "sum"),
        lost=("lost", "sum"),
    )
    cells = cells.reset_index()
    cells["difference"] = cells["second"] - cells["first"]
    if proportion:
        cells["p"] = [
            mcnemar(int(gained), int(lost)) for gained, lost in zip(cells["gained"], cells["lost"], strict=True)
        ]
        return cells
    moves = (both["value_second"] - both["value_first"]).groupby([both[key] for key in keys], dropna=False)
    cells["p"] = moves.agg(_signed_ranks).to_numpy(dtype=float)
    return cells


def _unpaired(left: pd.DataFrame, right: pd.DataFrame, keys: list[str], proportion: bool) -> pd.DataFrame:
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
    """The cells of all comparisons; of several, the column `grid` says which."""
    if len(comparisons) == 1:
        return comparisons[0].cells
    named = [one.cells.assign(grid=one.names[1]) for one in comparisons]
    cells = pd.concat(named, ignore_index=True)
    return cells[["grid", *cells.columns.drop("grid")]]
