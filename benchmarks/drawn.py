"""Regularised gated programs of drawn sizes and penalties: ours against celer, to a gap of 1e-6.

    python -m benchmarks.drawn [--limit S] [--to FILE]      writes drawn.md

Each of three seeds draws 30 programs, alternately of `relu` and `relu_skip`: n from 100 to 800, d from 10 to 100 and
beta from 1e-3 to 1e-1 of the least one at which all weights are zero, each with a uniform logarithm. Processor time on
one thread; as in `benchmarks.peers`, a rival's tolerance is tightened until it reaches the gap, and only the run that
reaches it is timed.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import arguments, machine, one_thread, resumed, table, written
from benchmarks.peers import Problem, ours, rival
from recovery.programs.certificate import certify

GAP = 1e-6
SEEDS = (4, 5, 6)
COUNT = 30


def sizes(seed: int) -> Iterator[tuple[int, int, float, str]]:
    """(n, d, beta over the largest one, architecture) of each program."""
    rng = np.random.default_rng(seed)
    for i in range(COUNT):
        n, d, fraction = np.exp(rng.uniform(np.log((100, 10, 1e-3)), np.log((800, 100, 1e-1))))
        yield round(n), round(d), float(f"{fraction:.2g}"), ("relu", "relu_skip")[i % 2]


def measured(seed: int, n: int, d: int, fraction: float, architecture: str, limit: float) -> dict[str, object]:
    """One program; `over` is the time of celer over ours, a lower bound where celer has not reached the gap."""
    problem = Problem(n, d, fraction, architecture)
    ours(problem, GAP)  # compiles
    seconds, solution = ours(problem, GAP)
    theirs = rival("celer", n, d, fraction, architecture, limit, GAP)
    reached = theirs is not None and theirs[1] <= GAP
    return {
        "seed": seed,
        "program": f"{architecture} ({n}, {d}), {fraction:.1e}",
        "ms": 1e3 * seconds,
        "groups": certify(problem.program, solution).active_groups,
        "gap": certify(problem.program, solution).gap,
        "over": (limit if theirs is None else theirs[0]) / seconds,
        "celer": "reached" if reached else "no run ended" if theirs is None else f"gap {theirs[1]:.0e} at best",
    }


def main() -> None:
    given = arguments(__doc__, limit=10.0, to=Path())
    cases = [(seed, *size, given.limit) for seed in SEEDS for size in sizes(seed)]
    done = resumed(given.to, cases, measured)
    rows = []
    for seed in SEEDS:
        over = np.array([one["over"] for one in done if one["seed"] == seed])
        counts = f"{(over >= 10).sum()} of {len(over)}", (over >= 5).sum()
        rows.append([seed, *counts, f"{over.min():.1f}x", f"{np.median(over):.0f}x"])
    lines = [f"{machine()} One thread, processor time; limit {given.limit:g} s.", ""]
    lines += [*table(("seed", "at least 10x", "at least 5x", "least", "median"), rows), ""]
    rows = []
    for one in done:
        shown = f"{one['over']:.1f}x{'' if one['celer'] == 'reached' else ', ' + one['celer']}"
        rows.append([one["seed"], one["program"], f"{one['ms']:.3g} ms", f"{one['gap']:.0e}", one["groups"], shown])
    columns = ("seed", "program, beta / largest", "recover", "gap", "groups", "celer over recover")
    written(__file__, [*lines, *table(columns, rows)])


if __name__ == "__main__":
    with one_thread():
        main()
