"""Comparisons of sweeps in words: the lines and tables of the terminal, which the page shows too."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from tabulate import tabulate

from recovery.extras.comparison import FDR, Comparison
from recovery.interval import LEVEL, Interval, interval_words
from recovery.report.diagram import PLAIN, Panel, greek
from recovery.report.statistics.differences import ThresholdDifference
from recovery.text import many

OVERALL, SLICES = "All cells", "Slices"
"""Titles of the tables."""
PAIRS = ["second larger", "second smaller", "exact p"]
"""Heads of the columns about pairs of trials."""


def in_words(comparisons: Sequence[Comparison], most: int) -> list[str]:
    """Return the lines that describe all comparisons. most: limit of the slices and of the differing cells in them."""
    lines = before(comparisons)
    for title, heads, rows in tables(comparisons):
        if not title.startswith(SLICES) or len(rows) <= most:
            lines += ["", f"{title}:", *tabulate(rows, headers=heads, disable_numparse=True).splitlines()]
        else:
            lines += ["", f"{title}: {len(rows)} rows; --most {len(rows)} lists them"]
    return [*lines, "", *after(comparisons), *_differing(comparisons, most)]


def before(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the lines above the tables: what is compared, how many trials, and whether they are paired."""
    one, alone = comparisons[0], len(comparisons) == 1
    title = one.title if alone else f"differences from {one.names[0]}"
    lines = [f"{one.first.quantity.label}: {title}"]
    for comparison in comparisons:
        name = "" if alone else f"{comparison.names[1]}: "
        trials = int(comparison.whole["trials"].sum())
        if comparison.paired:
            how = f"paired: {many(trials, 'pair')} of trials with the same draws"
        else:
            how = f"not paired, because {' and '.join(comparison.unpaired)}"
        cells = f"{name}{many(len(comparison.cells), 'common cell')}, {how}"
        lines.append(
            f"{cells}; {many(comparison.unmatched, 'cell')} on one side only" if comparison.unmatched else cells
        )
        lines += [f"{name}{field}: {a} in the first, {b} in the second" for field, (a, b) in comparison.fixed.items()]
    return lines


