"""Provenance of rows: program, commit, libraries, BLAS, processor, solvers."""

import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from recovery import __version__

LIBRARIES = ("numpy", "scipy", "numba", "cvxpy", "joblib", "pyarrow")
COMMIT_DIGITS = 7
SOLVER_PACKAGES = ("ecos", "clarabel", "scs", "mosek")
CODE = ("recovery", "cli", "pyproject.toml")
"""The files of a checkout on which rows depend. Others, such as results and docs, may change during a sweep."""


@cache
def provenance() -> dict[str, object]:
    """Return facts about the running program and machine, as JSON values."""
    from llvmlite import binding  # imported here, because llvmlite is slow to import and a report does not need it

    return {
        "program": _program(),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "solvers": {name: version for name in SOLVER_PACKAGES if (version := _version(name))},
        "blas": [
            {key: pool[key] for key in ("internal_api", "version", "architecture", "num_threads") if key in pool}
            for pool in threadpool_info()
            if pool.get("user_api") == "blas" and _computes_rows(Path(pool["filepath"]))
        ],
        "blas_threads_per_worker": 1,
        "simd": np.show_config(mode="dicts")["SIMD Extensions"]["found"],  # the instruction sets that NumPy uses
        # the processor for which Numba compiles
        "compiled_for": os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name(),
        "platform": platform.platform(),
    }


@cache
def _program() -> dict[str, object]:
    return {"version": __version__, **checkout(Path(__file__).resolve().parents[2])}


def running_version() -> str:
    """Return the version of the running program, as rows state it."""
    return version_in(_program())


def version_in(program: Mapping[str, object]) -> str:
    """Return the version and the start of the commit, as in 0.2.0+c9631fe. program: of a `provenance`."""
    commit = str(program.get("commit", ""))[:COMMIT_DIGITS]
    changes = ".changed" if program.get("dirty") else ""
    return f"{program.get('version')}{'+' if commit else ''}{commit}{changes}"


def machine_in(made: Mapping[str, Any]) -> str:
    """Return what decides the last bits of rows: processor, BLAS kernels, SIMD and NumPy. made: their provenance.

    OpenBLAS and NumPy select CPU-specific code, and Numba generates it. A training run, which is chaotic, then ends at
    other weights.
    """
    kernels = sorted({str(pool.get("architecture")) for pool in made.get("blas", ()) if "architecture" in pool})
    simd = [name for name in made.get("simd", ()) if name != _HALF_PRECISION]
    numpy = made.get("libraries", {}).get("numpy")
    named = (made.get("compiled_for") or made.get("cpu"), *kernels, *simd[-1:], f"NumPy {numpy}")
    return ", ".join(map(str, named))


_HALF_PRECISION = "AVX512_SPR"
"""NumPy's instruction set that only functions of half precision use, so no row depends on it."""


def _computes_rows(library: Path) -> bool:
    """Return whether a BLAS library may compute rows: not if the wheel of another package, such as SCS, brings it."""
    folder = library.parent.name
    return not folder.endswith(".libs") or folder in ("numpy.libs", "scipy.libs")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def checkout(root: Path) -> dict[str, object]:
    """Return the commit of the program's git checkout, and whether its code differs from it; {} outside of one."""
    if not (root / ".git").exists():
        return {}
    try:
        commit = _git(root, "rev-parse", "HEAD").strip()
        dirty = bool(_git(root, "status", "--porcelain", "--untracked-files=no", "--", *CODE).strip())
    except (OSError, subprocess.SubprocessError):
        return {}
    return {"commit": commit, "dirty": dirty}


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=10).stdout
