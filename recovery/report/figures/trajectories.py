"""Figures of what training recorded on its way: losses, paths of neurons in a plane, pairs, and the landscape.

A trial's record has `epoch`, `loss`, `gradient_norm`, `sum_norm` (T,), `inner` (T, k, p + 1), the neurons along p
planted directions and one orthogonal to them, and `outer` (T, k, r). See `recovery.methods.trained.observer`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from recovery.report.diagram import coordinates
from recovery.report.figures.sheet import sheet
from recovery.report.figures.style import CURVES, DASHES, LINES, MATH, SHADES, Style, label_log, line_style
from recovery.store import Grid
from recovery.store.records import read_records
from recovery.training.population import landscape
from recovery.training.trained_neurons import pairing
from recovery.types import Array

MOST_PANELS = 9
MOST_LINES = 400
MOST_NAMED = 14
"""Cells that lines are told apart by colour and dash; more are shaded in their order, with a bar."""
PAIR_COLOURS = (*LINES, *CURVES[::2], "#b8a000", "#008b8b")
FAR = 10.0
"""What a run that diverged did farther out is not drawn into the landscape."""
SURFACE_POINTS = 121
SURFACE_MARGIN = 1.3
FLOOR = 1e-18
"""What lies lower, or at or below zero by rounding, is drawn here on a log axis."""


@dataclass(frozen=True)
class Run:
    """One recorded trial: the coordinates of its cell that vary, its replicate, its record."""

    where: Mapping[str, Any]
    replicate: int
    record: Mapping[str, Array]

    @property
    def cell(self) -> str:
        """The cell in words."""
        return MATH.where(self.where)

    @property
    def signs(self) -> Array:
        """The sign of each outer weight at the end, for one output."""
        return np.sign(self.record["outer"][-1][:, 0])


def runs_of(grid: Grid) -> list[Run]:
    """The recorded trials of a grid in the order of its cells; empty if nothing was recorded."""
    records = read_records(grid.path)
    if not records:
        return []
    frame = grid.frame
    varying = [name for name in coordinates(frame, grid.columns) if frame[name].nunique(dropna=False) > 1]
    shorter = [name for name in varying if not any(_repeats(frame, name, other) for other in varying)]
    frame = frame.sort_values([*varying, "replicate"])
    wheres = [dict(zip(shorter, row, strict=True)) for row in frame[shorter].itertuples(index=False, name=None)]
    rows = zip(frame["trial_id"], frame["replicate"], wheres, strict=True)
    return [Run(where, int(replicate), records[name]) for name, replicate, where in rows if name in records]


def _repeats(frame: Any, name: str, other: str) -> bool:
    """Whether a fixed column says what an axis of the same words says: `ensemble` beside `data.ensemble`."""
    return other != name and other.split(".")[-1] == name.split(".")[-1] and "." in name and "." not in other


def firsts(runs: Sequence[Run]) -> list[Run]:
    """The first replicate of each cell, as many as there are panels."""
    seen: dict[str, Run] = {}
    for run in runs:
        seen.setdefault(run.cell, run)
    return list(seen.values())[:MOST_PANELS]


def draw_loss(runs: Sequence[Run], title: str, style: Style) -> Figure:
    """Loss, and ||sum_i ||v_i|| w_i||, over the epochs on log axes, one colour a cell."""
    cells = list(dict.fromkeys(run.cell for run in runs))
    ends = [float(run.record["epoch"][-1]) for run in runs]
    shades = matplotlib.colormaps[SHADES](np.linspace(0.0, 0.9, len(cells)))
    few = len(cells) <= MOST_NAMED
    looks: list[dict[str, Any]] = [line_style(i) if few else {"color": shades[i]} for i in range(len(cells))]
    with sheet(2, title, style, aspect=0.74, share="none") as page:
        for i, (name, words) in enumerate((("loss", "loss"), ("sum_norm", "norm of the neurons' sum"))):
            ax = page.axes[i]
            for run in runs[:MOST_LINES]:
                look = looks[cells.index(run.cell)]
                ax.plot(run.record["epoch"], np.maximum(run.record[name], FLOOR), linewidth=0.8, **look)
            ax.set_yscale("log")
            low, high = ax.get_ylim()
            label_log(ax.yaxis, low, high)
            if max(ends) > 20 * min(ends):
                ax.set_xscale("symlog", linthresh=1)
                ax.set_xlim(left=0)
            ax.set_xlabel("epoch")
            page.name(i, words)
        if few:
            page.add(Line2D([], [], label=cell, **look) for cell, look in zip(cells, looks, strict=True) if cell)
        else:
            page.add([Line2D([], [], color=shades[i], label=cells[i]) for i in (0, len(cells) // 2, -1)])
    return page.figure


def draw_paths(runs: Sequence[Run], title: str, style: Style) -> Figure:
    """Neurons in the plane of the planted direction and one orthogonal to it, coloured by the sign of v (P2, Figure 2).

    Dots are ends, diamonds the sums of |v_i| w_i over a sign, crosses the planted +-a.
    """

    def panel(ax: Axes, run: Run) -> None:
        inner, outer = run.record["inner"], run.record["outer"]
        for sign, colour, dark in ((1.0, CURVES[0], CURVES[2]), (-1.0, LINES[0], LINES[2])):
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
        Line2D([], [], color=CURVES[0], linewidth=0.9, marker="o", markersize=3, label="$v$ > 0"),
        Line2D([], [], color=LINES[0], linewidth=0.9, marker="o", markersize=3, label="$v$ < 0"),
        Line2D(
            [], [], color="black", linestyle="none", marker="D", markerfacecolor="none", ms=4, label="sum of $|v| w$"
        ),
        Line2D([], [], color="black", linestyle="none", marker="x", markersize=5, label="planted"),
    ]
    return _panels(runs, title, style, panel, "along $a$", "orthogonal to $a$", key)


def draw_pairing(runs: Sequence[Run], title: str, style: Style) -> Figure:
    """Outer and inner weights in two coordinates, one colour a pair, dashed between partners (P2, Figure 3)."""
    chosen = firsts(runs)[: MOST_PANELS // 2]
    with sheet(2 * len(chosen), title, style, aspect=0.85, columns=2, share="none") as page:
        for k, run in enumerate(chosen):
            inner, outer = run.record["inner"], run.record["outer"]
            partner, error = pairing(inner[-1], outer[-1])
            pairs = list(dict.fromkeys(tuple(sorted((i, int(j)))) for i, j in enumerate(partner)))
            for side, (paths, name) in enumerate(((outer, "outer weights"), (inner, "inner weights"))):
                ax = page.axes[2 * k + side]
                for colour, pair in zip(PAIR_COLOURS * len(pairs), pairs, strict=False):
                    for i in pair:
                        ax.plot(paths[:, i, 0], paths[:, i, 1], color=colour, linewidth=0.7)
                        ax.plot(*paths[-1, i, :2], "*", color=colour, markersize=5)
                    ends = paths[-1, list(pair), :2]
                    ax.plot(*ends.T, color=colour, linewidth=0.7, linestyle=DASHES[1])
                words = f"{run.cell}, {name}" if run.cell else name
                page.name(2 * k + side, words, f"worst pair off by {MATH.number(float(f'{error:.2g}'))}")
                ax.set_aspect("equal", adjustable="datalim")
                ax.locator_params(nbins=5)
        page.label("coordinate 1", "coordinate 2")
        page.add(
            [
                Line2D([], [], color="black", lw=0.7, marker="*", ms=5, label="path of a neuron, its end"),
                Line2D([], [], color="black", lw=0.7, linestyle=DASHES[1], label="between partners"),
            ]
        )
    return page.figure


def draw_landscape(runs: Sequence[Run], title: str, style: Style) -> Figure:
    """The population loss at w_i = alpha_i a, v = (1, -1), and the shadows of the runs on it (P2, Figure 1)."""
    ends = np.concatenate([run.record["inner"][:, :, 0].ravel() for run in runs])
    ends = ends[np.abs(ends) < FAR]
    low, high = min(-1.5, float(ends.min()) - 0.2), max(2.5, float(ends.max()) + 0.2)
    grid = np.linspace(low, high, 121)
    loss = landscape(grid)

    def panel(ax: Axes, run: Run) -> None:
        levels = np.geomspace(1e-3, loss.max(), 18)
        ax.contourf(grid, grid, np.maximum(loss.T, 1e-3), levels=levels, cmap=SHADES, norm="log")
        ax.plot(grid, grid - 1.0, color="white", linewidth=0.7, linestyle=DASHES[1])
        order = np.argsort(-run.signs)
        path = run.record["inner"][:, order, 0]
        ax.plot(*path.T, color=CURVES[0], linewidth=1.2)
        ax.plot(*path[-1], "o", color=CURVES[0], markersize=4)
        ax.plot(1.0, -1.0, "x", color="white", markersize=5)
        ax.set_xlim(low, high)
        ax.set_ylim(low, high)

    optimum = r"$\alpha_1 - \alpha_2$ = 1"
    key = [
        Line2D([], [], color=CURVES[0], linewidth=1.2, marker="o", markersize=4, label="run, and its end"),
        Line2D([], [], color="0.5", linestyle="none", marker="x", markersize=5, label="optimum (1, -1)"),
        Line2D([], [], color="0.5", linewidth=0.7, linestyle=DASHES[1], label=optimum),
    ]
    shades = ScalarMappable(LogNorm(1e-3, float(loss.max())), SHADES)
    names = (r"$\alpha_1$", r"$\alpha_2$")
    return _panels(runs, title, style, panel, *names, key, (shades, "population loss, log scale"))


def draw_networks(runs: Sequence[Run], title: str, style: Style) -> Figure:
    """Networks of two inputs over their data (P1, Figure 3)."""
    key = [
        Line2D([], [], color="0.5", linestyle="none", marker="o", mec="black", label="data, coloured by label"),
        Line2D([], [], color="0.5", linewidth=0.9, linestyle=DASHES[1], label="where a neuron switches"),
    ]
    high = max(float(np.abs(run.record["labels"][-1]).max()) for run in firsts(runs))
    shades = ScalarMappable(matplotlib.colors.Normalize(-high, high), SHADES)

    def panel(ax: Axes, run: Run) -> None:
        draw_surface(ax, run.record, high)

    return _panels(runs, title, style, panel, "$x_1$", "$x_2$", key, (shades, "value of the network"))


def fitted_surface(record: Mapping[str, Array], points: Array) -> Array:
    """f at points (k, 2)."""
    neurons = record["neurons"][-1].reshape(-1, 2)
    values: Array = points @ record["linear"][-1]
    return values + np.maximum(points @ neurons.T, 0.0) @ record["sizes"][-1].reshape(-1)


def draw_surface(ax: Axes, record: Mapping[str, Array], most: float) -> None:
    """Draw one record on `ax`, with colours from -most to most."""
    X, y = record["data"][-1], record["labels"][-1]
    reach = SURFACE_MARGIN * float(np.abs(X).max())
    axis = np.linspace(-reach, reach, SURFACE_POINTS)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    values = fitted_surface(record, grid).reshape(SURFACE_POINTS, SURFACE_POINTS)
    levels = np.linspace(-most, max(most, 1e-12), 15)
    ax.contourf(axis, axis, values, levels=levels, cmap=SHADES, extend="both")
    for w in record["neurons"][-1].reshape(-1, 2):
        along = np.array([-w[1], w[0]]) / np.linalg.norm(w) * 2 * reach
        ax.plot([-along[0], along[0]], [-along[1], along[1]], color="white", linewidth=0.9, linestyle=DASHES[1])
    ax.scatter(
        X[:, 0], X[:, 1], c=y, cmap=SHADES, vmin=-most, vmax=most, edgecolors="black", linewidths=0.8, s=26, zorder=3
    )
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    ax.set_aspect("equal")


def _panels(
    runs: Sequence[Run],
    title: str,
    style: Style,
    panel: Callable[[Axes, Run], None],
    across: str,
    up: str,
    key: Sequence[Line2D],
    bar: tuple[Any, str] | None = None,
) -> Figure:
    """A panel for the first run of each cell."""
    chosen = firsts(runs)
    with sheet(len(chosen), title, style, aspect=0.9, columns=min(len(chosen), 3), share="none") as page:
        for i, run in enumerate(chosen):
            panel(page.axes[i], run)
            page.name(i, run.cell)
        page.label(across, up)
        page.add(key)
        if bar is not None:
            page.bar(*bar, extend="both")
    return page.figure


def trained(run: Run) -> bool:
    """Whether training recorded the run."""
    return "loss" in run.record


def two_inputs(run: Run) -> bool:
    """Whether the run is a network of two inputs."""
    return "neurons" in run.record


def one_output(run: Run) -> bool:
    """Whether training of one output recorded the run."""
    return trained(run) and run.record["outer"].shape[2] == 1


def several_outputs(run: Run) -> bool:
    """Whether training of several outputs recorded the run."""
    return trained(run) and not one_output(run)


def two_opposite(run: Run) -> bool:
    """Two neurons whose outer weights were +1 and -1 throughout."""
    if not trained(run):
        return False
    outer = run.record["outer"]
    return outer.shape[1:] == (2, 1) and bool(np.all(np.sort(outer[:, :, 0], axis=1) == [-1.0, 1.0]))
