"""Projections of weights on the cones of signed groups, started from the last tight rows, and faces.

Under `relu_norm` the norm of base weights v is ||F_g v|| (`recovery.programs.exact`), and projections use coordinates
in which it is Euclidean. Directions in the null space of F_g get a small share `unseen` of the squared norm: a smaller
share distorts the norm less, but loses more digits.
"""

import numpy as np
import scipy

from recovery.programs.active_set import Cones, Last, project_each, span_images
from recovery.programs.groups import Groups
from recovery.programs.transforms import Transforms
from recovery.types import Array, Index

UNSEEN = (1e-8, 1e-10)
"""Shares, tried in turn, of squared weights in the null space of F_g. The first leaves gaps of about 1e-6 if a neuron
reaches its cone only with null-space weights some hundred times larger than the others; the second leaves cone
violations of about 1e-8 if it does not (measured on 1 800 degenerate programs)."""


class Projections:
    """Projections on the cones of k signed groups, which start from the last projection of each group.

    own (k,): the groups without their signs. bound: shorter projections are not completed. guess: multipliers (k, n)
    near those of the first projections. free (k,): which have no cone. multipliers (k, n), directions (k, r): of the
    last projections; directions are unit vectors.
    """

    def __init__(
        self,
        groups: Groups,
        own: Index,
        bound: float = 0.0,
        unseen: float = UNSEEN[0],
        guess: Array | None = None,
    ) -> None:
        self.base, self.free, self.own, self.bound = np.ascontiguousarray(groups.base), groups.is_free(own), own, bound
        frames = _frames(groups, unseen)
        self._frames = None if frames is None else Transforms(frames)
        k, n, r = len(own), groups.n, groups.rank
        # without frames the cones of all groups share the rows of B; with frames each group has its own rows, B T_g
        families = 1 if frames is None else groups.count
        self._cones = Cones(
            self.base,
            np.eye(r)[None] if frames is None else frames,
            np.zeros_like(self.own) if frames is None else self.own,
            groups.orientations(own),
            self.free,
            np.empty((families, n, r)),
            np.zeros((families, n)),
            np.zeros(families, dtype=np.bool_),
            groups.base_gram if frames is None else np.empty((0, 0)),
        )
        self._last = Last(
            np.zeros((k, r), dtype=np.intp),
            np.zeros(k, dtype=np.intp),
            np.empty((k, r * (r + 1) // 2)),
            np.zeros(k, dtype=np.bool_),
            np.zeros((k, r)),
            np.zeros((k, r)),
            np.zeros((k, n)),
        )
        for i, multipliers in enumerate(() if guess is None else guess):
            tight = np.flatnonzero(multipliers)[:r]
            self._last.tight[i, : len(tight)], self._last.counts[i] = tight, len(tight)
        self.directions, self.multipliers = self._last.directions, self._last.multipliers
        self._faces: dict[int, tuple[bytes, Array]] = {}
        self._identity = np.eye(r)

    def weights(self, chosen: Index, W: Array) -> Array:
        """Return the base weights (k, r) of the chosen groups with coordinates W (k, r)."""
        return W if self._frames is None else self._frames.apply(W, self.own[chosen])

    def scale(self, factor: float) -> None:
        """Scale the last projections, as if their points had been multiplied by this factor."""
        for values in (self._last.shifts, self._last.multipliers):
            values *= factor

    def forget_others(self, near: Index) -> None:
        """Forget the Gram factors of all groups except `near`."""
        others = np.ones(len(self.own), dtype=np.bool_)
        others[near] = False
        self._last.known[others] = False

    def freedom(self, chosen: Index) -> Index:
        """Return the dimensions of the faces on which the last projections of the chosen groups are, (k,)."""
        left: Index = len(self._identity) - self._last.counts[chosen]
        return left

    def project(self, chosen: Index, Z: Array, s: float, keep: bool = False, slack: float = 1.0) -> tuple[Array, Array]:
        """Return the projections (k, r) of the rows of Z on the cones of the chosen groups, and their norms (k,).

        Norms of at most slack s b are only upper bounds, and their points meaningless: see `project_each`.
        """
        points, norms = project_each(self._cones, self._last, chosen, Z, s, slack * s * self.bound, keep)
        return points, norms

    def faces(self, chosen: Index, units: Array, roots: Array) -> Array:
        """Return (t, r), stacked: for each chosen group, a basis of the base weights at which its tight rows are 0.

        Basis vectors keep their part along the group's row of `units` (k, r); the rest is multiplied by its root (k,).
        """
        sizes = self.freedom(chosen)
        d, root = np.repeat(units, sizes, axis=0), np.repeat(roots, sizes)[:, None]
        Z = np.concatenate([self._identity[:0], *(self._face(int(g)) for g in chosen)])
        # each row z of Z becomes z + (root - 1) (z - (z.d) d)
        Z = root * Z + ((1.0 - root[:, 0]) * np.einsum("tr,tr->t", Z, d))[:, None] * d
        return self.weights(np.repeat(chosen, sizes), Z)

    def tight_images(self, chosen: Index) -> Array:
        """Return B q (t, n) for orthonormal q that span the tight rows of the chosen groups, which have no frames."""
        return span_images(self._cones, self._last, chosen)

    def _face(self, g: int) -> Array:
        """Return an orthonormal basis, as rows, of the weights at which the tight rows of a signed group are zero."""
        tight = self._last.tight[g, : self._last.counts[g]]
        known, key = self._faces.get(g), tight.tobytes()
        if known is not None and known[0] == key:
            return known[1]
        # multiply Householder's Q of the tight rows by the last unit vectors only: this forms just the columns of Q
        # that are orthogonal to the tight rows
        Z = self._identity[len(tight) :]
        if len(tight):
            rows = self._cones.rows[self._cones.family[g]][tight]
            factor, tau, _, _ = scipy.linalg.lapack.dgeqrf(rows.T, overwrite_a=1)
            turned = scipy.linalg.lapack.dormqr("L", "N", factor, tau, Z.T, len(self._identity) * 32)[0]
            Z = np.ascontiguousarray(turned.T)
        self._faces[g] = key, Z
        return Z


def _frames(groups: Groups, unseen: float) -> Array | None:
    """Return T_g (p, r, r), with null-space directions for zero columns unless confined; None for identities."""
    if groups.transforms is None:
        return None
    frames = groups.transforms.copy()
    # confined groups have no weights and no rows along a zero column, so the column is not replaced
    if groups.confined:
        return frames
    for g in np.flatnonzero(~groups.dimensions(np.arange(groups.count)).all(axis=1)):
        seen = groups.dimensions(np.array([g]))[0]
        Q = np.linalg.qr(frames[g][:, seen], mode="complete")[0]
        # in the norm these directions count sqrt(unseen) times, so the columns of the frame, which inverts it, are
        # divided by sqrt(unseen)
        frames[g][:, ~seen] = Q[:, int(seen.sum()) :] / np.sqrt(unseen)
    return frames
