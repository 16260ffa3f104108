"""Formulas of P1 and P4 as printed, where a derivation or simulation contradicts them, for comparison in plots."""

import numpy as np
from numpy.typing import ArrayLike

from recovery.theory.moments import half_space_moment
from recovery.types import Array


def opposite_limit_printed(cosine: ArrayLike) -> Array:
    """Return g1 of P1, (146) and Figure 13: ||2 M(h, w) w - 2 M(h, -w) w|| without its component orthogonal to w.

    2 int_0^inf (2 F(x cot t) - 1) x^2 p(x) dx = |pi - 2t + 2 sin t cos t| / pi. `opposite_limit` has a second
    component, 2 sin^2 t / pi: the two halves of (145) have opposite signs there, and add.
    """
    t = np.arccos(np.asarray(cosine, dtype=np.float64))
    return np.abs(np.pi - 2 * t + 2 * np.sin(t) * np.cos(t)) / np.pi


def lemma8(cosine1: ArrayLike, cosine2: ArrayLike) -> Array:
    """Return E[1(x1 > 0) 1(h.x > 0) (x1 x2, x2^2, x2 x3)], h = (c1, c2, c3), c3 >= 0: entries of M(e1, h), (..., 3)."""
    M = half_space_moment(np.eye(3)[0], _unit(cosine1, cosine2))
    return np.stack([M[..., 0, 1], M[..., 1, 1], M[..., 1, 2]], axis=-1)


def lemma8_printed(cosine1: ArrayLike, cosine2: ArrayLike) -> Array:
    """Return the entries of `lemma8` as P1, (161), prints them, (..., 3).

    The first, sqrt(1 - c1^2) |c2| / 2pi, has the wrong sign for c2 < 0. The third, |c2| c1 c3 / (2pi (c3^2 +
    c2^2)^{3/2}), has the wrong sign for c2 > 0 and the wrong power.
    """
    h = _unit(cosine1, cosine2)
    c1, c2, c3 = np.moveaxis(h, -1, 0)
    first = np.sqrt(np.maximum(1 - c1**2, 0.0)) * np.abs(c2) / (2 * np.pi)
    across = (c2**2 + c3**2) ** 1.5
    third = np.abs(c2) * c1 * c3 / (2 * np.pi * np.where(across > 0, across, np.inf))
    return np.stack([first, lemma8(cosine1, cosine2)[..., 1], third], axis=-1)


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
