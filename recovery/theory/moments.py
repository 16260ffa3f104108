"""Limits of the isometry conditions as n grows with d fixed: half-space moments of Gaussian data.

With x ~ N(0, I) and unit u, v at angle t,
    M(u, v) = E[x x^T 1(u.x >= 0) 1(v.x >= 0)]
            = (pi - t)/(2 pi) I + 1/(2 pi sin t) [u v^T + v u^T - cos t (u u^T + v v^T)],
hence M(u, v) v = (pi - t)/(2 pi) v + (sin t)/(2 pi) u, which has no singularity. The closed forms below follow from it;
P1 gives integrals. The functions `..._printed` are formulas of P1 as printed, where a derivation or simulation
contradicts them, for comparison in plots.
"""

import numpy as np
from numpy.typing import ArrayLike

from recovery.errors import ParameterError
from recovery.types import Array


def half_space_moment(u: ArrayLike, v: ArrayLike) -> Array:
    """Return M(u, v) for unit vectors (..., d), broadcast; shape (..., d, d). I/2 if v = u, and 0 if v = -u."""
    u, v = np.broadcast_arrays(np.asarray(u, dtype=np.float64), np.asarray(v, dtype=np.float64))
    cos = np.clip((u * v).sum(axis=-1), -1.0, 1.0)
    # |u - v| and |u + v| give the angle accurately even if the vectors are nearly parallel, where arccos does not
    t = 2 * np.arctan2(np.linalg.norm(u - v, axis=-1), np.linalg.norm(u + v, axis=-1))
    sin = np.sin(t)
    cross = u[..., :, None] * v[..., None, :]
    squares = u[..., :, None] * u[..., None, :] + v[..., :, None] * v[..., None, :]
    plane = cross + np.swapaxes(cross, -1, -2) - cos[..., None, None] * squares
    safe = np.where(sin > 1e-12, sin, np.inf)
    identity = np.eye(u.shape[-1])
    return ((np.pi - t) / (2 * np.pi))[..., None, None] * identity + plane / (2 * np.pi * safe)[..., None, None]


def relu_limit(cosine: ArrayLike) -> Array:
    """Return g(cos t), the limit of ||X^T D_h D X (X^T D X)^{-1} w||, for a ReLU neuron w and a hyperplane at angle t.

    g(cos t)^2 = [(pi - t)^2 + 2 (pi - t) sin t cos t + sin^2 t] / pi^2, increasing from 0 to 1.
    Source: P1, Proposition 9 and Figure 16.
    """
    t = _angle(cosine)
    square = (np.pi - t) ** 2 + 2 * (np.pi - t) * np.sin(t) * np.cos(t) + np.sin(t) ** 2
    return np.sqrt(np.maximum(square, 0.0)) / np.pi


def opposite_limit(cosine: ArrayLike) -> Array:
    """Return g1(cos t), the limit of (29) for normalised neurons w and -w and a hyperplane at angle t to w.

    g1(cos t)^2 = [(pi - 2t)^2 + 4 (pi - 2t) sin t cos t + 4 sin^2 t] / pi^2, at most 1, and 1 only at cos t = +-1.
    Source: P1, Proposition 8 and Figure 13.
    """
    t = _angle(cosine)
    square = (np.pi - 2 * t) ** 2 + 4 * (np.pi - 2 * t) * np.sin(t) * np.cos(t) + 4 * np.sin(t) ** 2
    return np.sqrt(np.maximum(square, 0.0)) / np.pi


def orthogonal_limit(cosine1: ArrayLike, cosine2: ArrayLike) -> Array:
    """Return g2(c1, c2), the limit of (29) for orthogonal normalised neurons and a hyperplane at cosines c1, c2.

    g2 = ||2 M(h, w1) a1 + 2 M(h, w2) a2||, a1 = a w1 + b w2, a2 = b w1 + a w2, where a (1 + 1/pi) + b/2 = 1 and
    b (1 + 1/pi) + a/2 = 0. At most 1, and 1 only at (1, 0) and (0, 1). NaN outside c1^2 + c2^2 <= 1.
    Source: P1, Proposition 8 and Figures 14, 15.
    """
    h = _unit(cosine1, cosine2)
    a, b = np.linalg.solve([[1 + 1 / np.pi, 0.5], [0.5, 1 + 1 / np.pi]], [1.0, 0.0])
    first = half_space_moment(h, np.eye(3)[0]) @ np.array([a, b, 0.0])
    second = half_space_moment(h, np.eye(3)[1]) @ np.array([b, a, 0.0])
    value = np.linalg.norm(2 * first + 2 * second, axis=-1)
    return np.where(_rest(cosine1, cosine2) >= -1e-12, value, np.nan)


