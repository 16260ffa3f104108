"""Measurements of P4's moments: exact parameters, the rate from samples, time and memory, starts, outcomes.

python -m benchmarks.tensors            everything, about 20 minutes
python -m benchmarks.tensors rate       one part; the keys of `PARTS` name them
"""

import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from benchmarks import machine, one_thread
from recovery.instances.planted_functions import BiasedNetwork
from recovery.programs.relu_network import ReluNetwork, parameter_error
from recovery.report.claims import Analysis
from recovery.report.diagram import Diagram
from recovery.store.grid import read as stored
from recovery.tensors.hermite import Estimate, count_operations, estimate, exact, from_samples
from recovery.tensors.learner import learn, weighted
from recovery.tensors.polish import EXACT, PER_START, ROWS, flatten, polish, random_start, random_starts, search
from recovery.tensors.printed_steps import fix_signs
from recovery.tensors.scalars import regress
from recovery.tensors.signs import signs
from recovery.types import Array, Rng

GRIDS = Path(__file__).parents[1] / "results" / "papers"
SPREAD = {"outer": "spread"}
CHUNK = 8192
"""Rows that the stream draws at once."""
NETWORKS = 50
"""Networks per case, N and series of seeds in the check of `identified`: 1 000 per series in all."""
SERIES = (2000, 3000)
"""First seeds of the series. The limit of `identified` was chosen with the series of 0 and 1000."""


def network(seed: int, d: int, m: int, **law: object) -> ReluNetwork:
    return BiasedNetwork(m, **(SPREAD | law)).draw(np.random.default_rng(seed), np.empty((1, d))).network.unit()  # type: ignore[arg-type]


def stream(planted: ReluNetwork, rng: Rng, n: int) -> Iterator[tuple[Array, Array]]:
    """Yield n samples in chunks."""
    for start in range(0, n, CHUNK):
        X = rng.standard_normal((min(CHUNK, n - start), planted.W.shape[1]))
        yield X, planted(X)


def exact_parameters() -> list[str]:
    """Must show 1: parameters from exact moments, 100 networks a line."""
    lines = [
        "| networks | l | weights by | identified | largest parameter error | median |",
        "|---|---|---|---|---|---|",
    ]
    cases: list[tuple[str, int, int, int, dict[str, object]]] = [
        ("d = 10, m = 5", 10, 5, 1, {}),
        ("d = 10, m = 5, zero biases", 10, 5, 1, {"biases": "zero"}),
        ("d = m = 10", 10, 10, 1, {}),
        ("d = m = 10, zero biases", 10, 10, 1, {"biases": "zero"}),
        ("d = 10, m = 5, equal biases", 10, 5, 1, {"biases": "equal"}),
        ("d = 5, m = 9", 5, 9, 2, {}),
        ("d = 5, m = 9, zero biases", 5, 9, 2, {"biases": "zero"}),
        ("d = 5, m = 15", 5, 15, 2, {}),
    ]
    for name, d, m, order, law in cases:
        for joint in (True, False):
            errors, found = [], Counter[str]()
            for seed in range(100):
                planted = network(seed, d, m, **law)
                learned = learn(exact(planted, order, np.eye(d)), m, np.random.default_rng(seed), joint)
                error = parameter_error(learned.units, planted)
                errors.append(np.inf if error is None else error)
                found[learned.status.label] += 1
            way = "all orders" if joint else "two orders"
            lines.append(
                f"| {name} | {order} | {way} | {found['identified']} of 100 | {max(errors):.1e} | "
                f"{np.median(errors):.1e} |"
            )
    found, errors = Counter(), []
    for seed in range(100):
        W = network(seed, 4, 6).W
        planted = ReluNetwork(W, np.zeros(6), np.linalg.svd(W.T)[2][-1])
        learned = learn(exact(planted, 2, np.eye(4)), 6, np.random.default_rng(seed))
        found[learned.status.label] += 1
        error = parameter_error(learned.units, planted, up_to_sign=True)
        errors.append(np.inf if error is None else error)
    counts = ", ".join(f"{count} {label}" for label, count in found.items())
    return [
        *lines,
        "",
        f"Claim 4.8 (d = 4, m = 6, l = 2, outer weights that make the signs ambiguous): {counts}; largest error up to "
        f"sign {max(errors):.1e}.",
    ]


