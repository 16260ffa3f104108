"""The group operators A_g of an architecture on data, applied all at once and never formed.

Every architecture is A_g = D_g B T_g: a base matrix B (n, r), a diagonal D_g that is 1 where pattern g is active and
`slope` elsewhere (0 for the ReLU), and where the columns of A_g are to be orthonormal a transform T_g (r, r). Then
    sum_g A_g w_g = rowsum(D o (B V^T)),  V_g = T_g w_g,        A_g^T lam = T_g^T (column g of B^T (D o lam)),
two matrix products of size n x r x p. Source: P1, (11)-(17), (24).
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.orthonormal import UNEVEN, confined_transforms, orthonormal_transforms, projection_norms
from recovery.types import Array, Index, Mask

if TYPE_CHECKING:
    from recovery.programs.transforms import ProjectionSums, Transformed


@dataclass
class _Computed:
    """What groups have computed: `subset` hands the first four on to fewer groups; the others are of the last dual.

    base_gram: in a list that all subsets share, empty until one asks for it.

    images: A_g^T lam, (p, r). norms: of its rows, (p,).
    """

    base_gram: list[Array] = field(default_factory=list)
    transforms: Array | None = None
    transformed: "Transformed | None" = None
    projections: "ProjectionSums | None" = None
    lam: Array | None = None
    images: Array | None = None
    norms: Array | None = None


@dataclass(frozen=True)
class Groups:
    """The operators A_g, g < p. Weights are arrays W (p, r), a row a group.

    base: B (n, r). patterns: (n, p) boolean. coordinates: (r, d), a weight w in R^d on the data enters B as
    coordinates @ w. linear: group 0 is the skip connection, whose pattern is all ones. orthonormal: T_g makes the
    columns of A_g orthonormal (B must have orthonormal columns, and slope be 0). slope: of the activation where its
    argument is negative. confined: whether orthonormal groups hold only neurons in the row space of D_g X, as P1's (16)
    does; it matters to exact programs alone. Raises `ParameterError` for shapes that do not fit.
    """

    base: Array
    patterns: Mask
    coordinates: Array
    linear: bool = False
    orthonormal: bool = False
    slope: float = 0.0
    confined: bool = False
    _computed: _Computed = field(init=False, default_factory=_Computed, repr=False, compare=False)

    def __post_init__(self) -> None:
        (n, r), shape = self.base.shape, self.patterns.shape
        if len(shape) != 2 or shape[0] != n or self.patterns.dtype != np.bool_:
            raise ParameterError(f"patterns must be boolean, of shape ({n}, p); found {self.patterns.dtype} {shape}")
        if self.coordinates.shape[0] != r:
            raise ParameterError(f"coordinates must have shape ({r}, d), found {self.coordinates.shape}")
        if self.orthonormal and self.slope != 0.0:
            raise ParameterError("groups with orthonormal columns are known for slope 0 only")
        if self.linear and not self.patterns[:, :1].all():
            raise ParameterError("a skip connection is group 0, whose pattern is all ones")

    @property
    def n(self) -> int:
        return self.base.shape[0]

    @property
    def rank(self) -> int:
        return self.base.shape[1]

    @property
    def count(self) -> int:
        return self.patterns.shape[1]

    @cached_property
    def D(self) -> Array:
        """The diagonals D_g as columns, float64 (n, p), for BLAS."""
        return self._diagonals(self.patterns)

    @cached_property
    def scales(self) -> Array:
        """What to measure each row's rounding by, (n,): norms of the rows of B where these are uneven, else 1."""
        squares: Array = np.einsum("nr,nr->n", self.base, self.base)
        if (squares >= UNEVEN**2 * squares.max(initial=0.0)).all():
            return np.ones(self.n)
        sizes = np.sqrt(squares)
        live = sizes > 0
        return np.where(live, sizes, 1.0) if sizes[live].min() < UNEVEN * sizes.max() else np.ones(self.n)

    @property
    def base_gram(self) -> Array:
        """B B^T, (n, n)."""
        known = self._computed.base_gram
        if not known:
            known.append(self.base @ self.base.T)
        return known[0]

    @property
    def transforms(self) -> Array | None:
        """T (p, r, r); zero columns stand for what a group of lower rank does not have. None for identities."""
        known = self._computed
        if self.orthonormal and known.transforms is None:
            T = orthonormal_transforms(self.base, self.patterns)
            known.transforms = (
                confined_transforms(T, self.base, self.patterns, self.coordinates) if self.confined else T
            )
        return known.transforms

    @property
    def _transformed(self) -> "Transformed | None":
        known = self._computed
        if known.transformed is None and self.transforms is not None:
            from recovery.programs.transforms import Transformed

            known.transformed = Transformed(self.transforms)
        return known.transformed

    @cached_property
    def _seen(self) -> Mask:
        return np.any(self.transforms, axis=1)

    @property
    def _projections(self) -> "ProjectionSums":
        known = self._computed
        if known.projections is None:
            from recovery.programs.transforms import ProjectionSums

            assert self.transforms is not None
            known.projections = ProjectionSums(self.base, self.patterns, self.transforms)
        return known.projections

    @cached_property
    def largest_norm(self) -> float:
        """A bound on every ||A_g||: 1 where the columns of A_g are orthonormal, else by the Frobenius norm of B."""
        return 1.0 if self.orthonormal else max(1.0, abs(self.slope)) * float(np.linalg.norm(self.base))

    def over(self, patterns: Mask) -> "Groups":
        """The operators of the same architecture and data over other patterns (n, p), without a skip connection."""
        return Groups(self.base, patterns, self.coordinates, False, self.orthonormal, self.slope)

    def subset(self, chosen: Mask) -> "Groups":
        """Some of these operators, and the skip connection if there is one."""
        chosen = chosen.copy()
        chosen[: int(self.linear)] = True
        groups = replace(self, patterns=self.patterns[:, chosen])
        known = groups._computed
        known.base_gram = self._computed.base_gram
        if self._computed.transforms is not None and self._transformed is not None:
            known.transformed = self._transformed.among(chosen)
            known.transforms = known.transformed.transforms
            known.projections = self._projections.among(np.flatnonzero(chosen))
        return groups

    def forward(self, W: Array) -> Array:
        """sum_g A_g w_g for W (p, r); shape (n,). Costs 2 n r p flops, over non-zero rows only."""
        active = np.flatnonzero(W.any(axis=1))
        return self.images(W[active], active).sum(axis=1)

    def images(self, W: Array, chosen: Index) -> Array:
        """A_g w_g of the chosen groups as columns, (n, len(chosen)), for W (len(chosen), r)."""
        images = self.base @ self.base_weights(W, chosen).T
        images *= self.diagonals(chosen)
        return images

    def diagonals(self, chosen: Index) -> Array:
        """D_g of the chosen groups as columns, (n, len(chosen)); patterns are read faster than the eightfold D."""
        return self._diagonals(self.patterns[:, chosen])

    def _diagonals(self, patterns: Mask) -> Array:
        D = patterns.astype(np.float64)
        return D if self.slope == 0.0 else D + self.slope * ~patterns

    def base_weights(self, W: Array, chosen: Index | None = None) -> Array:
        """V_g = T_g w_g of the chosen groups, else of all: what multiplies B; (k, r)."""
        return W if self._transformed is None else self._transformed.base_weights(W, chosen)

    def group_pulls(self, B: Array, chosen: Index | None = None) -> Array:
        """T_g^T b_g of the chosen groups, else of all: the pulls on w_g of pulls b_g on V_g; (k, r)."""
        return B if self._transformed is None else self._transformed.group_pulls(B, chosen)

    def adjoint(self, lam: Array) -> Array:
        """A_g^T lam for every g; shape (p, r), read only. Costs 2 n r p flops, and none for the last lam again.

        A dual point is examined where it is found and certified where it is reported: the product is then the same.
        """
        known = self._computed
        if known.lam is None or known.images is None or not np.array_equal(known.lam, lam):
            images = self.group_pulls(((self.base * lam[:, None]).T @ self.D).T)
            images.flags.writeable = False
            known.lam, known.images, known.norms = lam.copy(), images, None
            return images
        return known.images

    def adjoint_norms(self, lam: Array) -> Array:
        """The norms of the rows of `adjoint(lam)`, (p,), read only; like these known for the last lam."""
        images, known = self.adjoint(lam), self._computed
        if known.norms is None:
            known.norms = np.sqrt(np.einsum("gr,gr->g", images, images))
            known.norms.flags.writeable = False
        return known.norms

    def dual_norms(self, lam: Array) -> Array:
        """||A_g^T lam|| for every g, (p,); no transform is formed for it."""
        return projection_norms(self.base, self.patterns, lam) if self.orthonormal else self.adjoint_norms(lam).copy()

    def row_gains(self, pattern: Mask, lam: Array) -> Array:
        """How much ||A^T lam||^2 of one pattern (n,) grows, to first order, where a row is activated; (n,)."""
        if self.orthonormal:
            rows = self.base[pattern]
            fitted = self.base @ np.linalg.lstsq(rows, lam[pattern], rcond=None)[0]
            # ||P lam||^2 is ||D lam||^2 less a least-squares residual: row i adds lam_i^2 - (lam_i - fitted_i)^2
            gains: Array = 2 * lam * fitted - fitted**2
            return gains
        # half of the derivative of ||B^T (d o lam)||^2 in d_i
        d = np.where(pattern, 1.0, self.slope)
        return lam * (self.base @ (self.base.T @ (d * lam)))

    def block(self, g: int) -> Array:
        """A_g itself, (n, r)."""
        A = self.base if self.patterns[:, g].all() else self.D[:, g, None] * self.base
        return A if self.transforms is None else A @ self.transforms[g]

    def columns(self, chosen: Index) -> Array:
        """The chosen blocks side by side, (n, len(chosen) r)."""
        if self.transforms is None:
            D = self.diagonals(chosen)
            return (D[:, :, None] * self.base[:, None, :]).reshape(self.n, -1)
        blocks = [self.block(int(g)) for g in chosen]
        return blocks[0] if len(blocks) == 1 else np.hstack(blocks) if blocks else np.empty((self.n, 0))

    def weighted_gram(self, chosen: Index, c: Array, close: float = 0.0) -> Array:
        """sum_g c_g A_g A_g^T over the chosen groups, c >= 0; shape (n, n). For `close`, see `ProjectionSums`.

        Without transforms this is (B B^T) o (D diag(c) D^T), at n^2 flops a group whatever r is.
        """
        if self.transforms is not None:
            return self._projections.weighted(chosen, c, close)
        return self._hadamard(chosen, c)

    def rough_gram(self, chosen: Index, c: Array) -> Array:
        """`weighted_gram`, with each projection A_g A_g^T taken for a D_g B B^T D_g + b D_g if there are transforms.

        a and b are the nearest in the mean over random B of orthonormal columns, by the traces of products of free
        projections: tr(PQ) = n p q, tr(PQPQ) = n p q (p + q - p q) for those of rank n p and n q.
        """
        if self.transforms is None:
            return self._hadamard(chosen, c)
        E = self.diagonals(chosen)
        p, q = E.mean(axis=0), self.rank / self.n
        a = np.maximum(p - q, 0.0) / (p**2 * max(1.0 - q, 1.0 / self.n))
        H = self._hadamard(chosen, c * a)
        # P's diagonal on its rows is q / p in the mean, 1 where these are at most r; that of a B B^T is a q
        np.einsum("ii->i", H)[:] += E @ (c * (np.minimum(q / p, 1.0) - a * q))
        return H

    def mean_gram(self, chosen: Index, c: Array) -> tuple[Array, Array]:
        """A diagonal (n,) and R (n, r) whose sum, the diagonal + R R^T, is near `weighted_gram`; without transforms.

        That is (B B^T) o M for M = D diag(c) D^T. With m = M 1 / sqrt(1^T M 1), M - m m^T has no negative eigenvalue:
        its part is taken for its diagonal, and R = diag(m) B.
        """
        E = self.diagonals(chosen)
        m = E @ (c * E.sum(axis=0))
        m /= np.sqrt(max(float(m.sum()), np.finfo(float).tiny))
        rest = np.maximum(E**2 @ c - m * m, 0.0)
        return rest * np.einsum("nr,nr->n", self.base, self.base), self.base * m[:, None]

    def _hadamard(self, chosen: Index, c: Array) -> Array:
        E = self.diagonals(chosen) * np.sqrt(c)
        return self.base_gram * (E @ E.T)

    def dimensions(self, chosen: Index) -> Mask:
        """Which coordinates of the chosen groups exist, (len(chosen), r)."""
        if self.transforms is None:
            return np.ones((len(chosen), self.rank), dtype=np.bool_)
        seen: Mask = self._seen[chosen]
        return seen

    @cached_property
    def narrowed(self) -> Mask:
        """Which groups hold fewer neurons than have their pattern, (p,): confined ones of less than full rank."""
        if not self.confined or not self.orthonormal:
            return np.zeros(self.count, dtype=np.bool_)
        partial: Mask = np.asarray(~self.dimensions(np.arange(self.count)).all(axis=1))
        return partial

    def duplicates_of(self, g: int) -> Index:
        """Other groups whose operator is that of g: equal patterns, the skip connection counting as all ones."""
        same = (self.patterns == self.patterns[:, g, None]).all(axis=0)
        same[g] = False
        return np.flatnonzero(same)

    def find(self, pattern: Mask) -> int:
        """The first group, never the skip connection, of this pattern (n,). Raises `KeyError` if there is none."""
        same = (self.patterns == pattern[:, None]).all(axis=0)
        same[: int(self.linear)] = False
        if not same.any():
            raise KeyError("no group has this pattern")
        return int(np.argmax(same))

    def activate(self, Z: Array) -> Array:
        """The activation of Z: its positive part, and `slope` times its negative part."""
        return np.maximum(Z, 0.0) if self.slope == 0.0 else np.where(Z >= 0.0, Z, self.slope * Z)

    def neuron(self, g: int, w: Array, X: Array) -> Array:
        """The weight w_g (r,) with which group g is the neuron w (d,) on X (n, d): A_g w_g = activation(X w)."""
        if self.transforms is None:
            return self.coordinates @ w
        return self.block(g).T @ self.activate(X @ w)
