"""Figures of training records: loss curves, paths of neurons, pairs of neurons, the loss landscape, fitted networks.

A record of training has, at T times, `epoch`, `loss`, `gradient_norm`, `sum_norm` (T,); `inner` (T, k, p + 1), the k
neurons along p planted directions and one orthogonal direction; and `outer` (T, k, r), their weights to r outputs. The
record of a fitted network has the arrays of `FITTED`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import Normal, Stroke

from recovery.report.diagram import Script, coordinates
from recovery.report.figures.sheet import entry, sheet
from recovery.report.figures.style import CURVES, DASHES, LINES, MATH, Style, label_log, line_styles
from recovery.store import Grid
from recovery.store.grid import read_records
from recovery.training.population import landscape
from recovery.training.trained_neurons import pairing
from recovery.types import Array

MOST_PANELS = 9
MOST_NAMED = 14
"""Largest number of grid cells drawn with their own colour and dash."""
PAIR_COLOURS = (*LINES, *CURVES[1:3], "#7a8000", "#7f7f7f")
HALO = [Stroke(linewidth=2.6, foreground="white"), Normal()]
"""Rim of lines and marks on a coloured surface."""
FAR = 10.0
"""Coordinates beyond this, of diverged runs, do not extend the axes of the landscape."""
SURFACE_POINTS = 121
SURFACE_MARGIN = 1.3
FLOOR = 1e-16
"""Losses below this are rounding and are not drawn."""
DIVERGING = "PuOr"
"""Colour map of a signed output, which colour-blind readers can tell apart."""


@dataclass(frozen=True)
class Run:
    """A recorded trial: those coordinates of its cell that vary, its record, and the script for its texts."""

    where: Mapping[str, Any]
    record: Mapping[str, Array]
    script: Script = MATH

    @property
    def cell(self) -> str:
        """The grid cell in words."""
        return self.script.where(self.where)

    @property
    def signs(self) -> Array:
        """The final sign of each outer weight of a network with one output, shape (k,)."""
        return np.sign(self.record["outer"][-1][:, 0])


def runs_of(grid: Grid, script: Script = MATH) -> list[Run]:
    """Return the recorded trials of a grid, ordered by grid cell; an empty list if nothing was recorded."""
    records = read_records(grid.path)
    if not records:
        return []
    frame = grid.frame
    varying = [name for name in coordinates(frame, grid.columns) if frame[name].nunique(dropna=False) > 1]
    # a column such as `data.ensemble` says what `ensemble` says: keep the short one
    shorter = [name for name in varying if "." not in name or name.split(".")[-1] not in varying]
    frame = frame.sort_values([*varying, "replicate"])
    wheres = [dict(zip(shorter, row, strict=True)) for row in frame[shorter].itertuples(index=False, name=None)]
    rows = zip(frame["trial_id"], wheres, strict=True)
    return [Run(where, records[name], script) for name, where in rows if name in records]


TRAINED = {"epoch", "loss", "inner", "outer", "sum_norm"}
"""Arrays in the record of a trained network."""
FITTED = {"data", "labels", "linear", "neurons", "sizes"}
"""Arrays in the record of a fitted network of two inputs."""


def firsts(runs: Sequence[Run], most: int = MOST_PANELS) -> list[Run]:
    """Return the first run of each grid cell; of every second, third, ... cell if more than `most` would be left."""
    first: dict[str, Run] = {}
    for run in runs:
        first.setdefault(run.cell, run)
    return list(first.values())[:: ceil(len(first) / most)]


def _left_out(runs: Sequence[Run], shown: Sequence[Run], cells: int, what: str = "") -> list[Line2D]:
    """Return legend entries such as `9 of 40 grid cells` and `the first of 5 runs`, if runs are not `shown`. cells: the
    number of all grid cells, 0 to count those of the runs. what: precedes `the first`, as `paths of `."""
    counts = Counter(run.cell for run in runs)
    every, most = max(cells, len(counts)), max(counts.values())
    words = [f"{len(shown)} of {every} grid cells"] if len(shown) < every else []
    return [entry(text) for text in [*words, *([f"{what}the first of {most} runs"] if most > 1 else [])]]


def draw_loss(runs: Sequence[Run], title: str, style: Style, cells: int = 0) -> Figure:
    """Draw loss and ||sum_i ||v_i|| w_i|| over the epochs, a colour per grid cell; v: outer, w: inner weights."""
    chosen = firsts(runs, MOST_NAMED)
    looks = line_styles([next(iter(run.where.values())) if len(run.where) == 1 else run.cell for run in chosen])
    # dashes are a blur on curves that jump, so they are drawn only where the colours do not suffice
    solid: dict[str, Any] = {} if len(chosen) > len(LINES) else {"linestyle": "-"}
    styles = {run.cell: look | solid | {"marker": "", "lw": 0.8} for run, look in zip(chosen, looks, strict=True)}
    alone = len(chosen) > len(LINES) and len(runs) > len(chosen)
    drawn = chosen if alone else [run for run in runs if run.cell in styles]
    ends = [float(run.record["epoch"][-1]) for run in drawn]
    titles = (runs[0].script.labels.get("training_loss", "loss"), "norm of the neurons' sum")
    with sheet(2, title, style, share=(False, False)) as page:
        for i, (ax, name, words) in enumerate(zip(page.axes, ("loss", "sum_norm"), titles, strict=True)):
            for run in drawn:
                kept = np.where(run.record[name] >= FLOOR, run.record[name], np.nan)
                ax.plot(run.record["epoch"], kept, **styles[run.cell])
            ax.set_yscale("log")
            label_log(ax.yaxis, *ax.get_ylim())
            if max(ends) > 20 * min(ends):
                first = min(float(run.record["epoch"][1]) for run in drawn)
                ax.set_xscale("log", nonpositive="mask")
                ax.set_xlim(first, max(ends))
                label_log(ax.xaxis, first, max(ends))
            ax.set_xlabel("epoch")
            page.name(i, words)
        page.add(entry(cell, **look) for cell, look in styles.items() if cell)
        if any((run.record["loss"] < FLOOR).any() for run in drawn):
            page.add([entry(f"below {MATH.number(FLOOR)}: rounding, not drawn")])
        page.add(_left_out(runs if alone else chosen, chosen, cells)[::-1])
    return page.figure


def draw_paths(runs: Sequence[Run], title: str, style: Style, cells: int = 0) -> Figure:
    """Draw neurons in the plane of the planted a and an orthogonal direction, coloured by sign of v (P2, Figure 2).

    Dots are end points of one run; diamonds the final sums of |v_i| w_i (outer, inner weights) over the neurons of one
    sign, of every run; crosses the planted +-a.
    """

    def panel(ax: Axes, run: Run) -> None:
        inner = run.record["inner"]
        for sign, colour in ((1.0, CURVES[0]), (-1.0, LINES[0])):
            chosen = run.signs == sign
            for i in np.flatnonzero(chosen):
                ax.plot(inner[:, i, 0], inner[:, i, -1], color=colour, linewidth=0.7)
                ax.plot(*inner[-1, i, [0, -1]], "o", color=colour, markersize=3)
            for other in (one for one in runs if one.cell == run.cell and (one.signs == sign).any()):
                ends = {name: other.record[name][-1, other.signs == sign] for name in ("inner", "outer")}
                total = np.abs(ends["outer"][:, 0]) @ ends["inner"]
                ax.plot(total[0], total[-1], "D", color="black", ms=4.5, mew=0.7, mfc="none", zorder=3)
        ax.plot([1.0, -1.0], [0.0, 0.0], "x", color="black", markersize=5)

    key = [
        entry("$v$ > 0", color=CURVES[0], linestyle="-", marker="o", ms=3),
        entry("$v$ < 0", color=LINES[0], linestyle="-", marker="o", ms=3),
        entry("sums of $|v| w$ of every run", marker="D", mfc="none", ms=4),
        entry("planted", marker="x", ms=5),
    ]
    return _panels(runs, title, style, panel, ("along $a$", "orthogonal to $a$"), key, cells, what="paths of ")


def draw_pairing(runs: Sequence[Run], title: str, style: Style, cells: int = 0) -> Figure:
    """Draw the paths of outer and inner weights in their first two coordinates, one colour per pair of trained neurons
    that nearly cancel (`pairing`; P2, Figure 3)."""
    chosen = firsts(runs, MOST_PANELS // 2)
    reach = 1.1 * max(float(np.abs(run.record[name][..., :2]).max()) for run in chosen for name in ("inner", "outer"))
    with sheet(2 * len(chosen), title, style, aspect=1.0, columns=2) as page:
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
                page.name(2 * k + side, words, f"largest pair error {MATH.number(float(f'{error:.2g}'))}")
                ax.set(xlim=(-reach, reach), ylim=(-reach, reach), box_aspect=1)
        page.label(["coordinate 1"] * len(page.axes), ["coordinate 2"] * len(page.axes))
        page.add([entry("path of a neuron and its end point", linestyle="-", lw=0.7, marker="*", ms=5)])
        page.add([entry("line between the two of a pair", lw=0.7, linestyle=DASHES[1])])
        page.add(_left_out(runs, chosen, cells))
    return page.figure


def draw_landscape(runs: Sequence[Run], title: str, style: Style, cells: int = 0) -> Figure:
    """Draw the population loss over alpha (w_i = alpha_i a, v = (1, -1)), and runs projected onto a (P2, Figure 1)."""
    ends = np.concatenate([run.record["inner"][:, :, 0].ravel() for run in runs])
    ends = ends[np.abs(ends) < FAR]
    low, high = min(-1.5, float(ends.min()) - 0.2), max(2.5, float(ends.max()) + 0.2)
    grid = np.linspace(low, high, SURFACE_POINTS)
    loss = landscape(grid)
    shades = ScalarMappable(LogNorm(1e-3, float(loss.max())), "cividis")

    def panel(ax: Axes, run: Run) -> None:
        _draw_surface(ax, grid, loss.T, shades)
        for valley in (grid[grid >= 1.0], grid[grid <= 0.0]):  # saddles: coordinates of one sign
            ax.plot(valley, valley - 1.0, color="black", linewidth=0.9, linestyle=DASHES[1], path_effects=HALO)
        path = run.record["inner"][:, np.argsort(-run.signs), 0]
        ax.plot(*path.T, color=CURVES[0], linewidth=1.2, path_effects=HALO)
        ax.plot(1.0, -1.0, "x", color="black", markersize=5, path_effects=HALO)
        for end, fill in ((path[0], "white"), (path[-1], CURVES[0])):
            ax.plot(*end, "o", color=CURVES[0], markersize=4, mfc=fill, path_effects=HALO)
        ax.set(xlim=(low, high), ylim=(low, high))

    key = [
        entry("start of a run", color=CURVES[0], mfc="white", marker="o", ms=4),
        entry("run and its end point", color=CURVES[0], linestyle="-", lw=1.2, marker="o", ms=4),
        entry("optimum ($1, -1$)", marker="x", ms=5),
        entry(r"saddles, $\alpha_1 - \alpha_2$ = 1", linestyle=DASHES[1]),
    ]
    names = (r"$\alpha_1$, of $w_1$ along $a$", r"$\alpha_2$, of $w_2$ along $a$")
    return _panels(runs, title, style, panel, names, key, cells, (shades, "population loss, log scale", "min"))


def draw_networks(runs: Sequence[Run], title: str, style: Style, cells: int = 0) -> Figure:
    """Draw fitted networks with two inputs as surfaces over their data (P1, Figure 3)."""
    key = [entry("data, coloured by label", color="0.5", marker="o", mec="black")]
    key.append(entry("activation boundary of a neuron", color="0.3", linestyle=DASHES[1]))
    high, far = (max(float(np.abs(run.record[name][-1]).max()) for run in firsts(runs)) for name in ("labels", "data"))
    norm, reach = Normalize(-high, max(high, 1e-12)), SURFACE_MARGIN * far
    shades = ScalarMappable(norm, DIVERGING)
    axis = np.linspace(-reach, reach, SURFACE_POINTS)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    marks: dict[str, Any] = {"edgecolors": "black", "linewidths": 1.1, "s": 36, "zorder": 3, "path_effects": HALO}

    def panel(ax: Axes, run: Run) -> None:
        _draw_surface(ax, axis, fitted_surface(run.record, grid).reshape(SURFACE_POINTS, SURFACE_POINTS), shades)
        for w in run.record["neurons"][-1].reshape(-1, 2):
            along = np.array([-w[1], w[0]]) / np.linalg.norm(w) * 2 * reach
            ax.plot([-along[0], along[0]], [-along[1], along[1]], color="0.3", linewidth=0.9, linestyle=DASHES[1])
        x, y = run.record["data"][-1].T
        ax.scatter(x, y, c=run.record["labels"][-1], cmap=DIVERGING, norm=norm, **marks)
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach))

    return _panels(runs, title, style, panel, ("$x_1$", "$x_2$"), key, cells, (shades, "output of the network", "both"))


def fitted_surface(record: Mapping[str, Array], points: Array) -> Array:
    """Return the output of a recorded network at points (k, 2), shape (k,)."""
    neurons = record["neurons"][-1].reshape(-1, 2)
    values: Array = points @ record["linear"][-1]
    return values + np.maximum(points @ neurons.T, 0.0) @ record["sizes"][-1].reshape(-1)


def _panels(
    runs: Sequence[Run],
    title: str,
    style: Style,
    panel: Callable[[Axes, Run], None],
    names: tuple[str, str],
    key: Sequence[Line2D],
    cells: int,
    bar: tuple[Any, str, str] | None = None,
    what: str = "",
) -> Figure:
    """Draw one panel for the first run of each grid cell. names: of the axes. cells, what: as for `_left_out`."""
    chosen = firsts(runs)
    with sheet(len(chosen), title, style, aspect=0.9 if bar is None else 1.0) as page:
        for i, run in enumerate(chosen):
            panel(page.axes[i], run)
            page.name(i, run.cell)
        page.label(*([name] * len(chosen) for name in names))
        page.add([*key, *_left_out(runs, chosen, cells, what)])
        if bar is not None:
            page.bar(*bar)
    return page.figure


def _draw_surface(ax: Axes, axis: Array, values: Array, shades: ScalarMappable) -> None:
    """Draw values over the square grid with `axis` on both sides, in the colours of `shades`, without steps."""
    look: dict[str, Any] = {"cmap": shades.cmap, "norm": shades.norm, "interpolation": "bilinear", "origin": "lower"}
    look["aspect"] = "auto"  # the sheet makes the panels squares
    ax.imshow(values, extent=(axis[0], axis[-1], axis[0], axis[-1]), **look)


def _outputs(run: Run) -> int:
    """Return the number of outputs of a trained network; 0 for other records, such as those of a user's method."""
    return int(run.record["outer"].shape[2]) if run.record.keys() >= TRAINED else 0


