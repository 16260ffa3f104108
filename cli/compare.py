"""`recover compare`: two grids cell by cell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from recovery.report.compare import Comparison


@click.command()
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option("--value", default="recovered", show_default=True, metavar="COLUMN", help="What to compare.")
@click.option("--most", type=click.IntRange(0), default=20, show_default=True, metavar="N", help="Cells to list.")
def command(a: Path, b: Path, value: str, most: int) -> None:
    """Compare the grids A and B cell by cell; trial by trial where their seeds agree, so that both met the same X."""
    from recovery.report.compare import compare
    from recovery.store import read

    click.echo(_text(compare(read(a), read(b), value), a, b, most))


def _text(found: Comparison, a: Path, b: Path, most: int) -> str:
    lines = [f"A = {a}, B = {b}: {found.value} in {len(found.cells)} common cells"]
    lines += [f"  {name}: {x} in A, {y} in B" for name, (x, y) in found.fixed.items()]
    if found.pairs is None:
        lines.append("not paired: the seeds or the data differ")
    else:
        lines.append(
            f"{found.pairs} pairs on the same draw: {found.equal} equal, {found.only_a} larger in A, "
            f"{found.only_b} larger in B"
        )
    if found.p_value is not None:
        lines.append(f"exact sign test: p = {found.p_value:.3g}")
    differing = found.cells[found.cells["difference"] != 0]
    lines.append(f"{len(differing)} cells differ")
    order = differing["difference"].abs().sort_values(ascending=False, kind="stable").index[:most]
    if len(order):
        varying = [name for name in found.cells if name == "difference" or found.cells[name].nunique(dropna=False) > 1]
        lines.append(differing.loc[order, varying].to_string(index=False, float_format="{:.3g}".format))
    return "\n".join(lines)
