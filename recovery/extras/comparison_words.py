"""What comparisons say in the terminal: of two grids sentences, of more a table."""

from collections.abc import Sequence

from tabulate import tabulate

from recovery.extras.comparison import FDR, Comparison


def differences_in_words(comparison: Comparison, most: int) -> list[str]:
    """What differs, in lines of text."""
    value = comparison.first.quantity.label
    how = "paired: the same draws" if comparison.paired else "not paired: the seeds or the data differ"
    lines = [
        f"{value}: {comparison.names[0]} (first) and {comparison.names[1]} (second)",
        f"{len(comparison.cells)} common cells, {how}; {comparison.unmatched} cells stand in one grid only",
        *(f"{name}: {a} in the first, {b} in the second" for name, (a, b) in comparison.fixed.items()),
        f"mean difference, second less first: {comparison.cells['difference'].mean():+.4g}",
        f"{len(comparison.different)} cells differ at a false-discovery rate of {FDR:.0%} (Benjamini-Yekutieli)",
    ]
    if comparison.sign_test is not None:
        gained, lost, p = comparison.sign_test
        lines.insert(-1, f"of all pairs {gained} are larger in the second, {lost} in the first: exact p = {p:.3g}")
        most_pairs = int((comparison.cells["gained"] + comparison.cells["lost"]).max())
        if comparison.first.proportion and most_pairs and not len(comparison.different):
            least = 0.5 ** (most_pairs - 1)
            lines.append(f"no cell has more than {most_pairs} discordant pairs, whose least p is {least:.2g}")
    return [*lines, *_differing([comparison], most)]


HEADS = ("", "common cells", "paired", "mean difference", "larger", "smaller", "exact p", "cells that differ")


def each_in_words(comparisons: Sequence[Comparison], most: int) -> list[str]:
    """What differs between the first grid and each of the others, in lines of text."""
    if len(comparisons) == 1:
        return differences_in_words(comparisons[0], most)
    before, rows, after = summary(comparisons)
    lines = tabulate(rows, headers=HEADS, disable_numparse=True).splitlines()
    return [*before, *lines, *after, *_differing(comparisons, most)]


def summary(comparisons: Sequence[Comparison]) -> tuple[list[str], list[list[str]], list[str]]:
    """What stands before a table of the comparisons, its rows under `HEADS`, and what their words mean."""
    told = [
        f"{comparison.names[1]}: {name} is {other}, in {comparison.names[0]} {one}"
        for comparison in comparisons
        for name, (one, other) in comparison.fixed.items()
    ]
    before = [f"{comparisons[0].first.quantity.label}: each grid less {comparisons[0].names[0]}", *told]
    cells = sum(len(comparison.cells) for comparison in comparisons)
    after = [
        f"larger, smaller: pairs of the same draws; exact p: of their sign test, times {len(comparisons)} grids",
        f"cells that differ: at a false-discovery rate of {FDR:.0%} over all {cells} cells (Benjamini-Yekutieli)",
    ]
    return before, [_row(comparison, len(comparisons)) for comparison in comparisons], after


def _row(comparison: Comparison, tests: int) -> list[str]:
    pairs = ["", "", ""]
    if comparison.sign_test is not None:
        gained, lost, p = comparison.sign_test
        pairs = [str(gained), str(lost), f"{min(1.0, tests * p):.3g}"]
    mean = f"{comparison.cells['difference'].mean():+.4g}"
    paired = "yes" if comparison.paired else "no"
    return [comparison.names[1], str(len(comparison.cells)), paired, mean, *pairs, str(len(comparison.different))]


def _differing(comparisons: Sequence[Comparison], most: int) -> list[str]:
    """A line for each of the cells that differ most surely."""
    found = [(cell, comparison) for comparison in comparisons for _, cell in comparison.different.iterrows()]
    lines = []
    for cell, comparison in sorted(found, key=lambda one: one[0]["q"])[:most]:
        where = ", ".join(f"{key} = {cell[key]}" for key in comparison.keys)
        which = f"{comparison.names[1]}, " if len(comparisons) > 1 else ""
        lines.append(f"  {which}{where}: {cell['first']:.4g} and {cell['second']:.4g}, q = {cell['q']:.2g}")
    return lines
