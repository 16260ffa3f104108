"""`recover compare`: two results folders, or the values of an axis of one, as one table of differences with intervals.

Trials with the same draws are compared pair by pair. False discoveries among grid cells are controlled.
"""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import scipy
from tabulate import tabulate

from recovery.config import ReportSpec, user_axes
from recovery.errors import ReportError
from recovery.expressions import is_expression, parse
from recovery.interval import LEVEL, Interval
from recovery.report.claims.lines import Line, form_of
from recovery.report.diagram import PLAIN, Cells, Diagram, coordinates, has, is_number, joint_values
from recovery.report.diagram.quantity import undefined
from recovery.report.statistics import Estimates
from recovery.report.statistics.differences import (
    paired_difference,
    sign_test,
    threshold_difference,
    unpaired_difference,
)
from recovery.report.statistics.samples import median_interval
from recovery.report.texts.tables import records, shown
from recovery.store import Grid, read
from recovery.text import did_you_mean, many
from recovery.types import Array, Index

FDR = 0.05
"""Controlled false-discovery rate."""
SECTIONS = ("data", "planted", "patterns", "method")
"""Sections of a config that may differ between sweeps without a coordinate for it, such as `method.program`."""
STORED_AS = {"data.ensemble": "ensemble", "planted.kind": "planted", "method.kind": "method"}
"""Fields of a config -> the coordinate that always stores them."""


class Stored(Protocol):
    """Stored results, as `recovery.read` returns them."""

    @property
    def grid(self) -> Grid: ...


@dataclass(frozen=True)
class Comparison:
    """Each further sweep, or value of an axis, compared with the first.

    table: a row over all cells (`scope` overall), per slice along x, and per common grid cell. `difference` is the
    second minus the first, between `low` and `high`. gained, lost: pairs whose second or first value is larger. p: the
    sign test of pairs, which is McNemar's for an event; of unpaired events Fisher's test in a cell, the score test
    elsewhere. q: p of a cell after the procedure of Benjamini and Yekutieli over all cells, valid under any dependence.
    thresholds: both sides' thresholds as they are printed, and their difference. notes: what is compared, and whether
    trials are paired.
    """

    label: str
    table: pd.DataFrame
    thresholds: pd.DataFrame
    notes: tuple[str, ...]
    tolerance: float | None = None

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
                text += f"; largest difference {row['largest']:.3g} (relative {row['largest_relative']:.3g})"
            if "beyond" in row:
                within = row["trials"] - row["beyond"] - row.get("unknown", 0)
                text += f"; {within:g} of {row['trials']} pairs differ by at most the tolerance {self.tolerance:g}"
            if row.get("unknown", 0):
                sides = " and ".join(f"{row[f'unknown_{side}']:g} in {row[side]}" for side in ("first", "second"))
                text += (
                    f"; not known in {row['unknown']:g} of {row['trials']} ({sides}): the interval allows for any value"
                )
            parts.append(text)
        if "q" in self.cells:
            tested = f"{len(self.different)} of {many(len(self.cells), 'grid cell')}"
            parts.append(f"{tested} differ at a false-discovery rate of {FDR:.0%}")
        return "; ".join(parts)

    def lines(self, most: int = 20) -> list[str]:
        """Return the lines of the terminal. most: limit of the rows of a table."""
        found = [f"{self.label}: {self.notes[0]}", *self.notes[1:]]
        names = {"overall": "All cells", "slice": "Slices"}
        parts = {title: self._scope(scope) for scope, title in names.items()}
        hidden = ["where", "level", "difference", "difference_low", "difference_high"]
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


def compare(
    a: Stored | str | Path,
    b: Stored | str | Path | None = None,
    *,
    by: str | None = None,
    value: str | None = None,
    tolerance: float | None = None,
) -> Comparison:
    """Compare two results folders, or with `by` the values of an axis within one, as `recover compare` does.

    value: a column or COLUMN<=NUMBER, by default the value of the config. tolerance: count the pairs of a number that
    differ by more. Raises `ReportError`, and `StoreError` for a damaged folder.
    """
    grids = [read(one) if isinstance(one, str | Path) else one.grid for one in (a, b) if one is not None]
    return compare_grids(grids, by, value, tolerance)


