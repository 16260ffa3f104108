"""Machine code beside the module of a function: it serves as long as the file stays as it is."""

import os
import subprocess
import sys
from pathlib import Path

KERNELS = """
from recovery.compiled import compiled
FACTOR = {factor}

@compiled()
def inner(x: float) -> float:
    return FACTOR * x + {shift}

@compiled(fastmath={{"contract"}})
def outer(x: float) -> float:
    return inner(x) - 1
"""


def outcome(folder: Path, factor: float = 2.0, shift: float = 1.0, **environment: str) -> tuple[float, set[int]]:
    """Return outer(3), and the times of the files of machine code."""
    text = KERNELS.format(factor=factor, shift=shift)
    if not (folder / "kernels.py").exists() or (folder / "kernels.py").read_text() != text:
        (folder / "kernels.py").write_text(text)
    command = [sys.executable, "-c", "import kernels; print(kernels.outer(3.0))"]
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, env=variables, text=True, capture_output=True, check=True)
    return float(done.stdout), {path.stat().st_mtime_ns for path in folder.rglob("*.nbc")}


def test_machine_code_is_kept_until_its_file_changes(tmp_path: Path) -> None:
    value, made = outcome(tmp_path)
    assert (value, len(made)) == (6.0, 2)
    assert outcome(tmp_path) == (6.0, made)
    assert outcome(tmp_path, factor=3.0, shift=5.0)[0] == 13.0


def test_without_a_cache_that_can_be_written_the_kernels_still_run(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").write_text("a file")
    (tmp_path / "cache").write_text("a file")
    assert outcome(tmp_path, XDG_CACHE_HOME=str(tmp_path / "cache"), HOME=str(tmp_path / "cache"))[0] == 6.0