def rate() -> list[str]:
    """Must show 2: error against N, time a sample against its operations, memory."""
    d, m, networks = 10, 5, 10
    sizes = [10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 3 * 10**6, 10**7]
    (worst, mean, moments), peaks, speeds = np.empty((3, networks, len(sizes))), [], []
    G = np.eye(d)
    for j, n in enumerate(sizes):
        for seed in range(networks):
            planted, rng = network(seed, d, m), np.random.default_rng([seed, n])
            tracemalloc.start()
            found = estimate(stream(planted, rng, n), 1, G)
            if seed == 0:
                peaks.append(tracemalloc.get_traced_memory()[1] / 2**20)
            tracemalloc.stop()
            known, scaled = weighted(exact(planted, 1, G).moments), weighted(found.moments)
            moments[seed, j] = np.linalg.norm(scaled - known) / np.linalg.norm(known)
            gaps = weight_errors(learn(found, m, np.random.default_rng(0), trust=True).units.W, planted)
            worst[seed, j], mean[seed, j] = gaps.max(), np.sqrt(np.mean(gaps**2))
    X = np.random.default_rng(0).standard_normal((200_000, d))
    y, A = network(0, d, m)(X), np.random.default_rng(0).random((600, 600))
    for _ in range(5):
        own = seconds(lambda: from_samples(X, y, 1, G))
        product = np.median([seconds(lambda: A @ A) for _ in range(5)])
        speeds.append((count_operations(d, d, 1) * len(X) / own, 2 * 600**3 / product, own / len(X)))
    achieved, possible, each = np.median(speeds, axis=0)
    lines = [
        "| N | error of the moments | weights, root mean square | largest | quartiles of the largest | peak memory |",
        "|---|---|---|---|---|---|",
    ]
    for n, own, square, column, peak in zip(sizes, moments.T, mean.T, worst.T, peaks, strict=True):
        low, middle, high = np.percentile(column, [25, 50, 75])
        lines.append(
            f"| {n:.0e} | {np.median(own):.3g} | {np.median(square):.3g} | {middle:.3g} | {low:.3g} to {high:.3g} | "
            f"{peak:.2f} MiB |"
        )
    return [
        *lines,
        "",
        f"d = {d}, m = {m}, medians of {networks} networks. Slope of log error over log N, with 95 % intervals over "
        f"networks: moments {slope(sizes, moments)}; weights (root mean square) {slope(sizes, mean)} over all N and "
        f"{slope(sizes[4:], mean[:, 4:])} from N = 1e6; the largest {slope(sizes, worst)} and "
        f"{slope(sizes[4:], worst[:, 4:])}.",
        f"{1e9 * each:.0f} ns a sample for {count_operations(d, d, 1)} operations: {achieved / 1e9:.1f} of "
        f"{possible / 1e9:.1f} GFLOP/s in a matrix product of 600, {achieved / possible:.0%} "
        "(medians of 5, interleaved; monomials and weights are in the time and not in the count). Plain "
        "averages: nothing is taken off the labels.",
    ]


