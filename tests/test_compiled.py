"""Machine code beside the module of a function: it serves as long as the file stays as it is."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

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


def outcome(folder: Path, factor: float = 2.0, shift: float = 1.0) -> tuple[float, set[int]]:
    """Return outer(3) of a newly imported module, and the times of the files of machine code."""
    text, path = KERNELS.format(factor=factor, shift=shift), folder / "kernels.py"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    spec: Any = spec_from_file_location("kernels", path)
    kernels = module_from_spec(spec)
    spec.loader.exec_module(kernels)
    return kernels.outer(3.0), {path.stat().st_mtime_ns for path in folder.rglob("*.nbc")}


def test_machine_code_is_kept_until_its_file_changes(tmp_path: Path) -> None:
    value, made = outcome(tmp_path)
    assert (value, len(made)) == (6.0, 2)
    assert outcome(tmp_path) == (6.0, made)
    # of another length, because bytecode is taken for old only by the second and the size of its source
    assert outcome(tmp_path, factor=3.0, shift=15.0)[0] == 23.0


def test_without_a_cache_that_can_be_written_the_kernels_still_run(tmp_path: Path) -> None:
    (tmp_path / "__pycache__").write_text("a file")
    (tmp_path / "cache").write_text("a file")
    (tmp_path / "kernels.py").write_text(KERNELS.format(factor=2.0, shift=1.0))
    command = [sys.executable, "-c", "import kernels; print(kernels.outer(3.0))"]
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path / "cache")}
    done = subprocess.run(command, cwd=tmp_path, env=variables, text=True, capture_output=True, check=True)
    assert float(done.stdout) == 6.0
