"""Ensembles: laws of the data matrix X in R^{n x d}, each a frozen value with an entry in `ENSEMBLES`.

Unless a docstring says otherwise, entries have variance 1/n (the papers' convention).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

import numpy as np
from annotated_types import Ge, Gt, Interval
from numpy.typing import ArrayLike

from recovery.errors import DataError
from recovery.instances.files import File
from recovery.types import Array, Rng


class Ensemble(Protocol):
    """A law of X. `draw` returns a new float64 matrix of shape (n, d) that depends only on `rng`."""

    def draw(self, rng: Rng, n: int, d: int) -> Array: ...


@dataclass(frozen=True)
class Gaussian:
    """Entries iid N(0, 1/n)."""

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        X = rng.standard_normal((n, d))
        X /= np.sqrt(n)
        return X


@dataclass(frozen=True)
class CubicGaussian:
    """Entries z^3 with z iid N(0, 1/n): heavy-tailed, variance 15/n^3."""

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return Gaussian().draw(rng, n, d) ** 3


@dataclass(frozen=True)
class Haar:
    """Uniform on matrices with orthonormal columns (n >= d) or rows (n < d)."""

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return _orthonormal_factor(rng.standard_normal((n, d)))


@dataclass(frozen=True)
class WhitenedCubic:
    """The singular vectors of a cubic Gaussian matrix: the left ones if n >= d, otherwise the right ones as rows."""

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return _orthonormal_factor(rng.standard_normal((n, d)) ** 3)


def _orthonormal_factor(Z: Array) -> Array:
    """Return the left singular vectors of Z (n >= d), or the transposed right ones (n < d), with the same span as Z.

    For n >= d the papers' U V^T differs from U by a rotation of the columns; U is returned.
    """
    n, d = Z.shape
    left, _, right = np.linalg.svd(Z, full_matrices=False)
    factor: Array = left if n >= d else right
    return factor


@dataclass(frozen=True)
class Rademacher:
    """Entries +-1/sqrt(n) with equal probability (P1, Theorem 8)."""

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return (2.0 * rng.integers(0, 2, (n, d)) - 1.0) / np.sqrt(n)


@dataclass(frozen=True)
class Uniform:
    """Entries uniform on +-sqrt(3/n)."""

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return rng.uniform(-1.0, 1.0, (n, d)) * np.sqrt(3.0 / n)


@dataclass(frozen=True)
class StudentT:
    """Entries Student t with `df` > 2 degrees of freedom, scaled to variance 1/n."""

    df: Annotated[float, Gt(2)] = 5.0

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return rng.standard_t(self.df, (n, d)) * np.sqrt((self.df - 2.0) / (self.df * n))


@dataclass(frozen=True)
class Correlated:
    """Rows N(0, S/n) with S_ij = rho^|i-j| (P3), drawn as a stationary AR(1) sequence along each row."""

    rho: Annotated[float, Interval(gt=-1, lt=1)] = 0.5

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        X = Gaussian().draw(rng, n, d)
        innovation = np.sqrt(1.0 - self.rho**2)
        for j in range(1, d):
            X[:, j] = self.rho * X[:, j - 1] + innovation * X[:, j]
        return X


@dataclass(frozen=True)
class Mixture:
    """Rows mu1 + sigma z for the first round(share * n), mu2 + sigma z for the others, z iid N(0, I).

    The means are `opposite` (all ones and its negative), `normal` (two draws of N(0, I)) or `sphere` (two uniform unit
    vectors). They are drawn first, so that a stream has the same means at every sigma (P1, Appendix J-H).
    """

    means: Literal["opposite", "normal", "sphere"] = "opposite"
    sigma: Annotated[float, Ge(0)] = 1.0
    share: Annotated[float, Interval(ge=0, le=1)] = 0.5

    def draw_means(self, rng: Rng, d: int) -> Array:
        """Draw the two means as rows, shape (2, d)."""
        if self.means == "opposite":
            return np.outer([1.0, -1.0], np.ones(d))
        means = rng.standard_normal((2, d))
        return means if self.means == "normal" else means / np.linalg.norm(means, axis=1, keepdims=True)

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        means = self.draw_means(rng, d)
        first = round(self.share * n)
        return np.repeat(means, [first, n - first], axis=0) + self.sigma * rng.standard_normal((n, d))


@dataclass(frozen=True)
class Standard:
    """Entries iid N(0, 1): unit variance as in P2, P3 and P4, not 1/n."""

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return rng.standard_normal((n, d))


@dataclass(frozen=True)
class StandardCorrelated:
    """Rows N(0, S) with S_ij = rho^|i-j|: `correlated` at unit variance (P3, section 4.1.2)."""

    rho: Annotated[float, Interval(gt=-1, lt=1)] = 0.5

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return np.sqrt(n) * Correlated(self.rho).draw(rng, n, d)


@dataclass(frozen=True)
class UnitUniform:
    """Entries iid uniform on (0, 1), as in Friedman's regression problems."""

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return rng.uniform(size=(n, d))


@dataclass(frozen=True)
class UserEnsemble:
    """A user's `function(rng, n, d, **parameters)` as an ensemble.

    Raises `DataError` if the function returns NaN, infinity, or a shape other than (n, d).
    """

    function: Callable[..., Array]
    parameters: tuple[tuple[str, Any], ...] = ()

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return checked(self.function(rng, n, d, **dict(self.parameters)), n, d, name)


def checked(drawn: ArrayLike, n: int, d: int, name: str) -> Array:
    """Return a drawn matrix as float64. Raises `DataError` for NaN, infinity or a shape other than (n, d)."""
    X = np.asarray(drawn, dtype=np.float64)
    if X.shape != (n, d):
        raise DataError(f"ensemble {name} returned an array of shape {X.shape}; expected {(n, d)}")
    if not np.isfinite(X).all():
        raise DataError(f"ensemble {name} returned {np.sum(~np.isfinite(X))} NaN or infinite of {n * d} numbers")
    return X


ENSEMBLES: dict[str, type[Ensemble]] = {
    "gaussian": Gaussian,
    "cubic_gaussian": CubicGaussian,
    "haar": Haar,
    "whitened_cubic": WhitenedCubic,
    "rademacher": Rademacher,
    "uniform": Uniform,
    "student_t": StudentT,
    "correlated": Correlated,
    "mixture": Mixture,
    "standard": Standard,
    "standard_correlated": StandardCorrelated,
    "unit_uniform": UnitUniform,
    "file": File,
}

SIGN_SYMMETRIC = (
    *(Gaussian, CubicGaussian, Haar, WhitenedCubic, Rademacher, Uniform, StudentT),
    *(Correlated, Standard, StandardCorrelated),
)
"""Ensembles whose law does not change under signs of rows."""

SINGULAR_TIES = (Haar, WhitenedCubic, Rademacher)
"""Ensembles whose singular values can be equal, so that the last singular vector is not a function of X^T X."""
