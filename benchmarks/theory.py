"""The long checks of the theory: run `python benchmarks/theory.py` (minutes), one process.

Where (orth-SNIC-L) is lost on Haar data, by search; the mean time of a
trial of Figure 10; Figure 17 point by point against its exact law.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from recovery.conditions.search import most_active
from recovery.config import load
from recovery.instances.ensembles import Haar
from recovery.runner.trial import measure


def show_strong_recovery(draws: int = 40) -> None:
    """The fraction of Haar draws on which no pattern with more than n - d active rows was found."""
    print("  d   n/d  held  of")
    for d in (10, 20, 40):
        for ratio in (5.0, 5.5, 6.0, 6.5, 7.0, 7.648):
            n = round(ratio * d)
            rng = np.random.default_rng([d, n])
            held = sum(most_active(Haar().draw(rng, n, d), rng).value <= n - d for _ in range(draws))
            print(f"{d:3d} {ratio:5.3f} {held:5d} {draws:3d}", flush=True)


def show_figure_10(sample: int = 200) -> None:
    """Mean CPU time of a trial, over trials drawn from the whole sweep."""
    trials = list(load("p1-fig10").trials())
    chosen = np.random.default_rng(0).choice(len(trials), sample, replace=False)
    start = time.process_time()
    for i in chosen:
        assert measure(trials[i])["status"] == "ok"
    mean = (time.process_time() - start) / sample
    print(f"figure 10: {1e3 * mean:.1f} ms a trial, {mean * len(trials):.0f} s of CPU for {len(trials)} trials")


def show_figure_17() -> None:
    """The largest |z| over the points of the sweep, and whether every frequency is on its law at level 1e-3."""
    scores = [measure(trial)["z_score"] for trial in load("p1-fig17").trials()]
    found = np.array([score for score in scores if score is not None])
    print(f"figure 17: {len(found)} points, largest |z| {np.abs(found).max():.2f}, sum of z^2 {np.sum(found**2):.1f}")


PARTS: dict[str, Callable[[], None]] = {
    "strong": show_strong_recovery,
    "figure10": show_figure_10,
    "figure17": show_figure_17,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which; all of them without")
    for part in parser.parse_args().parts or list(PARTS):
        PARTS[part]()
