"""Smooth ascent to the pattern of the largest ||c + sum_{i in D} t_i x_i||, for thousands of rows.

The indicator of an active row is replaced by s(x_i.h / tau) with the logistic function s, and
    F(h) = ||c + sum_i s(x_i.h / tau) t_i x_i||
is maximised over unit h by normalised gradient steps with momentum, while tau falls. Patterns of the points on the way
are scored exactly; the best one is certified by its point. The value found is a lower bound.
"""

import numpy as np
from scipy.special import expit

from recovery.conditions.search import BestPattern
from recovery.types import Array, Mask, Rng

STEPS = 800
SCORED = 20
"""Steps from one exact score to the next, in the last two thirds of the steps."""
FIRST_TAU, LAST_TAU = 1.0, 0.01
"""Widths of the logistic function, in mean lengths of rows divided by sqrt(d)."""
FIRST_STEP, LAST_STEP, MOMENTUM = 0.15, 0.0075, 0.9


def smoothed_search(
    rows: Array, weights: Array, linear: Array | None, rng: Rng, *, starts: int, known: Mask
) -> BestPattern | None:
    """Return the best pattern found from `starts` random points, other than the `known` patterns (n, k).

    rows (n, d), weights t (n,), linear c (d,) or None for 0. Returns None if only known patterns were met. Ends
    early once a value exceeds 1.
    """
    n, d = rows.shape
    unit = float(np.sqrt(np.vdot(rows, rows) / (n * d)))
    X, c = rows / (unit if unit > 0 else 1.0), np.zeros(d) if linear is None else linear
    best: BestPattern | None = None
    for _ in range(starts):
        h: Array = rng.standard_normal((d,))
        h, velocity = h / np.linalg.norm(h), np.zeros(d)
        for step in range(STEPS):
            done = step / (STEPS - 1)
            tau = FIRST_TAU * (LAST_TAU / FIRST_TAU) ** done
            p = expit(X @ h / tau)
            total = c + rows.T @ (weights * p)
            gradient = X.T @ ((rows @ total) * weights * p * (1.0 - p))
            gradient -= (gradient @ h) * h
            length = float(np.linalg.norm(gradient))
            velocity = MOMENTUM * velocity + gradient / (length if length > 0 else 1.0)
            h = h + FIRST_STEP * (LAST_STEP / FIRST_STEP) ** done * velocity
            h /= np.linalg.norm(h)
            if 3 * step >= STEPS and (step % SCORED == 0 or step == STEPS - 1):
                best = _better(best, rows, weights, c, h, known)
        if best is not None and best.value > 1.0:
            break
    return best


def _better(
    best: BestPattern | None, rows: Array, weights: Array, c: Array, h: Array, known: Mask
) -> BestPattern | None:
    pattern: Mask = rows @ h >= 0
    value = float(np.linalg.norm(c + rows.T @ (weights * pattern)))
    if (best is not None and value <= best.value) or (known == pattern[:, None]).all(axis=0).any():
        return best
    return BestPattern(pattern, value, h)
