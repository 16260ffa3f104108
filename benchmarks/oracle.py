"""The oracles over all patterns: their bounds against enumeration, what they settle, and what a search misses.

    python -m benchmarks.oracle [--instances 500] [--draws 100] [--part K] [--out FILE.md]

Against the exact value of every cell, d = 2 to 4, degenerate rows among them: instances whose bounds differ from it by
more than 1e-6, relative to sum_i |t_i| ||x_i||, and proofs that are wrong. Verdicts over all patterns beside those over
every pattern, listed, d = 2 to 4: an undecided one is counted apart, and so is not_unique beside not_optimal: both deny
recovery, and not_unique says that nothing cheaper is known yet. By (d, n), Gaussian data: draws settled (violated,
or proved to be at most 1 - 1e-7), seconds of processor time, cones; of the exact oracle both signs of the dual
X (X^T X)^{-1} w*, and those that column generation ends with where that dual is violated but the neuron recovered; of
the gated oracle its largest value, to rounding. Missed by search: none of the climbs from 4 n random starts found a
violator where there is one. The tables of what search and samples miss are counted in stored grids; where a beam looks
for cells, a miss is a draw that it calls recovered and the proof does not. The interval of a share is Clopper and
Pearson's, at 95 %.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.stats import binomtest

from benchmarks import machine, written
from recovery.conditions.ascent import ascend
from recovery.conditions.neural_isometry import ROUNDING, search_isometry
from recovery.conditions.oracle import Bounds, exact_dual, largest_cell, largest_neuron
from recovery.errors import ParameterError, RecoverError
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Setting, Streams
from recovery.instances.draw import draw as drawn
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.methods.convex import PlantedProgram
from recovery.methods.generation import grown_program
from recovery.methods.min_norm import MinNorm
from recovery.methods.pricing import PROVED_BELOW
from recovery.programs.architecture import ARCHITECTURES
from recovery.store.grid import read
from recovery.types import Array, Mask, Rng

SIZES = [
    *((6, 8), (8, 10), (10, 13), (12, 16)),
    *((d, round(times * d)) for d in (8, 10, 12, 14, 16) for times in (1.5, 2, 3)),
    (20, 60),
]
GATED_SIZES = [(7, 28), (8, 28), (10, 30), (12, 36), (10, 40), (16, 48)]
NODES = 50_000_000
LIMIT = 1.0 - 1e-7
RESULTS = Path(__file__).parents[1] / "results" / "papers"
KINDS = (
    *("gaussian", "integers", "zero rows", "repeated rows", "opposite rows", "lower rank", "uneven rows"),
    "nearly equal rows",
)


def spoiled(kind: str, rng: Rng, n: int, d: int) -> Array:
    """Rows (n, d) with what the kind says; gaussian ones otherwise."""
    X: Array = rng.standard_normal((n, d))
    if kind == "integers":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif kind == "zero rows":
        X[rng.integers(n)] = 0.0
    elif kind == "repeated rows":
        X = X[rng.integers(0, n, n)]
    elif kind == "opposite rows":
        X[n // 2 :] = -X[: n - n // 2]
    elif kind == "lower rank":
        X[:, -1] = X[:, 0]
    elif kind == "uneven rows":
        X *= 10.0 ** rng.integers(-6, 7, (n, 1))
    elif kind == "nearly equal rows":
        X[n // 2 :] = X[: n - n // 2] + 1e-9 * rng.standard_normal((n - n // 2, d))
    return X


def exact_against_enumeration(instances: int) -> list[str]:
    def true(X: Array, lam: Array, cells: Mask) -> float:
        return max(nnls((np.where(on, 1.0, -1.0)[:, None] * X).T, -(X.T @ (lam * on)))[1] for on in cells.T)

    return _against_enumeration(instances, largest_neuron, true)


def gated_against_enumeration(instances: int) -> list[str]:
    def true(X: Array, lam: Array, cells: Mask) -> float:
        return float(np.linalg.norm((X * lam[:, None]).T @ cells, axis=0).max())

    return _against_enumeration(instances, largest_cell, true)


def _against_enumeration(
    instances: int, oracle: Callable[..., Bounds], largest_of: Callable[[Array, Array, Mask], float]
) -> list[str]:
    lines = ["| rows | compared | farther than 1e-6 | wrong | largest distance |", "|---" * 5 + "|"]
    for number, kind in enumerate(KINDS):
        compared = far = wrong = 0
        largest = 0.0
        each = -(-instances // len(KINDS))
        for seed in count():
            if compared == each:
                break
            rng = np.random.default_rng([number, seed])
            d, n = int(rng.integers(2, 5)), int(rng.integers(1, 12))
            X = spoiled(kind, rng, n, d)
            lam = rng.standard_normal(len(X)) if seed % 3 else rng.integers(-2, 3, len(X)).astype(float)
            size = float(np.abs(lam) @ np.linalg.norm(X, axis=1))
            try:
                cells, _ = enumerate_cells(X)
            except ParameterError:
                continue
            true, found = largest_of(X, lam, cells), oracle(X, lam)
            compared += 1
            distance = max(found.upper - true, true - found.lower, 0.0) / size if size else 0.0
            largest = max(largest, distance)
            far += int(distance > 1e-6)
            wrong += int(found.upper < true - 1e-12 * size or found.lower > true + 1e-12 * size)
        lines.append(f"| {kind} | {compared} | {far} | {wrong} | {largest:.1e} |")
    return lines


@dataclass(frozen=True)
class Spoiled:
    """Gaussian rows, or such of which some are zero, or repeated, opposite, or rounded to whole numbers."""

    how: str

    def draw(self, rng: np.random.Generator, n: int, d: int) -> Array:
        X: Array = rng.standard_normal((n, d))
        if self.how == "zero rows":
            X[::3] = 0.0
        elif self.how in ("repeated", "opposite"):
            X[1::2] = X[: n // 2] * (1.0 if self.how == "repeated" else -1.0)
        elif self.how == "integers":
            X = np.round(1.5 * X)
        return X


def verdicts_against_every_pattern(instances: int) -> list[str]:
    models: list[tuple[str, Planted]] = [
        *(("relu_skip", Linear()), ("relu", Relu()), ("relu", Relu(k=2))),
        *(("relu_skip", Relu()), ("relu_norm_skip", Linear())),
        *(("relu_norm", NormalizedRelu()), ("relu_norm", NormalizedRelu(k=2))),
    ]
    hows = ("gaussian", "zero rows", "repeated", "opposite", "integers")
    lines = [
        "| program | rows | compared | the same | other denial | undecided | different | recovered |",
        "|---" * 8 + "|",
    ]
    each = -(-instances // (2 * len(hows) * len(models)))
    for program, how in product(("exact", "gated"), hows):
        method, count = MinNorm(program=program), Counter[str]()  # type: ignore[arg-type]
        for number, (name, planted) in enumerate(models):
            for seed in range(each):
                rng = np.random.default_rng([7, number, seed])
                d = int(rng.integers(2, 5))
                n = int(rng.integers(d, 4 * d + 1))
                found, every = (
                    _measured(method, name, Setting(n, d, Spoiled(how), planted, patterns=Patterns(kind=kind)), seed)
                    for kind in ("all", "exhaustive")
                )
                if "refused" in (found, every):
                    continue
                both = {found, every}
                undecided, denied = len(both) == 2 and "undecided" in both, both == {"not_unique", "not_optimal"}
                alike = "same" if found == every else "denied" if denied else "different"
                count["undecided" if undecided else alike] += 1
                count["recovered"] += found == every == "recovered"
        total = count.total() - count["recovered"]
        lines.append(
            f"| {program} | {how} | {total} | {count['same']} | {count['denied']} | {count['undecided']} "
            f"| {count['different']} | {count['recovered']} |"
        )
    return lines


def _measured(method: MinNorm, name: str, setting: Setting, seed: int) -> str:
    architecture = ARCHITECTURES[name]
    try:
        instance = drawn(setting, Streams.spawn(np.random.default_rng([setting.n, setting.d, seed])), architecture)
        return str(method(instance, architecture).verdict)
    except RecoverError:
        return "refused"


def least_norm_dual(rng: np.random.Generator, n: int, d: int) -> tuple[Array, Array]:
    """X (n, d), and lam (n,) of least norm with X^T lam = w, a random unit vector."""
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    return X, X @ np.linalg.solve(X.T @ X, w / np.linalg.norm(w))


def timed(proof: Callable[..., Bounds], *duals: tuple[Any, ...], **options: Any) -> tuple[list[Bounds], float]:
    """The bounds of each dual, and the processor time of all."""
    began = time.process_time()
    return [proof(*dual, **options) for dual in duals], time.process_time() - began


def line(d: int, n: int, runs: list[tuple[list[Bounds], float]], within: float, more: str = "") -> str:
    """One of a table: a draw is settled if a value above the limit was met, or all bounds are below 1."""
    above = [any(bounds.lower > LIMIT for bounds in found) for found, _ in runs]
    ended = [over or all(b.upper < 1.0 for b in found) for over, (found, _) in zip(above, runs, strict=True)]
    settled = sum(end and seconds <= within for end, (_, seconds) in zip(ended, runs, strict=True))
    times, cones = [seconds for _, seconds in runs], [sum(b.cones for b in found) for found, _ in runs]
    text = (
        f"| {d} | {n} | {settled} of {len(runs)} | {sum(above)} {more}| {np.median(times):.3f} "
        f"| {max(times):.2f} | {int(np.median(cones))} | {max(cones)} |"
    )
    print(text, flush=True)
    return text


def head(within: float, more: str = "") -> list[str]:
    return [
        f"| d | n | settled in {within:.0f} s | violated {more}| seconds: median | largest | cones: median | largest |",
        "|---" * (8 + (more != "")) + "|",
    ]


def exact_by_size(draws: int) -> list[str]:
    lines = head(10, "| missed by search ")
    for d, n in SIZES:
        runs, missed = [], 0
        for draw in range(draws if d <= 16 else -(-draws // 5)):
            rng = np.random.default_rng([d, n, draw])
            X, lam = least_norm_dual(rng, n, d)
            runs.append(timed(largest_neuron, (X, lam), (X, -lam), limit=LIMIT, stop=True, nodes=NODES))
            missed += any(b.lower > LIMIT for b in runs[-1][0]) and not _climbed(X, lam, rng)
        lines.append(line(d, n, runs, 10, f"| {missed} "))
    return lines


def exact_near_the_transition(draws: int) -> list[str]:
    """Draws whose least-norm dual is violated and that are recovered: the dual that column generation leaves."""
    lines = head(10)
    for d in (8, 10, 12, 14, 16, 20):
        for n in sorted({round(1.2 * d), round(1.3 * d)}):
            runs = []
            for draw in range(draws):
                setting = Setting(n, d, patterns=Patterns(kind="all", nodes=NODES))
                instance = drawn(setting, Streams.spawn(np.random.default_rng([d, n, draw])))
                problem = PlantedProgram.of(instance, ARCHITECTURES["relu_skip"], "exact")
                found = grown_program(problem)[1]
                groups, lam = problem.program.balanced().groups, found.lam
                if lam is not None and found.patterns.size:
                    duals = (groups, lam, 1.0), (groups, lam, -1.0)
                    runs.append(timed(exact_dual, *duals, limit=PROVED_BELOW, nodes=NODES, stop=True))
            if runs:
                lines.append(line(d, n, runs, 10))
    return lines


def gated_by_size(draws: int) -> list[str]:
    lines = head(60)
    for d, n in GATED_SIZES:
        runs = []
        for draw in range(draws):
            X, lam = least_norm_dual(np.random.default_rng([d, n, draw]), n, d)
            runs.append(timed(largest_cell, (X, lam), nodes=NODES))
        lines.append(line(d, n, runs, 60))
    return lines


def missed_in_grids() -> list[str]:
    """Count stored draws with a violating pattern in which the search, or the sample, found none."""
    lines = ["| grid | d | n/d | draws | violated, proved | missed by search | by a sample |", "|---" * 7 + "|"]
    for name, value in (("all-isometry", "holds"), ("all-exact", "recovered")):
        rows = read(RESULTS / name).frame
        rows = rows[(rows["data.ensemble"] == "gaussian") & (rows["architecture"] == "relu_skip")]
        table = rows.pivot_table(value, ["d", "n", "replicate"], "patterns.kind", "first").dropna().astype(bool)
        table["n/d"] = table.index.get_level_values("n") / table.index.get_level_values("d")
        if name == "all-exact":
            table["n/d"] = "1 to 1.8"
        for (d, ratio), cell in table.groupby(["d", "n/d"]):
            violated = cell[~cell["all"]]
            lines.append(
                f"| {name} | {d} | {ratio} | {len(cell)} | {len(violated)} | {violated['searched'].sum()} "
                f"| {violated['sampled'].sum()} |"
            )
    return lines


def missed_by_dimension() -> list[str]:
    """Over all n, the share of draws with a violator in which a search finds none, and an upper bound on it."""
    lines = ["| grid | search | d | violated, proved | missed | share, 95 % |", "|---" * 6 + "|"]
    for name, value, search in (
        *(("all-isometry", "holds", kind) for kind in ("searched", "sampled")),
        *(("all-exact", "recovered", kind) for kind in ("searched", "sampled")),
        *(("all-growth", "recovered", "searched"), ("all-gated", "recovered", "searched")),
    ):
        if not (RESULTS / name).exists():
            continue
        rows = read(RESULTS / name).frame
        rows = rows[(rows["data.ensemble"] == "gaussian") & (rows["architecture"] == "relu_skip")]
        table = rows.pivot_table(value, ["d", "n", "replicate"], "patterns.kind", "first")
        table = table[["all", search]].dropna().astype(bool)
        for d, cell in table.groupby("d"):
            violated = cell[~cell["all"]]
            missed, of = int(violated[search].sum()), len(violated)
            if of:
                between = binomtest(missed, of).proportion_ci(0.95, "exact")
                share = f"{missed / of:.3f} ({between.low:.3f} to {between.high:.3f})"
                how = f"{search}, beam 64" if name == "all-growth" else search
                lines.append(f"| {name} | {how} | {d} | {of} | {missed} | {share} |")
    return lines


def searches_of_cells(draws: int) -> list[str]:
    """Violators of the least-norm dual that climbs and beams find, of those that are proved to exist up to d = 12."""
    names = ["climbs", "beam 16", "beam 64"]
    lines = [f"| d | n | violated, proved | {' | '.join(f'{name}: met | s' for name in names)} |", "|---" * 9 + "|"]
    for d, n in [(8, 32), (10, 30), (10, 40), (10, 50), (12, 48), (20, 60), (20, 80)]:
        met, seconds, kept = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0), 0
        for draw in range(20 * draws):
            X, lam = least_norm_dual(np.random.default_rng([d, n, draw]), n, d)
            if d <= 12 and not largest_cell(X, lam).lower > 1.0 + ROUNDING:
                continue
            w = (X.T @ lam)[:, None]
            for name in names:
                began, width = time.process_time(), None if name == "climbs" else int(name.split()[1])
                best = search_isometry(
                    ARCHITECTURES["relu_skip"],
                    X,
                    w,
                    np.ones(1),
                    np.random.default_rng(draw),
                    linear=True,
                    beam=width,
                )
                seconds[name] += time.process_time() - began
                met[name] += best is not None and best.value > 1.0 + ROUNDING
            kept += 1
            if kept == draws:
                break
        proved = str(kept) if d <= 12 else f"not known, of {kept}"
        found = " | ".join(f"{met[name]} | {seconds[name] / kept:.3f}" for name in names)
        lines.append(f"| {d} | {n} | {proved} | {found} |")
        print(lines[-1], flush=True)
    return lines


def enough_samples(draws: int) -> list[str]:
    """Count draws with a proved violator in which a sample of patterns, of several sizes, has one."""
    counts = [100, 1_000, 10_000, 100_000]
    lines = ["| d | n | violated, proved | " + " | ".join(f"{m} samples" for m in counts) + " |", "|---" * 7 + "|"]
    for d in (4, 6, 8, 10):
        met, kept, n = [0] * len(counts), 0, 3 * d
        for draw in range(draws):
            rng = np.random.default_rng([d, n, draw])
            X, lam = least_norm_dual(rng, n, d)
            if largest_cell(X, lam).lower <= 1.0 + ROUNDING:
                continue
            kept += 1
            seen, best = 0, 0.0
            for k, m in enumerate(counts):
                patterns = X @ rng.standard_normal((d, m - seen)) >= 0
                best = max(best, float(np.linalg.norm((X * lam[:, None]).T @ patterns, axis=0).max()))
                seen, met[k] = m, met[k] + (best > 1.0 + ROUNDING)
        lines.append(f"| {d} | {n} | {kept} of {draws} | " + " | ".join(str(count) for count in met) + " |")
        print(lines[-1], flush=True)
    return lines


def _climbed(X: Array, lam: Array, rng: np.random.Generator) -> bool:
    """Whether climbs reach a violator too."""
    groups = ARCHITECTURES["relu"].groups(X, np.ones((len(X), 1), dtype=np.bool_))
    starts = rng.standard_normal((X.shape[1], 4 * len(X)))
    return any(float(ascend(groups, s * lam, starts)[1].max()) > LIMIT for s in (1.0, -1.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=500)
    parser.add_argument("--draws", type=int, default=100, help="A fifth of them at d = 20 and of the gated ones.")
    parser.add_argument("--part", type=int, action="append", help="Of the tables, 1 first; repeatable. Default: all.")
    parser.add_argument("--out", type=Path, help="Tables of other parts that it holds stay.")
    options = parser.parse_args()
    few = -(-options.draws // 5)
    largest_neuron(np.eye(3), np.array([1.0, -1.0, 1.0]))  # compiled before anything is timed
    largest_cell(np.eye(3), np.array([1.0, -1.0, 1.0]))
    parts: dict[str, Callable[[], list[str]]] = {
        "Exact: against every cell": lambda: exact_against_enumeration(options.instances),
        "Gated: against every cell": lambda: gated_against_enumeration(options.instances),
        "Verdicts over all patterns: against every pattern": lambda: verdicts_against_every_pattern(options.instances),
        "Exact: the least-norm dual": lambda: exact_by_size(options.draws),
        "Exact: duals of column generation": lambda: exact_near_the_transition(options.draws),
        "Gated: the least-norm dual": lambda: gated_by_size(few),
        "What search and samples miss": missed_in_grids,
        "What search and samples miss, by d": missed_by_dimension,
        "Gated: climbs and beams that look for violators": lambda: searches_of_cells(few),
        "Gated: how many sampled patterns have a violator": lambda: enough_samples(few),
    }
    tables = {}
    if options.out and options.out.exists():
        tables = dict(section.split("\n\n", 1) for section in options.out.read_text().split("\n## ")[1:])
    for number, (title, table) in enumerate(parts.items(), 1):
        if options.part and number not in options.part:
            continue
        tables[title] = "\n".join([*table(), "", machine()]) + "\n"
        text = "# The oracle over all patterns\n" + "".join(
            f"\n## {title}\n\n" + tables[title].rstrip("\n") + "\n" for title in parts if title in tables
        )
        print(f"\n## {title}\n\n{tables[title]}", flush=True)
        if options.out:
            written(options.out, text.splitlines())


if __name__ == "__main__":
    main()
