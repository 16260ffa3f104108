"""The plain linear model: least squares, least norm where it is not unique. It recovers from n = d."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.methods.columns import Columns, select
from recovery.methods.convex import DEVIATION_TOLERANCE
from recovery.methods.method import Measurement
from recovery.methods.representation import planted_neurons
from recovery.programs.architecture import Architecture
from recovery.programs.certificate import relative


@dataclass(frozen=True)
class LeastSquares:
    """w = pinv(X) y, the baseline beside every network; a planted linear model only."""

    columns: ClassVar[Columns] = select(
        *("recovered", "verdict", "certificate", "max_deviation", "absolute_distance", "test_distance"),
        *("primal_residual", "pattern_count", "solver"),
    )

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse planted models that no linear model can be. Raises `ParameterError`."""
        if setting.planted.form != "linear":
            raise ParameterError("method least_squares fits a linear model: use planted {kind: linear}")

    def cost(self, n: int, d: int) -> float:
        return 1e-4 + 3e-9 * n * d * min(n, d)

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        w, _, rank, _ = np.linalg.lstsq(instance.X, instance.y, rcond=None)
        neurons = planted_neurons(instance)
        planted = neurons.directions @ neurons.signs
        deviation = float(np.abs(w - planted).max())
        row = Measurement(
            max_deviation=deviation,
            absolute_distance=float(np.linalg.norm(w - planted)),
            test_distance=None
            if instance.test is None
            else float(np.linalg.norm(instance.test @ w - instance.planted.labels(instance.test))),
            primal_residual=relative(
                float(np.linalg.norm(instance.X @ w - instance.y)), float(np.linalg.norm(instance.y))
            ),
            pattern_count=0,
            solver="lstsq",
        )
        if instance.setting.noise > 0:
            return row
        if rank < instance.X.shape[1]:
            return row.having(recovered=False, verdict="not_unique", certificate="none")
        if deviation > DEVIATION_TOLERANCE:
            return row.having(verdict="undecided", certificate="none")
        return row.having(recovered=True, verdict="recovered", certificate="none")
