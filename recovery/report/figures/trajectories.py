"""Figures of what training recorded on its way: losses, paths of neurons in a plane, pairs, and the landscape.

A trial's record has `epoch`, `loss`, `gradient_norm`, `sum_norm` (T,), `inner` (T, k, p + 1), the neurons along p
planted directions and one orthogonal to them, and `outer` (T, k, r). See `recovery.methods.trained.observer`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from textwrap import wrap

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.report.diagram import Diagram, coordinates, describe
from recovery.report.figures.figure import plain
from recovery.report.figures.style import COLOURS, CURVES, DASHES, ONE_COLUMN, RC, TWO_COLUMNS
from recovery.report.figures.surface import draw_surface
from recovery.store import Grid
from recovery.store.trajectories import read_trajectories
from recovery.training.networks import pairing
from recovery.training.population import landscape
from recovery.types import Array

MOST_PANELS = 9
MOST_LINES = 400
PAIR_COLOURS = (*CURVES[::2], "#1b6ca8", "#2e8b57", "#d95f02", "#8c564b", "#c2185b", "#666666", "#b8a000", "#008b8b")
FAR = 10.0
"""What a run that diverged did farther out is not drawn into the landscape."""
FLOOR = 1e-18
"""What lies lower, or at or below zero by rounding, is drawn here on a log axis."""


@dataclass(frozen=True)
class Run:
    """One recorded trial: its cell in words, its replicate, its record."""

    cell: str
    replicate: int
    record: Mapping[str, Array]

    @property
    def signs(self) -> Array:
        """The sign of each outer weight at the end, for one output."""
        return np.sign(self.record["outer"][-1][:, 0])


def runs_of(grid: Grid) -> list[Run]:
    """The recorded trials of a grid in the order of its cells; empty if nothing was recorded."""
    records = read_trajectories(grid.path)
    if not records:
        return []
    frame = grid.frame
    varying = [name for name in coordinates(frame, grid.columns) if frame[name].nunique(dropna=False) > 1]
    frame = frame.sort_values([*varying, "replicate"]) if varying else frame.sort_values("replicate")
    cells = [describe({name: row[name] for name in varying}) for _, row in frame.iterrows()]
    rows = zip(frame["trial_id"], frame["replicate"], cells, strict=True)
    return [Run(cell, int(replicate), records[name]) for name, replicate, cell in rows if name in records]


def firsts(runs: Sequence[Run]) -> list[Run]:
    """The first replicate of each cell, as many as there are panels."""
    seen: dict[str, Run] = {}
    for run in runs:
        seen.setdefault(run.cell, run)
    return list(seen.values())[:MOST_PANELS]


def draw_loss(runs: Sequence[Run], title: str) -> Figure:
    """Loss (solid) and ||sum_i ||v_i|| w_i|| (thin, dotted) over the epochs on a log axis, one colour a cell."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(ONE_COLUMN, 2.9), layout="constrained")
        ax = figure.subplots()
        cells = list(dict.fromkeys(run.cell for run in runs))
        shades = matplotlib.colormaps[COLOURS](np.linspace(0.0, 0.85, len(cells)))
        for run in runs[:MOST_LINES]:
            colour, epoch = shades[cells.index(run.cell)], run.record["epoch"]
            ax.plot(epoch, np.maximum(run.record["loss"], FLOOR), color=colour, linewidth=0.9)
            ax.plot(epoch, np.maximum(run.record["sum_norm"], FLOOR), color=colour, linewidth=0.7, linestyle=DASHES[2])
        ax.set_yscale("log")
        if max(float(run.record["epoch"][-1]) for run in runs) > 20 * min(
            float(run.record["epoch"][-1]) for run in runs
        ):
            ax.set_xscale("symlog", linthresh=1)
            ax.set_xlim(left=0)
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss; norm of the sum (dotted)")
        handles = [Line2D([], [], color=shade, label=cell) for shade, cell in zip(shades, cells, strict=True) if cell]
        if 0 < len(handles) <= 12:
            figure.legend(handles=handles, loc="outside lower center", ncols=2)
        figure.suptitle(_wrapped(figure, title), fontsize=9)
    return figure


