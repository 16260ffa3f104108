"""A noiseless instance for proofs: data and planted neurons as exact rationals.

In every architecture, group g maps a raw weight w in R^d to D_g X w (X: its features, D_g: 1 on active rows, the
slope elsewhere), and its norm is ||w||_g^2 = w^T Q_g w with
    Q = I (no normalisation),  X^T X (before the ReLU),  X^T D_g X (after it).
This equals what the orthonormal bases of P1, (16), (17), (24) compute, without rounding a basis. A dual z of the labels
has the dual norm sup {z.X w : ||w||_g <= 1} = (b^T Q_g^{-1} b)^{1/2}, b = X^T z.

Theorems are about the labels A W* of the planted weights W* themselves. Stored labels are these labels rounded;
`label_error` bounds the difference.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from flint import arb, arb_mat

from recovery.conditions.balls import (
    Unproved,
    at_rising_precision,
    column,
    dot,
    independent_columns,
    largest,
    length,
    matrix,
    solve,
)
from recovery.instances.draw import Instance
from recovery.instances.patterns import patterns_of
from recovery.instances.planted import Neurons
from recovery.programs.architecture import Architecture
from recovery.types import Array, Index, Mask

PLANTED = "the product of a planted neuron with row {} is zero up to rounding, or has the wrong sign"
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Model:
    """Features X (n, d), patterns (n, p) of an architecture (a skip connection's all ones first), and planted neurons.

    neurons (d, k), signs (k,), and the group of each, `owner`. unit: each activation is divided by its length.
    """

    architecture: Architecture
    X: Array
    patterns: Mask
    neurons: Array
    signs: Array
    owner: tuple[int, ...]
    unit: bool = False

    @property
    def linear(self) -> bool:
        """Whether group 0 is a skip connection."""
        return self.architecture.skip

    @cached_property
    def cancelled(self) -> frozenset[int]:
        """Groups whose neurons add up to exactly zero."""
        return frozenset(g for g in set(self.owner) if self.owner.count(g) > 1 and self._cancels(g))

    def _cancels(self, g: int) -> bool:
        own = [i for i, owner in enumerate(self.owner) if owner == g]
        W, signs = self.neurons[:, own], [Fraction(r) for r in self.signs[own].tolist()]
        # normalised neurons cancel if their directions are equal: other sums contain roots, and are zero by chance only
        if self.unit:
            return bool((W[:, :1] == W).all()) and sum(signs) == 0
        return not any(sum(r * Fraction(a) for r, a in zip(signs, row, strict=True)) for row in W.tolist())

    @property
    def support(self) -> tuple[int, ...]:
        """The planted groups, without those of `cancelled`."""
        return tuple(g for g in dict.fromkeys(self.owner) if g not in self.cancelled)

    @property
    def neuron_groups(self) -> list[int]:
        """The planted groups without the skip connection."""
        return [g for g in self.support if not (self.linear and g == 0)]

    def others(self) -> list[int]:
        """The groups that are not planted."""
        return [g for g in range(self.patterns.shape[1]) if g not in self.support]

    def sign(self, g: int) -> int:
        """Return the sign of the planted neurons of a group."""
        return int(np.sign(self.signs[self.owner.index(g)]))

    def planted_patterns(self, sign: int) -> Mask:
        """Return the patterns (n, k) of the planted neurons whose outer weights have this sign."""
        return self.patterns[:, [g for g in self.neuron_groups if self.sign(g) == sign]]


def model_of(instance: Instance, architecture: Architecture) -> Model:
    """Return the model of a planted instance. Raises `Unproved` if a neuron's pattern is not among the program's."""
    neurons = instance.planted
    assert isinstance(neurons, Neurons)
    F, W = architecture.features(instance.X), architecture.lift(neurons.directions, instance.X)
    groups, owner = architecture.groups(instance.X, instance.patterns), [0] * len(neurons.signs)
    if not neurons.linear:
        # one product for all neurons, as in the draw of the patterns: a product of another shape may round to others
        try:
            owner = [groups.find(own) for own in patterns_of(F, W).T]
        except KeyError:
            raise Unproved("a planted neuron has no pattern among those of the program") from None
    return Model(architecture, F, groups.patterns, W, neurons.signs, tuple(owner), neurons.form == "normalized_relu")


class Balls:
    """The matrices and norms of a model in ball arithmetic at the current precision."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.X = matrix(model.X)
        self.rows = self.X.tolist()

    @cached_property
    def base_columns(self) -> Index:
        """Indices of columns of X that span its range."""
        return self.spanning_columns(self.model.X)

    def active(self, g: int) -> Index:
        """Return the active and non-zero rows of group g."""
        return np.flatnonzero(self.model.patterns[:, g] & self.model.X.any(axis=1))

    def measured(self, g: int) -> Index:
        """Return the non-zero rows over which the length of a normalised neuron of group g is computed."""
        model = self.model
        return np.flatnonzero(model.architecture.measured(model.patterns[:, g]) & model.X.any(axis=1))

    def images(self, w: Sequence[arb]) -> list[arb]:
        """Return X w."""
        return (self.X * column(w)).entries()

    def coordinates(self, g: int) -> Index:
        """Return columns whose weights reach the whole range of group g: all of them, unless they are dependent."""
        architecture = self.model.architecture
        if architecture.slope:
            return np.arange(self.model.X.shape[1])
        return (
            self.base_columns if architecture.normalizes_before else self.spanning_columns(self.model.X[self.active(g)])
        )

    @staticmethod
    def spanning_columns(A: Array) -> Index:
        """Return the indices of columns of A (n, d) that span its range."""
        n, d = A.shape
        if n >= d:
            B = matrix(A)
            try:
                (B.transpose() * B).solve(arb_mat(d, 1))
                return np.arange(d)
            except ZeroDivisionError:
                pass
        return independent_columns(A)

    def metric(self, chosen: Index) -> arb_mat:
        """Return X^T X, the matrix of the squared norm with normalisation before the ReLU, on these coordinates."""
        return self._gram(self.measured(0), chosen)

    def _gram(self, rows: Index, chosen: Index) -> arb_mat:
        B = arb_mat([[self.rows[i][j] for j in chosen] for i in rows])
        return B.transpose() * B

    def square(self, g: int, w: Sequence[arb]) -> arb:
        """Return ||w||_g^2, the squared norm of a weight w of group g."""
        if not self.model.architecture.normalized:
            return dot(w, w)
        z = self.images(w)
        seen = [z[i] for i in self.measured(g)]
        return dot(seen, seen)

    def diagonal(self, g: int) -> list[arb]:
        """Return the diagonal of D_g: 1 on the active rows, the slope on the others."""
        slope = arb(0 if self.model.linear and g == 0 else self.model.architecture.slope)
        return [arb(1) if on else slope for on in self.model.patterns[:, g]]

    def gated(self, g: int, z: Sequence[arb]) -> list[arb]:
        """Return D_g z."""
        return [a * factor for a, factor in zip(z, self.diagonal(g), strict=True)]

    def on_cone(self, g: int, sign: int, z: Sequence[arb], multipliers: Sequence[float]) -> list[arb]:
        """Return sign D_g z + (2 D_g - I) mu, whose dual norm is a bound for z on the cone of a signed group."""
        sides = (arb(m) if on else -arb(m) for m, on in zip(multipliers, self.model.patterns[:, g], strict=True))
        return [sign * a + b for a, b in zip(self.gated(g, z), sides, strict=True)]

    def operator(self, g: int, chosen: Index) -> list[list[arb]]:
        """Return D_g X on the chosen coordinates, as rows."""
        return [[row[j] * factor for j in chosen] for row, factor in zip(self.rows, self.diagonal(g), strict=True)]

    def weights(self) -> dict[int, list[arb]]:
        """Return the weight of each planted group: the sum of its neurons r_i w_i, or r_i w_i / ||(X w_i)_+||."""
        return self._sums([i for i, g in enumerate(self.model.owner) if g not in self.model.cancelled])

    def _sums(self, neurons: Sequence[int]) -> dict[int, list[arb]]:
        model = self.model
        by_group: dict[int, list[arb]] = {}
        for i in neurons:
            g, w = model.owner[i], [arb(a) for a in model.neurons[:, i].tolist()]
            factor = arb(float(model.signs[i]))
            if model.unit:
                z = self.gated(g, self.images(w))
                factor /= dot(z, z).sqrt()
            v = [a * factor for a in w]
            by_group[g] = v if g not in by_group else [a + b for a, b in zip(by_group[g], v, strict=True)]
        return by_group

    def cost(self, exact: bool) -> arb:
        """Return the sum of norms of the planted weights; in the exact program, opposite signs count separately."""
        model = self.model
        if not exact or (model.linear and 0 in model.owner):
            parts = [self.weights()]
        else:
            parts = [self._sums(np.flatnonzero(model.signs * sign > 0).tolist()) for sign in (1, -1)]
        return sum((length(self.square(g, w)) for part in parts for g, w in part.items()), arb(0))

    def labels(self) -> list[arb]:
        """Return A W*, the exact labels of the planted weights."""
        total = [arb(0)] * len(self.rows)
        for g, v in self.weights().items():
            total = [t + a for t, a in zip(total, self.gated(g, self.images(v)), strict=True)]
        return total

    def label_error(self, y: Array) -> float:
        """Return an upper bound on max_i |y_i - (A W*)_i|, relative to max |y_i|."""
        worst = largest(abs(arb(a) - b) for a, b in zip(y.tolist(), self.labels(), strict=True))
        return worst / float(np.abs(y).max()) if y.any() else worst

    def check_cones(self) -> None:
        """Check that each planted neuron has exactly the pattern of its group. Raises `Unproved`."""
        for w, g in zip(self.model.neurons.T.tolist(), self.model.owner, strict=True):
            self.check_cone(g, [arb(a) for a in w], PLANTED)

    def check_confined(self, groups: Collection[int]) -> None:
        """Check that planted neurons of these groups keep their pattern in the row space. Raises `Unproved`."""
        for w, g in zip(self.model.neurons.T, self.model.owner, strict=True):
            if g in groups:
                self.check_cone(g, self.in_row_space(g, w), PLANTED)

    def check_cone(self, g: int, w: list[arb], reason: str) -> None:
        """Check that w has the pattern of group g, unless this is a skip connection. Raises `Unproved`."""
        model = self.model
        for i in np.flatnonzero(model.X.any(axis=1)) if not (model.linear and g == 0) else ():
            z = dot(self.rows[i], w)
            if not (z >= 0 if model.patterns[i, g] else z <= 0):
                raise Unproved(reason.format(i + 1))

    def allowed(self, g: int, w: Array, confined: Collection[int]) -> list[arb]:
        """Return w, or its projection on the row space of its group if this is one of the `confined` groups."""
        return self.in_row_space(g, w) if g in confined else [arb(a) for a in w.tolist()]

    def in_row_space(self, g: int, w: Array) -> list[arb]:
        """Return the projection of w on the row space of D_g X: R^T (R R^T)^{-1} R w, with R the active rows of g."""
        rows, v = self.active(g), [arb(a) for a in w.tolist()]
        R = arb_mat([self.rows[i] for i in rows])
        image = column(dot(self.rows[i], v) for i in rows)
        return (R.transpose() * solve(R * R.transpose(), image, "the rows of a pattern")).entries()

    def dual_squares(self, groups: Sequence[int], duals: Sequence[Sequence[arb]]) -> list[arb]:
        """Return sup {z.X w : ||w||_g <= 1}^2 for each group and its z (n,)."""
        if not groups:
            return []
        gradients = self.X.transpose() * arb_mat(list(duals)).transpose()  # b = X^T z, one column per group
        if self.model.architecture.normalizes_after:
            columns = gradients.transpose().tolist()
            return [self._projected(self.active(g), b, z) for g, b, z in zip(groups, columns, duals, strict=True)]
        if not self.model.architecture.normalized:
            return [dot(b, b) for b in gradients.transpose().tolist()]
        chosen = self.base_columns
        gradients = arb_mat([gradients.tolist()[j] for j in chosen])
        solved = solve(self.metric(chosen), gradients, "the columns of the data")
        return [dot(b, c) for b, c in zip(gradients.transpose().tolist(), solved.transpose().tolist(), strict=True)]

    def _projected(self, rows: Index, b: Sequence[arb], z: Sequence[arb]) -> arb:
        """Return b^T Q^+ b, b = X^T z, with Q of these rows: ||z||^2 on the rows if these are independent."""
        chosen = self.spanning_columns(self.model.X[rows])
        if len(chosen) < len(b) and any(not z[i].is_zero() for i in np.setdiff1d(np.arange(len(z)), rows)):
            raise Unproved("a pattern has too few rows for multipliers on other rows")
        part = column(b[j] for j in chosen)
        return dot(part.entries(), solve(self._gram(rows, chosen), part, "the columns of a pattern").entries())


def proved(prove: Callable[Concatenate[Balls, P], T]) -> Callable[Concatenate[Model, P], T]:
    """Decorate a proof about balls: it takes a model, and is tried at rising precision."""

    @wraps(prove)
    def tried(model: Model, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return at_rising_precision(lambda: prove(Balls(model), *args, **kwargs))

    return tried
