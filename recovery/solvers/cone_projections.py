"""Projections of weights on the cones of all signed groups, each from its last tight rows, and the faces they lie on.

Under `relu_norm` all is in coordinates in which ||F_g v|| is the norm; where F_g is blind to a direction, the norm is
given a share `unseen` of its square, which is the less wrong the smaller it is, and the worse for rounding.
"""

import numpy as np
import scipy

from recovery.programs.exact import ExactProgram
from recovery.solvers.active_set import project_each
from recovery.types import Array, Index

UNSEEN = (1e-8, 1e-10)
"""What a normalised neuron's norm takes of the square of weights that its outputs do not see, tried in turn. The first
leaves gaps of some 1e-6 where a neuron reaches its cone only by weights some hundred times those that are seen, the
second cone violations of some 1e-8 where it does not (measured on 1 800 strange programs)."""
BELOW = 1.0 - 1e-12
"""A projection ends where it is known to be shorter than this share of s b."""


class Projections:
    """Of every signed group its tight rows, the multipliers (k, n) and the direction (k, r) of its last projection.

    own (k,): their groups; free (k,): which have no cone; orientation (k, n): the signs of the rows of their cones.
    """

    def __init__(self, program: ExactProgram, unseen: float = UNSEEN[0]) -> None:
        groups, members = program.groups, program.members
        self.base, self.free, self.bound = np.ascontiguousarray(groups.base), program.is_free(members), program.penalty
        self.own, self.orientation = program.group(members), program.orientation(members)
        self.frames = _frames(program, unseen)
        k, r = len(members), groups.rank
        self.multipliers = np.zeros((k, groups.n))
        self.directions, self._shift = np.zeros((k, r)), np.zeros((k, r))
        self._tight, self._counts = np.zeros((k, r), dtype=np.intp), np.zeros(k, dtype=np.intp)
        self._factors, self._known = np.empty((k, r, r)), np.zeros(k, dtype=np.bool_)
        # the cones' rows are B T_g, one product for each group that is ever projected; B for all without frames
        families = 1 if self.frames is None else groups.count
        self._place = np.zeros_like(self.own) if self.frames is None else self.own
        self._rows, self._sizes = np.empty((families, groups.n, r)), np.zeros((families, groups.n))
        self._filled = np.zeros(families, dtype=np.bool_)
        self._frames = np.eye(r)[None] if self.frames is None else self.frames
        self._faces: dict[int, tuple[bytes, Array]] = {}
        self._identity = np.eye(r)

    def weights(self, chosen: Index, W: Array) -> Array:
        """Base weights of coordinates W (k, r)."""
        return W if self.frames is None else np.matmul(self.frames[self.own[chosen]], W[:, :, None])[:, :, 0]

    def coordinates(self, chosen: Index, V: Array) -> Array:
        """Coordinates of base weights V (k, r)."""
        return V if self.frames is None else np.linalg.solve(self.frames[self.own[chosen]], V[:, :, None])[:, :, 0]

    def scale(self, factor: float) -> None:
        """Let the last projections be those of their points times this factor."""
        self._shift *= factor
        self.multipliers *= factor

    def forget_others(self, near: Index) -> None:
        """Forget the factors of all other groups."""
        others = np.ones(len(self.own), dtype=np.bool_)
        others[near] = False
        self._known[others] = False

    def tight(self, g: int) -> Index:
        """The tight rows of a signed group's last projection."""
        rows: Index = self._tight[g, : self._counts[g]]
        return rows

    def freedom(self, chosen: Index) -> Index:
        """The dimensions of their faces, (k,)."""
        left: Index = len(self._identity) - self._counts[chosen]
        return left

    def project(self, chosen: Index, Z: Array, s: float, keep: bool = False) -> tuple[Array, Array]:
        """Projections of the rows of Z (k, r) on the cones of the chosen groups and their norms, where above s b.

        A group's last multipliers, scaled to s, bound its projection; what is shown to be no longer than s b on the way
        is not projected to the end: its norm is such a bound, and its point means nothing.
        """
        bound, points, norms = s * self.bound, np.empty_like(Z), np.empty(len(Z))
        rows = self.base, self._frames, self._rows, self._sizes, self._filled, self._place, self.orientation, self.free
        state = self._tight, self._counts, self._factors, self._known, keep
        results = points, norms, self.directions, self._shift, self.multipliers
        project_each(*rows, chosen, Z, s, bound, BELOW * bound, *state, *results)
        return points, norms

    def columns(self, chosen: Index, units: Array, roots: Array) -> Array:
        """B Z^T (t, n) of the faces' bases Z, those of each group stacked; along `units` (k, r) as they are, across
        times `roots` (k,).
        """
        sizes = self.freedom(chosen)
        d, root = np.repeat(units, sizes, axis=0), np.repeat(roots, sizes)[:, None]
        Z = np.concatenate([self._identity[:0], *(self._face(int(g)) for g in chosen)])
        # Z + (root - 1) (Z - Z d d^T) for columns: across d times the root, along d as it was
        Z = root * Z + ((1.0 - root[:, 0]) * np.einsum("tr,tr->t", Z, d))[:, None] * d
        if self.frames is None:
            return Z @ self.base.T
        columns, ends = np.empty((len(Z), len(self.base))), np.cumsum(sizes)
        for own, start, end in zip(self._place[chosen], ends - sizes, ends, strict=True):
            np.dot(Z[start:end], self._rows[own].T, out=columns[start:end])
        return columns

    def _face(self, g: int) -> Array:
        """An orthonormal basis, as rows, of the weights on which a signed group's tight rows vanish."""
        tight = self.tight(g)
        known, key = self._faces.get(g), tight.tobytes()
        if known is not None and known[0] == key:
            return known[1]
        # Householder's Q of the tight rows times the last unit vectors: only the columns off their span are formed
        Z = self._identity[len(tight) :]
        if len(tight):
            factor, tau, _, _ = scipy.linalg.lapack.dgeqrf(self._rows[self._place[g]][tight].T, overwrite_a=1)
            Z = np.ascontiguousarray(
                scipy.linalg.lapack.dormqr("L", "N", factor, tau, Z.T, len(self._identity) * 32)[0].T
            )
        self._faces[g] = key, Z
        return Z


def _frames(program: ExactProgram, unseen: float) -> Array | None:
    """T_g (p, r, r) with directions that no output sees in place of zero columns; None for identities."""
    groups = program.groups
    if groups.transforms is None:
        return None
    frames = groups.transforms.copy()
    if groups.confined:  # columns of zeros stay: no weight and no row has these coordinates
        return frames
    for g in np.flatnonzero(~groups.dimensions(np.arange(groups.count)).all(axis=1)):
        seen = groups.dimensions(np.array([g]))[0]
        Q = np.linalg.qr(frames[g][:, seen], mode="complete")[0]
        # ||F_g v|| sees these directions with weight sqrt(unseen), so its inverse frame has 1 / sqrt(unseen)
        frames[g][:, ~seen] = Q[:, int(seen.sum()) :] / np.sqrt(unseen)
    return frames