def compare_grids(
    grids: Sequence[Grid], by: str | None = None, value: str | None = None, tolerance: float | None = None
) -> Comparison:
    """Compare each further grid with the first, or the values of an axis of one grid. Raises `ReportError`."""
    if by is not None and len(grids) > 1:
        found = f"found {len(grids)} results folders, allowed is one"
        raise ReportError(f"--by {by}: {found}; leave out the others, or leave out --by")
    diagrams = [Diagram.of(grid, value) for grid in grids]
    first, *others = diagrams if by is None else sides_of(diagrams[0], by)
    if not others:
        raise ReportError(
            f"{first.grid.path}: a comparison needs at least two results folders; add another one, or give --by AXIS"
        )
    if tolerance is not None and first.proportion:
        raise ReportError(f"--tolerance: {first.quantity} is an event; leave --tolerance out, or choose a number")
    names = [diagram.name for diagram in (first, *others)]
    if len(set(names)) < len(names):
        names = [diagram.grid.path.as_posix() for diagram in (first, *others)]
    title = f"{names[1]} minus {names[0]}" if len(others) == 1 else f"differences from {names[0]}"
    tables, thresholds, notes = list[pd.DataFrame](), list[dict[str, Any]](), [title]
    for name, other in zip(names[1:], others, strict=True):
        sides = {"first": names[0], "second": name}
        table, words = _compared(first, other, tolerance)
        tables.append(pd.DataFrame({side: [text] * len(table) for side, text in sides.items()}).join(table))
        notes += [words if len(others) == 1 else f"{name}: {words}"]
        notes += [
            f"{field}: {one} in {names[0]}, {two} in {name}" for field, (one, two) in _fixed(first, other).items()
        ]
        thresholds += [sides | row for row in _thresholds(first, other)]
    table = pd.concat(tables, ignore_index=True)
    tested = (table["scope"] == "cell") & table["p"].notna()
    if tested.any():
        table.loc[tested, "q"] = scipy.stats.false_discovery_control(table.loc[tested, "p"], method="by")
    # rows over all cells first, then slices, then grid cells
    order = table["scope"].map({"overall": 0, "slice": 1, "cell": 2})
    table = table.iloc[np.argsort(order, kind="stable")].reset_index(drop=True)
    return Comparison(first.quantity.label, table, pd.DataFrame(thresholds), tuple(notes), tolerance)


def _compared(first: Diagram, second: Diagram, tolerance: float | None) -> tuple[pd.DataFrame, str]:
    """Return the differences over all cells, per slice and per grid cell of two sweeps, and how trials are compared."""
    keys, fixed = _keys(first, second), _fixed(first, second)
    left, right = _values(first, keys), _values(second, keys)
    for diagram, side in ((first, left), (second, right)):
        if side["value"].isna().all() and len(diagram.frame):
            raise ReportError(
                f"{diagram.name}: no finished trial measures {first.quantity}; choose another quantity with --value"
            )
    unpaired = list(_unpaired(first, second, fixed))
    if not unpaired and any(rows.duplicated([*keys, "replicate"]).any() for rows in (left, right)):
        unpaired = ["several trials of a grid cell have the same replicate"]
    matched = keys if unpaired else [*keys, "replicate"]
    if unpaired:
        how = {"value": ("value", "mean" if first.proportion else "median")}
        how |= {"size": ("value", "size"), "sum": ("value", "sum"), "unknown": ("missing", "sum")}
        left, right = (side.groupby(keys, dropna=False).agg(**how).reset_index() for side in (left, right))
    else:
        left, right = (side.rename(columns={"missing": "unknown"}) for side in (left, right))
    rows = left.merge(right, on=matched, suffixes=("_first", "_second"))
    rows["trials"] = rows[["size_first", "size_second"]].min(axis=1) if unpaired else 1
    if not len(rows):
        apart = [name for name in keys if not set(first.frame[name]) & set(second.frame[name])]
        why = f"; no value of {apart[0]} is in both" if apart else ""
        raise ReportError(f"{first.name} and {second.name} have no grid cell in common over {', '.join(keys)}{why}")
    scopes = {"overall": [], "slice": [name for name in keys if name != first.along.x], "cell": keys}
    tables = []
    for scope, names in scopes.items():
        found = summary(rows, names, first.proportion, not unpaired, tolerance)
        if scope != "slice" or len(found) > 1:
            tables.append(found.assign(scope=scope, paired=not unpaired))
    cells = len(tables[-1])
    unmatched = len(pd.concat([left[keys], right[keys]]).drop_duplicates()) - cells
    text = f"{many(cells, 'common cell')}, "
    if unpaired:
        text += f"not paired, because {' and '.join(unpaired)}"
    else:
        text += f"paired: {many(len(rows), 'pair')} of trials with the same draws"
    text += f"; {many(unmatched, 'cell')} on one side only" if unmatched else ""
    table = pd.concat(tables, ignore_index=True)
    return table[["scope", *keys, *(name for name in table if name not in ("scope", *keys))]], text


