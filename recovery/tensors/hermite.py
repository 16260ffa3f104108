"""Hermite moments T_k = E[y He_k(x)], x ~ N(0, I), from one pass over samples, or exact for a known network (P4).

Jennrich's algorithm of order l needs all of T_0 .. T_2l, but only contractions of T_{2l+1} and T_{2l+2} to d^l x d^l
matrices. With He_k(x)[g] and He_k(x)[g, h] for tensors contracted in their last slots, and Sym the average over slots,
    He_{k+1}[g]    = (g.x) He_k - k Sym(g (x) He_{k-1}),
    He_{k+2}[g, h] = (g.x)(h.x) He_k - (g.h) He_k - 2k Sym(G . He_k) - k(k-1) Sym(G (x) He_{k-2}),
G = (g h^T + h g^T) / 2, in expectation, where G . He_k contracts the first slot. So all moments are linear in the
sums of w(x) x^alpha, |alpha| <= 2l, for the weights w = y, y (g.x), y (g.x)(h.x). One matrix product per block of
samples computes these (1 + K + K(K+1)/2) x C(d + 2l, 2l) sums for K directions g, without tensors of order above 2l.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, permutations
from math import comb, factorial, sqrt

import numpy as np
import scipy

from recovery.errors import ParameterError
from recovery.programs.relu_network import ReluNetwork
from recovery.theory.normal import density
from recovery.types import Array, Index

PER_FEATURE = 100
"""Rows per coefficient used for the fit: more would lower the variance by less than 1 %."""
LEAST = 10
"""Rows per coefficient that a degree needs; with fewer, the fit would also subtract moments of higher order."""
EXACT, STEPS = 1e-15, 100
"""Tolerance and limit of LSQR. Dependent columns may not reach the tolerance; any polynomial near the best is fine."""


@dataclass(frozen=True)
class Quadratic:
    """The polynomial q(x) = c + v.x + x^T Q x for v (d,) and symmetric Q (d, d), a control variate for Hermite moments.

    The variance of an average of y He_k(x) is proportional to the variance of y. A polynomial of degree 2 has known
    moments up to order 2 and none above. Subtracting it leaves a few per cent of the variance of a ReLU network.
    """

    c: float
    v: Array
    Q: Array

    def __call__(self, X: Array) -> Array:
        """Return q(X) for X (n, d), shape (n,)."""
        values: Array = self.c + X @ self.v + np.einsum("ni,ni->n", X @ self.Q, X)
        return values

    def moments(self) -> tuple[Array, Array, Array]:
        """Return T_0 = c + tr Q, T_1 = v, T_2 = 2 Q over x ~ N(0, I); all others are zero."""
        return np.asarray(self.c + np.trace(self.Q)), self.v, 2.0 * self.Q


def zero(d: int) -> Quadratic:
    """Return the zero polynomial of d variables."""
    return Quadratic(0.0, np.zeros(d), np.zeros((d, d)))


def explaining(X: Array, y: Array) -> Quadratic:
    """Fit y (n,) by least squares on 1, x, (x x^T - I) / sqrt 2, up to the degree with `LEAST` rows per coefficient.

    LSQR on the first `PER_FEATURE` rows per coefficient takes 2 n d^2 operations per step and forms no feature matrix.
    The features are orthonormal over x ~ N(0, I), so about 30 steps reach rounding.
    """
    n, d = X.shape
    degree = max((q for q in (0, 1, 2) if n >= LEAST * comb(d + q, q)), default=None)
    if degree is None:
        return zero(d)
    rows = X[: PER_FEATURE * comb(d + degree, degree)].astype(float)
    # `used` is zero for the features of degrees with too few rows; it removes them from the polynomial and from the
    # adjoint
    used = np.repeat([1.0, float(degree > 0), float(degree > 1)], [1, d, d * d])

    def polynomial(theta: Array) -> Quadratic:
        c, v, Q = np.split(used * theta.ravel(), [1, 1 + d])
        Q = Q.reshape(d, d) / np.sqrt(2.0)
        return Quadratic(float(c[0]) - float(np.trace(Q)), v, Q)

    def adjoint(r: Array) -> Array:
        # the identity in (x x^T - I) / sqrt 2 contributes only the sum of the residuals times I to the adjoint
        second = ((rows.T * r.ravel()) @ rows - np.sum(r) * np.eye(d)) / np.sqrt(2.0)
        result: Array = used * np.concatenate([[np.sum(r)], rows.T @ r.ravel(), second.ravel()])
        return result

    features = scipy.sparse.linalg.LinearOperator(
        (len(rows), len(used)), lambda theta: polynomial(theta)(rows), adjoint, dtype=float
    )
    labels = y[: len(rows)].astype(float)
    return polynomial(scipy.sparse.linalg.lsqr(features, labels, atol=EXACT, btol=EXACT, conlim=0.0, iter_lim=STEPS)[0])


BLOCK = 1024
"""Samples per block: the monomials of a block (C(d + 2l, 2l) x 1024 numbers) stay in the cache for small d."""


@dataclass(frozen=True)
class Moments:
    """Hermite moments T_0 .. T_2l, and T_{2l+1}, T_{2l+2} contracted with directions.

    order: l. whole: T_k, shape (d,) * k. directions (K, d). odd (K, d^l, d^l): T_{2l+1}[g_i]. even (P, d^l, d^l):
    T_{2l+2}[g_i, g_j] for the P = K(K+1)/2 pairs i <= j, in the order of `pairs`.
    """

    order: int
    directions: Array
    whole: tuple[Array, ...]
    odd: Array
    even: Array

    @property
    def base(self) -> Array:
        """The moment T_2l as a d^l x d^l matrix."""
        side = self.odd.shape[1]
        return self.whole[2 * self.order].reshape(side, side)

    @property
    def pairs(self) -> tuple[Index, Index]:
        """Indices i <= j of the two directions of each matrix of `even`."""
        return np.triu_indices(len(self.directions))

    def responses(self, W: Array) -> tuple[Array, Array]:
        """Return the factors of the rank-one terms of unit weights W (m, d): w.g_i (K, m), (w.g_i)(w.g_j) (P, m)."""
        along = self.directions @ W.T
        i, j = self.pairs
        return along, along[i] * along[j]


@dataclass(frozen=True)
class Estimate:
    """Moments from samples, with half the difference of two halves as one draw of their sampling error.

    `samples` is None, and `error` zero, for exact moments. terms: a bound on the sizes of the terms that exact moments
    add up; the rounding error of units that cancel is relative to it.
    """

    moments: Moments
    error: Moments
    samples: int | None = None
    terms: float = 0.0


class Monomials:
    """All C(d + p, p) monomials of x in R^d of degree <= p, ordered by degree."""

    def __init__(self, d: int, degree: int) -> None:
        self.d = d
        members = [list(combinations_with_replacement(range(d), q)) for q in range(degree + 1)]
        self.starts = np.cumsum([0, *map(len, members)])
        number = [{member: i for i, member in enumerate(level)} for level in members]
        # in lexicographic order, the products of x_i with the monomials of x_i .. x_d of the previous degree are one
        # contiguous slice
        self._tails = [
            [(i, self.starts[q] + number[q][(i,) * q], int(self.starts[q + 1])) for i in range(d)]
            for q in range(degree)
        ]
        self._where = [self._index(q, number[q]) for q in range(degree + 1)]

    def __len__(self) -> int:
        return int(self.starts[-1])

    def _index(self, q: int, number: dict[tuple[int, ...], int]) -> Index:
        # tensor entries with permuted slots are the same monomial, so its index is looked up with the slots sorted
        slots = np.sort(np.indices((self.d,) * q).reshape(q, self.d**q), axis=0).T
        return np.array([number[tuple(map(int, row))] for row in slots], dtype=np.intp).reshape((self.d,) * q)

    def evaluate(self, X: Array, out: Array) -> Array:
        """Return the monomials of the rows of X (n, d), written into the first n columns of `out` (len(self), >= n)."""
        Z, columns = out[:, : len(X)], np.ascontiguousarray(X.T)
        Z[0] = 1.0
        end = 1
        for tails in self._tails:
            for i, first, last in tails:
                np.multiply(Z[first:last], columns[i], out=Z[end : end + last - first])
                end += last - first
        return Z

    def tensor(self, sums: Array, q: int) -> Array:
        """Return the symmetric tensors of degree q from sums (..., len(self)); shape (...,) + (d,) * q."""
        return sums[..., self.starts[q] : self.starts[q + 1]][..., self._where[q]]


def estimate(X: Array, y: Array, order: int, directions: Array, explained: Quadratic | None = None) -> Estimate:
    """Return the moments of samples X (N, d) with x ~ N(0, I) and labels y (N,).

    explained: a polynomial that is subtracted from the labels first; its exact moments are added afterwards.
    Time: 2 N (1 + K + K(K+1)/2) C(d + 2l, 2l) operations for K directions. Memory: one block of `BLOCK` rows and the
    sums, independent of N. Raises `ParameterError` for fewer than 2 samples, shapes that do not fit, NaN and infinity.
    """
    n, d = len(X), directions.shape[1]
    if X.ndim != 2 or X.shape[1] != d or y.shape != (n,):
        raise ParameterError(f"moments need X (n, {d}) and y (n,), found shapes {X.shape} and {y.shape}")
    if n < 2:
        raise ParameterError(f"moments need at least 2 samples, found {n}")
    known = zero(d) if explained is None else explained
    monomials, K = Monomials(d, 2 * order), len(directions)
    halves, sizes = np.zeros((2, 1 + K + K * (K + 1) // 2, len(monomials))), np.zeros(2, np.intp)
    scratch, buffer = np.empty((len(monomials), BLOCK)), np.empty((halves.shape[1], BLOCK))
    for start in range(0, n, BLOCK):
        rows = X[start : start + BLOCK]
        Z = monomials.evaluate(rows, scratch)
        # `weights` has rows labels times 1, g.x and (g.x)(h.x): their product with the monomials gives the sums for all
        # contracted moments
        weights = _weights(y[start : start + BLOCK] - known(rows), directions @ rows.T, buffer)
        middle = (len(rows) + 1) // 2
        for k, part in enumerate((slice(middle), slice(middle, len(rows)))):
            halves[k] += weights[:, part] @ Z[:, part].T
            sizes[k] += len(rows[part])
    if not np.isfinite(halves).all():
        raise ParameterError("moments need finite numbers, found NaN, infinity, or numbers whose products overflow")
    # the means of both halves have the same expectation, so half of their difference is distributed as the error of the
    # mean
    mean, (first, second) = halves.sum(axis=0) / n, halves / sizes[:, None, None]
    rest = _from_sums(monomials, mean, order, directions)
    # add the moments of the polynomial that was subtracted from the labels; they are zero above order 2
    low = zip(rest.whole, known.moments(), strict=False)
    return Estimate(
        replace(rest, whole=(*(T + own for T, own in low), *rest.whole[3:])),
        _from_sums(monomials, 0.5 * (first - second), order, directions),
        n,
    )


def from_samples(X: Array, y: Array, order: int, directions: Array) -> Estimate:
    """Return `estimate` of X (N, d) and labels y (N,), with a fitted polynomial of degree 2 as control variate."""
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ParameterError("moments need finite numbers, found NaN or infinity")
    return estimate(X, y, order, directions, explaining(X, y))


def exact(network: ReluNetwork, order: int, directions: Array) -> Estimate:
    """Return the moments of a known network (P4, Lemma 3.5): T_k = sum_i zeta_k(i) w_i^{(x)k} at ||w_i|| = 1."""
    unit, d = network.unit(), directions.shape[1]
    along = directions @ unit.W.T
    i, j = np.triu_indices(len(directions))
    # the matrix of w^{(x)2l} is the outer product of w^{(x)l} with itself; each contraction with a direction g
    # multiplies it by w.g
    columns = powers(unit.W, order)
    whole = tuple(powers(unit.W, k) @ coefficients(unit, k) for k in range(2 * order + 1))

    def matrices(values: Array) -> Array:
        return np.einsum("am,km,bm->kab", columns, values, columns)

    moments = Moments(
        order,
        directions,
        tuple(T.reshape((d,) * k) for k, T in enumerate(whole)),
        matrices(coefficients(unit, 2 * order + 1) * along),
        matrices(coefficients(unit, 2 * order + 2) * along[i] * along[j]),
    )
    none = Moments(order, directions, tuple(map(np.zeros_like, moments.whole)), 0 * moments.odd, 0 * moments.even)
    terms = max(np.abs(coefficients(unit, k)).sum() / sqrt(factorial(k)) for k in range(2 * order, 2 * order + 3))
    return Estimate(moments, none, terms=float(terms))


def coefficients(unit: ReluNetwork, k: int) -> Array:
    """Return zeta_k(i) at unit weights: a (b Phi(b) + phi(b)), a Phi(b), and (-1)^k a He_{k-2}(b) phi(b) for k >= 2."""
    a, b = unit.a, unit.b
    if k < 2:
        return a * scipy.special.ndtr(b) if k else a * (b * scipy.special.ndtr(b) + density(b))
    return (-1) ** k * a * scipy.special.eval_hermitenorm(k - 2, b) * density(b)


def powers(W: Array, k: int) -> Array:
    """Return the columns w_i^{(x)k} for the rows of W (m, d), shape (d^k, m)."""
    columns = np.ones((1, len(W)))
    for _ in range(k):
        columns = np.einsum("am,bm->abm", columns, W.T).reshape(columns.shape[0] * W.shape[1], len(W))
    return columns


def _weights(y: Array, along: Array, out: Array) -> Array:
    """Return rows y, y (g_i.x), y (g_i.x)(g_j.x), i <= j, written into n columns of `out`; along (K, n): g_i.x."""
    weights, K = out[:, : len(y)], len(along)
    weights[0] = y
    np.multiply(along, y, out=weights[1 : 1 + K])
    end = 1 + K
    for i in range(K):
        np.multiply(along[i:], weights[1 + i], out=weights[end : end + K - i])
        end += K - i
    return weights


def _from_sums(monomials: Monomials, sums: Array, order: int, directions: Array) -> Moments:
    """Return the moments from averages of weight times monomial, with rows in the order of `_weights`."""
    K, d = directions.shape
    top, side = 2 * order, d**order
    raw = [monomials.tensor(sums, q) for q in range(top + 1)]
    plain = [_hermite([tensor[0] for tensor in raw], k) for k in range(top + 1)]
    odd, even = np.empty((K, side, side)), np.empty((K * (K + 1) // 2, side, side))
    for n, g in enumerate(directions):
        weighted = _hermite([tensor[1 + n] for tensor in raw], top)
        # odd moments average He_{2l+1}[g] = (g.x) He_2l - 2l Sym(g (x) He_{2l-1}) times the label
        lower = _symmetric(np.multiply.outer(g, plain[top - 1]))
        odd[n] = (weighted - top * lower).reshape(side, side)
    for n, (i, j) in enumerate(zip(*np.triu_indices(K), strict=True)):
        g, h = directions[i], directions[j]
        G = 0.5 * (np.outer(g, h) + np.outer(h, g))
        weighted = _hermite([tensor[1 + K + n] for tensor in raw], top) - (g @ h) * plain[top]
        # G may be contracted with any slot of He_k, which is symmetric; both products are then symmetrised
        middle = _symmetric(np.tensordot(G, plain[top], axes=1))
        lower = _symmetric(np.multiply.outer(G, plain[top - 2]))
        even[n] = (weighted - 2 * top * middle - top * (top - 1) * lower).reshape(side, side)
    return Moments(order, directions, tuple(plain), odd, even)


def _hermite(raw: Sequence[Array], k: int) -> Array:
    """Return E[w He_k(x)] = sum_j (-1)^j k! / (2^j j! (k - 2j)!) Sym(I^{(x)j} (x) E[w x^{(x)(k-2j)}])."""
    total, identity = np.zeros(raw[k].shape), np.eye(raw[1].shape[0])
    for j in range(k // 2 + 1):
        term = raw[k - 2 * j]
        # identities are multiplied from the left; their place does not matter, because the product is symmetrised
        for _ in range(j):
            term = np.multiply.outer(identity, term)
        scale = factorial(k) / (2**j * factorial(j) * factorial(k - 2 * j))
        total += (-1) ** j * scale * (term if j == 0 else _symmetric(term))
    return total


def _symmetric(tensor: Array) -> Array:
    """Return the average of a tensor over all orders of its slots."""
    orders = list(permutations(range(tensor.ndim)))
    total = np.zeros(tensor.shape)
    for order in orders:
        total += np.transpose(tensor, order)
    return total / len(orders)


def count_operations(d: int, directions: int, order: int) -> int:
    """Return the floating-point operations per sample of the matrix product in `estimate`."""
    return 2 * (1 + directions + directions * (directions + 1) // 2) * comb(d + 2 * order, 2 * order)
