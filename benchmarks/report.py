"""A report of 10^6 rows: seconds, processor seconds and peak memory of each format, on a deep grid and a wide one.

    python -m benchmarks.report [--quick] [--keep FOLDER] [--against CHECKOUT [--formats html ...]]

Rows have all columns that a sweep of convex programs fills; outcomes are drawn from Wendel's law, and a few trials
fail. Times are also given as multiples of what `pandas.read_parquet` takes for the same folder, in the same run. With
a checkout of another commit, its reports and these take turns, and only processor seconds are compared.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks import machine, written

FORMATS = ("terminal", "csv", "json", "png", "svg", "pdf", "html")
PART = 50_000
ENSEMBLES = ("gaussian", "haar", "rademacher", "binary")
ROUNDS = 3
"""Runs of each of two checkouts."""


class Shape(NamedTuple):
    """n and d = 1, 2, ..., size; `replicates` a cell; as many ensembles as panels."""

    name: str
    size: int
    replicates: int
    panels: int = 1


SHAPES = (Shape("deep", 100, 100), Shape("wide", 500, 4))
QUICK = (Shape("deep", 20, 20), Shape("wide", 60, 2))


class Cost(NamedTuple):
    """Resources that one process used."""

    wall: float
    processor: float
    peak: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small grids, for trying the script")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the grids there once, and keep them")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another commit's files, to compare with")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS, help="which to compare")
    arguments = parser.parse_args()
    shapes = QUICK if arguments.quick else SHAPES
    with TemporaryDirectory() as scratch:
        made = grids(shapes, arguments.keep or Path(scratch))
        if arguments.against:
            rounds = 1 if arguments.quick else ROUNDS
            lines = compared(shapes, made, arguments.against, arguments.formats, Path(scratch), rounds)
        else:
            lines = table(shapes, made, Path(scratch))
    written(__file__, lines, kept=not arguments.quick and not arguments.against)


def compared(
    shapes: tuple[Shape, ...], made: list[Path], other: Path, formats: list[str], scratch: Path, rounds: int
) -> list[str]:
    """Processor seconds of another checkout and of this one, in turns; the ratio of their least ones. Where a report of
    the other one fails, as for a format that it has not, the table says so."""
    here = Path(__file__).parents[1]
    lines = ["| format, grid | there | here | here / there |", "|---|---|---|---|"]
    for kind in formats:
        for shape, path in zip(shapes, made, strict=True):
            there, now = list[float](), list[float]()
            for _ in range(rounds):
                there += reported(path, kind, scratch, other)
                now += reported(path, kind, scratch, here)
            if not now:
                raise SystemExit(f"the report of {path} as {kind} failed")
            texts = [", ".join(f"{seconds:.1f}" for seconds in times) or "failed" for times in (there, now)]
            ratio = f"{min(now) / min(there):.2f}" if there else ""
            line = f"| {kind}, {shape.name} | {texts[0]} | {texts[1]} | {ratio} |"
            print(line, file=sys.stderr, flush=True)
            lines.append(line)
    return [*lines, "", f"Processor seconds of {rounds} runs each, in turns."]


def reported(path: Path, kind: str, scratch: Path, checkout: Path) -> list[float]:
    """Processor seconds of one report by the files of a checkout; nothing if it fails."""
    call = f"report([Path({str(path.resolve())!r})], {kind!r}, None, Path({str(scratch / f'report.{kind}')!r}))"
    code = f"from pathlib import Path; from recovery.report.command import report; {call}"
    try:
        return [cost(["-c", code], checkout).processor]
    except SystemExit:
        return []


def grids(shapes: tuple[Shape, ...], folder: Path) -> list[Path]:
    """The folders of the stored grids, made where they are not there yet."""
    made = []
    for shape in shapes:
        path = folder / "-".join(map(str, shape))
        if not path.exists():
            # in a process of its own: Linux counts this process's memory into the peak of those that it starts
            maker = multiprocessing.get_context("spawn").Process(target=make, args=(shape, path))
            maker.start()
            maker.join()
        made.append(path)
    return made


def table(shapes: tuple[Shape, ...], made: list[Path], scratch: Path) -> list[str]:
    """The lines of the table: a row a format, a column a grid."""
    base = [cost(["-c", f"import pandas; pandas.read_parquet({str(path / 'trials')!r})"]) for path in made]
    lines = [
        "| format | " + " | ".join(f"{s.size} x {s.size} cells, {s.replicates} replicates" for s in shapes) + " |",
        "|---|" + "---|" * len(shapes),
        "| (pandas.read_parquet) | " + " | ".join(f"{b.wall:.1f} s, {b.peak:.2f} GiB" for b in base) + " |",
    ]
    for kind in FORMATS:
        cells = []
        for path, least in zip(made, base, strict=True):
            out = scratch / f"report.{kind}"
            found = cost(["-m", "recovery.cli", "report", str(path), "--format", kind, "--out", str(out)])
            cells.append(
                f"{found.wall:.1f} s (processor {found.processor:.1f}), {found.wall / least.wall:.1f}x, "
                f"{found.peak:.2f} GiB; {out.stat().st_size / 1e6:.2g} MB"
            )
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    note = f"{os.cpu_count()} cores, load {load} (1, 5, 15 minutes), {machine()}"
    return [*lines, "", f"Wall seconds, peak memory; size of the file. {note}"]


def cost(arguments: list[str], checkout: Path | None = None) -> Cost:
    """Run Python with these arguments, on one BLAS thread; with the files of a checkout."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if checkout is not None:
        environment["PYTHONPATH"] = str(checkout.resolve())
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, cwd=checkout)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{arguments} ended with {child.returncode}")
    return Cost(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)