def near() -> list[str]:
    """The limit of the rate: exact moments and ever smaller parts of what 10^5 samples add to them."""
    d, m, networks, n = 10, 5, 10, 10**5
    shares = [1.0, 0.3, 0.1, 0.03, 0.01, 0.001]
    errors, G = np.empty((networks, len(shares))), np.eye(d)
    for seed in range(networks):
        planted, rng = network(seed, d, m), np.random.default_rng([seed, n])
        found, known = estimate(stream(planted, rng, n), 1, G), exact(planted, 1, G)
        for j, share in enumerate(shares):
            mixed = [share * T + (1.0 - share) * own for T, own in zip(*map(parts, (found, known)), strict=True)]
            moments = replace(known.moments, whole=tuple(mixed[:3]), odd=mixed[3], even=mixed[4])
            W = learn(replace(found, moments=moments), m, np.random.default_rng(0), trust=True).units.W
            errors[seed, j] = weight_errors(W, planted).max()
    as_samples = [n / share**2 for share in shares]
    lines = ["| as from N | largest weight error |", "|---|---|"]
    lines += [f"| {size:.0e} | {np.median(e):.2g} |" for size, e in zip(as_samples, errors.T, strict=True)]
    return [
        *lines,
        "",
        f"d = {d}, m = {m}, medians of {networks} networks. Slope of log error over log N: "
        f"{slope(as_samples[:3], errors[:, :3])} to 1e7, {slope(as_samples[2:], errors[:, 2:])} from there. Not "
        f"drawn: the error of moments from N = {n:.0e}, made smaller.",
    ]


def parts(estimated: Estimate) -> list[Array]:
    return [*estimated.moments.whole, estimated.moments.odd, estimated.moments.even]


def degree2() -> list[str]:
    """The same samples averaged as they are, and less what a polynomial of degree 2 explains."""
    d, m, networks = 10, 5, 10
    lines = [
        "| N | error of the moments, plain | less degree 2 | largest weight error, plain | less degree 2 |",
        "|---|---|---|---|---|",
    ]
    for n in (10**3, 10**4, 10**5):
        rows = []
        for seed in range(networks):
            planted, rng = network(seed, d, m), np.random.default_rng([seed, n])
            X = rng.standard_normal((n, d))
            y, G = planted(X), np.eye(d)
            known = weighted(exact(planted, 1, G).moments)
            pair = estimate([(X, y)], 1, G), from_samples(X, y, 1, G)
            moments = [np.linalg.norm(weighted(way.moments) - known) / np.linalg.norm(known) for way in pair]
            units = [learn(way, m, np.random.default_rng(0), data=(X, y), trust=True).units for way in pair]
            rows.append([*moments, *(weight_errors(found.W, planted).max() for found in units)])
        lines.append(f"| {n:.0e} | {' | '.join(f'{value:.3g}' for value in np.median(rows, axis=0))} |")
    return [*lines, "", f"d = {d}, m = {m}, medians of {networks} networks, the same samples for both."]


def weight_errors(W: Array, planted: ReluNetwork) -> Array:
    """The distances of matched unit weights up to sign, (m,)."""
    gaps = np.minimum(*(np.linalg.norm(W[:, None] - sign * planted.W[None], axis=2) for sign in (1, -1)))
    return gaps[linear_sum_assignment(gaps)]


