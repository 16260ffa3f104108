"""The isometry conditions at one hyperplane of given position, beside their limits as n grows (P1, section VI)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Interval

from recovery.conditions.isometry import planted_dual
from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.methods.columns import Columns, select
from recovery.methods.method import Measurement
from recovery.methods.representation import planted_neurons
from recovery.programs.architecture import Architecture
from recovery.theory.moments import opposite_limit, orthogonal_limit, relu_limit
from recovery.types import Array

KNOWN = (
    "a limit is known for one ReLU neuron under relu, and for two opposite or two orthogonal ones under relu_norm "
    "(tilt for the orthogonal ones only)"
)


@dataclass(frozen=True)
class Limit:
    """||A_h^T lam|| for one hyperplane h; columns `isometry_value` and `predicted`, its limit (d fixed, n to infinity).

    degrees: the angle of h to the first planted neuron, turning towards the second where there are two orthogonal
    ones, else in a random direction. tilt: the angle of h to the plane of two orthogonal neurons.
    Planted: one ReLU neuron under `relu` (g of Proposition 9), or under `relu_norm` two normalised ones, opposite or
    orthogonal (g1, g2 of Proposition 8). Data: Gaussian.
    """

    columns: ClassVar[Columns] = select("isometry_value", "predicted", "redraws")

    degrees: Annotated[float, Interval(ge=-180, le=180)] = 90.0
    tilt: Annotated[float, Interval(ge=0, le=90)] = 0.0

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse, before anything runs, what has no known limit. Raises `ParameterError`."""
        one = architecture.plain and not self.tilt
        two = architecture.normalizes_after and not architecture.skip
        k, form = setting.planted.neurons, setting.planted.form
        if form not in ("relu", "normalized_relu") or not ((one and k == 1) or (two and k == 2)):
            raise ParameterError(f"{KNOWN}; found planted {form}, k = {k}, {architecture.name}, tilt {self.tilt:g}")

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        planted, X = planted_neurons(instance), instance.X
        t = np.deg2rad(self.degrees)
        W = planted.directions
        rng = instance.streams.hyperplane
        predicted, second = self._prediction(W, t)
        if second is None:
            second = _orthogonal(rng.standard_normal((W.shape[0], 1))[:, 0], W[:, :1])
        h = np.cos(t) * W[:, 0] + np.sin(t) * second
        if self.tilt:
            out = _orthogonal(rng.standard_normal((W.shape[0], 1))[:, 0], W)
            h = np.cos(np.deg2rad(self.tilt)) * h + np.sin(np.deg2rad(self.tilt)) * out
        own, lam = planted_dual(architecture, X, W, planted.signs, linear=False)
        value = None if lam is None else float(own.over((X @ h >= 0)[:, None]).dual_norms(lam)[0])
        return Measurement(isometry_value=value, predicted=predicted, redraws=planted.redraws)

    def _prediction(self, W: Array, t: float) -> tuple[float, Array | None]:
        """The limit, and the direction towards which h turns, None if any orthogonal one will do."""
        if W.shape[1] == 1:
            return float(relu_limit(np.cos(t))), None
        cosine = float(W[:, 0] @ W[:, 1])
        if abs(cosine + 1) < 1e-12 and not self.tilt:
            return float(opposite_limit(np.cos(t))), None
        if abs(cosine) < 1e-12:
            flat = np.cos(np.deg2rad(self.tilt))
            return float(orthogonal_limit(flat * np.cos(t), flat * np.sin(t))), W[:, 1]
        raise ParameterError(f"{KNOWN}; found two with cosine {cosine:.3g}, tilt {self.tilt:g}")

    def cost(self, n: int, d: int) -> float:
        return 1e-4 + n * d * d * 1e-9


def _orthogonal(v: Array, W: Array) -> Array:
    """The unit direction of v off the columns of W (d, k)."""
    Q = np.linalg.qr(W)[0]
    v = v - Q @ (Q.T @ v)
    length = float(np.linalg.norm(v))
    if length < 1e-12:
        raise ParameterError("no direction is orthogonal to the planted neurons: d is too small")
    return v / length
