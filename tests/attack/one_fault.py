"""Commands in which one system call on the results folder fails, and the same command again without the fault.

A scenario is a folder as it is before a command, and the command. Each system call of the command below that folder
can fail with each of the error numbers that a disk or a network file system gives it.
"""

import errno
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from recovery.store.compaction import compact
from recovery.store.folder import Folder
from recovery.store.grid import read_records
from tests.own_method import write_method
from tests.processes import COMMAND, Run, forked_commands
from tests.runner.kills import stored_ids
from tests.runner.sweeps import rows, sweep, write_config

FUNCTIONS = ("open", "read", "write", "fsync", "close", "rename", "link", "mkdir", "unlink", "list", "stat")
"""The functions that `one_fault.c` counts, in its order."""
ERRORS = (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.ESTALE, errno.EPERM)
IMPORTS = """
import recovery.cli.sweep, recovery.cli.report, recovery.cli.merge, recovery.cli.compact, recovery.report.figures
import recovery.runner.run, recovery.runner.plan, recovery.runner.loading, recovery.report.until
import scipy.optimize, scipy.special
from recovery.config import load
from recovery.runner.trial import measure

for config in arguments:  # so that Numba and the kernels are loaded
    assert measure(next(iter(load(config).trials())))["status"] == "ok"
"""
WAY = """
value = float(instance.X.sum()) + {version}
return Measurement(gap=value).recording({{"way": np.arange(3.0) + value}})
"""
TRAIN = {
    **{"kind": "train", "neurons": 2, "outer": "signs", "optimizer": "gd", "learning_rate": 0.01, "epochs": 8},
    "record": 2,
}


@contextmanager
def commands(library: Path) -> Iterator[Run]:
    """Yield a function that runs a command with this library loaded, forked from a process that has the modules."""
    configs = []
    for scenario in ("fresh", "rounds"):
        (library.parent / "warm" / scenario).mkdir(parents=True, exist_ok=True)
        SCENARIOS[scenario].prepare(library.parent / "warm" / scenario)
        configs.append(str(library.parent / "warm" / scenario / "fake.yaml"))
    with forked_commands(COMMAND, *configs, imports=IMPORTS, environment={"LD_PRELOAD": str(library)}) as run:
        yield run


@dataclass(frozen=True)
class Scenario:
    """A command, and the results folder that it leaves when nothing fails.

    prepare: fills a folder. arguments: of the command; `out` is its results folder. written:
    files that it leaves in the folder. status: of a run without a fault; 1 where a rule is not met.
    """

    prepare: Callable[[Path], object]
    arguments: Sequence[str]
    written: Sequence[str] = ()
    status: int = 0


THREADS = ("--jobs", "1", "--backend", "threading", "--quiet")


def _training(folder: Path, shards: Sequence[int] = (), of: int = 4, **fields: object) -> Path:
    """Write a config of a small training with records, and store these shards of its trials."""
    content = {"architecture": "relu", "method": TRAIN, "replicates": 2, "axes": {"n": [6, 8], "d": [2, 3]}}
    config = write_config(folder, **{**content, **fields})  # type: ignore[arg-type]
    for shard in shards:
        sweep(config, folder / "out", backend="threading", shard=(shard, of))
    return config


_whole = partial(_training, shards=(1, 2, 3, 4))


def _damaged(folder: Path) -> None:
    _whole(folder)
    for part in sorted((folder / "out").glob("t*/*.parquet"))[::3]:
        part.write_bytes(part.read_bytes()[:-9])
    content = (folder / "out" / "sweep.json").read_bytes()
    (folder / "out" / "sweep.json").write_bytes(content[:100])


def _grown(folder: Path) -> None:
    _whole(folder)
    _training(folder, axes={"n": [6, 8], "d": [2, 3], "noise": [0.0, 0.5]})


def _few(folder: Path) -> None:
    """A results folder whose pictures are drawn soon."""
    _training(folder, (1, 2), 2, replicates=1, axes={"n": [6, 8], "d": [3]})


def _shares(folder: Path) -> None:
    _whole(folder)
    (folder / "out").rename(folder / "first")
    _training(folder, (1, 2))
    (folder / "out").rename(folder / "second")


def _rounds(folder: Path) -> None:
    write_config(
        folder,
        method={"kind": "isometry"},
        architecture="relu_skip",
        sampling={"kind": "until", "rule": "threshold +-2.5", "ceiling": 3},
        axes={"n": [4, 6, 8, 10, 12, 14], "d": [3]},
        report={"value": "holds"},
    )


def _edited(folder: Path) -> None:
    """Rows and records of the first version of a method, and its second version."""
    config = write_config(folder, method=None, replicates=2, axes={"n": [6, 8], "d": [2, 3], "method": OWN})
    write_method(folder / "way_method.py", WAY.format(version=1), "gap")
    for shard in (1, 2):
        sweep(config, folder / "out", shard=(shard, 2))
    write_method(folder / "way_method.py", WAY.format(version=1000), "gap")