def slope(sizes: Sequence[float], errors: Array) -> str:
    """The mean of the networks' own slopes, with its 95 % t interval."""
    x = np.log(sizes) - np.mean(np.log(sizes))
    own = np.log(errors) @ x / (x @ x)
    half = stats.t.ppf(0.975, len(own) - 1) * np.std(own, ddof=1) / np.sqrt(len(own))
    return f"{own.mean():.3f} +- {half:.3f}"


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def weights_and_signs() -> list[str]:
    """The joint decomposition against Algorithm 4, and the nearest signs against Algorithm 3, on the same samples."""
    d, m, networks = 10, 5, 20
    lines = [
        "| N | weights off, all orders | two orders (Alg. 4) | first nearer | wrong signs, Alg. 3 | nearest sum |",
        "|---|---|---|---|---|---|",
    ]
    for n in (10**4, 10**5):
        rows = []
        for seed in range(networks):
            planted, rng = network(seed, d, m, bias=2.0), np.random.default_rng([seed, n])
            X = rng.standard_normal((n, d))
            y = planted(X)
            found = from_samples(X, y, 1, np.eye(d))
            errors = []
            for joint in (True, False):
                W = learn(found, m, np.random.default_rng(0), joint, (X, y), True).units.W
                errors.append(weight_errors(W, planted).max())
            # both from the same start: the planted units with random signs, and weights off by the error of this N
            turn = rng.choice([-1.0, 1.0], m)
            W = turn[:, None] * planted.W + 30.0 / np.sqrt(n * d) * rng.standard_normal((m, d))
            W /= np.linalg.norm(W, axis=1, keepdims=True)
            b = turn * planted.b
            printed = np.where(fix_signs(W, planted.a, found.moments.whole[1]), -1.0, 1.0)
            a, v, c = regress(X, y, W, b)
            nearest = np.where(signs(W, b, a, v, c)[0], -1.0, 1.0)
            rows.append((*errors, errors[0] < errors[1], np.mean(printed != turn), np.mean(nearest != turn)))
        values = np.array(rows, dtype=float)
        lines.append(
            f"| {n:.0e} | {np.median(values[:, 0]):.3g} | {np.median(values[:, 1]):.3g} | "
            f"{int(values[:, 2].sum())} of {networks} | {values[:, 3].mean():.1%} | {values[:, 4].mean():.1%} |"
        )
    return [*lines, "", f"d = {d}, m = {m}, biases uniform on [-2, 2], {networks} networks, paired."]


def diagrams() -> list[str]:
    """Must show 3: where rows of stored sweeps cross one half."""
    lines = ["| sweep | row | n at 50 % | 95 % interval |", "|---|---|---|---|"]
    notes = []
    for name in ("p4-recovery", "p4-smoothed"):
        diagram = Diagram.of(stored(GRIDS / name))
        for row in Analysis(diagram).slices[0]:
            half, up = row.interval, str(diagram.layout.y).rpartition(".")[2]
            lines.append(f"| {name} | {up} = {row.y:g} | {half.estimate:.4g} | {half.low:g} to {half.high:g} |")
        notes.append(f"{name}: {diagram.summary()}.")
    return [*lines, "", " ".join(notes)]


