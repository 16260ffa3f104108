"""Search for a dual certificate of given weights, or for evidence that there is none.

Weights with support S and unit directions u are the unique interpolant of least norm if some lam has A_S^T lam = u
and ||A_g^T lam|| < 1 outside S. On this affine set the search minimises
    phi(lam) = 1/2 sum_{g not in S} (||A_g^T lam|| - t)_+^2,     t just below 1,
by one inner problem (`recovery.solvers.inner`, with s = 1 and no weights). A zero of phi is a certificate. At a
positive minimum, the excesses are weights outside S that keep the labels if the weights of S change too: a direction of
descent. The caller checks either result through `recovery.programs.uniqueness`. For an exact program the norms are
those of the projections P_K(A_g^T lam) on the cones of the signed groups outside S, which is a weaker condition.
Source: P1, proof of Proposition 2; mathematics of exact recovery.
"""

from dataclasses import dataclass

import numpy as np

from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups
from recovery.programs.projections import Projections
from recovery.programs.solution import Multipliers
from recovery.solvers.controls import SEARCH
from recovery.solvers.families import ConeFamily, Family, GatedFamily
from recovery.solvers.inner import Inner, Iterate
from recovery.types import Array, Index

NONE: Index = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class DualSearch:
    """Result of a search: its last lam (n,), the excess weights outside the support, the number of Newton steps.

    multipliers: of an exact program, those of the last projections, which may bound the dual norms at lam.
    """

    lam: Array
    excess: Array
    steps: int
    multipliers: Multipliers | None = None


def search_dual(
    groups: Groups, support: Index, frame: Array, start: Array, threshold: float, ignored: Index = NONE
) -> DualSearch:
    """Lower phi of a gated program over start + {frame}^perp until it is zero, no step descends, or the steps end.

    support: the planted groups S. ignored: further groups to leave out of phi. frame: (n, m), an orthonormal basis of
    range(A_S). start: lam with A_S^T lam = u.
    """
    others = np.setdiff1d(np.arange(groups.count), np.concatenate([support, ignored]))
    family = GatedFamily(groups, others, threshold, SEARCH.close)
    point, steps = _minimised(family, groups.rank, frame, start)
    excess = np.zeros((groups.count, groups.rank))
    excess[others] = point.weights((len(others), groups.rank))
    return DualSearch(point.lam, excess, steps)


def search_exact_dual(program: ExactProgram, rows: Index, frame: Array, start: Array, threshold: float) -> DualSearch:
    """Minimise phi of an exact program as `search_dual` does, for the planted `rows` of W."""
    others = np.setdiff1d(program.members, rows)
    # projections shorter than the threshold do not count in phi, so they need not be exact
    cones = Projections(program.groups, program.group(others), threshold)
    family = ConeFamily(program, others, cones)
    point, steps = _minimised(family, program.groups.rank, frame, start)
    excess, active = np.zeros((program.size, program.groups.rank)), point.active
    excess[others[active.rows]] = cones.weights(active.rows, active.units * point.excess[:, None])
    return DualSearch(point.lam, excess, steps, Multipliers(others, cones.multipliers))


def _minimised(family: Family, rank: int, frame: Array, start: Array) -> tuple[Iterate, int]:
    """Minimise phi over start + {frame}^perp by Newton's method; return the last point and the number of steps."""
    n, images = len(start), family.images(start)
    inner = Inner(family, np.zeros(n), np.zeros(rank), 1.0, SEARCH, frame=frame)
    # steps orthogonal to the frame keep A_S^T lam = u; without a dimension left for them, phi has one value
    point = inner.minimise(start, images, 0.0) if frame.shape[1] < n else None
    return (inner.at(start, images) if point is None else point), inner.steps
