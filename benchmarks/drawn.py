"""Regularised gated programs of drawn sizes and penalties: ours against celer, to a gap of 1e-6.

    python -m benchmarks.drawn [--limit S] [--to FILE]      writes drawn.md

Each of three seeds draws 30 programs, alternately of `relu` and `relu_skip`: n from 100 to 800, d from 10 to 100 and
beta from 1e-3 to 1e-1 of the least one at which all weights are zero, each with a uniform logarithm. Processor time on
one thread; as in `benchmarks.peers`, a rival's tolerance is tightened until it reaches the gap, and only the run that
reaches it is timed.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import machine, one_thread, written
from benchmarks.peers import Problem, ours, rival
from recovery.programs.certificate import certify

GAP = 1e-6
SEEDS = (1, 2, 3)
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, default=10.0, help="processor seconds of celer on a program")
    parser.add_argument("--to", type=Path, help="JSON file of the programs so far, which are not measured again")
    given = parser.parse_args()
    done = json.loads(given.to.read_text()) if given.to and given.to.exists() else []
    with one_thread():
        for cell in [(seed, *size) for seed in SEEDS for size in sizes(seed)][len(done) :]:
            done.append(measured(*cell, given.limit))
            print(done[-1], flush=True)
            if given.to:
                given.to.write_text(json.dumps(done))
    lines = [
        f"{machine()} One thread, processor time; limit {given.limit:g} s.",
        "",
        "| seed | at least 10x | at least 5x | least | median |",
        "|---|---|---|---|---|",
    ]
    for seed in SEEDS:
        over = np.array([one["over"] for one in done if one["seed"] == seed])
        least, median = over.min(), np.median(over)
        lines.append(
            f"| {seed} | {(over >= 10).sum()} of {len(over)} | {(over >= 5).sum()} | {least:.1f}x | {median:.0f}x |"
        )
    lines += ["", "| seed | program, beta / largest | recover | gap | groups | celer over recover |", "|" + "---|" * 6]
    lines += [
        f"| {one['seed']} | {one['program']} | {one['ms']:.3g} ms | {one['gap']:.0e} | {one['groups']} | "
        + f"{one['over']:.1f}x{'' if one['celer'] == 'reached' else ', ' + one['celer']} |"
        for one in done
    ]
    written(__file__, lines)


if __name__ == "__main__":
    main()