def draw_paths(runs: Sequence[Run], title: str) -> Figure:
    """Neurons in the plane of the planted direction and one orthogonal to it, coloured by the sign of v (P2, Figure 2).

    Dots are ends, diamonds the sums of |v_i| w_i over a sign, crosses the planted +-a.
    """

    def panel(ax: Axes, run: Run) -> None:
        inner, outer = run.record["inner"], run.record["outer"]
        for sign, colour, dark in ((1.0, CURVES[0], CURVES[2]), (-1.0, "#1b6ca8", "#2e8b57")):
            chosen = run.signs == sign
            for i in np.flatnonzero(chosen):
                ax.plot(inner[:, i, 0], inner[:, i, -1], color=colour, linewidth=0.7, alpha=0.8)
                ax.plot(*inner[-1, i, [0, -1]], "o", color=colour, markersize=3)
            if chosen.any():
                total = np.abs(outer[-1, chosen, 0]) @ inner[-1, chosen]
                ax.plot(total[0], total[-1], "D", color=dark, markersize=4.5, markerfacecolor="none")
        ax.plot([1.0, -1.0], [0.0, 0.0], "x", color="black", markersize=5)
        ax.set_aspect("equal", adjustable="datalim")

    key = [
        Line2D([], [], color=CURVES[0], linewidth=0.9, marker="o", markersize=3, label="v > 0"),
        Line2D([], [], color="#1b6ca8", linewidth=0.9, marker="o", markersize=3, label="v < 0"),
        Line2D([], [], color="black", linestyle="none", marker="D", markerfacecolor="none", ms=4, label="sum of |v| w"),
        Line2D([], [], color="black", linestyle="none", marker="x", markersize=5, label="planted"),
    ]
    return _panels(runs, title, panel, "along a", "orthogonal to a", key)


def draw_pairing(runs: Sequence[Run], title: str) -> Figure:
    """Outer and inner weights in two coordinates, one colour a pair, dashed between partners (P2, Figure 3)."""
    chosen = firsts(runs)[: MOST_PANELS // 2]
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(TWO_COLUMNS, 3.1 * len(chosen) + 0.3), layout="constrained")
        axes = figure.subplots(len(chosen), 2, squeeze=False)
        for run, row in zip(chosen, axes, strict=True):
            inner, outer = run.record["inner"], run.record["outer"]
            partner, error = pairing(inner[-1], outer[-1])
            pairs = list(dict.fromkeys(tuple(sorted((i, int(j)))) for i, j in enumerate(partner)))
            for ax, paths, name in ((row[0], outer, "outer weights"), (row[1], inner, "inner weights")):
                for colour, pair in zip(PAIR_COLOURS * len(pairs), pairs, strict=False):
                    for i in pair:
                        ax.plot(paths[:, i, 0], paths[:, i, 1], color=colour, linewidth=0.7)
                        ax.plot(*paths[-1, i, :2], "*", color=colour, markersize=5)
                    ends = paths[-1, list(pair), :2]
                    ax.plot(*ends.T, color=colour, linewidth=0.7, linestyle=DASHES[1])
                ax.set_title(f"{run.cell}\n{name}, worst pair off by {error:.1e}".strip(), loc="left")
                ax.set_aspect("equal", adjustable="datalim")
                ax.set_xlabel("coordinate 1")
                ax.set_ylabel("coordinate 2")
        key = [
            Line2D([], [], color="black", linewidth=0.7, marker="*", markersize=5, label="path of a neuron, its end"),
            Line2D([], [], color="black", linewidth=0.7, linestyle=DASHES[1], label="between partners"),
        ]
        figure.legend(handles=key, loc="outside lower center", ncols=2)
        figure.suptitle(_wrapped(figure, title), fontsize=9)
    return figure


