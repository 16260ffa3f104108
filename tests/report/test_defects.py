"""Regression tests for faults of figures, maps and tables."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from recovery.api import Results
from recovery.config import load
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from recovery.report.claims import Analysis
from recovery.report.diagram import Axis, Diagram
from recovery.report.figures import main_figure
from recovery.report.figures.bars import INTERVAL
from recovery.report.figures.line_plots import PROFILE, RATIOS
from recovery.report.figures.style import MARKERS, Style, wrapped
from recovery.report.figures.training_plots import (
    Run,
    draw_landscape,
    draw_loss,
    draw_networks,
    draw_pairing,
    fitted_surface,
)
from recovery.report.page import report_page
from recovery.report.texts import as_json

from .grids import analysed, drawn, grid, text_of, wendel_rows
from .text_faults import faults

STYLE = Style(load("quickstart").report.style)


def key_of(figure: Figure) -> list[str]:
    texts = [text for legend in figure.legends for text in legend.findobj(Text) if isinstance(text, Text)]
    return [text.get_text() for text in texts if text.get_text()]


@pytest.mark.parametrize(
    "values",
    [[1e-4, 1e-3, 1e-2, 0.1, 1.0], [0, 0.125, 0.25, 0.5, 1, 2], [1000, 3000, 10000, 30000, 100000], [5, 10, 20, 40]],
)
def test_values_that_rise_by_factors_have_the_same_room(values: list[float]) -> None:
    axis = Axis(values)
    edges = np.log(axis.edges) if axis.kind == "log" else axis.edges
    room = np.diff(edges)
    assert room.min() > 0.8 * room.max()


def test_one_value_far_off_leaves_room_for_the_others_in_a_curve() -> None:
    noise = [1e-3, 1e-2, 0.1, 1.0]
    rows = wendel_rows(n=[60], d=[10], noise=noise)
    ax = drawn(analysed(rows, report={"x": "noise"}, axes={"noise": noise})).axes[0]
    at = ax.transData.transform([(value, 0.5) for value in noise])[:, 0]
    np.testing.assert_allclose(np.diff(at), np.ptp(at) / 3)


def test_ratios_over_decades_stand_on_a_log_axis() -> None:
    for scale, ds in {"linear": (10, 25), "log": (10, 100, 400, 800)}.items():
        rows = wendel_rows(n=[20, 32, 50, 80, 100], d=ds)
        figure = RATIOS.draw(analysed(rows, report={"x": "n", "y": "d", "figure": "ratios"}))
        assert figure.axes[0].get_xscale() == scale


def test_a_half_run_sweep_of_ratios_keeps_its_sizes_colours_and_probabilities() -> None:
    axes = {"d": [10, 20, 30], "n": {"times": "d", "values": [4, 5, 6, 7, 8]}}
    rows = pd.concat([wendel_rows(n=[4 * d, 5 * d], d=[d]) for d in (10, 20)], ignore_index=True)
    half = analysed(rows, trials=75, axes=axes)
    assert half.diagram.layout.y == "d"
    assert main_figure(half)[0] == "ratios"
    figure = RATIOS.draw(half)
    ax = figure.axes[0]
    assert ax.get_ylim()[1] <= 1.1
    lines = [line for line in ax.lines if str(line.get_marker()) in MARKERS]
    assert len({(str(line.get_color()), str(line.get_marker())) for line in lines}) == len(lines) == 2
    assert set(key_of(figure)) >= {"$d$ = 10", "$d$ = 20"}


def test_panels_of_a_half_run_sweep_have_the_values_that_each_is_planned_with() -> None:
    axes = [
        {"data.ensemble": ["gaussian"], "d": [10], "n": [20, 40, 60, 80]},
        {"data.ensemble": ["haar"], "d": [10], "n": [10, 20, 30]},
    ]
    rows = wendel_rows(n=[60, 80], d=[10], ensemble=["gaussian"]).rename(columns={"ensemble": "data.ensemble"})
    rows["ensemble"] = "gaussian"
    figure = drawn(analysed(rows, trials=35, axes=axes, data={"ensemble": "gaussian"}))
    assert [ax.get_xticks().tolist() for ax in figure.axes[:2]] == [[20, 40, 60, 80], [10, 20, 30]]
    assert [ax.get_xlim() for ax in figure.axes[:2]] == [pytest.approx((17, 83)), pytest.approx((9, 31))]


def test_ticks_of_methods_name_only_what_differs() -> None:
    methods = ["select neurons=50", "select neurons=50 batch=32"]
    figure = drawn(
        analysed(wendel_rows(method=methods), "recovered", report={"x": "n", "y": "method", "figure": "map"})
    )
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["default", "batch = 32"]


def test_long_keys_and_colour_bars_are_whole_in_a_short_figure() -> None:
    optimizers = ["scaled_gd", "gd", "sgd", "adam", "adamw"]
    rows = wendel_rows(n=[60], d=[10], **{"method.optimizer": optimizers, "method.learning_rate": [1e-4, 1e-2, 1.0]})
    report = {"x": "method.learning_rate", "y": "method.optimizer", "style": {"width": "column"}}
    curves = drawn(analysed(rows, "absolute_distance", report=report))
    assert faults(curves) == []
    assert "scaled gradient descent" in key_of(curves)
    maps = analysed(wendel_rows(ensemble=["gaussian", "haar", "rademacher"], replicates=2), "absolute_distance")
    figure = drawn(maps)
    assert faults(figure) == []
    bar = figure.axes[-1]
    assert bar.get_ylabel().replace("\n", " ") == "median absolute distance, log scale"


def test_the_landscape_is_labelled_as_in_the_paper() -> None:
    labels = [(ax.get_xlabel(), ax.get_ylabel()) for ax in draw_landscape([training_run()], "", STYLE).axes[:1]]
    assert labels == [(r"$\alpha_1$, of $w_1$ along $a$", r"$\alpha_2$, of $w_2$ along $a$")]


def training_run(outputs: int = 1, neurons: int = 2) -> Run:
    rng = np.random.default_rng(0)
    epochs = np.arange(20)
    record = {
        "epoch": epochs,
        "loss": np.exp(-epochs / 3),
        "sum_norm": 1 + epochs / 5,
        "inner": rng.standard_normal((20, neurons, 2)),
        "outer": np.tile(np.where(np.arange(neurons * outputs) % 2, -1.0, 1.0).reshape(neurons, outputs), (20, 1, 1)),
    }
    return Run({"method.scale": 0.01}, record)


def test_training_figures_have_panel_letters_and_legends() -> None:
    figure = draw_loss([training_run()], "", STYLE)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["(a) loss", "(b) norm of the neurons' sum"]
    assert [len(ax.lines) for ax in figure.axes] == [1, 1]
    figure = draw_pairing([training_run(outputs=2, neurons=4)], "", STYLE)
    assert [ax.get_title(loc="left")[:3] for ax in figure.axes] == ["(a)", "(b)"]
    assert key_of(figure) == ["path of a neuron and its end point", "line between the two of a pair"]


def test_networks_over_their_data_have_a_key() -> None:
    instance = draw(Setting(5, 2, patterns=Patterns(kind="exhaustive")), np.random.default_rng(1))
    row = MinNorm(program="exact", distances=True)(instance, ARCHITECTURES["relu_skip"])
    assert row.trajectory is not None
    figure = draw_networks([Run({"n": 5}, row.trajectory)], "", STYLE)
    assert key_of(figure) == ["data, coloured by label", "activation boundary of a neuron"]


@pytest.mark.parametrize("room", [0.1, 0.5, 1.0, 2.0])
def test_texts_are_never_broken_at_a_sign(room: float) -> None:
    text = r"neurons = 5, count = 20, noise $\sigma$ = 0.1, learning rate $\eta$ = $10^{-3}$, proved excess ≤ 0.001"
    lines = wrapped(text, 8.0, room).split("\n")
    assert not any(line.startswith(("=", "≤")) or line.endswith(("=", "≤")) for line in lines)
    assert "count = 20," in " ".join(lines)


def test_titles_of_one_figure_take_the_same_lines() -> None:
    figure = drawn(analysed(wendel_rows(ensemble=["haar", "whitened_cubic", "gaussian", "cubic_gaussian"], d=[5, 10])))
    titles = [(ax.get_title(loc="left"), ax.get_title(loc="right")) for ax in figure.axes[:4]]
    assert all(right.startswith("n/d at 50 %") for _, right in titles)
    assert len({left.count("\n") for left, _ in titles}) == 1


def test_what_rows_predict_is_drawn_smoothly() -> None:
    sigma = np.linspace(0.5, 8.0, 7)
    rows = wendel_rows(n=[100], d=[20], replicates=1, **{"data.sigma": sigma})
    rows["frequency"] = rows["predicted"] = np.exp(-rows["data.sigma"])
    ax = PROFILE.draw(
        Analysis(Diagram.of(grid(rows, report={"value": "frequency", "x": "data.sigma", "y": "d"})))
    ).axes[0]
    (theory,) = [line for line in ax.lines if line.get_label() == "predicted"]
    x, y = (np.asarray(values, dtype=float) for values in theory.get_data())
    slopes = np.diff(y) / np.diff(x)
    assert np.abs(np.diff(slopes)).max() < 0.05 * np.abs(slopes).max()  # straight pieces: jumps of 0.7 at a kink
    np.testing.assert_allclose(np.interp(sigma, x, y), np.exp(-sigma), atol=1e-4)


def test_lines_and_marks_leave_the_cells_of_the_transition_to_be_seen() -> None:
    rows = wendel_rows(n=range(10, 401, 10), d=range(10, 101, 10), replicates=5)
    figure = drawn(analysed(rows))
    ax = figure.axes[0]
    mesh = ax.collections[0]

    def pixels() -> Any:
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba(), dtype=int)[..., :3]

    figure.set_dpi(300)
    covered = pixels()
    for artist in [*ax.lines, *[one for one in ax.collections if one is not mesh]]:
        artist.set_visible(False)
    plain = pixels()
    values = np.ma.getdata(mesh.get_array()).reshape(10, 40)
    hidden = []
    for i, k in zip(*np.nonzero((values > 0) & (values < 1)), strict=True):
        corners = ax.transData.transform([[10 * k + 5, 10 * i + 5], [10 * k + 15, 10 * i + 15]]).round().astype(int)
        (left, low), (right, high) = corners
        box = np.s_[plain.shape[0] - high : plain.shape[0] - low, left:right]
        hidden.append(float((np.abs(covered[box] - plain[box]).max(axis=2) > 60).mean()))
    assert len(hidden) > 20
    assert np.median(hidden) < 0.5


MAINS: dict[str, Callable[[], pd.DataFrame]] = {
    "map": lambda: wendel_rows(ensemble=["gaussian", "haar"]),
    "profile": lambda: wendel_rows(d=[10]),
    "ratios": lambda: pd.concat([wendel_rows(n=range(d, 4 * d, d // 5), d=[d]) for d in (10, 25, 40)]),
}


@pytest.mark.parametrize("kind", MAINS)
def test_a_panel_is_drawn_on_axes_of_ones_own(kind: str) -> None:
    results = Results(grid(MAINS[kind]().reset_index(drop=True)))
    assert main_figure(results.analysis())[0] == kind
    figure = Figure()
    left, right = figure.subplots(1, 2)
    mappable = results.plot(ax=right)
    assert (mappable is not None) is (kind == "map")
    assert not left.has_data()
    assert right.has_data()
    assert right.get_xlabel() == ("$n/d$" if kind == "ratios" else "$n$")
    assert right.get_ylabel() == ("$d$" if kind == "map" else "fraction recovered")
    key = right.get_legend()
    assert key is not None
    assert ("Wendel: P = 1/2" if kind == "map" else INTERVAL) in [text.get_text() for text in key.get_texts()]
    if mappable is not None:
        (bar,) = set(figure.axes) - {left, right}
        assert mappable.colorbar.ax is bar
        assert bar.get_ylabel() == "fraction recovered"
    bare = Figure()
    ax = bare.subplots()
    results.plot(ax=ax, key=False)
    assert bare.axes == [ax]
    assert ax.get_legend() is None


def test_a_threshold_is_never_negative() -> None:
    """All fractions exceed one half, so a line through the cells crosses one half below n = 0."""
    rows = wendel_rows(n=[20, 40, 60, 80], d=[100], replicates=40)
    chance = {20: 0.70, 40: 0.72, 60: 0.75, 80: 0.76}
    wins = rows["replicate"] < 40 * rows["n"].map(chance)
    rows["recovered"] = pd.array(wins, dtype="boolean")
    analysis = analysed(rows, report={"x": "n", "y": "d"})
    (found,) = analysis.pooled
    assert np.isnan(found.interval.estimate)
    assert np.isnan(found.slices[0].interval.estimate)
    assert analysis.lines[0].remark in ("the grid begins beyond the transition", "the grid does not show where it is")
    assert "n/d = -" not in text_of(analysis.diagram)


@pytest.mark.parametrize(("n", "seed"), [(2, 0), (5, 1), (7, 2)])
def test_the_recorded_network_fits_its_labels(n: int, seed: int) -> None:
    instance = draw(Setting(n, 2, patterns=Patterns(kind="exhaustive")), np.random.default_rng(seed))
    row = MinNorm(program="exact", distances=True)(instance, ARCHITECTURES["relu_skip"])
    assert row.trajectory is not None
    assert fitted_surface(row.trajectory, instance.X) == pytest.approx(instance.y, abs=1e-6)
    ax = draw_networks([Run({}, row.trajectory)], "", STYLE).axes[0]
    assert len(ax.lines) == row.trajectory["neurons"].reshape(-1, 2).shape[0]
    assert np.allclose(np.asarray(ax.collections[-1].get_offsets()), instance.X)


def test_rows_that_no_sweep_writes_are_shown() -> None:
    """An infinite noise, and the shortest time that a float can hold."""
    rows = wendel_rows(n=[10, 20], d=[5], noise=[0.0, np.inf], replicates=2)
    noise = [one["where"]["noise"] for one in json.loads(as_json([analysed(rows)]))[0]["thresholds"]]
    assert {0.0, "inf"} <= set(noise)
    assert "<html" in report_page([analysed(rows.assign(seconds=5e-324), "seconds")])
