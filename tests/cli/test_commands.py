"""Each command once, in its own process, as a shell starts it; other tests call commands in the test process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recovery.cli.main import COMMANDS
from recovery.store import read
from tests.processes import Run, forked_commands
from tests.suites import first

SWEEP = ["sweep", "quickstart", "--set", "axes.n=[10, 40]", "--set", "axes.d=[5, 10]", "--set", "replicates=2"]
RUNS: dict[str, tuple[list[str], str]] = {
    "certificate": (["GRID", "TRIAL", "--out", "OUT/certificate.npz"], "equal to its stored row"),
    "check": (["CONFIG", "--set", "sampling={kind: until, rule: 'threshold +-0.4'}"], "in 5 simulated sweeps"),
    "compact": (["GRID"], "grid"),
    "compare": (["GRID", "GRID", "--out", "OUT/x.csv"], "recovered"),
    "configs": ([], "p1-fig06"),
    "merge": (["GRID", "--out", "OUT/merged"], "8 of 8 trials stored"),
    "replay": (["GRID", "TRIAL", "--save", "OUT/one.npz"], "equal to its stored row"),
    "reproduce": (["p2-fig01", "--replicates", "1", "--out", "OUT/papers"], "p2-fig01"),
    "report": (["GRID"], "fraction recovered: 0"),
    "status": (["GRID"], "8 of 8 trials stored, 0 missing"),
    "submit": (["CONFIG", "--array", "1", "--out", "OUT/submitted"], "sbatch"),
    "sweep": ([*SWEEP[1:], "--out", "OUT/out"], "8 of 8 trials stored (8 run now)"),
    "trials": (["GRID", "--where", "n > 0"], "trial_id"),
    "verify": (["GRID", "--sample", "1"], "1 of 8 rows replayed"),
}
"""A command -> its arguments, with places in capitals, and what it then says."""


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with forked_commands() as run:
        yield run


def in_place(arguments: list[str], places: dict[str, str]) -> list[str]:
    """Replace the words in capitals of a call in `RUNS`."""
    return ["/".join(places.get(part, part) for part in word.split("/")) for word in arguments]


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Return all output of a command, which must have succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    said(run(folder, *SWEEP, "--out", "grid", "--jobs", "1"))
    return folder


def test_every_command_is_tried() -> None:
    assert RUNS.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", first(1, ["report", *sorted(RUNS.keys() - {"report"})]))
def test_a_command_runs_in_its_own_process(folder: Path, run: Run, name: str) -> None:
    arguments, text = RUNS[name]
    places = {
        "GRID": "grid",
        "CONFIG": "quickstart",
        "OUT": ".",
        "TRIAL": read(folder / "grid").frame["trial_id"].iloc[0],
    }
    assert text in said(run(folder, name, *in_place(arguments, places)))


def test_the_module_runs_as_a_program(folder: Path) -> None:
    command = [sys.executable, "-m", "recovery.cli", "status", "grid"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert "8 of 8 trials stored, 0 missing" in said(done)


LIGHT = {
    "--help": "numpy scipy pandas cvxpy matplotlib pydantic",
    "check quickstart": "pandas pyarrow matplotlib altair numba cvxpy joblib",
    "status grid": "pandas matplotlib altair numba cvxpy joblib scipy.special",
    "report grid --format csv": "matplotlib altair numba cvxpy rich.console",
    "report grid --format terminal": "matplotlib altair numba cvxpy scipy.stats",
    "report grid --format png": "matplotlib.pyplot altair numba cvxpy",
}
"""A command, and what takes long to import: neither the command nor one before it in the same process may import it."""
READ = """
import sys
from recovery.cli.main import main
from threadpoolctl import threadpool_info
for command, heavy in zip(sys.argv[1::2], sys.argv[2::2]):
    main(command.split(), standalone_mode=False)
    print(sorted(set(heavy.split()) & set(sys.modules)), {one["num_threads"] for one in threadpool_info()},
        file=sys.stderr)
"""


@pytest.mark.parametrize("cases", [list(LIGHT.items())[:2], list(LIGHT.items())[2:]], ids=["no rows", "rows"])
def test_what_only_reads_imports_nothing_that_it_does_not_need(cases: list[tuple[str, str]], folder: Path) -> None:
    command = [sys.executable, "-c", READ, *(word for case in cases for word in case)]
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=free)
    assert done.stdout
    # threads of BLAS take as long to begin as a module to load
    said = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert said == [f"[] {'set()' if command == '--help' else '{1}'}" for command, _ in cases]
