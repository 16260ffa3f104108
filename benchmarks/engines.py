"""What each engine costs on two workers of this machine: start to first row, and a trial that computes nothing.

python -m benchmarks.engines [--trials N] [ENGINE...]        processes, threading, dask, ray

Each engine runs one trial, then N more in the same folder; what a trial costs is the difference, over N. Wall time,
so an idle machine is needed; `processes` is run before and after the others, and its two numbers show the noise.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.overhead import CONFIG

ENGINES = ("processes", "threading", "dask", "ray")


def seconds(config: Path, out: Path, engine: str, trials: int) -> float:
    """Wall seconds of `recover sweep` until so many trials are stored."""
    words = [config, "--out", out, "--jobs", 2, "--backend", engine, "--set", f"replicates={trials}", "--quiet"]
    clock = time.perf_counter()
    command = [sys.executable, "-m", "recovery.cli", "sweep", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - clock


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", default=[*ENGINES, "processes"])
    parser.add_argument("--trials", type=int, default=5000)
    given = parser.parse_args()
    print("| engine | start to end of 1 trial, s | further trials | ms a trial |\n|---|---|---|---|")
    for engine in given.engines:
        with tempfile.TemporaryDirectory() as name:
            config, out = Path(name) / "config.yaml", Path(name) / "out"
            config.write_text(CONFIG.format(replicates=1, seconds=0.0))
            first = seconds(config, out, engine, 1)
            more = seconds(config, out, engine, 1 + given.trials)
        cost = 1e3 * (more - first) / given.trials
        print(f"| {engine} | {first:.1f} | {given.trials} | {cost:.2f} |", flush=True)


if __name__ == "__main__":
    main()
