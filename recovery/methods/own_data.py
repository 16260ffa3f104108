"""The optimal two-layer network of a user's data, with the proof of how close to optimal it is.

Training minimises 1/2 ||f(X) - y||^2 + beta/2 ||theta||^2 over the weights theta of a network of any width. Its optimum
is that of a convex program over activation patterns (P1, (9) and (11)), which has a dual: the gap between a network
and a dual point bounds how far the network is from the global optimum.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.patterns import unique_patterns
from recovery.methods.convex import solve
from recovery.methods.generation import grow
from recovery.programs.architecture import Architecture, find_architecture
from recovery.programs.certificate import Certificate
from recovery.programs.exact import ExactProgram
from recovery.programs.networks import Network, merge, network_of
from recovery.programs.program import Program
from recovery.types import Array, Mask

NODES = 2_000_000
"""Limit of the nodes of the proof over all patterns."""


@dataclass(frozen=True)
class OptimalNetwork:
    """The best network found, and a proved lower bound on the training objective over the patterns of `scope`.

    network: its weights `inner` (m, d), `outer` (m,), `skip` (d,) or None, and `predict(X)`. objective: of the network.
    lower: no network with these patterns has a smaller objective. certificate: residuals and gap, computed outside the
    solver. patterns: activation patterns of the convex program, (n, p). scope: the pattern set of the bound.
    """

    network: Network
    objective: float
    lower: float
    certificate: Certificate
    patterns: Mask
    scope: Literal["all", "searched", "sampled"]

    @property
    def gap(self) -> float:
        """Objective less lower, relative."""
        return self.certificate.gap

    def excess(self, objective: float) -> tuple[float, float]:
        """Return bounds on how far this training objective is above the optimum, relative to it: an interval."""
        high = objective / self.lower - 1.0 if self.lower > 0 else np.inf
        return max(objective / self.objective - 1.0, 0.0), high


def optimum(
    X: Any,
    y: Any,
    architecture: str | Architecture = "relu",
    beta: float | None = 1e-3,
    patterns: Literal["all", "searched", "sampled"] = "searched",
    *,
    count: int | None = None,
    nodes: int = NODES,
    seed: int = 0,
) -> OptimalNetwork:
    """Return the optimal network of data X (n, d) and labels y (n,), with its proved gap.

    X: one row per sample. y: one label per row. architecture: the network, by name or as a value. beta: weight decay;
    None asks for the interpolating network of least norm. patterns: `sampled` solves over drawn activation patterns;
    `searched` adds patterns until a search finds none that lowers the objective; `all` then proves that no other
    pattern does, by branch and bound. count: number of patterns that are drawn, by default 2 n. nodes: limit of the
    nodes of the branch and bound. seed: of the drawn patterns.

    Raises `ParameterError` for data of other shapes and for architectures without exact programs.
    """
    X, y = _checked(X, y)
    kind = find_architecture(architecture) if isinstance(architecture, str) else architecture
    kind.require("exact")
    if patterns not in ("all", "searched", "sampled"):
        raise ParameterError(f"patterns must be all, searched or sampled, found {patterns!r}")
    if beta is not None and not 0 < beta < np.inf:
        raise ParameterError(f"beta must be positive and finite, or None to interpolate, found {beta}")
    rng, features = np.random.default_rng(seed), kind.features(X)
    drawn = features @ rng.standard_normal((features.shape[1], count or 2 * len(X))) >= 0
    first = unique_patterns(features, [drawn])

    def form(chosen: Mask) -> Program:
        return ExactProgram(replace(kind.groups(X, chosen), confined=False), y, beta)

    if patterns == "sampled":
        solved, program = first, form(first)
        found = solve(program, "auto")
    else:
        solved, program, found, _ = grow(form, features, first, rng, nodes=nodes if patterns == "all" else None)
    certificate = found.certificate
    if not certificate.feasible:
        raise ParameterError(
            f"no network of this architecture was found that interpolates y: the labels of the best one miss it by "
            f"{certificate.primal_residual:.2g} of its norm; give a beta"
        )
    network = merge(network_of(program, found.solution.W, kind))
    lower = certificate.dual_objective
    return OptimalNetwork(network, certificate.objective, lower, certificate, solved, patterns)


def _checked(X: Any, y: Any) -> tuple[Array, Array]:
    """Return data and labels as arrays of doubles. Raises `ParameterError` with the shapes found."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if X.ndim != 2 or not X.size:
        raise ParameterError(f"X must be a matrix of shape (n, d), one row per sample; found shape {X.shape}")
    if y.shape != (len(X),):
        hint = "; pass y[:, 0]" if y.shape == (len(X), 1) else ""
        raise ParameterError(f"y must have shape ({len(X)},), one label per row of X {X.shape}; found {y.shape}{hint}")
    for name, values in (("X", X), ("y", y)):
        if not np.isfinite(values).all():
            raise ParameterError(f"{name} has {int((~np.isfinite(values)).sum())} entries that are NaN or infinite")
    return X, y
