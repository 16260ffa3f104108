"""The exact program of an instance: decided where a certificate proves the planted weights unique, else solved."""

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.draw import Instance
from recovery.instances.patterns import patterns_of
from recovery.methods.exact_proof import Proof, has_duplicate
from recovery.methods.measurement import Measurement
from recovery.methods.min_norm import certified, drawn, judge
from recovery.methods.representation import absolute_distance
from recovery.programs.certificate import active_groups
from recovery.programs.exact import ExactProgram
from recovery.programs.exact_certificate import ExactCertificate, certify_exact
from recovery.programs.groups import groups_of
from recovery.programs.networks import Network, merge, network_of
from recovery.programs.program import Program
from recovery.solvers.cones import ExactSolution, solve_cones
from recovery.solvers.conic_exact import solve_conic_exact
from recovery.types import Array


def check_exact_solver(solver: str) -> None:
    """Raise `ParameterError` for a solver that knows gated programs only."""
    if solver == "newton":
        raise ParameterError("solver newton is for program: gated; with program: exact use auto or a conic solver")


def exact_min_norm(instance: Instance, architecture: str, solver: str, distances: bool) -> Measurement:
    """min sum ||w_g|| + ||w'_g|| subject to interpolation and the cones (P1, (6), (11), (14), (16), (25))."""
    program, planted = _problem(instance, architecture, None)
    record = distances and instance.X.shape[1] == 2 and architecture in ("relu", "relu_skip")
    row, V = _min_norm(instance, architecture, program, planted, solver, distances)
    return _recorded(row, network_of(program, V, architecture), instance) if record else row


def _min_norm(
    instance: Instance, architecture: str, program: ExactProgram, planted: Array, solver: str, distances: bool
) -> tuple[Measurement, Array]:
    """The measurement, and the base weights that it is of."""
    row = drawn(instance, program.groups)
    noiseless = instance.setting.noise == 0 and bool(planted.any())
    proof = None
    if noiseless and solver == "auto":
        if has_duplicate(program, planted):
            row = row.having(recovered=False, verdict="not_unique", certificate="duplicate")
            if not distances:
                return row, planted
        elif (proof := Proof.of(program, planted)) is not None and (decided := proof.decide(row)).recovered:
            return _recovered(decided, program, planted), planted
    solution, certificate = _solve(program, solver)
    measured = _measure(row, program, planted, instance, architecture, solution, certificate)
    V = solution.candidate.V
    if row.verdict == "not_unique":
        return measured.having(recovered=False, verdict="not_unique", certificate="duplicate"), V
    if not noiseless:
        return _optimal(measured, certificate), V
    if proof is not None and proof.holds(proof.corrected(solution.candidate.lam)):
        return measured.having(recovered=True, verdict="recovered", certificate="dual"), V
    return judge(measured, certificate, _copies(program, planted)), V


def _recorded(row: Measurement, network: Network, instance: Instance) -> Measurement:
    """The row with its network of two inputs, for `recovery.report.figures.surface`."""
    small = merge(network)
    unit = small.inner / np.linalg.norm(small.inner, axis=1, keepdims=True)
    record = {
        "data": instance.X[None],
        "labels": instance.y[None],
        "neurons": unit[None],
        "sizes": small.sizes()[None],
        "linear": np.zeros((1, 2)) if small.skip is None else small.skip[None],
    }
    return row.recording(record)


def exact_regularized(instance: Instance, architecture: str, solver: str, beta: float) -> Measurement:
    """min 1/2 ||. - y||^2 + beta sum ||w_g|| + ||w'_g|| in the cones (P1, (211), (212), with the 1/2)."""
    program, planted = _problem(instance, architecture, beta)
    solution, certificate = _solve(program, solver)
    row = _measure(drawn(instance, program.groups), program, planted, instance, architecture, solution, certificate)
    if not certificate.proves_optimal:
        return _optimal(row, certificate)
    active = active_groups(program.norms(solution.candidate.V))
    same = bool((active == planted.any(axis=1)).all()) and bool(active.any())
    return row.having(certificate="gap", support_recovered=same)


def planted_copies(program: ExactProgram, instance: Instance) -> Array:
    """Base weights (2 p, r) of the planted model: the skip connection, or each neuron in its pattern and sign."""
    groups, neurons = program.groups, instance.planted
    V = np.zeros((2 * groups.count, groups.rank))
    if neurons.form == "linear":
        V[0] = groups.coordinates @ (neurons.directions @ neurons.signs)
        return V
    own = patterns_of(instance.X, neurons.directions)
    for i, (w, sign) in enumerate(zip(neurons.directions.T, neurons.signs, strict=True)):
        same = (groups.patterns == own[:, i, None]).all(axis=0)
        same[: int(groups.linear)] = False
        k = int(np.argmax(same)) + (0 if sign > 0 else groups.count)
        size = np.linalg.norm(np.maximum(instance.X @ w, 0.0)) if neurons.form == "normalized_relu" else 1.0
        V[k] += groups.coordinates @ w / size
    return V


def _problem(instance: Instance, architecture: str, beta: float | None) -> tuple[ExactProgram, Array]:
    program = ExactProgram(Program(groups_of(architecture, instance.X, instance.patterns), instance.y, beta))
    return program, planted_copies(program, instance)


def _copies(program: ExactProgram, V: Array) -> Array:
    """Both copies' group weights, (2 p, r)."""
    return program.coordinates(V, np.arange(len(V)))


def _solve(program: ExactProgram, solver: str) -> tuple[ExactSolution, ExactCertificate]:
    solution = solve_cones(program) if solver == "auto" else solve_conic_exact(program, solver)
    return solution, certify_exact(program, solution.candidate)


def _measure(
    row: Measurement,
    program: ExactProgram,
    planted: Array,
    instance: Instance,
    architecture: str,
    solution: ExactSolution,
    certificate: ExactCertificate,
) -> Measurement:
    V = solution.candidate.V
    distance = None
    if instance.test is not None and not architecture.startswith("relu_norm"):
        prediction = network_of(program, V, architecture).predict(instance.test)
        distance = float(np.linalg.norm(prediction - instance.planted.labels(instance.test)))
    return row.having(
        max_deviation=float(np.abs(_copies(program, V) - _copies(program, planted)).max()),
        absolute_distance=absolute_distance(program.gated_weights(V), program.gated_weights(planted)),
        test_distance=distance,
        solver=solution.solver,
        iterations=solution.iterations,
        cone_violation=certificate.cone_violation,
        **certified(certificate),
    )


def _optimal(row: Measurement, certificate: ExactCertificate) -> Measurement:
    if certificate.proves_optimal:
        return row.having(certificate="gap")
    return row.having(verdict="undecided", certificate="none")


def _recovered(row: Measurement, program: ExactProgram, planted: Array) -> Measurement:
    """A proved recovery: every distance is zero."""
    objective = program.objective(planted)
    return row.having(
        recovered=True,
        verdict="recovered",
        objective=objective,
        dual_objective=objective,
        gap=0.0,
        primal_residual=0.0,
        dual_violation=0.0,
        cone_violation=0.0,
        active_groups=int(np.count_nonzero(planted.any(axis=1))),
        max_deviation=0.0,
        absolute_distance=0.0,
        test_distance=0.0,
    )