def summary(
    rows: pd.DataFrame, names: list[str], proportion: bool, paired: bool, tolerance: float | None
) -> pd.DataFrame:
    """Return the differences over each group of rows with the same values of `names`; one row over all without names.

    rows: one row per pair of trials, or unpaired per grid cell, with `value_first` and `value_second`. Of numbers, the
    difference is the median; pairs have the largest difference, the largest relative to the larger absolute value of
    its pair, and with a tolerance the number of pairs that differ by more. Unpaired, values are means over the cells,
    the difference of an event has the weights of Mantel and Haenszel, and numbers have no interval or test.

    Values that are not known, NaN, may be any: `unknown` counts the pairs with one (unpaired, the trials). Intervals
    and tests allow for all that they may be. The difference of an event is then the middle of what they leave, and that
    of numbers is not known.
    """
    one, two = rows["value_first"].to_numpy(dtype=float), rows["value_second"].to_numpy(dtype=float)
    # equal values have the difference 0; subtracting them would give NaN if both are infinite
    moved = np.subtract(two, one, where=one != two, out=np.zeros(len(rows)))
    far, size = np.abs(moved), np.maximum(np.abs(one), np.abs(two))
    relative = np.divide(far, size, where=np.isfinite(size) & (size > 0), out=np.zeros(len(rows)))
    groups = rows.assign(difference=moved, gained=two > one, lost=two < one, largest=far, largest_relative=relative)
    groups["unknown"] = np.isnan(moved) if paired else rows["unknown_first"] + rows["unknown_second"]
    typical, value = "mean" if proportion else "median", "mean" if proportion or not paired else "median"
    how = {"value_first": value, "value_second": value, "difference": typical, "trials": "sum"}
    how |= dict.fromkeys(("unknown", "unknown_first", "unknown_second"), "sum")
    if paired:
        # an unknown value can make a pair a gain or a loss, unless the other value of an event excludes it
        groups["up"], groups["down"] = (
            np.isnan(moved) & ~(proportion & ((one == first) | (two == 1 - first))) for first in (1, 0)
        )
        how |= {"gained": "sum", "lost": "sum", "up": "sum", "down": "sum"}
        how |= {} if proportion else {"largest": "max", "largest_relative": "max"}
    if paired and tolerance is not None:
        groups, how = groups.assign(beyond=far > tolerance), how | {"beyond": "sum"}
    grouped = groups.groupby(names or np.zeros(len(rows)), dropna=False)
    found = grouped[list(how)].agg(how).reset_index(drop=not names)
    low = high = p = np.full(len(found), np.nan)
    if paired:
        counts = found[["gained", "lost", "up", "down"]].to_numpy(dtype=int)
        p = np.array([sign_test(*_evened(*one)) for one in counts.tolist()])
        gained, lost, up, down = counts.T
        if proportion:
            found["difference"] = (gained - lost + (up - down) / 2) / found["trials"]
            low = paired_difference(gained, lost + down, found["trials"])[0]
            high = paired_difference(gained + up, lost, found["trials"])[1]
        else:
            parts = (part.to_numpy() for _, part in grouped["difference"])
            ends = [median_interval(part[~np.isnan(part)], undecided=int(np.isnan(part).sum())) for part in parts]
            low, high = np.array([(one.low, one.high) for one in ends]).T
    elif proportion:
        yes, total, more = (
            rows[[f"{name}_first", f"{name}_second"]].to_numpy(dtype=float).T for name in ("sum", "size", "unknown")
        )
        # the two ends: every unknown trial of the first side is a yes and of the second a no, or the other way round
        least, most = (
            _of_events(yes + more * np.array(sides)[:, None], total, np.asarray(grouped.ngroup(), dtype=np.intp))
            for sides in ((1, 0), (0, 1))
        )
        low, high, found["difference"] = least[1], most[2], (least[0] + most[0]) / 2
        p = np.where(least[0] * most[0] < 0, 1.0, np.maximum(least[3], most[3]))
    if not proportion:
        found.loc[found["unknown"] > 0, "difference"] = np.nan
    if not found["unknown"].any():
        found = found.drop(columns=["unknown", "unknown_first", "unknown_second"])
    found = found.drop(columns=["up", "down"], errors="ignore")
    return found.assign(low=low, high=high, level=LEVEL, p=p)


def _evened(gained: int, lost: int, up: int, down: int) -> tuple[int, int]:
    """Return the counts with as many of the unknown pairs on the smaller side as make them equal, if there are."""
    return (gained, lost + min(down, gained - lost)) if gained >= lost else (gained + min(up, lost - gained), lost)


