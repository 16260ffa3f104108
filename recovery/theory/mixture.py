"""Two Gaussian classes split by w = mu1/||mu1|| - mu2/||mu2||: the exact law and the bound of Proposition 23.

For a row x = mu1 + sigma z, x.w / ||w|| ~ N(c ||mu1||, sigma^2) with c = sqrt((1 - b)/2), b the cosine of the means.
By symmetry for the second class, all n1 + n2 independent rows are on their sides with probability
    Phi(c ||mu1||/sigma)^{n1} Phi(c ||mu2||/sigma)^{n2}.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike

from recovery.types import Array


def split_probability(
    length1: ArrayLike, length2: ArrayLike, cosine: ArrayLike, sigma: ArrayLike, n1: ArrayLike, n2: ArrayLike
) -> Array:
    """Return P(the pattern of w = mu1/||mu1|| - mu2/||mu2|| equals the class labels).

    length1, length2: ||mu1||, ||mu2||. cosine: of the means. sigma: at least 0. n1, n2: class sizes. For parallel means
    (cosine 1; for d = 1, means of one sign) w is zero and its pattern all ones, which equals the labels only if the
    second class is empty.

    Source: the exact law behind P1, Proposition 23 (appendix J-D).
    """
    c = np.sqrt((1.0 - np.asarray(cosine, dtype=np.float64)) / 2)
    a1, a2 = c * np.asarray(length1, dtype=np.float64), c * np.asarray(length2, dtype=np.float64)
    sigma = np.asarray(sigma, dtype=np.float64)
    log = np.zeros(np.broadcast_shapes(a1.shape, a2.shape, sigma.shape, np.shape(n1), np.shape(n2)))
    with np.errstate(divide="ignore"):
        for a, count in ((a1, n1), (a2, n2)):
            score = np.where(sigma > 0, a / np.where(sigma > 0, sigma, 1.0), np.where(a > 0, np.inf, -np.inf))
            log = log + np.where(np.asarray(count) > 0, np.asarray(count) * scipy.special.log_ndtr(score), 0.0)
    return np.where(np.asarray(cosine) < 1.0, np.exp(log), np.equal(n2, 0))


def split_bound(
    length1: ArrayLike, length2: ArrayLike, cosine: ArrayLike, sigma: ArrayLike, n1: ArrayLike, n2: ArrayLike
) -> Array:
    """Return the paper's lower bound 1 - sum_i n_i exp(-(1 - b) ||mu_i||^2 / (4 sigma^2)), at least 0; 1 at sigma = 0.

    P1, Proposition 23 prints sigma instead of sigma^2 in its first exponent; its proof, (194), has the square.
    """
    with np.errstate(divide="ignore"):
        spread = (1.0 - np.asarray(cosine, dtype=np.float64)) / (4 * np.asarray(sigma, dtype=np.float64) ** 2)
    missed1 = np.asarray(n1) * np.exp(-spread * np.asarray(length1, dtype=np.float64) ** 2)
    missed2 = np.asarray(n2) * np.exp(-spread * np.asarray(length2, dtype=np.float64) ** 2)
    return np.maximum(1.0 - missed1 - missed2, 0.0)


def theorem13_sigma(n: ArrayLike, n1: ArrayLike, d: ArrayLike, length: ArrayLike, delta: ArrayLike) -> Array:
    """Return the largest sigma of P1, Theorem 13: min(1 / (32 c_1), ||mu|| / (2 (d + 8 log(4n/delta)))), printed c_1.

    n1 of the n rows are mu + sigma z, the others -mu + sigma z. With probability 1 - delta the pattern of the classes
    then exists, and the top eigenvector of its own rows has this pattern. NaN unless 0 < delta < 2 exp(-d/8).
    """
    n, d, length, delta = (np.asarray(a, dtype=np.float64) for a in (n, d, length, delta))
    most = np.minimum(
        1 / (32 * direction_constant(n1, d, length, delta)), length / (2 * (d + 8 * np.log(4 * n / delta)))
    )
    return np.where((delta > 0) & (delta < 2 * np.exp(-d / 8)), most, np.nan)


def direction_constant(n: ArrayLike, d: ArrayLike, length: ArrayLike, delta: ArrayLike) -> Array:
    """Return c_1 = 2d / (n^2 ||mu||^2) (2 n sqrt(2 log(n d/delta)) ||mu|| + 2 d log(n d/delta)), P1 below (183).

    Proposition 25 states ||w - mu/||mu|| ||^2 <= c_1 sigma with probability 1 - delta for every sigma. It is false: the
    Gram matrix of a column of n ones is n, where (198) has n^2. So c_1 falls as 1/n, but the error does not.
    """
    n, d, length, delta = (np.asarray(a, dtype=np.float64) for a in (n, d, length, delta))
    L = np.log(n * d / delta)
    return 2 * d / (n * length) ** 2 * (2 * n * np.sqrt(2 * L) * length + 2 * d * L)
