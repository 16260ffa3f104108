"""A diagram as text: one or more characters per grid cell, coloured on a terminal and plain elsewhere."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import ceil
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from recovery.report.claims import Analysis
from recovery.report.claims.lines import columns
from recovery.report.claims.mean_tables import claimed_tables
from recovery.report.diagram import NOT_MEASURED, PLAIN, Diagram, Panel, Scale, scale_of, shared_parts, summary
from recovery.report.diagram.vocabulary import unmarked
from recovery.report.texts.tables import chosen_rows, mean_rows, mean_title
from recovery.types import Array

ROWS = 40
"""Most lines of a panel; finer grids are shown as blocks of cells."""
RAMP = ".123456789#"
"""Plain characters from the low end of the scale to the high end."""
MARKS = " ~!"
"""Marks of grid cells: none, missing trials, failed trials."""
GAP = 4
"""Columns between two maps."""
MANY = 6
SPARSE = 0.3
"""With at least `MANY` panels whose cells fill less than this share of their axes, thresholds are listed instead of
maps."""
FEW = 12
"""Up to this number of x values, each has a column as wide as its label, if there is room."""
STYLES = {"supported": "green", "contradicted": "bold red", "inconclusive": "yellow", "not tested": "dim"}


def print_diagram(analysis: Analysis, console: Console) -> None:
    """Print title, map of each panel (x across, y up), key, counts, thresholds, tables and claims."""
    diagram = analysis.diagram
    console.print(Text(diagram.heading, style="bold"))
    for line in [] if _many_thresholds(analysis) else maps(diagram, console):
        console.print(line, no_wrap=True, overflow="crop", crop=True)
    console.print(Text(summary(diagram)))
    rows, free = columns(analysis.lines), console.options.update(max_width=10_000)
    if rows and console.measure(_table(rows), options=free).maximum > console.width:
        rows = [{name: word for name, word in row.items() if name != "source"} for row in rows]
    if len(rows) >= MANY and console.measure(_table(rows), options=free).minimum <= console.width:
        console.print(_table(rows))
    else:
        # claims about other events have their own lines below
        for sentence in dict.fromkeys(line.sentence for line in analysis.lines if line.value == str(diagram.quantity)):
            console.print(Text(sentence))
    for beside in (*analysis.widths, *analysis.limits):
        console.print(Text(beside.sentence))
    for table in claimed_tables(diagram):
        console.print(Text(f"\n{mean_title(table)}"))
        console.print(_table(mean_rows(table)))
    if often := chosen_rows(diagram):
        console.print(_table(often))
    for claim in analysis.claims:
        verdict = claim.verdict_words, STYLES[claim.verdict]
        console.print(Text.assemble(verdict, f": {claim.stated}: {claim.measured}"))


def maps(diagram: Diagram, console: Console) -> list[Text]:
    """Return the lines of every panel's map with its title, and the key, for one quantity after another."""
    lines = list[Text]()
    for one in diagram.one_by_one:
        scale, blocks = scale_of(one), []
        for panel in one.panels:
            title = [Text(), Text(panel.title)] if panel.title else []
            empty = [Text(NOT_MEASURED, style="dim")]
            blocks.append([*title, *(empty if panel.undefined else _map(panel, one, scale, console))])
        lines += [*_beside(blocks, console.width), *_key(scale, console)]
    return lines


