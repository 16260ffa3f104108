"""A network of two inputs over its data: its values, the kinks of its neurons and the labels (P1, Figure 3).

A record has, at one moment, `data` (1, n, 2), `labels` (1, n), `neurons` (1, m, 2), `sizes` (1, m), `linear` (1, 2):
f(x) = linear.x + sum_i sizes_i (neurons_i.x)_+ .
"""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from recovery.report.figures.style import DASHES, SHADES
from recovery.types import Array

POINTS = 121
MARGIN = 1.3


def fitted_surface(record: Mapping[str, Array], points: Array) -> Array:
    """f at points (k, 2)."""
    neurons = record["neurons"][-1].reshape(-1, 2)
    values: Array = points @ record["linear"][-1]
    return values + np.maximum(points @ neurons.T, 0.0) @ record["sizes"][-1].reshape(-1)


def draw_surface(ax: Axes, record: Mapping[str, Array], most: float) -> None:
    """Draw one record on `ax`, with colours from -most to most."""
    X, y = record["data"][-1], record["labels"][-1]
    reach = MARGIN * float(np.abs(X).max())
    axis = np.linspace(-reach, reach, POINTS)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    values = fitted_surface(record, grid).reshape(POINTS, POINTS)
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
