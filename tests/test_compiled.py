"""Machine code in the user's cache: it serves as long as the sources that it depends on stay as they are."""

import os
import subprocess
import sys
from pathlib import Path

KERNELS = """
from typing import NamedTuple
from recovery.compiled import compiled
FACTOR = {factor}
{before}
class Pair(NamedTuple):
    {fields}: float

@compiled()
def inner(x: float) -> float:
    return FACTOR * x + {shift}

@compiled(fastmath={fast})
def outer(pair: Pair) -> float:
    return inner(pair.first) - pair.second
"""
PLAIN = {"factor": 2.0, "before": "", "fields": "first: float; second", "shift": 1.0, "fast": "set()"}


def outcome(folder: Path, seed: str = "random", **changes: object) -> tuple[float, set[tuple[str, int]]]:
    """Return outer((3, 1)) of an installation in `folder`, and the files of machine code with their times."""
    folder.mkdir(exist_ok=True)
    (folder / "kernels.py").write_text(KERNELS.format(**{**PLAIN, **changes}))
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache"), "PYTHONHASHSEED": seed}
    code = "import kernels; print(kernels.outer(kernels.Pair(3.0, 1.0)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, text=True, capture_output=True, check=True
    )
    made = (folder.parent / "cache").rglob("*.nbc")
    return float(done.stdout), {(path.name, path.stat().st_mtime_ns) for path in made}


def test_machine_code_survives_an_upgrade_that_does_not_change_the_kernels(tmp_path: Path) -> None:
    value, made = outcome(tmp_path / "old")
    assert value == 6.0
    assert len(made) == 2
    assert not list((tmp_path / "old").rglob("*.nbc"))
    assert outcome(tmp_path / "new", before="import math\n\n\ndef more():\n    return 1\n") == (6.0, made)


def test_machine_code_does_not_depend_on_the_order_of_a_set(tmp_path: Path) -> None:
    fast = "{'reassoc', 'contract', 'nsz', 'arcp'}"
    _, made = outcome(tmp_path / "0", seed="0", fast=fast)
    for seed in ("1", "2", "3"):
        assert outcome(tmp_path / seed, seed=seed, fast=fast)[1] == made


def test_machine_code_is_made_again_where_anything_that_it_depends_on_changes(tmp_path: Path) -> None:
    _, made = outcome(tmp_path / "old")
    for number, (value, new, changes) in enumerate(
        [
            (9.0, 2, {"factor": 3.0}),  # a constant of the inner function
            (8.0, 2, {"shift": 3.0}),  # the inner function, which the outer one contains
            (6.0, 1, {"fast": "{'contract'}"}),
            (0.0, 1, {"fields": "second: float; first"}),  # Pair(3, 1) is then second = 3, first = 1
        ]
    ):
        found, now = outcome(tmp_path / str(number), **changes)
        assert found == value
        assert len(now - made) == new
        assert made <= now
        made = now


def test_without_a_cache_that_can_be_written_the_kernels_still_run(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert outcome(tmp_path / "old")[0] == 6.0
