"""The long attacks, one small step after another: `python -m tests.attack.soak [PART[=COUNT]]... [--minutes M]`.

What each step found is a line of `.soak/done.jsonl`; called again it goes on with the steps that have none. At the
end it prints what was tried, for all parts also to benchmarks/soak.md, and ends with status 1 if anything was lost,
doubled, a traceback, or hung.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import machine
from tests.runner.kills import kill_and_resume, stored_ids
from tests.runner.sweeps import rows, sweep, write_config

from .hostile import ACTS, FAILED, KILLED, OK
from .one_fault import SCENARIOS, attack, built, commands
from .test_own_code import TIMEOUT, own

STATE = Path(".soak")
REPORT = Path(__file__).parents[2] / "benchmarks" / "soak.md"
FAULTS = ("lost", "doubled", "traceback", "hang", "wrong")
KILLS_A_STEP = 10
ACTS_A_STEP = 4
FAULTS_A_STEP = 54

Found = Counter[str]


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
    timeout = (None, TIMEOUT)[step * ACTS_A_STEP // len(ACTS) % 2]
    chosen = [list(ACTS)[i % len(ACTS)] for i in range(step * ACTS_A_STEP, (step + 1) * ACTS_A_STEP)]
    os.chdir(folder)
    sweep(own(folder, axes={"n": [4], "method.act": chosen}, replicates=1), folder / "out", timeout=timeout)
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
