"""Verdicts on matrices that try them: is any of them contradicted?

    python -m benchmarks.verdicts [--count N] [--trials M] [--kind KIND ...]

N small matrices of each kind, with at most M trials each: a planted linear neuron or ReLU neurons, the four
architectures, gated and exact programs in turn. Each verdict has to be proved in ball arithmetic. Two other methods
look at a verdict that is not proved: one that cannot hold next to it may be proved, and Clarabel, at 1e-10 and with the
operators formed, may find the optimum on the other side of the planted weights. Either contradicts the verdict.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import arguments, table, written
from recovery.errors import RecoverError
from recovery.extras.rigorous import EXCLUSIVE, verify_rigorously
from recovery.instances.draw import Instance, Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.methods.convex import PlantedProgram, ProgramKind
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.programs.certificate import certify
from recovery.solvers.conic import solve_conic
from recovery.types import Array, Rng

FORMS = ("linear", "relu")
NAMES = ("relu", "relu_skip", "relu_norm", "relu_norm_skip")
NEAR = "rows 1e-3 to 1e-12 apart"
FATES = ("proved", "agrees", "open")
CLARABEL = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
SURE = 1e-8
"""Largest residual, gap and cone violation of an optimum that may contradict a verdict."""
CLEAR = 1e-6
"""How far from the planted cost, relatively, an optimum has to be for that."""


def _whole(rng: Rng, n: int, d: int) -> Array:
    return rng.integers(-1, 2, (n, d)).astype(float)


def _repeated(rng: Rng, n: int, d: int) -> Array:
    return rng.standard_normal((n, d))[rng.integers(0, max(1, n // 2), n)]


def _with_zero_rows(rng: Rng, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    X[rng.random(n) < 0.25] = 0.0
    return X


def _deficient(rng: Rng, n: int, d: int) -> Array:
    X = _whole(rng, n, d)
    if d > 1:
        X[:, -1] = X[:, 0] - X[:, 1] if d > 2 else X[:, 0]
    return X


def _nearly_repeated(rng: Rng, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    k = max(1, n // 4)
    X[-k:] = X[:k] + 10.0 ** -rng.integers(3, 13) * rng.standard_normal((k, d))
    return X


KINDS: dict[str, Callable[[Rng, int, int], Array]] = {
    "Gaussian": lambda rng, n, d: rng.standard_normal((n, d)),
    "{-1, 0, 1}": _whole,
    "{0, 1}": lambda rng, n, d: rng.integers(0, 2, (n, d)).astype(float),
    "Rademacher": lambda rng, n, d: rng.choice([-1.0, 1.0], (n, d)),
    "zero rows": _with_zero_rows,
    "repeated rows": _repeated,
    "opposite rows": lambda rng, n, d: _repeated(rng, n, d) * rng.choice([-1.0, 1.0], (n, 1)),
    NEAR: _nearly_repeated,
    "rank deficient": _deficient,
    "rows times 1e-10 to 1e10": lambda rng, n, d: rng.standard_normal((n, d)) * 10.0 ** rng.integers(-10, 11, (n, 1)),
    "columns times 1e-3 to 1e3": lambda rng, n, d: rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4, d),
}
"""Kind -> matrix (n, d)."""


@dataclass(frozen=True)
class Matrix:
    """An ensemble that draws one kind."""

    kind: str

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return KINDS[self.kind](rng, n, d)


@dataclass(frozen=True)
class Trial:
    """One draw and the question that it decides. The draws of one kind and seed share their matrix and its cells."""

    kind: str
    seed: int
    form: str
    architecture: str
    program: ProgramKind

    @property
    def setting(self) -> Setting:
        """Sizes, planted model and patterns, at random."""
        rng = np.random.default_rng([self.seed, 7])
        d = int(rng.integers(1, 5))
        n = int(rng.integers(max(2, d), 13))
        patterns = "exhaustive" if d <= 3 and rng.random() < 0.5 else "sampled"
        neurons = [Relu(k=1), NormalizedRelu(k=1), Relu(k=2, signs="random") if d > 1 else Relu(k=1)]
        relu: Planted = neurons[int(rng.integers(len(neurons)))]
        linear = Linear(direction="basis" if rng.random() < 0.5 else "random")
        planted = linear if self.form == "linear" else relu
        return Setting(n, d, ensemble=Matrix(self.kind), planted=planted, patterns=Patterns(patterns))  # type: ignore[arg-type]

    def problem(self) -> tuple[Instance, Architecture, MinNorm]:
        architecture = ARCHITECTURES[self.architecture]
        instance = draw(self.setting, np.random.default_rng(self.seed), architecture)
        return instance, architecture, MinNorm(program=self.program)


def trials_of(kind: str, seed: int, most: int) -> list[Trial]:
    """At most six, in turn: under two of the four architectures a linear neuron can be planted too.

    Nearly equal rows are put to all architectures and both programs, fourteen trials.
    """
    programs: tuple[ProgramKind, ...] = ("gated", "exact")
    names = list(ARCHITECTURES) if kind == NEAR else NAMES
    asked = [(form, name) for form in FORMS for name in names if form == "relu" or ARCHITECTURES[name].skip]
    if kind == NEAR:
        every = [Trial(kind, seed, form, name, program) for program in programs for form, name in asked]
        first = seed % len(every)
        return (every[first:] + every[:first])[:most]
    first = seed % len(asked)
    turned = (asked[first:] + asked[:first])[:most]
    return [
        Trial(kind, seed, form, name, programs[(seed // len(asked) + asked.index((form, name))) % 2])
        for form, name in turned
    ]


@dataclass(frozen=True)
class Outcome:
    """A verdict, what became of it, and why: `proved`, `agrees` (with Clarabel), `open` or `contradicted`."""

    verdict: str
    fate: str
    reason: str = ""


def outcome(trial: Trial) -> Outcome:
    """The verdict of a trial and what two other routes say of it."""
    try:
        instance, architecture, method = trial.problem()
        row = method(instance, architecture)
    except RecoverError as error:
        return Outcome("refused", "open", str(error))
    verdict = str(row.verdict)
    if verdict not in EXCLUSIVE:
        return Outcome("undecided", "open", str(row.reason))
    found = verify_rigorously(instance, architecture, method, verdict)
    if found.proved:
        return Outcome(verdict, "proved")
    if found.opposite:
        return Outcome(verdict, "contradicted", found.reason)
    return Outcome(
        verdict, _by_clarabel(PlantedProgram.of(instance, architecture, method.program), verdict), found.reason
    )


def _by_clarabel(problem: PlantedProgram, verdict: str) -> str:
    """Return whether Clarabel's optimum confirms a verdict; `open` if that optimum is uncertain."""
    even = problem.program.balanced()
    try:
        solution = solve_conic(even, "CLARABEL", options=CLARABEL)
    except RecoverError:
        return "open"
    found = certify(even, solution)
    if found.error > SURE or not problem.feasible:
        return "open"
    ratio = found.objective / float(problem.program.norms(problem.planted).sum())
    cheaper, tied = ratio < 1 - CLEAR, abs(ratio - 1) <= CLEAR
    if verdict == "recovered":
        return "contradicted" if cheaper else "agrees" if tied else "open"
    if verdict == "not_optimal":
        return "agrees" if cheaper else "open"
    return "open"