def _of_events(yes: Array, total: Array, group: Index) -> tuple[Array, ...]:
    """Return `unpaired_difference`, with Fisher's test where each group is one grid cell."""
    difference, low, high, p = unpaired_difference(yes, total, group)
    if len(difference) == len(group):
        tables = (np.array([a, b - a]).T for a, b in zip(yes.T, total.T, strict=True))
        p = np.array([scipy.stats.fisher_exact(each)[1] for each in tables])
    return difference, low, high, p


def _thresholds(first: Diagram, second: Diagram) -> Iterator[dict[str, Any]]:
    """Yield the thresholds of an event of both sides, of the same panel or slice, and their difference."""
    if not first.proportion or first.along != second.along:
        return
    others = Estimates(second).all_thresholds
    for one in Estimates(first).all_thresholds:
        match = [other for other in others if other.panel.where == one.panel.where]
        if len(match) != 1 or not len(one.panel.cells) or not len(match[0].panel.cells):
            continue
        here, there = Line.of(one), Line.of(match[0])
        found = threshold_difference(one.interval, match[0].interval)
        if not (one.constant and match[0].constant):
            found = Interval(np.nan, -np.inf, np.inf, found.level)
        form = f"+{form_of(one.along)}"
        yield {
            "panel": here.panel,
            "what": here.what,
            "value_first": here.estimate,
            "interval_first": here.interval,
            "value_second": there.estimate,
            "interval_second": there.interval,
            "minus": f"{found.estimate:{form}}, {found.entry(form)}" if found.known else found.entry(form),
            **found.columns("difference"),
            "level": found.level,
            "where": one.panel.where,
        }


def _keys(first: Diagram, second: Diagram) -> list[str]:
    """Return the coordinates over which grid cells are matched."""
    keys = [name for name in first.layout.keys if name in second.frame]
    return keys + [name for name in second.layout.keys if name in first.frame and name not in keys]


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


def _fixed(first: Diagram, second: Diagram) -> dict[str, tuple[object, object]]:
    """Return the constant coordinates, and the other fields of the configs, in which two sweeps differ."""
    keys = _keys(first, second)
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
    """Return coordinates, replicate and value of the finished trials that have the quantity; NaN where it is not known
    and `missing` is true.
    """
    rows = diagram.frame[[*keys, "replicate"]].assign(value=diagram.quantity.values(diagram.frame))
    rows = rows.assign(missing=rows["value"].isna())
    return rows[diagram.cells.finished & ~undefined(diagram.frame, diagram.quantity.column)]


def sides_of(diagram: Diagram, by: str) -> list[Diagram]:
    """Return one diagram per value of an axis of the sweep, named after the value. Raises `ReportError`."""
    names = coordinates(diagram.frame, diagram.grid.columns)
    by = STORED_AS.get(by, by)
    if by not in names:
        by = next((name for name in names if name.split(".")[-1] == by), by)
    varying = [name for name in names if diagram.frame[name].nunique(dropna=False) > 1]
    if by not in varying:
        why = "has one value" if by in names else "is no axis"
        axes = f"allowed: {', '.join(varying)}" if varying else "no axis of it has two values"
        raise ReportError(f"{diagram.grid.path}: {by} {why}; {axes}{did_you_mean(by, varying)}")
    if by in (diagram.layout.x, diagram.layout.y):
        x = next((name for name in diagram.layout.keys[::-1] if name != by and is_number(diagram.frame[name])), by)
        if x == by:
            raise ReportError(f"{diagram.grid.path}: {by} is the only axis; a comparison needs another one as x")
        diagram = diagram.laid_out(ReportSpec(x=x, panel=by))
    present = set(diagram.frame[by].unique())
    values = [value for (value,) in joint_values(diagram.frame, diagram.sweep, (by,)) if value in present]
    frames = [diagram.frame[has(diagram.frame, by, value)].reset_index(drop=True) for value in values]
    # coordinates that the axis `by` determines have one value within each side, so they give no panels
    panels = tuple(name for name in diagram.layout.panels if any(frame[name].nunique() > 1 for frame in frames))
    layout = replace(diagram.layout, panels=panels)
    sides = []
    for value, frame in zip(values, frames, strict=True):
        cells = Cells.of(frame, layout.keys, diagram.sweep.replicates)
        sweep = replace(diagram.sweep, name=value if isinstance(value, str) else PLAIN.pair(by, value))
        sides.append(replace(diagram, sweep=sweep, frame=frame, layout=layout, cells=cells))
    return sides
