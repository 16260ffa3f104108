"""Local search for the pattern of the largest score, for sizes where patterns cannot be enumerated.

A move follows a great circle h(t) = cos t p + sin t v through the current point p. The circle meets up to 2n cells,
which sorted angles give and which are scored together; the best one becomes the next p. Directions v combine chance
with ascent: `gain` estimates how much each row would add to the score if it were active, and least squares gives the h
whose activations follow it. Every pattern found is certified by its point. The value found is a lower bound.

`smoothed_search` scales to thousands of rows. The indicator of an active row is replaced by s(x_i.h / tau) with the
logistic function s, and
    F(h) = ||c + sum_i s(x_i.h / tau) t_i x_i||
is maximised over unit h by normalised gradient steps with momentum, while tau falls. Patterns of the points on the way
are scored exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from recovery.conditions.planes import RowSum
from recovery.programs.groups import Groups
from recovery.types import Array, Mask, Rng

Score = Callable[[Mask], Array]
"""Patterns (n, p) -> the values to maximise, (p,)."""
Gain = Callable[[Mask], Array]
"""One pattern (n,) -> the gain of activating each row, (n,)."""

ROW_DIRECTIONS = 4
"""Circles per round through the normals of random rows."""
PATIENCE = 8
"""Rounds without improvement after which a search ends."""
FITS = 1.0 - 1e-9
"""A row whose slack 1 - x.h is below this has x.h > 0."""


@dataclass(frozen=True)
class BestPattern:
    """The best pattern (n,), its score, and a point h inside its cell."""

    pattern: Mask
    value: float
    point: Array


def circle_points(X: Array, p: Array, v: Array) -> Array:
    """Return one point of each cell that the great circle through p and v meets, as columns (d, c)."""
    # x.h(t) = (x.p) cos t + (x.v) sin t is zero at tan t = -(x.p) / (x.v), so each row changes sign at one angle mod
    # pi. Parallel rows share an angle, and the empty gap between them is dropped
    rays = np.sort(np.mod(np.arctan2(X @ p, -(X @ v)), np.pi))
    gaps = np.diff(rays, append=rays[0] + np.pi)
    middle = (rays + gaps / 2)[gaps > 1e-12]
    angles = np.concatenate([middle, middle + np.pi])
    return np.outer(p, np.cos(angles)) + np.outer(v, np.sin(angles))


def among(patterns: Mask, known: Mask) -> Mask:
    """Mark the columns of `patterns` that are columns of `known`."""
    member = np.zeros(patterns.shape[1], dtype=np.bool_)
    for column in known.T:
        member |= (patterns == column[:, None]).all(axis=0)
    return member


def dual_scores(groups: Groups, lam: Array, known: Mask | None = None) -> tuple[Score, Gain]:
    """Return two functions: of patterns, their dual norms, 0 for `known` ones (n, k); of a pattern, its row gains."""

    def score(patterns: Mask) -> Array:
        values = groups.over(patterns).dual_norms(lam)
        return values if known is None else np.where(among(patterns, known), 0.0, values)

    return score, lambda pattern: groups.row_gains(pattern, lam)


def best_starts(X: Array, score: Score, rng: Rng, drawn: int, kept: int) -> list[Array]:
    """Draw `drawn` unit points, and return the `kept` points whose patterns have the largest scores."""
    H = rng.standard_normal((X.shape[1], drawn))
    return [h / np.linalg.norm(h) for h in H[:, np.argsort(score(X @ H >= 0))[-kept:]].T]


def search_pattern(X: Array, start: Array, score: Score, gain: Gain, rng: Rng) -> BestPattern:
    """Search from `start` (d,) for the pattern of largest score, until `PATIENCE` rounds in a row improve nothing."""
    best = _best_on(X, start[:, None], score)
    idle = 0
    while idle < PATIENCE:
        step = _best_on(X, np.hstack([circle_points(X, best.point, v) for v in _directions(X, best, gain, rng)]), score)
        if step.value > best.value * (1 + 1e-12):
            best, idle = step, 0
        else:
            idle += 1
    return best


def _best_on(X: Array, points: Array, score: Score) -> BestPattern:
    """Return the best pattern among those of the points (d, m)."""
    patterns: Mask = X @ points >= 0
    values = score(patterns)
    j = int(np.argmax(values))
    return BestPattern(patterns[:, j], float(values[j]), points[:, j] / np.linalg.norm(points[:, j]))


def _directions(X: Array, best: BestPattern, gain: Gain, rng: Rng) -> list[Array]:
    """Return two ascent directions, two with noise, and the normals of random rows, as unit vectors orthogonal to p.

    A random row changes its side on its circle. p: the best point.
    """
    # directions h come from least-squares fits of X h. A fit to the gains activates the rows of large gain; a fit to
    # the signs of the gains has the right sign on most rows
    wanted = gain(best.pattern)
    noise = rng.standard_normal((2, X.shape[0])) * np.std(wanted)
    targets = np.vstack([wanted, np.sign(wanted), wanted + noise])
    fitted = np.linalg.lstsq(X, targets.T, rcond=None)[0].T
    rows = X[rng.integers(0, X.shape[0], ROW_DIRECTIONS)]
    return [_orthogonal_unit(v, best.point, rng) for v in np.vstack([fitted, rows])]


def _orthogonal_unit(v: Array, p: Array, rng: Rng) -> Array:
    v = v - (v @ p) * p
    length = float(np.linalg.norm(v))
    if length < 1e-12:
        v = rng.standard_normal(p.size)
        v -= (v @ p) * p
        length = float(np.linalg.norm(v))
    return v / length if length > 0 else p


def most_active(X: Array, rng: Rng, *, restarts: int = 4) -> BestPattern:
    """Search for the pattern with the most active rows; its tr(D_j) is a lower bound on the maximum.

    Newton's method minimises sum c_i (1 - x_i.h)_+^2, and the row that costs most is dropped until the rest is feasible
    (Chinneck's elastic deletion). Rows are then put back where feasible, and great circles improve the result. Each of
    the restarts uses other weights c; as many searches start from random points.
    """
    n, d = X.shape
    starts = [_delete(X, np.ones(n) if r == 0 else np.asarray(rng.exponential(1.0, n) + 0.1)) for r in range(restarts)]
    points = [start.point for start in starts] + [h / np.linalg.norm(h) for h in rng.standard_normal((restarts, d))]

    def count(patterns: Mask) -> Array:
        return patterns.sum(axis=0).astype(np.float64)

    def gain(pattern: Mask) -> Array:
        return np.where(pattern, 0.0, 1.0)

    found = [search_pattern(X, h, count, gain, rng) for h in points]
    return max(found, key=lambda best: best.value)


def _delete(X: Array, weights: Array) -> BestPattern:
    """Return a pattern of many active rows: delete until some h has x.h > 0 on the rest; put back rows that fit."""
    kept = np.ones(X.shape[0], dtype=np.bool_)
    h: Array = np.zeros(X.shape[1])
    while True:
        h = _hinge_fit(X[kept], weights[kept], h)
        slack = 1.0 - X[kept] @ h
        if slack.max(initial=0.0) < FITS:
            break
        # delete the row with the largest multiplier c_i (1 - x_i.h) of the hinge fit
        kept[np.flatnonzero(kept)[int(np.argmax(weights[kept] * slack))]] = False
    for i in np.flatnonzero(~kept):
        trial = kept.copy()
        trial[i] = True
        moved = _hinge_fit(X[trial], weights[trial], h)
        if (1.0 - X[trial] @ moved).max() < FITS:
            kept, h = trial, moved
    pattern: Mask = X @ h >= 0
    return BestPattern(pattern, float(pattern.sum()), h / max(float(np.linalg.norm(h)), np.finfo(float).tiny))


def _hinge_fit(X: Array, weights: Array, h: Array) -> Array:
    """Return the h that minimises 1/2 sum c_i (1 - x_i.h)_+^2, by damped Newton steps from h with a small ridge.

    Where its limits end it early, `most_active` may delete or leave out a row too many; what it returns still holds.
    """
    slack: Array = 1.0 - X @ h
    value = 0.5 * float(weights @ np.maximum(slack, 0.0) ** 2)
    for _ in range(30):
        active: Mask = slack > 0
        if not active.any():
            break
        A, c = X[active], weights[active]
        gradient = -A.T @ (c * slack[active])
        hessian = (A * c[:, None]).T @ A
        # add a small ridge, because with fewer than d active rows the Hessian is singular
        hessian[np.diag_indices_from(hessian)] += 1e-10 * (np.trace(hessian) + 1e-300)
        step = -np.linalg.solve(hessian, gradient)
        length = 1.0
        while length > 1e-6:
            trial = 1.0 - X @ (h + length * step)
            reached = 0.5 * float(weights @ np.maximum(trial, 0.0) ** 2)
            if reached <= value + 1e-4 * length * float(gradient @ step):
                break
            length /= 2
        else:
            break
        h, slack = h + length * step, trial
        if value - reached <= 1e-9 * value:
            break
        value = reached
    return h


STEPS = 800
"""Steps of each ascent."""
SCORED = 20
"""Steps from one exact score to the next, in the last two thirds of the steps."""
FIRST_TAU, LAST_TAU = 1.0, 0.01
"""Widths of the logistic function, in mean lengths of rows divided by sqrt(d)."""
FIRST_STEP, LAST_STEP, MOMENTUM = 0.15, 0.0075, 0.9
"""First and last length of a step on the unit sphere, and the share of the last velocity that is kept."""


def smoothed_search(total: RowSum, rng: Rng, *, starts: int, known: Mask) -> BestPattern | None:
    """Return the pattern of the largest norm of a sum found from `starts` random points.

    Patterns in `known` (n, k) are excluded; returns None if only these were met. Ends early once a value exceeds 1.
    """
    rows, weights = total.rows, total.weights
    n, d = rows.shape
    unit = float(np.sqrt(np.vdot(rows, rows) / (n * d)))
    X = rows / (unit if unit > 0 else 1.0)
    best: BestPattern | None = None
    for _ in range(starts):
        h: Array = rng.standard_normal((d,))
        h, velocity = h / np.linalg.norm(h), np.zeros(d)
        for step in range(STEPS):
            done = step / (STEPS - 1)
            tau = FIRST_TAU * (LAST_TAU / FIRST_TAU) ** done
            p = expit(X @ h / tau)
            value = total.linear + rows.T @ (weights * p)
            gradient = X.T @ ((rows @ value) * weights * p * (1.0 - p))
            gradient -= (gradient @ h) * h
            length = float(np.linalg.norm(gradient))
            velocity = MOMENTUM * velocity + gradient / (length if length > 0 else 1.0)
            h = h + FIRST_STEP * (LAST_STEP / FIRST_STEP) ** done * velocity
            h /= np.linalg.norm(h)
            if 3 * step >= STEPS and (step % SCORED == 0 or step == STEPS - 1):
                found = _best_on(rows, h[:, None], total.norms)
                if (best is None or found.value > best.value) and not among(found.pattern[:, None], known)[0]:
                    best = found
        if best is not None and best.value > 1.0:
            break
    return best