def outcomes(kind: str, count: int, most: int) -> Iterator[tuple[Trial, Outcome]]:
    """The trials of the first `count` matrices of a kind, at most `most` each, and their outcomes."""
    for seed in range(count):
        for trial in trials_of(kind, seed, most):
            yield trial, outcome(trial)


MOST = {NEAR: 14}
"""Trials per matrix if more than one: verdicts on these matrices were wrong in the past."""
NOTE = """Verdicts that are proved in ball arithmetic; those that are not, where Clarabel's optimum agrees; and those
that neither decides. Architectures, planted models and programs take turns."""


def rows(kinds: Iterable[str], count: int, most: int) -> Iterator[list[object]]:
    """Yield the counts of each kind; print each trial that is neither proved nor agrees."""
    for kind in kinds:
        counts: Counter[tuple[str, str]] = Counter()
        for trial, found in outcomes(kind, count, most or MOST.get(kind, 1)):
            counts[found.verdict, found.fate] += 1
            if found.fate not in ("proved", "agrees"):
                print(f"{trial}: {found.verdict} {found.fate}: {found.reason}", flush=True)
        cells = [", ".join(str(counts[verdict, fate]) for fate in FATES) for verdict in EXCLUSIVE]
        wrong = sum(count for (_, fate), count in counts.items() if fate == "contradicted")
        yield [kind, counts.total(), *cells, counts["undecided", "open"], counts["refused", "open"], wrong]


if __name__ == "__main__":
    given = arguments(__doc__, count=500, trials=0, kind=tuple(KINDS))
    head = (f"{verdict}: {', '.join(FATES)}" for verdict in EXCLUSIVE)
    lines = table(
        ["matrices", "trials", *head, "undecided", "refused", "contradicted"],
        rows(given.kind, given.count, given.trials),
    )
    written(__file__, [NOTE, "", *lines], kept=len(given.kind) == len(KINDS))