def starts() -> list[str]:
    """Must show 3: the polished tensor start against as many random starts as fit in its time."""
    d, networks = 10, 20
    lines = [
        "| m | N | tensor start fits | random starts fit | tensor alone | random alone | p | random starts |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for m, n in [(5, 500), (5, 5000), (5, 50_000), (8, 50_000)]:
        rows, counts = [], []
        for seed in range(networks):
            planted, rng = network(seed, d, m), np.random.default_rng([seed, n, m])
            X = rng.standard_normal((n, d))
            y = planted(X)
            begin = time.process_time()
            units = learn(from_samples(X, y, 1, np.eye(d)), m, rng, True, (X, y), True).units
            first = search(X, y, [units], PER_START).residual < EXACT
            budget, begin, second, tried = time.process_time() - begin, time.process_time(), False, 0
            part = slice(ROWS * len(flatten(units)))
            while not second and time.process_time() - begin < budget:
                second = polish(X[part], y[part], random_start(X[part], y[part], m, rng), PER_START).residual < EXACT
                tried += 1
            rows.append((first, second))
            counts.append(tried)
        one, two = np.array(rows).T
        only, other = int(np.sum(one & ~two)), int(np.sum(two & ~one))
        p = stats.binomtest(only, only + other).pvalue if only + other else 1.0
        lines.append(
            f"| {m} | {n} | {one.sum()} of {networks} | {two.sum()} of {networks} | {only} | {other} | {p:.2g} | "
            f"{np.mean(counts):.1f} |"
        )
    return [
        *lines,
        "",
        f"d = {d}, {networks} networks each, the same samples for both. p: exact sign test of the pairs that differ. "
        f"Processor time of moments, decomposition and one polish of at most {PER_START} evaluations; the "
        "last random start is let finish.",
    ]


def outcomes() -> list[str]:
    """Must show 4: what the learner says where something is wrong."""
    d, m, networks = 6, 3, 20
    lines = ["| case | N | outcomes of 20 networks | median function error |", "|---|---|---|---|"]
    cases: list[tuple[str, dict[str, object], float]] = [
        ("nothing wrong", {}, 0.0),
        ("dependent weights", {"weights": "dependent"}, 0.0),
        ("equal biases", {"biases": "equal", "bias": 0.5}, 0.0),
        ("one bias of 10", {"biases": "huge"}, 0.0),
        ("noise of variance 1", {}, 1.0),
        ("noise of variance 100", {}, 10.0),
    ]
    for name, law, noise in cases:
        for n in (300, 10**4, 10**5):
            found, errors = Counter[str](), []
            for seed in range(networks):
                planted, rng = network(seed, d, m, **law), np.random.default_rng([seed, n])
                X = rng.standard_normal((n, d))
                y = planted(X) + noise * rng.standard_normal(n)
                learned = learn(from_samples(X, y, 1, np.eye(d)), m, rng, data=(X, y))
                found[learned.status.label] += 1
                errors.append(relative(learned.network, planted))
            counts = ", ".join(f"{label} {count}" for label, count in found.most_common())
            lines.append(f"| {name} | {n:.0e} | {counts} | {np.median(errors):.2g} |")
    return [*lines, "", f"d = {d}, m = {m}, l = 1; the weights that stand above the noise."]


def identified() -> list[str]:
    """Must show 4: whether networks that are called identified from samples are the planted ones."""
    lines = [
        "| case | N | networks | identified | others | largest error | above 0.3 | false: above 0.4 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    cases: list[tuple[str, int, int, dict[str, object], float]] = [
        ("d = 6, m = 3", 6, 3, {}, 0.0),
        ("d = 6, m = 3, equal biases", 6, 3, {"biases": "equal", "bias": 0.5}, 0.0),
        ("d = 6, m = 3, noise of variance 1", 6, 3, {}, 1.0),
        ("d = 6, m = 3, biases up to 2", 6, 3, {"bias": 2.0}, 0.0),
        ("d = 10, m = 5", 10, 5, {}, 0.0),
    ]
    total, false = 0, 0
    for name, d, m, law, noise in cases:
        for n in (3000, 10**4, 3 * 10**4, 10**5):
            said, errors = Counter[str](), []
            for seed in (first + i for first in SERIES for i in range(NETWORKS)):
                planted, rng = network(seed, d, m, **law), np.random.default_rng([seed, n, d])
                X = rng.standard_normal((n, d))
                y = planted(X) + noise * rng.standard_normal(n)
                learned = learn(from_samples(X, y, 1, np.eye(d)), m, rng, data=(X, y))
                said[learned.status.label] += 1
                if learned.status.label == "identified":
                    error = parameter_error(learned.units, planted)
                    errors.append(np.inf if error is None else error)
            count, off = said.pop("identified", 0), np.array(errors)
            total, false = total + count, false + int(np.sum(off > 0.4))
            others = ", ".join(f"{label} {number}" for label, number in said.most_common())
            lines.append(
                f"| {name} | {n:.0e} | {NETWORKS * len(SERIES)} | {count} | {others} | "
                f"{max(errors, default=np.nan):.2f} | {np.sum(off > 0.3)} | {np.sum(off > 0.4)} |"
            )
    most = stats.beta.ppf(0.95, false + 1, total - false)
    return [
        *lines,
        "",
        f"{false} of {total} identified networks are false; with 95 % confidence at most {most:.1%}. The error is the "
        "largest ||(w, b, a) - (w*, b*, a*)|| of a unit, where ||w|| = 1, signs included.",
    ]


def tables() -> list[str]:
    """Compare learned networks on real tables with least squares, by squared test errors."""
    rng = np.random.default_rng(0)
    diabetes = load_diabetes(return_X_y=True)
    planted = network(0, 10, 3)
    normal, skew = rng.standard_normal((2000, 10)), rng.exponential(size=(2000, 10))
    noise = 0.1 * rng.standard_normal(2000)
    cases: list[tuple[str, Array, Array]] = [
        ("diabetes (442 x 10)", *diabetes),
        ("network of 3, normal columns (2000 x 10)", normal, planted(normal) + noise),
        ("network of 3, exponential columns (2000 x 10)", skew, planted(skew - 1.0) + noise),
    ]
    lines = [
        "| table | units found, outcomes | moments | moments, polished | random starts, polished | forest |",
        "|---|---|---|---|---|---|",
    ]
    for name, X, y in cases:
        ratios, found = [], Counter[str]()
        for seed in range(10):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[: 3 * len(y) // 4], order[3 * len(y) // 4 :]
            centre, (values, vectors) = X[train].mean(axis=0), np.linalg.eigh(np.cov(X[train].T))
            Z, scale = (X - centre) @ vectors / np.sqrt(values), y[train].std()
            t = (y - y[train].mean()) / scale
            data, own = (Z[train], t[train]), np.random.default_rng(seed)
            learned = learn(from_samples(*data, 1, np.eye(Z.shape[1])), 3, own, True, data, True)
            found[f"{learned.rank} {learned.status.label}"] += 1
            affine = np.linalg.lstsq(np.column_stack([Z[train], np.ones(len(train))]), t[train], rcond=None)[0]
            models: list[Callable[[Array], Array]] = [
                learned.network,
                search(*data, [learned.units], 240).network,
                search(*data, random_starts(*data, 3, own), 240).network,
                RandomForestRegressor(random_state=seed).fit(*data).predict,
            ]
            plain = np.mean((Z[test] @ affine[:-1] + affine[-1] - t[test]) ** 2)
            ratios.append([np.mean((model(Z[test]) - t[test]) ** 2) / plain for model in models])
        counts = ", ".join(f"{label}: {count}" for label, count in found.most_common())
        lines.append(f"| {name} | {counts} | {' | '.join(f'{value:.2f}' for value in np.median(ratios, axis=0))} |")
    return [
        *lines,
        "",
        "Medians of 10 splits, three quarters to learn from; whitened columns; 3 units. Squared test error divided by "
        "the error of least squares on the columns: 1 is a linear model.",
    ]


def relative(found: ReluNetwork, planted: ReluNetwork) -> float:
    return float(np.sqrt((found + -planted).square_norm() / planted.square_norm()))


PARTS: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "exact": ("Parameters from exact moments", exact_parameters),
    "rate": ("The rate from samples, time and memory", rate),
    "near": ("Weights from ever better moments", near),
    "degree2": ("What taking off degree 2 is worth", degree2),
    "signs": ("Weights from all orders at once, and signs", weights_and_signs),
    "diagrams": ("Phase diagrams of the polished tensor start", diagrams),
    "starts": ("Tensor starts against random ones in equal time", starts),
    "outcomes": ("What the learner says", outcomes),
    "identified": ("Whether what is called identified is right", identified),
    "tables": ("Tables that users bring", tables),
}


def main() -> None:
    path = Path(__file__).with_suffix(".md")
    wanted = sys.argv[1:] or list(PARTS)
    sections = read(path)
    with one_thread():
        for name in wanted:
            title, part = PARTS[name]
            sections[title] = "\n".join(part())
            print(f"## {title}\n\n{sections[title]}\n", flush=True)
    order = [title for title, _ in PARTS.values() if title in sections]
    body = "\n\n".join(f"## {title}\n\n{sections[title]}" for title in order)
    path.write_text(f"{body}\n\nOne thread, {machine()}\n")


def read(path: Path) -> dict[str, str]:
    """The sections that are stored, if they are of this commit and machine."""
    stored = path.read_text() if path.exists() else ""
    if machine() not in stored:
        return {}
    parts = stored.rpartition("\n\nOne thread")[0].split("## ")[1:]
    return {title: text.strip() for title, _, text in (part.partition("\n\n") for part in parts)}


if __name__ == "__main__":
    main()
