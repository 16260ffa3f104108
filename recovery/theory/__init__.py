"""Closed-form theory, one file per result, and `CURVES`, the curves that a report can draw by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from recovery.theory.gradient_descent import theorem1_error
from recovery.theory.l1 import donoho_tanner as donoho_tanner, l1_transition
from recovery.theory.moments import (
    opposite_limit,
    opposite_limit_printed,
    orthogonal_limit,
    orthogonal_limit_printed,
    relu_limit,
)
from recovery.theory.network import FAILURE_GAUSSIAN, SUFFICIENT_GAUSSIAN, network_recovery, network_sufficient
from recovery.theory.noisy import theorem10_interval
from recovery.theory.strong import EXACT_RATIO, PAPER_RATIO
from recovery.theory.wendel import no_all_ones, theorem5, theorem7_failure, theorem11, wendel
from recovery.types import Array


@dataclass(frozen=True)
class Curve:
    """Closed form over coordinates of a sweep, and the level of its contour on a plane.

    `function` takes one array for each of `axes` (dotted paths of coordinates, in that order), broadcasts, and returns
    a probability, or a ratio such as n/d. A plot over two axes shows its contour at `level`; a plot over one axis shows
    its values. With level None it has no contour. contour: the name of the contour in a key, instead of the label.
    interval: the values are 1 inside an interval and 0 outside; a plot over one axis shades the interval.
    """

    name: str
    label: str
    source: str
    function: Callable[..., Array]
    level: float | None = 0.5
    axes: tuple[str, ...] = ("n", "d")
    contour: str = ""
    interval: bool = False

    @property
    def ratio(self) -> float | None:
        """The ratio n/d that the contour is by definition, or None for other curves."""
        return self.level if self.function is np.divide else None


def _at_angle(limit: Callable[..., Array], degrees: ArrayLike) -> Array:
    return limit(np.cos(np.deg2rad(degrees)))


def _at_turn(limit: Callable[..., Array], degrees: ArrayLike, tilt: ArrayLike = 0.0) -> Array:
    turn, flat = np.deg2rad(degrees), np.cos(np.deg2rad(tilt))
    return limit(flat * np.cos(turn), flat * np.sin(turn))


_g, _g1, _g1_printed = (partial(_at_angle, limit) for limit in (relu_limit, opposite_limit, opposite_limit_printed))
_g2, _g2_printed = (partial(_at_turn, limit) for limit in (orthogonal_limit, orthogonal_limit_printed))


def _theorem10(beta: ArrayLike, noise: ArrayLike) -> Array:
    """Return 1 where beta is inside Theorem 10's interval for ||X w*|| = 1 and ||z|| = noise, otherwise 0."""
    lower, upper = theorem10_interval(1.0, noise)
    return np.where((np.asarray(beta) > lower) & (np.asarray(beta) < upper), 1.0, 0.0)


_TURN = ("method.degrees", "method.tilt")
_DESCENT = ("method.center", "method.outputs", "method.epochs", "method.learning_rate")

CURVES: dict[str, Curve] = {
    curve.name: curve
    for curve in [
        Curve("wendel", "P(all-ones pattern), exact", "Wendel 1962; Cover 1965", wendel, contour="Wendel"),
        Curve("no_all_ones", "P(no all-ones pattern), exact", "Wendel 1962; Cover 1965", no_all_ones),
        Curve("theorem5", "lower bound on P(NIC-L)", "P1 Theorem 5", theorem5),
        Curve("theorem7_failure", "upper bound on P(recovered), n < 2d", "P1 Theorem 7", theorem7_failure),
        Curve("theorem11", "lower bound on P(NNIC-1)", "P1 Theorem 11", theorem11),
        Curve(
            "theorem10",
            "inside Theorem 10's interval",
            "P1 Theorem 10",
            _theorem10,
            axes=("method.beta", "noise"),
            interval=True,
        ),
        Curve("theta_star", "strong recovery, n = 7.648 d", "P1 Theorem 9, to 10 digits", np.divide, EXACT_RATIO),
        Curve("theta_star_paper", "strong recovery as printed, n = 7.613 d", "P1 Remark 3", np.divide, PAPER_RATIO),
        Curve("network_sufficient", "lower bound on P(network recovers)", "ours, Theorem A", network_sufficient),
        Curve("network_recovers", "network recovers, n = 1.2824d", "ours, Theorem B", np.divide, SUFFICIENT_GAUSSIAN),
        Curve("network_fails", "network fails, n = 1.007d", "ours, Theorem C", np.divide, FAILURE_GAUSSIAN),
        Curve("network_recovery", "P(chi-squared > .277 d), a heuristic", "ours", network_recovery),
        Curve("g", "one ReLU neuron, n to infinity", "P1 Proposition 9", _g, 1.0, ("method.degrees",)),
        Curve("g1", "opposite neurons, n to infinity", "P1 Proposition 8", _g1, 1.0, ("method.degrees",)),
        Curve("g2", "orthogonal neurons, n to infinity", "P1 Proposition 8", _g2, 1.0, _TURN),
        Curve("g1_printed", "opposite neurons, (146) as printed", "P1 (146)", _g1_printed, 1.0, ("method.degrees",)),
        Curve("g2_printed", "orthogonal neurons, (162) as printed", "P1 (162)", _g2_printed, 1.0, _TURN),
        Curve("theorem1", "bound on ||W - W*||", "P2 Theorems 1 and 6", theorem1_error, 1.0, _DESCENT),
        Curve("l1", "l1 minimisation: recoverable k/d", "Donoho and Tanner 2009", l1_transition, None),
    ]
}
