"""The long attacks, one small step after another: `python -m tests.attack.soak [PART[=COUNT]]... [--minutes M]`.

What each step found is a line of `.soak/done.jsonl`; called again it goes on with the steps that have none. At the
end it prints what was tried, for all parts also to benchmarks/soak.md, and ends with status 1 if anything was lost,
run, a traceback, or hung.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from benchmarks import machine
from recovery.cli.main import main as program
from recovery.config import ConfigError, load
from recovery.errors import StoreError
from recovery.runner.batches import cost
from recovery.runner.pool import POOL, UNLIMITED, Limits
from recovery.store.folder import Folder
from recovery.store.parts import list_parts, write_part
from tests.runner.kills import kill_and_resume, stored_ids
from tests.runner.sweeps import rows, sweep, write_config

from .one_fault import SCENARIOS, attack, built, commands
from .test_configs import LONGEST_SECONDS, no_longer_than
from .test_own_code import ACTS, FAILED, KILLED, LIMITS, OK, own
from .variants import config_text

STATE = Path(".soak")
REPORT = Path(__file__).parents[2] / "benchmarks" / "soak.md"
FAULTS = ("lost", "doubled", "run", "traceback", "hang", "wrong")
KILLS_A_STEP = 10
ACTS_A_STEP = 4
FAULTS_A_STEP = 54
TRIAL = Limits(seconds=3, memory=2000)
"""A shipped training of 10^6 steps is ended, which is no hang: that row is `timeout`."""
HOSTILE = (
    "\x1b[2J",
    "\u202eelif",
    "=1+1",
    "a\nb",
    "../../x",
    "\\input{/etc/passwd}",
    "![a](http://b)",
    "$(touch flag)",
)

Found = Counter[str]


def configs(step: int, folder: Path) -> Found:
    """A config, valid or damaged: it is refused with its place, or a trial of it is a row."""
    path, flag = folder / "config.yaml", folder / "flag"
    path.write_bytes(config_text(random.Random(step)))
    os.chdir(folder)
    try:
        with no_longer_than(LONGEST_SECONDS):
            trials = list(load(path).trials())
    except ConfigError as error:
        placed = all(str(problem.place).startswith(str(path)) for problem in error.problems)
        return Counter({"refused": 1, "wrong": int(not placed)})
    except TimeoutError:
        return Counter({"hang": 1})
    found = Counter({"accepted": 1, "run": int(flag.exists() or len(list(folder.iterdir())) > 1)})
    if trials:
        (row,) = POOL.measure([min(trials, key=cost)], TRIAL)
        found["trial " + row["status"]] += 1
        found["lost"] += row["status"] not in ("ok", "failed", "timeout", "killed")
    return found


def folders(step: int, folder: Path) -> Found:
    """A crafted results folder: every command that reads it ends with a message or a result, and runs nothing."""
    rng, flag = random.Random(step), folder / "flag"
    out = Path(shutil.copytree(made(), folder / "out"))
    (folder / "pwn_things.py").write_text(f"open({str(flag)!r}, 'w').close()\ndef f(rng, n, d):\n    return 0\n")
    for _ in range(rng.randint(1, 3)):
        with contextlib.suppress(OSError, IndexError, StoreError, pa.ArrowException):  # another was before it
            rng.choice(CRAFTS)(out, rng)
    found: Found = Counter()
    trial = "0" * 16
    others = (
        ["report", out, "--format", "latex"],
        ["report", out, "--format", "csv"],
        ["report", out],
        ["compact", out],
    )
    more = (["verify", out], ["replay", out, trial], ["compare", out, out], ["bundle", out, "--out", folder / "b.zip"])
    for command in (["status", out], rng.choice(others), rng.choice(more)):
        try:
            with no_longer_than(60):
                result = CliRunner().invoke(program, [str(word) for word in command])
        except TimeoutError:
            found["hang"] += 1
            continue
        fault = result.exception
        found["hang"] += isinstance(fault, TimeoutError)
        found["traceback"] += fault is not None and not isinstance(fault, SystemExit | TimeoutError)
        found["wrong"] += any(sign in result.output for sign in ("\x1b[2J", "\u202e", "Traceback"))
        found[f"exit {result.exit_code}"] += 1
    found["run"] += flag.exists()
    return found


def _parts(out: Path) -> list[Path]:
    """Those that another craft has left a file."""
    return [path for path in list_parts(out / "trials") if path.is_file()]


def _pipe(out: Path, rng: random.Random) -> None:
    path = rng.choice([out / "sweep.json", list_parts(out / "trials")[0], out / "rounds" / "02.json"])
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _endless(out: Path, rng: random.Random) -> None:
    path = rng.choice([out / "sweep.json", list_parts(out / "trials")[0], out / "rounds" / "02.json"])
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")


def _edited(out: Path, rng: random.Random) -> None:
    """Another text, number or shape at a place of the config, with the checksum that goes with it."""
    content = Folder(out).load()
    config = content["config"]
    key = rng.choice([*config, "folder", "claims", "report", "sampling"])
    values: list[Any] = [*HOSTILE, -1, 10**9, [], {}, None, True, ["x"], {"ensemble": "pwn_things:f"}, 1e308]
    config[key] = rng.choice(values)
    if rng.random() < 0.3:
        config |= {"data": {"ensemble": "pwn_things:f"}, "folder": str(out.parent)}
    Folder(out).update(content)


def _retyped(out: Path, rng: random.Random) -> None:
    """A part with a valid checksum whose column has another type."""
    path = rng.choice(_parts(out))
    table = pq.read_table(path)
    name = rng.choice(table.column_names)
    count = len(table)
    column = rng.choice(
        [pa.array([rng.choice(HOSTILE)] * count), pa.array([[1]] * count), pa.nulls(count), pa.array([1e308] * count)]
    )
    path.unlink()
    write_part(path.parent, table.set_column(table.column_names.index(name), name, column))


def _less(out: Path, rng: random.Random) -> None:
    path = rng.choice(_parts(out))
    table = pq.read_table(path)
    path.unlink()
    write_part(path.parent, table.drop_columns([rng.choice(table.column_names)]))


def _cut(out: Path, rng: random.Random) -> None:
    path = rng.choice([path for path in (out / "sweep.json", *list_parts(out / "trials")) if path.is_file()])
    data = path.read_bytes()
    path.write_bytes(data[: rng.randrange(len(data))] + os.urandom(rng.choice([0, 5])))


def _folder(out: Path, rng: random.Random) -> None:
    path = rng.choice([path for path in (out / "sweep.json", *list_parts(out / "trials")) if not path.is_dir()])
    path.unlink()
    path.mkdir()


CRAFTS: tuple[Callable[[Path, random.Random], None], ...] = (
    _pipe,
    _endless,
    _edited,
    _edited,
    _retyped,
    _less,
    _cut,
    _folder,
)


def made() -> Path:
    """A small grid, made once."""
    path = STATE.absolute() / "made"
    if not (path / "done").exists():
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        claims = [{"kind": "statement", "text": "A claim"}]
        config = write_config(path, method={"kind": "isometry"}, architecture="relu_skip", claims=claims, title="Title")
        sweep(config, path / "out")
        (path / "done").touch()
    return path / "out"


def kills(step: int, folder: Path) -> Found:
    """A sweep killed ten times and called again: every row is there, once, and is the undisturbed one."""
    slow, out = folder / "slow", folder / "out"
    config = write_config(folder, method={"act": "linger", "seconds": 0.05, "path": str(slow)}, replicates=60)
    found: Found = Counter()
    try:
        kill_and_resume(config, out, KILLS_A_STEP, random.Random(step), slow=slow, compacting=True)
    except AssertionError as error:
        print(error, file=sys.stderr)
        found["lost"] += 1
    sweep(config, folder / "undisturbed")
    found["lost"] += not rows(out).equals(rows(folder / "undisturbed"))
    found["wrong"] += set(stored_ids(out)) != set(stored_ids(folder / "undisturbed"))
    return found + Counter({"kills": KILLS_A_STEP})


def acts(step: int, folder: Path) -> Found:
    """Methods that do what no method should: each trial is a row of the status that it earns."""
    limits = (UNLIMITED, LIMITS)[step * ACTS_A_STEP // len(ACTS) % 2]
    chosen = [ACTS[i % len(ACTS)] for i in range(step * ACTS_A_STEP, (step + 1) * ACTS_A_STEP)]
    os.chdir(folder)
    sweep(own(folder, axes={"n": [4], "method.act": chosen}, replicates=1), folder / "out", limits=limits)
    statuses = rows(folder / "out").set_index("method.act")["status"]
    found = Counter({"acts": len(chosen), "lost": len(set(chosen) - set(statuses.index))})
    for status, of in (("failed", FAILED), ("killed", KILLED), ("ok", OK)):
        found["wrong"] += sum(statuses.get(act) != status for act in chosen if act in of)
    return found


def single_faults(step: int, folder: Path) -> Found:
    """Commands in which one system call fails, for each scenario in turn, and the same commands again."""
    base = STATE.absolute() / "faults"
    base.mkdir(parents=True, exist_ok=True)
    found: Found = Counter()
    with commands(built(base / "one_fault.so")) as run:
        for i in range(FAULTS_A_STEP):
            index, name = divmod(step * FAULTS_A_STEP + i, len(SCENARIOS))
            found += attack(list(SCENARIOS)[name], index, base, folder, run)
    return found


PARTS: dict[str, tuple[Callable[[int, Path], Found], int]] = {
    "folders": (folders, 100),
    "configs": (configs, 5000),
    "acts": (acts, 80 // ACTS_A_STEP),
    "kills": (kills, 200 // KILLS_A_STEP),
    "faults": (single_faults, 1080 // FAULTS_A_STEP),
}
"""Name -> one step of it, and how many steps there are."""


def steps(asked: list[tuple[str, int]], done: set[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    for part, count in asked:
        yield from ((part, step) for step in range(count) if (part, step) not in done)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART[=COUNT]", help=", ".join(PARTS))
    parser.add_argument("--minutes", type=float, default=float("inf"))
    given = parser.parse_args()
    asked = []
    for text in given.parts or PARTS:
        part, _, count = text.partition("=")
        asked.append((part, int(count) if count else PARTS[part][1]))
    log, here, end = (STATE / "done.jsonl").absolute(), Path.cwd(), time.monotonic() + 60 * given.minutes
    log.parent.mkdir(exist_ok=True)
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    for part, step in steps(asked, {(line["part"], line["step"]) for line in lines}):
        if time.monotonic() > end:
            break
        with tempfile.TemporaryDirectory(prefix="soak") as folder:
            clock = time.process_time()
            try:
                found = PARTS[part][0](step, Path(folder))
            except Exception:
                traceback.print_exc()
                found = Counter({"traceback": 1})
            lines.append({"part": part, "step": step, "found": dict(+found), "seconds": time.process_time() - clock})
        os.chdir(here)
        with log.open("a") as file:
            file.write(json.dumps(lines[-1]) + "\n")
    table, whole = summary(asked, lines)
    print("\n".join(table))
    if {part: count for part, (_, count) in PARTS.items()}.items() <= dict(asked).items():
        ran = "All steps ran." if whole else "Not all steps ran; the table says how many of how many did."
        REPORT.write_text("\n".join(["# The long attacks", "", ran, "", *table, "", machine(), ""]))
    sys.exit(int(any(set(FAULTS) & set(line["found"]) for line in lines)))


def summary(asked: list[tuple[str, int]], lines: list[dict[str, Any]]) -> tuple[list[str], bool]:
    """A table of what was tried and found, and whether all of it was done."""
    table = [f"| part | steps | {' | '.join(FAULTS)} | what else was counted |", "|---" * (len(FAULTS) + 3) + "|"]
    whole = True
    for part, count in asked:
        mine = [line for line in lines if line["part"] == part and line["step"] < count]
        total = sum((Counter(line["found"]) for line in mine), Counter[str]())
        bad = [line["step"] for line in mine if set(FAULTS) & set(line["found"])]
        others = ", ".join(f"{name} {number}" for name, number in sorted(total.items()) if name not in FAULTS)
        cells = [part, f"{len(mine)} of {count}", *(str(total[fault]) for fault in FAULTS), others]
        table.append(f"| {' | '.join(cells)} |")
        whole = whole and len(mine) == count
        if bad:
            print(f"{part}: faults at the steps {bad}", file=sys.stderr)
    return table, whole


if __name__ == "__main__":
    main()