def make(shape: Shape, path: Path) -> None:
    """Store a grid as a sweep does, in parts."""
    import numpy as np
    import pandas as pd

    from recovery.store.folder import Folder

    rng = np.random.default_rng(0)
    values = range(1, shape.size + 1)
    levels = {"ensemble": ENSEMBLES[: shape.panels], "n": values, "d": values, "replicate": range(shape.replicates)}
    cells = pd.MultiIndex.from_product([*levels.values()], names=[*levels])
    rows = cells.to_frame(index=False).sample(frac=1.0, random_state=0, ignore_index=True)  # in no order, as stored
    folder = Folder(path)
    folder.create({"name": "drawn", "digest": "0", "trials": len(rows), "config": config(shape), "provenance": {}})
    for first in range(0, len(rows), PART):
        folder.write(outcomes(rows.iloc[first : first + PART].reset_index(drop=True), first, rng))


def config(shape: Shape) -> dict[str, Any]:
    """The resolved config of such a sweep."""
    values = list(range(1, shape.size + 1))
    return {
        "name": shape.name,
        "title": "Drawn from Wendel's law",
        "seed": 0,
        "replicates": shape.replicates,
        "data": {"ensemble": "gaussian"},
        "planted": {"kind": "linear"},
        "architecture": "relu_skip",
        "method": {"kind": "min_norm"},
        "axes": {"n": values, "d": values, "data.ensemble": list(ENSEMBLES[: shape.panels])},
        "claims": [{"kind": "threshold", "of": "recovered", "ratio": "n/d", "value": 2.0, "tolerance": 0.1}],
        "report": {"value": "recovered", "x": "n", "y": "d", "curves": ["wendel", {"ratio": 2.0}]},
    }


def outcomes(rows: Any, first: int, rng: Any) -> Any:
    """A part of the store: what those trials might have measured, in the schema of a sweep's rows."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from recovery.methods.columns import COLUMNS
    from recovery.store.row_schema import row_schema
    from recovery.theory import CURVES

    size = len(rows)
    recovered = rng.random(size) >= CURVES["wendel"].function(rows["n"], rows["d"])
    failed = rng.random(size) < 0.002
    error = 10 ** rng.normal(-14, 1, size)
    measured = {
        "recovered": recovered,
        "verdict": np.where(recovered, "recovered", "not_unique"),
        "certificate": np.where(recovered, "isometry", "duplicate"),
        "isometry_value": rng.random(size) + ~recovered,
        **dict.fromkeys(("objective", "dual_objective", "gap", "primal_residual", "dual_violation"), error),
        **{name: np.where(recovered, error, rng.random(size)) for name in ("absolute_distance", "test_distance")},
        "max_deviation": np.where(recovered, error, rng.random(size)),
        "active_groups": 1,
        "pattern_count": rows["n"],
        "all_ones": ~recovered,
        "solver": "gated",
        "iterations": rng.integers(0, 20, size),
        "redraws": 0,
    }
    coordinates = {"noise": 0.0, "planted": "linear", "architecture": "relu_skip"}
    frame = rows.assign(**coordinates, method="min_norm", sweep="drawn")
    frame = frame.assign(
        **{
            name: pd.Series(np.broadcast_to(column, size)).astype(object).where(~failed, None)
            for name, column in measured.items()
        },
        trial_id=[f"{i:016x}" for i in range(first, first + size)],
        status=np.where(failed, "failed", "ok"),
        seconds=rng.gamma(2, 0.1, size),
        started_at=pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(np.arange(size), unit="s"),
        error_type=pd.Series("SolverError", rows.index).where(failed),
        error_message=pd.Series("the solver broke down", rows.index).where(failed),
    )
    types = {name: pa.array(frame[name]).type for name in ("n", "d", "ensemble", *coordinates, "method")}
    coordinate_types = {name: pa.string() if pa.types.is_large_string(kind) else kind for name, kind in types.items()}
    schema = row_schema(coordinate_types, COLUMNS)
    absent = {name: [None] * size for name in schema.names if name not in frame}
    return pa.Table.from_pandas(frame.assign(**absent)[schema.names], schema=schema, preserve_index=False)


if __name__ == "__main__":
    main()