def _angle(cosine: ArrayLike) -> Array:
    cosine = np.asarray(cosine, dtype=np.float64)
    if (np.abs(cosine) > 1).any():
        raise ParameterError(f"a cosine lies in [-1, 1], found {cosine[np.abs(cosine) > 1][0]}")
    return np.arccos(cosine)


def opposite_limit_printed(cosine: ArrayLike) -> Array:
    """Return g1 of P1, (146) and Figure 13: ||2 M(h, w) w - 2 M(h, -w) w|| without its component orthogonal to w.

    2 int_0^inf (2 F(x cot t) - 1) x^2 p(x) dx = |pi - 2t + 2 sin t cos t| / pi. `opposite_limit` has a second
    component, 2 sin^2 t / pi: the two halves of (145) have opposite signs there, and add.
    """
    t = np.arccos(np.asarray(cosine, dtype=np.float64))
    return np.abs(np.pi - 2 * t + 2 * np.sin(t) * np.cos(t)) / np.pi


def lemma8_printed(cosine1: ArrayLike, cosine2: ArrayLike) -> Array:
    """Return E[1(x1 > 0) 1(h.x > 0) (x1 x2, x2^2, x2 x3)], h = (c1, c2, c3), as P1, (161), prints it, (..., 3).

    They are entries of M(e1, h). The first, sqrt(1 - c1^2) |c2| / 2pi, has the wrong sign for c2 < 0. The third,
    |c2| c1 c3 / (2pi (c3^2 + c2^2)^{3/2}), has the wrong sign for c2 > 0 and the wrong power.
    """
    h = _unit(cosine1, cosine2)
    c1, c2, c3 = np.moveaxis(h, -1, 0)
    first = np.sqrt(np.maximum(1 - c1**2, 0.0)) * np.abs(c2) / (2 * np.pi)
    across = (c2**2 + c3**2) ** 1.5
    third = np.abs(c2) * c1 * c3 / (2 * np.pi * np.where(across > 0, across, np.inf))
    return np.stack([first, half_space_moment(np.eye(3)[0], h)[..., 1, 1], third], axis=-1)


def orthogonal_limit_printed(cosine1: ArrayLike, cosine2: ArrayLike) -> Array:
    """Return g2 with (157), (161) and (162) as P1 prints them; NaN outside c1^2 + c2^2 <= 1.

    (157)'s off-diagonal coefficient is +1/2 over its determinant, where (156) has -1/2.
    """
    h = _unit(cosine1, cosine2)
    a, b = np.array([1 + 1 / np.pi, 0.5]) / ((1 + 1 / np.pi) ** 2 - 0.25)
    one, two = h[..., [0, 1, 2]], h[..., [1, 0, 2]]
    first, second = _columns_printed(one, a, b), _columns_printed(two, a, b)[..., [1, 0, 2]]
    value = 2 * np.linalg.norm(first + second, axis=-1)
    return np.where(_rest(cosine1, cosine2) >= -1e-12, value, np.nan)


def _columns_printed(h: Array, a: float, b: float) -> Array:
    """Return a times the first plus b times the second column of (162), neuron e1 and hyperplane h (..., 3)."""
    c1, c2, c3 = np.moveaxis(h, -1, 0)
    own = half_space_moment(np.eye(3)[0], h)[..., 0, 0]
    crossed = np.sqrt(np.maximum(1 - c2**2, 0.0)) * np.abs(c1) / (2 * np.pi)
    _, square, third = np.moveaxis(lemma8_printed(c1, c2), -1, 0)
    along = np.stack([own, crossed, (1 - c1**2) * c3 / (2 * np.pi)], axis=-1)
    return a * along + b * np.stack([crossed, square, third], axis=-1)


def _rest(cosine1: ArrayLike, cosine2: ArrayLike) -> Array:
    return np.asarray(1.0 - np.square(cosine1) - np.square(cosine2), dtype=np.float64)


def _unit(cosine1: ArrayLike, cosine2: ArrayLike) -> Array:
    """Return h = (c1, c2, c3) of length 1 with c3 >= 0."""
    c1, c2 = np.broadcast_arrays(np.asarray(cosine1, dtype=np.float64), np.asarray(cosine2, dtype=np.float64))
    h = np.stack([c1, c2, np.sqrt(np.maximum(_rest(c1, c2), 0.0))], axis=-1)
    return h / np.linalg.norm(h, axis=-1, keepdims=True)