def draw_landscape(runs: Sequence[Run], title: str) -> Figure:
    """The population loss at w_i = alpha_i a, v = (1, -1), and the shadows of the runs on it (P2, Figure 1)."""
    ends = np.concatenate([run.record["inner"][:, :, 0].ravel() for run in runs])
    ends = ends[np.abs(ends) < FAR]
    low, high = min(-1.5, float(ends.min()) - 0.2), max(2.5, float(ends.max()) + 0.2)
    grid = np.linspace(low, high, 121)
    loss = landscape(grid)

    def panel(ax: Axes, run: Run) -> None:
        levels = np.geomspace(1e-3, loss.max(), 18)
        ax.contourf(grid, grid, np.maximum(loss.T, 1e-3), levels=levels, cmap=COLOURS, norm="log")
        ax.plot(grid, grid - 1.0, color="white", linewidth=0.7, linestyle=DASHES[1])
        order = np.argsort(-run.signs)
        path = run.record["inner"][:, order, 0]
        ax.plot(*path.T, color=CURVES[0], linewidth=1.2)
        ax.plot(*path[-1], "o", color=CURVES[0], markersize=4)
        ax.plot(1.0, -1.0, "x", color="white", markersize=5)
        ax.set_xlim(low, high)
        ax.set_ylim(low, high)

    key = [
        Line2D([], [], color=CURVES[0], linewidth=1.2, marker="o", markersize=4, label="run, and its end"),
        Line2D([], [], color="0.5", linestyle="none", marker="x", markersize=5, label="optimum (1, -1)"),
        Line2D([], [], color="0.5", linewidth=0.7, linestyle=DASHES[1], label="alpha 1 - alpha 2 = 1"),
    ]
    figure = _panels(runs, title, panel, "alpha 1", "alpha 2", key)
    shades = matplotlib.cm.ScalarMappable(matplotlib.colors.LogNorm(1e-3, float(loss.max())), COLOURS)
    figure.colorbar(shades, ax=figure.axes, label="population loss, log scale", aspect=24, pad=0.015, extend="min")
    return figure


def _wrapped(figure: Figure, title: str) -> str:
    return "\n".join(wrap(plain(title), int(15 * figure.get_figwidth())))


def _panels(
    runs: Sequence[Run],
    title: str,
    panel: Callable[[Axes, Run], None],
    across: str,
    up: str,
    key: Sequence[Line2D] = (),
) -> Figure:
    chosen = firsts(runs)
    columns = min(len(chosen), 3)
    rows = ceil(len(chosen) / columns)
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS
    with matplotlib.rc_context(RC):
        height = width / columns * 0.9 * rows + 0.4 + (0.3 if key else 0.0)
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for letter, run, ax in zip("abcdefghi", chosen, axes.flat, strict=False):
            panel(ax, run)
            ax.set_title("\n".join(wrap(f"({letter}) {run.cell}", 30)) if run.cell else "", loc="left")
            ax.set_xlabel(across)
            ax.set_ylabel(up)
        for ax in list(axes.flat)[len(chosen) :]:
            ax.set_axis_off()
        if key:
            figure.legend(handles=key, loc="outside lower center", ncols=2 if columns == 1 else 4)
        figure.suptitle(_wrapped(figure, title), fontsize=9)
    return figure


def draw_networks(runs: Sequence[Run], title: str) -> Figure:
    """Networks of two inputs over their data (P1, Figure 3)."""
    return _panels(runs, title, lambda ax, run: draw_surface(ax, run.record), "x 1", "x 2")


def _trained(run: Run) -> bool:
    return "loss" in run.record


def _two_inputs(run: Run) -> bool:
    return "neurons" in run.record


def _one_output(run: Run) -> bool:
    return _trained(run) and run.record["outer"].shape[2] == 1


def _several_outputs(run: Run) -> bool:
    return _trained(run) and not _one_output(run)


def _two_opposite(run: Run) -> bool:
    """Two neurons whose outer weights were +1 and -1 throughout."""
    if not _trained(run):
        return False
    outer = run.record["outer"]
    return outer.shape[1:] == (2, 1) and bool(np.all(np.sort(outer[:, :, 0], axis=1) == [-1.0, 1.0]))


FIGURES: dict[str, tuple[Callable[[Sequence[Run], str], Figure], Callable[[Run], bool]]] = {
    "loss": (draw_loss, _trained),
    "paths": (draw_paths, _one_output),
    "pairing": (draw_pairing, _several_outputs),
    "landscape": (draw_landscape, _two_opposite),
    "network": (draw_networks, _two_inputs),
}
"""Figure name -> (what draws it, which runs it is for)."""


def figures(diagram: Diagram) -> dict[str, Callable[[], Figure]]:
    """What draws the figures that a grid's records allow, by name; none if nothing was recorded."""
    runs, title = runs_of(diagram.grid), diagram.title
    chosen = {name: [run for run in runs if fits(run)] for name, (_, fits) in FIGURES.items()}
    return {name: partial(FIGURES[name][0], some, title) for name, some in chosen.items() if some}
