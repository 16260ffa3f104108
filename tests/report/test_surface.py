"""The drawing of a network of two inputs over its data."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from recovery.report.figures.training_plots import draw_surface, fitted_surface


@pytest.mark.parametrize(("n", "seed"), [(2, 0), (5, 1), (7, 2)])
def test_the_recorded_network_fits_its_labels(n: int, seed: int) -> None:
    instance = draw(Setting(n, 2, patterns=Patterns(kind="exhaustive")), np.random.default_rng(seed))
    row = MinNorm(program="exact", distances=True)(instance, ARCHITECTURES["relu_skip"])
    assert row.trajectory is not None
    assert fitted_surface(row.trajectory, instance.X) == pytest.approx(instance.y, abs=1e-6)
    ax = Figure().subplots()
    draw_surface(ax, row.trajectory, float(np.abs(instance.y).max()))
    assert len(ax.lines) == row.trajectory["neurons"].reshape(-1, 2).shape[0]
    assert np.allclose(np.asarray(ax.collections[-1].get_offsets()), instance.X)
