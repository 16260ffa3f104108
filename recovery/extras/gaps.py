"""Proofs in ball arithmetic of the optima of trials with noise or a penalty, for `recover verify --rigorous`.

Weights, dual and multipliers are those of the row. The proofs do not rely on their accuracy.
"""

from collections.abc import Sequence

import numpy as np

from recovery.extras.proofs.balls import Unproved
from recovery.extras.proofs.exact_model import Model
from recovery.extras.proofs.interpolants import Weight
from recovery.extras.proofs.optimum import ProofStart, ProvedOptimum, prove_optimum
from recovery.instances.draw import Instance
from recovery.methods.interpolant import interior_weights
from recovery.methods.min_norm import ConvexMethod
from recovery.programs.architecture import Architecture
from recovery.programs.exact import ExactProgram
from recovery.programs.program import Program
from recovery.programs.solution import Solution
from recovery.types import Array, Index

OTHER_NORM = "proofs in ball arithmetic know the l2 norm only"


def prove_gap(instance: Instance, architecture: Architecture, method: ConvexMethod) -> ProvedOptimum:
    """Return a proved interval that contains the optimum of a trial's program. Raises `Unproved`."""
    if method.norm != "l2":
        raise Unproved(OTHER_NORM)
    if instance.setting.patterns.kind == "all":
        raise Unproved("an optimum over all patterns has no proof in ball arithmetic")
    evidence = method(instance, architecture).evidence
    if evidence is None or evidence.found is None:
        raise Unproved("the trial has no weights and no dual")
    model = empty_model(architecture, instance.X, evidence.program)
    return prove_optimum(model, proof_start(evidence.program, evidence.found.solution))


def empty_model(architecture: Architecture, X: Array, program: Program) -> Model:
    """Return the model of a program's data and patterns, without planted neurons."""
    F = architecture.features(X)
    return Model(architecture, F, program.groups.patterns, np.zeros((F.shape[1], 0)), np.zeros(0), ())


def proof_start(program: Program, solution: Solution) -> ProofStart:
    """Return the start of a proof: a solution on the features, and for cones their multipliers and inner points."""
    groups = program.groups
    weights = raw_weights(program, solution.W)
    start = ProofStart(program.y, program.beta, weights, solution.lam)
    if not isinstance(program, ExactProgram):
        return start
    _, known = program.proved_norms(solution)
    # a group whose norm is small enough without its cone needs no multipliers
    needed = groups.adjoint_norms(solution.lam)[program.group(known.chosen)] > program.penalty
    chosen, values = known.chosen[needed], known.values[needed]
    owners, signs = program.group(chosen).tolist(), program.sign(chosen).astype(int).tolist()
    raw = np.linalg.pinv(groups.coordinates).T
    inside = interior_weights(program, np.array(sorted({one.group for one in weights}), dtype=np.intp)) @ raw
    return ProofStart(
        program.y,
        program.beta,
        weights,
        solution.lam,
        frozenset(np.flatnonzero(groups.narrowed).tolist()),
        dict(zip(zip(owners, signs, strict=True), values, strict=True)),
        {int(g): inside[g] for g in np.flatnonzero(inside.any(axis=1))},
    )


def raw_weights(program: Program, W: Array) -> Sequence[Weight]:
    """Return the nonzero rows of W as weights on the features."""
    groups = program.groups
    chosen: Index = np.flatnonzero(W.any(axis=1))
    V = W[chosen] if program.has_cones else groups.base_weights(W[chosen], chosen)
    raw = V @ np.linalg.pinv(groups.coordinates).T
    return [Weight(int(k) % groups.count, 1 if k < groups.count else -1, w) for k, w in zip(chosen, raw, strict=True)]
