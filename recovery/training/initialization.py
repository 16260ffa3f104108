"""Starting points: laws of the initial weights, and outer layers that are given rather than trained."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.architecture import Architecture
from recovery.training.models import Parameters
from recovery.types import Array, Rng

Initialization = Literal["uniform", "xavier"]
Outer = Literal["trained", "signs", "paired"]


def _uniform(rng: Rng, shape: tuple[int, ...], fan_in: int, fan_out: int) -> Array:
    """Uniform on +-1/sqrt(fan_in) (P1's code)."""
    return rng.uniform(-1.0, 1.0, shape) / np.sqrt(fan_in)


def _xavier(rng: Rng, shape: tuple[int, ...], fan_in: int, fan_out: int) -> Array:
    """N(0, 2/(fan_in + fan_out)) (P2, section 4)."""
    return rng.standard_normal(shape) * np.sqrt(2.0 / (fan_in + fan_out))


LAWS: dict[str, Callable[[Rng, tuple[int, ...], int, int], Array]] = {"uniform": _uniform, "xavier": _xavier}


def initialize(
    rng: Rng,
    architecture: Architecture,
    k: int,
    d: int,
    r: int = 1,
    law: Initialization = "uniform",
    scale: float = 1.0,
    dtype: type[np.floating] = np.float64,
) -> Parameters:
    """Draw every layer from `law` and multiply it by `scale`; the scales gamma of a normalised network are ones.

    The draws are made in float64 whatever the dtype, so that both precisions start at the same point.
    """
    fans = {"W": (d, k), "V": (k, r), "w0": (d, 1), "a0": (1, r)}
    parameters = Parameters.empty(architecture, k, d, r, dtype)
    for name in ("W", "V", "w0", "a0"):
        if name in parameters.shapes:
            parameters[name][...] = scale * LAWS[law](rng, parameters.shapes[name], *fans[name])
    if parameters.normalized:
        parameters["gamma"][...] = 1.0
    return parameters


def sign_halves(k: int) -> Array:
    """v = (1, .., 1, -1, .., -1), halves of equal size, shape (k, 1). Raises `ParameterError` for odd k."""
    if k % 2:
        raise ParameterError(f"an outer layer of +1 and -1 halves needs an even number of neurons, found {k}")
    return np.repeat([1.0, -1.0], k // 2)[:, None]


def paired_outer(rng: Rng, k: int, r: int) -> Array:
    """V = [R; -R] with R (r, r) uniform on the orthogonal matrices (P2, Theorem 6), shape (2r, r)."""
    if k != 2 * r:
        raise ParameterError(f"a paired outer layer needs k = 2r neurons, found k = {k}, r = {r}")
    Q, upper = np.linalg.qr(rng.standard_normal((r, r)))
    R = Q * np.sign(np.diag(upper))
    return np.vstack([R, -R])
