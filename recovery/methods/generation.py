"""Verdicts over all patterns: the program over the patterns that column generation adds, and a dual that it proves.

A verdict of recovery needs the dual (`recovery.methods.feasible_dual`); the others need only the patterns found.
"""

from collections.abc import Callable

from recovery.errors import ParameterError
from recovery.instances.arrangements import cell_count
from recovery.instances.draw import Setting
from recovery.instances.patterns import unique_patterns
from recovery.methods.convex import PlantedProgram, ProgramKind
from recovery.methods.feasible_dual import CellSearch, Generation, NeuronSearch
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.types import Array


def check_all_patterns(setting: Setting, architecture: Architecture, solver: str) -> None:
    """Refuse `patterns.kind: all` where no proof over all patterns is known. Raises `ParameterError`."""
    if setting.patterns.kind != "all":
        return
    if architecture.normalizes_after:
        raise ParameterError(
            f"patterns.kind all is not known for architecture {architecture.name!r}, whose neurons are normalised "
            "after the ReLU; use exhaustive, or searched"
        )
    if solver != "auto":
        raise ParameterError(f"patterns.kind all goes with solver auto, found {solver!r}")


def proof_cost(program: ProgramKind, setting: Setting) -> float:
    """A guess of the seconds of one proof by the oracle, as `Method.cost`.

    Cells, n = 1.5 to 5d, d = 4 to 16: doubled by four rows, whatever d, until all cells are looked at. Cones: their
    roots, 2^d. The limit `nodes` ends both.
    """
    n, d, nodes = setting.n, setting.d, setting.patterns.nodes
    if program == "exact":
        return 1e-2 + 2.5e-6 * min(2.0 ** min(d, 60), nodes)
    cells = cell_count(n, min(d, 60))
    return 5e-4 + min(1e-4 * 2.0 ** min(n / 4, 60.0), 5e-6 * min(3 * cells, nodes))


def patterns_proved(row: Measurement, kind: str) -> str | None:
    """What a verdict is about. Planted weights that are not the unique optimum over some patterns are not over all."""
    if row.verdict in (None, "undecided"):
        return None
    return "all" if kind == "exhaustive" or row.verdict != "recovered" else kind


def over_all_patterns(
    problem: PlantedProgram, measure: Callable[[PlantedProgram], tuple[Measurement, Array]]
) -> tuple[Measurement, Array]:
    """What `measure` finds with the patterns that the search added; recovered only where it proved a dual."""
    if problem.blank or not problem.sure:
        return measure(problem)
    grown, found = grown_program(problem)
    proof = None if found.lam is None else grown.ladder.proof_from(found.lam / grown.program.groups.scales)
    known = grown.drawn().having(pattern_count=None)
    if proof is not None:
        return grown.recovered(known.having(certificate="dual"), proof), grown.planted
    row, weights = measure(grown)
    if row.verdict in ("recovered", "undecided"):
        return known.undecided(found.reason if row.verdict == "recovered" else row.reason), weights
    # what else a solution over the patterns found measures, and its reason, depend on the path that found them
    return known.having(**{name: row.get(name) for name in ("recovered", "verdict", "certificate")}), weights


def grown_program(problem: PlantedProgram) -> tuple[PlantedProgram, Generation]:
    """The program over the patterns there are and those that the search finds, and what it ended with."""
    instance = problem.instance
    search = NeuronSearch if problem.program.has_cones else CellSearch
    found = search(problem, instance.setting.patterns.nodes, instance.streams.training).run()
    patterns = unique_patterns(problem.architecture.features(instance.X), [instance.patterns, found.patterns])
    return problem.over(patterns), found