OWN = [{"kind": "way_method:Own"}, TRAIN]
SWEEP = ("sweep", "fake.yaml", "--out", "out")
SCENARIOS: dict[str, Scenario] = {
    "fresh": Scenario(_training, [*SWEEP, *THREADS]),
    "resumed": Scenario(partial(_training, shards=(1, 2, 3)), [*SWEEP, *THREADS]),
    "damaged": Scenario(_damaged, [*SWEEP, *THREADS]),
    "grown": Scenario(_grown, [*SWEEP, *THREADS]),
    "rounds": Scenario(_rounds, [*SWEEP, *THREADS], status=1),
    "compact": Scenario(_whole, ["compact", "out"]),
    "merge": Scenario(_shares, ["merge", "first", "second", "--out", "out"]),
    "report": Scenario(_few, ["report", "out"], ["report/fake-recovered.png"]),
    "rerun": Scenario(_edited, [*SWEEP, "--rerun", "changed", "--jobs", "1", "--quiet"]),
}


def built(library: Path) -> Path:
    """Compile `one_fault.c`."""
    source = Path(__file__).with_name("one_fault.c")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def prepared(name: str, folder: Path, run: Run) -> tuple[dict[str, int], Path]:
    """Prepare a scenario once; return the calls of each function in its undisturbed run, and the folder.

    The folder holds `before`, which is copied for each fault, and `after`, where the command has run undisturbed.
    """
    place, counts = folder / name, folder / name / "counts.json"
    if not counts.exists():
        shutil.rmtree(place, ignore_errors=True)
        (place / "before").mkdir(parents=True)
        SCENARIOS[name].prepare(place / "before")
        shutil.copytree(place / "before", place / "after")
        status, calls, _ = faulted(name, place / "after", run, "")
        assert status == SCENARIOS[name].status, (place / "after" / ".stderr").read_text()
        counts.write_text(json.dumps(calls))
    return json.loads(counts.read_text()), place


def faulted(name: str, folder: Path, run: Run, fault: str) -> tuple[int | None, dict[str, int], bool]:
    """Run a scenario's command with a fault; return its exit status, its calls, and whether the fault was injected."""
    shared = folder / ".counts"
    shared.write_bytes(bytes(4096))
    environment = {"FAULT_FOLDER": str(folder / "out"), "FAULT_COUNTS": str(shared)} | (
        {"FAULT": fault} if fault else {}
    )
    arguments = [str(folder / word) if word in PLACES else word for word in SCENARIOS[name].arguments]
    status: int | None = run(folder, *arguments, **environment).returncode
    numbers = np.frombuffer(shared.read_bytes(), np.int32)[: len(FUNCTIONS) + 1].tolist()
    return status, dict(zip(FUNCTIONS, numbers, strict=False)), bool(numbers[-1])


PLACES = ("fake.yaml", "out", "first", "second")


def faults(name: str, calls: dict[str, int]) -> list[str]:
    """All faults of a scenario, in a fixed random order."""
    chosen = [
        f"{function} {n} {number} {after}"
        for function in FUNCTIONS
        for n in range(1, calls[function] + 1)
        for number in ERRORS
        for after in ((0, 1) if function in ("write", "rename", "link", "mkdir", "unlink", "fsync") else (0,))
    ]
    random.Random(name).shuffle(chosen)
    return chosen


def attack(name: str, index: int, base: Path, folder: Path, run: Run) -> Counter[str]:
    """Inject one fault of a scenario, run the command again, and count what is wrong then."""
    calls, place = prepared(name, base, run)
    chosen = faults(name, calls)
    fault = chosen[index % len(chosen)]
    here = Path(shutil.copytree(place / "before", folder / "here"))
    keeps = name in ("resumed", "grown", "compact", "report")
    stored = set(stored_ids(here / "out")) if keeps else set()
    status, _, injected = faulted(name, here, run, fault)
    said = [(here / stream).read_text() for stream in (".stdout", ".stderr")]
    found = Counter({f"exit {status}": 1, "faults": int(injected), "hang": int(status is None)})
    found["traceback"] += "Traceback" in said[1] or status not in (0, 1, 2, 75, None)
    found["lost"] += keeps and not stored <= set(stored_ids(here / "out"))
    again, _, _ = faulted(name, here, run, "")
    said += [(here / stream).read_text() for stream in (".stdout", ".stderr")]
    found["hang"] += again is None
    found["wrong"] += again not in (SCENARIOS[name].status, None) or sum(
        not (here / "out" / file).stat().st_size for file in SCENARIOS[name].written
    )
    if again == SCENARIOS[name].status:
        found += compared(here / "out", place / "after" / "out")
    if set(found) & {"lost", "doubled", "traceback", "hang", "wrong"}:
        print(f"{name} {index}: {fault}: {dict(found)}\n", "\n".join(said), file=sys.stderr, flush=True)
    shutil.rmtree(here)
    return found


def compared(out: Path, expected: Path) -> Counter[str]:
    """Count rows and records that differ from those of an undisturbed run, or that are there twice."""
    found: Counter[str] = Counter()
    try:
        pd.testing.assert_frame_equal(rows(out), rows(expected))
    except AssertionError as error:
        print(error, file=sys.stderr)
        found["lost"] += 1
    ours, theirs = read_records(out), read_records(expected)
    same = ours.keys() == theirs.keys() and all(
        np.array_equal(ours[trial][name], array) for trial, arrays in theirs.items() for name, array in arrays.items()
    )
    found["lost"] += not same
    compact(Folder(out))
    found["doubled"] += set(stored_ids(out).values()) > {1}
    found["wrong"] += len([*out.rglob("*.tmp"), *out.rglob(".*.lock")])
    return found
