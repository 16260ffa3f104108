from pathlib import Path

import numpy as np
import pandas as pd

from recovery.report.diagram import Diagram
from recovery.report.figure import render
from recovery.report.profile import draw_profile, is_profile
from recovery.theory import CURVES

from .grids import grid, wendel_rows


def along_degrees(**document: object) -> Diagram:
    rows = wendel_rows(n=[100, 1000], d=[3], replicates=2, **{"method.degrees": [0.0, 60.0, 120.0, 180.0]})
    rows["isometry_value"] = CURVES["g"].function(rows["method.degrees"])
    report = {"value": "isometry_value", "x": "method.degrees", "y": "n", "curves": ["g"]}
    return Diagram.of(grid(rows, report=report, **document))


def test_a_curve_over_another_axis_makes_a_profile_and_one_over_n_and_d_does_not() -> None:
    assert is_profile(along_degrees())
    assert not is_profile(Diagram.of(grid(wendel_rows())))


def test_the_points_lie_on_the_curve_that_is_drawn() -> None:
    ax = draw_profile(along_degrees()).axes[0]
    points = [line for line in ax.lines if line.get_marker() == "o"]
    curves = [line for line in ax.lines if line.get_marker() != "o"]
    assert [line.get_label() for line in points] == ["n = 100", "n = 1000"]
    assert curves[0].get_label() == CURVES["g"].label
    x, y = (np.asarray(v, dtype=float) for v in curves[0].get_data())
    for line in points:
        at, value = (np.asarray(v, dtype=float) for v in line.get_data())
        np.testing.assert_allclose(np.interp(at, x, y), value, atol=1e-4)


def test_frequencies_bring_their_own_prediction_and_bound(tmp_path: Path) -> None:
    rows = wendel_rows(n=[100], d=[20, 40], replicates=1, **{"data.sigma": [1.0, 2.0, 3.0]})
    rows["frequency"], rows["predicted"] = 0.5, 0.4
    rows["bound"] = pd.Series([0.1] * len(rows))
    diagram = Diagram.of(grid(rows, report={"value": "frequency", "x": "data.sigma", "y": "d", "curves": []}))
    assert is_profile(diagram)
    figure = draw_profile(diagram)
    heights = {float(np.asarray(line.get_ydata(), dtype=float)[0]) for line in figure.axes[0].lines}
    assert heights == {0.5, 0.4, 0.1}
    assert render(figure, "png").startswith(b"\x89PNG")
