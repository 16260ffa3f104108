"""Ties: groups that can hold a planted neuron at the same cost, so that the planted weights are not unique.

A group has the image of the neuron if its pattern differs only on rows whose product with the neuron is zero. In the
exact program its cone must contain the neuron too (P1, Proposition 7). Zero is exact: products within rounding of zero
are computed in fractions. With normalisation after the ReLU the norm of the image counts, so every group that reaches
the image is tied.
"""

from contextlib import suppress
from fractions import Fraction
from functools import partial
from math import sqrt

import numpy as np
import scipy
from flint import arb

from recovery.conditions.balls import Unproved, at_rising_precision, column, matrix, middle, nearest_solution
from recovery.types import EPS, Array, Index, Mask


def exact_signs(F: Array, w: Array) -> Array:
    """Return the exact signs of F w, (n,), for the rational numbers that F (n, d) and w (d,) store."""
    z = F @ w
    signs: Array = np.sign(z)
    # tolerance for products x.w: twice their largest rounding error. The norm of F, which no row exceeds, preselects
    # rows; the norm of each row then decides
    error, most = 2 * (F.shape[1] + 1) * EPS * sqrt(float(w @ w)), sqrt(float(np.vdot(F, F)))
    near = np.flatnonzero(np.abs(z) <= error * most)
    if not near.size:
        return signs
    for i in near[np.abs(z[near]) <= error * np.linalg.norm(F[near], axis=1)]:
        exact = sum(Fraction(a) * Fraction(b) for a, b in zip(F[i].tolist(), w.tolist(), strict=True))
        signs[i] = (exact > 0) - (exact < 0)
    return signs


def faint(F: Array, H: Array, tolerance: float) -> Mask:
    """Return for which neurons H (d, k) rounding may move (F h)_+ by more than this fraction of its norm.

    If a neuron is normalised, rounding decides its activations then.
    """
    Z = F @ H
    error = (F.shape[1] + 1) * EPS * np.outer(np.linalg.norm(F, axis=1), np.linalg.norm(H, axis=0))
    doubt = np.linalg.norm(np.where(-error < Z, error, 0.0), axis=0)
    return np.asarray(doubt > tolerance * np.linalg.norm(np.maximum(Z, 0.0), axis=0))


def twins(F: Array, patterns: Mask, w: Array, own: int, *, alone: bool, free: bool) -> Index:
    """Return the groups other than `own`, among patterns (n, p), that can hold the neuron w (d,) with the same image.

    alone: no other planted neuron shares its group. free: the neuron may be in any cone. A linear neuron of the exact
    program is in a cone only if all products have one sign.
    """
    signs = exact_signs(F, w)
    # patterns may differ on rows where the neuron's image is 0. If another neuron shares the group, the image of the
    # sum counts, and only rows of F that are zero are certain to have image 0
    same = patterns == patterns[:, own, None]
    rows: Mask = np.asarray(signs != 0 if alone else F.any(axis=1))
    if not rows.all():
        same |= ~rows[:, None]
    equal = np.flatnonzero(same.all(axis=0))
    if not free and (signs > 0).any() and (signs < 0).any():
        return equal[:0]
    return equal[equal != own]


def neighbours(F: Array, w: Array, own: Mask) -> Mask:
    """Return patterns (n, 2) of two cells at the neuron w (d,) of pattern `own`, or (n, 0) if w is on no hyperplane.

    They have opposite sides of the hyperplanes of rows that w meets at zero up to rounding, and otherwise equal `own`.
    """
    error = 2 * (F.shape[1] + 1) * EPS * np.linalg.norm(F, axis=1) * np.linalg.norm(w)
    met: Mask = np.asarray((np.abs(F @ w) <= error) & F.any(axis=1))
    if not met.any():
        return np.empty((len(F), 0), dtype=np.bool_)
    # the signs of F times a random direction. The direction is on no hyperplane, so each row has a definite side
    side = F @ np.random.default_rng(0).standard_normal(F.shape[1]) > 0
    return np.column_stack([np.where(met, side, own), np.where(met, ~side, own)])


def reaches(F: Array, patterns: Mask, w: Array, own: int, *, cones: bool) -> bool:
    """Return whether another group is proved to have the image (F w)_+ of `own`: it is active on all its rows, and its
    active rows are independent.

    With cones, its weights v must also have F v < 0 on all other rows.
    """
    live: Mask = np.asarray(F.any(axis=1))
    active: Mask = patterns & live[:, None]
    # if the rows are independent, some v has F v = image on them for any image. Dependent rows have such a v only by
    # coincidence, so they are skipped
    for g in np.flatnonzero(np.all(active | ~active[:, [own]], axis=0)):
        rows = active[:, g]
        if g != own and rows.sum() <= F.shape[1]:
            with suppress(Unproved):
                at_rising_precision(partial(_prove_reached, F, active[:, own], rows, w, cones=cones))
                return True
    return False


def _prove_reached(F: Array, own: Mask, rows: Mask, w: Array, *, cones: bool) -> None:
    """Prove that some v has F v = F w on `own` and F v = 0 on the other of the independent `rows`. Raises `Unproved`.

    With cones it also has F v < 0 on all other rows that are not zero.
    """
    image = (matrix(np.where(own[:, None], F, 0.0)) * column(arb(a) for a in w.tolist())).entries()
    beside: Mask = F.any(axis=1) & ~rows
    start = _weights_below(F, rows, beside, middle(image)) if cones else np.zeros(F.shape[1])
    wanted = column(image[i] for i in np.flatnonzero(rows))
    v = nearest_solution(matrix(F[rows]), wanted, column(arb(a) for a in start.tolist()), "the rows of a pattern")
    if cones and not all(z < 0 for z in (matrix(F[beside]) * v).entries()):
        raise Unproved("other weights with the image leave the cone")


def _weights_below(F: Array, rows: Mask, beside: Mask, image: Array) -> Array:
    """Return the v with F v = image on `rows` that is farthest below zero on the rows `beside`, up to rounding.

    Raises `Unproved` if none is found.
    """
    d = F.shape[1]
    sizes = np.linalg.norm(F, axis=1)
    program = scipy.optimize.linprog(
        # maximise t over v and t with F v + t <= 0 on `beside`, rows scaled to norm 1, so that t is a distance
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([F[beside] / sizes[beside, None], np.ones(int(beside.sum()))]),
        b_ub=np.zeros(int(beside.sum())),
        A_eq=np.column_stack([F[rows] / sizes[rows, None], np.zeros(int(rows.sum()))]),
        b_eq=image[rows] / sizes[rows],
        bounds=[(None, None)] * d + [(None, 1.0)],
    )
    if program.x is None:
        raise Unproved("no other weights have the image")
    return np.asarray(program.x[:d])