def tables(comparisons: Sequence[Comparison]) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return the title, the header and the rows of each table: all cells, thresholds, and both for each slice."""
    one, alone = comparisons[0].first, len(comparisons) == 1
    mean = "fraction" if one.proportion else "median"
    heads = [f"{mean} in the first", "in the second", "difference", interval_words([LEVEL])]
    heads += PAIRS if any(c.paired for c in comparisons) else []
    ends = ["at", "in the first", "in the second", "difference", "interval"]

    def numbers(table: str, tests: int) -> list[tuple[Comparison, list[str]]]:
        rows = [(c, row) for c in comparisons for row in _rows(getattr(c, table))]
        places = [PLAIN.where({key: row[key] for key in c.slice_keys if key in row}) for c, row in rows]
        return [(c, [at, *_numbers(c, row, tests)[: len(heads)]]) for (c, row), at in zip(rows, places, strict=True)]

    whole, slices = numbers("whole", len(comparisons)), numbers("slices", 1)
    pooled, each = (
        [(c, _threshold(c, panel, one)) for c in comparisons for panel, one in c.thresholds if one.pooled == kind]
        for kind in (True, False)
    )
    what = f"at {one.along.percent}"
    found = [
        (OVERALL, heads, [(c, row[1:]) for c, row in whole]),
        (f"Thresholds: {greek(one.along.what)} {what}", ends, pooled),
        (f"{SLICES}: {comparisons[0].first.script.axis(one.along.x)} {what}", ends, each),
        (SLICES, ["at", *heads], slices if len(slices) > len(comparisons) else []),
    ]
    return [
        (title, names if alone else ["sweep", *names], [row if alone else [c.names[1], *row] for c, row in rows])
        for title, names, rows in found
        if rows
    ]


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _threshold(comparison: Comparison, panel: Panel, one: ThresholdDifference) -> list[str]:
    """Return a row of text: the slice, or the panel of a pooled threshold, both thresholds and their difference."""
    along, difference = comparison.first.along, one.difference
    where = PLAIN.where(panel.where if one.pooled or along.by is None else {**panel.where, along.by: one.y})
    values = [f"{value:.4g}" if np.isfinite(value) else "none" for value in (one.first, one.second)]
    estimate = f"{difference.estimate:+.4g}" if difference.known else "none"
    if one.left_out or not where:
        out = f" except {', '.join(map(PLAIN.value, one.left_out))}" if one.left_out else ""
        where = ", ".join(filter(None, [where, f"all {along.by}{out}" if along.by else "all"]))
    return [where, *values, estimate, difference.entry("+.4g")]


def _numbers(comparison: Comparison, row: Mapping[str, Any], tests: int) -> list[str]:
    """Return the entries of a row of a table as text, with p multiplied by the number of tests (Bonferroni)."""
    values = [f"{row['first']:.4g}", f"{row['second']:.4g}", f"{row['difference']:+.4g}"]
    values.append("none" if np.isnan(row["low"]) else Interval(row["difference"], row["low"], row["high"]).ends("+.4g"))
    if not comparison.paired:
        return [*values, "", "", ""]
    return [*values, str(row["gained"]), str(row["lost"]), f"{min(1.0, tests * row['p']):.3g}"]


def after(comparisons: Sequence[Comparison]) -> list[str]:
    """Return the lines below the tables: largest differences, and how many grid cells differ."""
    lines = []
    if any(one.paired for one in comparisons):
        test = "McNemar's test" if comparisons[0].first.proportion else "the sign test"
        lines.append(f"second larger, second smaller: numbers of pairs of trials; exact p: of {test} on them")
    if any(not one.difference.known for comparison in comparisons for _, one in comparison.thresholds):
        lines.append("none: the grid cells of a side do not span the transition, so the difference has bounds at most")
    if len(comparisons) > 1 and any(one.paired for one in comparisons):
        lines.append(f"exact p of the overall table: multiplied by {len(comparisons)} comparisons (Bonferroni)")
    for comparison in comparisons:
        name = "" if len(comparisons) == 1 else f"{comparison.names[1]}: "
        lines += [f"{name}{text}" for text in (*_largest(comparison), *_cells_in_words(comparison))]
    return lines


def _largest(comparison: Comparison) -> list[str]:
    """Return `largest difference 2.1e-10 (relative 1e-10); ...` for pairs of numbers."""
    whole = comparison.whole.iloc[0]
    if "largest" not in whole:
        return []
    text = f"largest difference {whole['largest']:.3g} (relative {whole['largest_relative']:.3g})"
    if comparison.tolerance is None:
        return [text]
    pairs = int(whole["trials"])
    within = pairs - int(whole["beyond"])
    return [f"{text}; {within} of {pairs} pairs differ by at most the tolerance {comparison.tolerance:g}"]


def _cells_in_words(comparison: Comparison) -> list[str]:
    """Return how many grid cells differ; where none does, whether all pairs together do, and what one cell can show."""
    count, rate = len(comparison.different), f"at a false-discovery rate of {FDR:.0%} (Benjamini-Yekutieli)"
    if count:
        return [f"{many(count, 'cell')} {'differs' if count == 1 else 'differ'} {rate}"]
    whole = comparison.whole.iloc[0]
    if whole["low"] > 0 or whole["high"] < 0 or whole["p"] <= FDR:
        lines = [f"no single cell differs {rate}, but all cells together differ (see {OVERALL})"]
    elif comparison.cells["p"].isna().all():
        return []
    else:
        lines = [f"no cell differs {rate}"]
    if comparison.paired and (most := int((comparison.cells["gained"] + comparison.cells["lost"]).max())):
        lines.append(f"no cell has more than {most} discordant pairs, so no p can be below {0.5 ** (most - 1):.2g}")
    return lines


def _differing(comparisons: Sequence[Comparison], most: int) -> list[str]:
    """Return a line for each differing grid cell, smallest q first, at most `most`."""
    found = [(cell, comparison) for comparison in comparisons for cell in _rows(comparison.different)]
    lines = []
    for cell, comparison in sorted(found, key=lambda one: one[0]["q"])[:most]:
        where = ", ".join(f"{key} = {cell[key]}" for key in comparison.keys)
        which = f"{comparison.names[1]}, " if len(comparisons) > 1 else ""
        difference = f"difference {Interval(cell['difference'], cell['low'], cell['high']):+.3g}"
        lines.append(
            f"  {which}{where}: {cell['first']:.4g} and {cell['second']:.4g}, {difference}, q = {cell['q']:.2g}"
        )
    return lines