def _two_opposite(run: Run) -> bool:
    """Return whether the network has two neurons whose outer weights are +1 and -1 throughout training."""
    two = _outputs(run) == 1 and run.record["outer"].shape[1] == 2
    return two and bool(np.all(np.sort(run.record["outer"][:, :, 0], axis=1) == [-1.0, 1.0]))


def records_beside(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Return figure of records -> the runs that it shows; without `paths` if `landscape` shows the same runs."""
    chosen = {name: [run for run in runs if shows(run)] for name, (_, shows, _) in RECORD_KINDS.items()}
    return {name: some for name, some in chosen.items() if some and (name != "paths" or some != chosen["landscape"])}


Draw = Callable[[Sequence[Run], str, Style, int], Figure]
RECORD_KINDS: dict[str, tuple[str, Callable[[Run], bool], Draw]] = {
    "loss": ("Loss and norm of the neurons' sum over the epochs of training", lambda run: _outputs(run) > 0, draw_loss),
    "paths": ("Paths of the neurons in the plane of the planted direction", lambda run: _outputs(run) == 1, draw_paths),
    "pairing": ("Neurons in training, and pairs of opposite ones", lambda run: _outputs(run) > 1, draw_pairing),
    "landscape": ("Population loss of two neurons, and the runs' paths across it", _two_opposite, draw_landscape),
    "network": ("Fitted networks of two inputs over their data", lambda run: {*run.record} >= FITTED, draw_networks),
}
"""Name of a figure of records -> its text alternative, whether it shows a run, and the function that draws it."""
