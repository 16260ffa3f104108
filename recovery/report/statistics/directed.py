"""Tests of P(yes) = Phi(a (n - r d) / sqrt n) in the directions in which it may fail, and the ratio if it may.

Each direction adds one column to the fit; efficient scores test it, and one Newton step estimates what it changes.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from recovery.report.statistics.likelihood import mills
from recovery.types import Array

REACH = 3.0
"""The link's shape is judged by eta within +-3: beyond, one trial would speak louder than all others."""
DIRECTIONS = ("drift", "exponent", "skew", "tails")
SHAPES = ("exponent", "skew", "tails")
"""Directions that leave one ratio r."""
LEVELS = {"drift": 1e-3} | dict.fromkeys(SHAPES, 0.05 / len(SHAPES))
"""The level of each test. Drift takes the one ratio away, so it is to be sure; a doubtful shape only asks for the
interval that needs no curve, which is right in any case, so 5 % of true curves may."""
SHAPE = 0.5
"""Standard deviation that the coefficient of a shape is given beforehand, so that a grid that says nothing of it does
not leave the ratio open. (Logistic curves have tails of -0.15, complementary log-log ones a skewness of 0.15.)"""


@dataclass(frozen=True)
class Directed:
    """`z`: standard normal if the model is true, by direction. `ratio`: r and its standard error where the curve may be
    skew, of other tails and of another exponent; `widening`: that error over the model's own. `drift`: the change of r
    for a unit of log d, and its standard error. `ends`: (d, r, standard error) at the least and largest d."""

    z: dict[str, float]
    ratio: tuple[float, float]
    widening: float
    drift: tuple[float, float]
    ends: tuple[tuple[float, float, float], ...]

    def p_value(self, name: str) -> float:
        """The two-sided p-value of a direction's test; NaN where it was not made."""
        return float(2 * ndtr(-abs(self.z.get(name, np.nan))))

    @property
    def rejected(self) -> list[str]:
        """The directions in which the model fails, worst first."""
        found = [name for name in self.z if self.p_value(name) < LEVELS[name]]
        return sorted(found, key=lambda name: -abs(self.z[name]))

    def change(self) -> tuple[float, float, float]:
        """(estimate, low, high) of the relative change of r from the least to the largest d, r a power of d; 95 %."""
        span = float(np.log(self.ends[1][0] / self.ends[0][0])) / self.ratio[0]
        far = float(ndtri(0.975)) * self.drift[1]
        with np.errstate(over="ignore"):  # no bound is one too
            estimate, low, high = np.expm1(span * np.array([self.drift[0], self.drift[0] - far, self.drift[0] + far]))
        return float(estimate), float(low), float(high)


UNTESTED = Directed({}, (np.nan, np.nan), 1.0, (np.nan, np.nan), ())
"""Of a fit without a finite slope."""


def directed(n: Array, d: Array, yes: Array, no: Array, ratio: float, slope: float) -> Directed:
    """Tests and widened estimates at the model's fit (ratio, slope); slope is negative where success falls with n.

    With eta = a (n - r d) / sqrt n the columns are v log d (drift), eta log n (exponent), eta^2 (skewness: Stukel's
    two slopes moved alike) and eta |eta| (tails: moved apart; Stukel 1988), v = d / sqrt n. A direction that the grid
    does not have (one d: no drift) has no entry in `z`.
    """
    v = d / np.sqrt(n)
    eta = slope * (n - ratio * d) / np.sqrt(n)
    above, below = mills(eta), mills(-eta)
    residual, weight = yes * above - no * below, (yes + no) * above * below
    near = np.clip(eta, -REACH, REACH)
    base = np.column_stack([-slope * v, (n - ratio * d) / np.sqrt(n)])
    centre = float(np.average(np.log(d), weights=weight * v**2))
    columns = {
        "drift": -slope * v * (np.log(d) - centre),
        "exponent": eta * np.log(n / np.median(n)),
        "skew": near**2,
        "tails": near * np.abs(near),
    }
    columns = {name: column for name, column in columns.items() if _informs(base, column, weight)}
    z = {name: _score(base, column, weight, residual) for name, column in columns.items()}
    shapes = [columns[name] for name in SHAPES if name in columns]
    alone = float(np.sqrt(_inverse(base, weight, 0)[0, 0]))
    step, error = _step(np.column_stack([base, *shapes]), weight, residual, len(shapes))
    drift: tuple[float, float] = (0.0, 0.0)
    ends: tuple[tuple[float, float, float], ...] = ()
    if "drift" in columns:
        whole = np.column_stack([base, columns["drift"], *shapes])
        moved, errors = _step(whole, weight, residual, len(shapes))
        drift = (float(moved[2]), float(np.sqrt(errors[2, 2])))
        ends = tuple(_at(float(size), centre, ratio, moved, errors) for size in (d.min(), d.max()))
    spread = float(np.sqrt(error[0, 0]))
    return Directed(z, (ratio + float(step[0]), spread), spread / alone, drift, ends)


def _at(size: float, centre: float, ratio: float, moved: Array, errors: Array) -> tuple[float, float, float]:
    along = np.array([1.0, np.log(size) - centre])
    which = [0, 2]
    return size, ratio + float(along @ moved[which]), float(np.sqrt(along @ errors[np.ix_(which, which)] @ along))


def _inverse(columns: Array, weight: Array, shapes: int) -> Array:
    """Inverse information of the columns, of which the last so many are shapes."""
    known = np.zeros(columns.shape[1])
    known[len(known) - shapes :] = SHAPE**-2
    information = columns.T @ (columns * weight[:, None]) + np.diag(known)
    scale = np.sqrt(np.diag(information))
    scale = np.outer(scale, scale)
    # a step leaves the slope without information: there it stays as it is
    inverse: Array = np.linalg.pinv(information / scale, rtol=1e-10, hermitian=True) / scale
    return inverse


def _step(columns: Array, weight: Array, residual: Array, shapes: int) -> tuple[Array, Array]:
    """One Newton step from the fit, and the covariance of where it leads."""
    covariance = _inverse(columns, weight, shapes)
    return covariance @ (columns.T @ residual), covariance


def _left(base: Array, column: Array, weight: Array) -> Array:
    """What of a column the base cannot imitate, in the metric of the weights."""
    root = np.sqrt(weight)
    imitated = np.linalg.lstsq(base * root[:, None], column * root, rcond=None)[0]
    left: Array = column - base @ imitated
    return left


def _informs(base: Array, column: Array, weight: Array) -> bool:
    left = _left(base, column, weight)
    return bool(weight @ left**2 > 1e-6 * (weight @ column**2) > 0)


def _score(base: Array, column: Array, weight: Array, residual: Array) -> float:
    left = _left(base, column, weight)
    return float(left @ residual / np.sqrt(weight @ left**2))