def _beside(blocks: Sequence[list[Text]], width: int) -> Iterator[Text]:
    """Yield the lines of blocks, as many beside one another as fit into the width."""
    wide = GAP + max(line.cell_len for block in blocks for line in block)
    across = max((width + GAP) // wide, 1)
    for i in range(0, len(blocks), across):
        for parts in zip_longest(*blocks[i : i + across], fillvalue=Text()):
            line = Text()
            for part in parts:
                line.pad_right(-line.cell_len % wide)
                line.append_text(part)
            yield line


def _many_thresholds(analysis: Analysis) -> bool:
    """Return whether the grid suits a table of thresholds: a few n for each d, in many panels."""
    planned = sum(len(panel.cells) for panel in analysis.diagram.panels)
    room = sum(len(panel.x) * len(panel.y) for panel in analysis.diagram.panels)
    return len(analysis.pooled) >= MANY and planned < SPARSE * room


def _table(rows: list[dict[str, str]]) -> Table:
    """Return rows of words as a table."""
    table = Table(*rows[0], box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*map(Text, row.values()))
    return table


def _map(panel: Panel, diagram: Diagram, scale: Scale, console: Console) -> list[Text]:
    shared = shared_parts(panel.y)
    labels = [""] if diagram.layout.y is None else [PLAIN.value(one, shared, diagram.layout.y) for one in panel.y]
    margin = max(map(len, labels)) + 2
    room = max(console.width - margin - 1, 10)
    across = ceil(len(panel.x) / room)
    up = ceil(len(panel.y) / ROWS)
    wide = 2 if ceil(len(panel.x) / across) * 2 <= room else 1
    names = [PLAIN.value(value, name=diagram.layout.x) for value in panel.x]
    longest = max(map(len, names)) + 1
    if across == 1 and len(panel.x) <= FEW and longest * len(panel.x) <= room:
        wide = max(wide, longest)
    unit = scale.unit(_blocks(panel.matrix("value"), up, across).mean(axis=2).filled(np.nan))
    failed, missing = panel.matrix("failed"), panel.matrix("missing")
    marks = np.where(np.isnan(failed), np.nan, np.where(failed > 0, 2.0, missing > 0))  # as in `MARKS`
    marks = _blocks(marks, up, across).max(axis=2).filled(np.nan)
    result = []
    for i in reversed(range(len(unit))):
        cells = [_cell(*one, wide, console, scale.colours) for one in zip(unit[i], marks[i], strict=True)]
        result.append(Text.assemble(f"{labels[i * up]:>{margin - 1}} ", *cells))
    ticks = _ticks(names, across, wide)
    labels_of = diagram.sweep.report.labels
    name, up_name = (unmarked(labels_of.get(one, one)) for one in (diagram.layout.x, diagram.layout.y or ""))
    below = f"{up_name:>{margin - 1}} {ticks}"
    if len(below) + 1 + len(name) <= console.width:
        result.append(Text(f"{below} {name}"))
    else:
        result += [Text(below), Text(f"{name:>{min(len(below), console.width)}}")]
    if across > 1 or up > 1:
        result.append(Text(f"each character stands for {across} x {up} cells", style="dim"))
    return result


def _blocks(values: Array, up: int, across: int) -> "np.ma.MaskedArray[Any, Any]":
    """Return values cut into blocks of `up` x `across` entries, shape (rows, columns, block), with NaN masked."""
    rows, columns = ceil(values.shape[0] / up), ceil(values.shape[1] / across)
    padded = np.full((rows * up, columns * across), np.nan)
    padded[: values.shape[0], : values.shape[1]] = values
    stacked = padded.reshape(rows, up, columns, across).swapaxes(1, 2).reshape(rows, columns, -1)
    return np.ma.masked_invalid(stacked)


def _cell(unit: float, mark: float, wide: int, console: Console, colours: str) -> Text:
    """Return a cell as a coloured block or ramp character. unit: its value from 0 to 1 on the scale; `x` replaces NaN.
    mark: 0, 1 (`~`, missing trials), 2 (`!`, failed trials), NaN without a cell. wide: number of characters."""
    if np.isnan(mark):
        return Text(" " * wide)
    if np.isnan(unit):
        return Text("x" + " " * (wide - 1))
    if console.color_system is None or console.no_color:
        return Text((RAMP[int(unit * 10 + 1e-9)] + MARKS[int(mark)])[:wide].ljust(wide))
    import matplotlib  # imported here, because matplotlib is slow to import and plain characters do not need it

    red, green, blue, _ = matplotlib.colormaps[colours](unit, bytes=True)
    ink = "black" if 0.3 * red + 0.6 * green + 0.1 * blue > 130 else "white"
    return Text(MARKS[int(mark)].center(wide), style=f"{ink} on rgb({red},{green},{blue})")


def _ticks(names: Sequence[str], across: int, wide: int) -> str:
    """Return a line with as many labels of the x axis as fit, each from the first character of its cell on."""
    cells = ceil(len(names) / across)
    line = [" "] * (cells * wide)
    free = 0
    for j in range(cells):
        label = names[j * across]
        if j * wide >= free and j * wide + len(label) <= len(line):
            line[j * wide : j * wide + len(label)] = label
            free = j * wide + (len(label) + 1 if wide > len(label) else max(len(label) + 2, 8))
    return "".join(line)


def _key(scale: Scale, console: Console) -> list[Text]:
    """Return the lines of the key: one, or two if one is wider than the console."""
    low, high = (f"{limit:.3g}" for limit in scale.limits)
    colours = [_cell(step / 10, 0.0, 1, console, scale.colours) for step in range(11)]
    key = Text.assemble(f"{scale.label}: {low} ", *colours, f" {high}")
    marks = f"{MARKS[2]} failed trials   {MARKS[1]} missing trials   x no known value"
    whole = Text.assemble(key, "   ", marks)
    return [Text(), *([whole] if whole.cell_len <= console.width else [key, Text(marks)])]
