"""Gradient ascent for neurons that violate the dual of the exact program, over all patterns at once.

Over all patterns the dual requires |lam.activation(B v)| <= penalty N(v) for every v, with N(v) = ||v||, or
||(B v)_+|| where neurons are normalised. The ratio of both sides is piecewise smooth in v. Many points ascend together,
each with its own step, and cross from one arrangement cell to another. A violation is certified by its point. If none
is found, nothing is proved.

At d = 100 and more, ascents on the ratio itself end in local maxima far below the largest. So an ascent may begin on
smooth ratios: |t| is replaced by sqrt(t^2 + eps^2), with eps from twice the typical |x_i.v| down to a tenth of it.
"""

import numpy as np

from recovery.programs.groups import Groups, leaky_relu
from recovery.types import Array, Mask, Rng

STEPS = 80
"""Steps of each ascent. The best of 200 ascents is then within 1e-6 of its value after 400 steps; after 20 steps it is
within 1 %."""
FIRST_STEP = 0.3
"""Distance on the unit sphere, large enough to reach other cells. A step that fails is halved."""
SMOOTHING = (2.0, 1.0, 0.5, 0.2, 0.1)
"""The eps of the smooth ratios in turn, as multiples of the root mean square of x_i.v over unit v."""
SMOOTH_STEPS = 20
"""Steps on each of them."""


def neuron_ratio(groups: Groups, lam: Array, v: Array, eps: float = 0.0) -> tuple[Array, Array]:
    """Return lam.activation(B v) / N(v), (m,), and its gradient, (r, m), for the columns of v (r, m).

    eps: if positive, the activation is smooth, as described above, in units of the root mean square of x_i.v.
    """
    # the gradient of a quotient f / N is (f' - (f / N) N') / N. At a kink any one-sided gradient is sufficient, because
    # `ascend` rejects a step that does not increase the ratio
    base, raw = groups.base, groups.base @ v
    if eps:
        root = np.hypot(raw, eps * np.linalg.norm(base, axis=1, keepdims=True) / np.sqrt(groups.rank))
        root[root == 0] = 1.0
        turned = (1.0 + groups.slope + (1.0 - groups.slope) * raw / root) / 2
        Z = (1.0 + groups.slope) / 2 * raw + (1.0 - groups.slope) / 2 * root
    else:
        turned, Z = np.where(raw > 0, 1.0, groups.slope), leaky_relu(raw, groups.slope)
    value = lam @ Z
    slope = base.T @ (lam[:, None] * turned)
    size = np.linalg.norm(Z if groups.orthonormal else v, axis=0)
    size = np.where(size > 0, size, 1.0)
    ratio = value / size
    # for normalised neurons N(v) = ||Z||; the derivative of the ReLU is 1 wherever Z is not 0
    turn = base.T @ (turned * Z / size) if groups.orthonormal else v / size
    return ratio, (slope - ratio * turn) / size


def ascend(groups: Groups, lam: Array, starts: Array, *, smooth: bool = False) -> tuple[Array, Array]:
    """Increase `neuron_ratio` from the columns of `starts`; return unit points (r, m) and their ratios (m,).

    smooth: whether to begin on smooth ratios.
    """
    v = starts / np.linalg.norm(starts, axis=0)
    for eps in SMOOTHING if smooth else ():
        v, _ = _climb(groups, lam, v, SMOOTH_STEPS, eps)
    return _climb(groups, lam, v, STEPS)


def _climb(groups: Groups, lam: Array, v: Array, steps: int, eps: float = 0.0) -> tuple[Array, Array]:
    ratio, gradient = neuron_ratio(groups, lam, v, eps)
    step = np.full(v.shape[1], FIRST_STEP)
    for _ in range(steps):
        length = np.linalg.norm(gradient, axis=0)
        trial = v + step * gradient / np.where(length > 0, length, 1.0)
        trial /= np.linalg.norm(trial, axis=0)
        value, slope = neuron_ratio(groups, lam, trial, eps)
        # no line search: one evaluation costs two products with B for all points at once. So every point takes one step
        # per evaluation, and its step grows after a success and halves after a failure
        better = value > ratio
        v, gradient = np.where(better, trial, v), np.where(better, slope, gradient)
        ratio, step = np.where(better, value, ratio), np.where(better, 1.2 * step, 0.5 * step)
    return v, ratio


def violated_neurons(groups: Groups, lam: Array, limit: float, known: Array, rng: Rng, *, starts: int) -> Mask:
    """Return patterns (n, m) of neurons v found with |lam.activation(B v)| / N(v) above `limit`, the largest first.

    starts: number of random starting points. known (r, k): neurons, starting points too, with and without noise.
    """
    r = groups.rank
    # a neuron of the solution is a stationary point of the ratio, because its dual constraint is tight, so an ascent
    # does not move from it. Points near each such neuron are added as starts
    noisy = known + 0.1 * np.linalg.norm(known, axis=0) * rng.standard_normal(known.shape) / np.sqrt(r)
    points = np.hstack([rng.standard_normal((r, starts)), known, noisy])
    # ascend for lam and for -lam, because the dual bounds the absolute value: neurons of negative outer weight bound
    # -lam
    found = [ascend(groups, signed, points) for signed in (lam, -lam)]
    v, ratio = np.hstack([f[0] for f in found]), np.concatenate([f[1] for f in found])
    order = np.argsort(-ratio)
    order = order[ratio[order] > limit]
    patterns: Mask = groups.base @ v[:, order] >= 0
    return patterns
