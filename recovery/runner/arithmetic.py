"""Arithmetic in which rows were computed, and how to compute in the same arithmetic again.

OpenBLAS and NumPy select CPU-specific code, and Numba generates it, so last digits differ between machines. A training
run, which is chaotic, then ends at other weights. Environment variables select the code of another processor, if this
one can run it, in processes that have not started yet.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from recovery.runner.fork_server import environment_restored, worker_environment
from recovery.runner.pool import end_processes
from recovery.store.provenance import provenance

KERNEL, WITHOUT, TARGET, FEATURES = (
    "OPENBLAS_CORETYPE",
    "NPY_DISABLE_CPU_FEATURES",
    "NUMBA_CPU_NAME",
    "NUMBA_CPU_FEATURES",
)
"""Environment variables that OpenBLAS, NumPy and Numba read when they are imported."""
_AVX512 = {"X86_V4", "AVX512F", "AVX512_SKX"}
"""NumPy's names of instruction sets that contain the foundation of AVX-512."""
_HALF_PRECISION = "AVX512_SPR"
"""NumPy's instruction set that only functions of half precision use, so no row depends on it."""
_OLD_TARGETS = {"Intel": "skylake-avx512", "AMD": "znver5"}
"""Vendor -> Numba's target, for rows of versions that did not store it. All Intel CPUs with AVX-512 are tuned alike."""
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,40}")
_VERSION = re.compile(r"[A-Za-z0-9.+_-]{1,40}")
_PROBE = """
import json
import numpy as np
from recovery.store.provenance import provenance
A = np.random.default_rng(0).normal(size=(70, 50))
np.linalg.svd(A.T @ A), np.linalg.solve(A.T @ A, A[0]), np.linalg.svd(A.astype(np.float32)), np.exp(A).sum()
print(json.dumps(provenance()))
"""
"""Program that fails if this processor cannot run the selected code: without an instruction, the process is killed."""


@dataclass(frozen=True)
class Arithmetic:
    """The CPU-specific code in which the numerical libraries compute.

    kernel: the kernels of OpenBLAS. simd: instruction sets that NumPy uses. target: the processor for which Numba
    compiles. None if unknown.
    """

    kernel: str
    simd: tuple[str, ...] | None = None
    target: str | None = None

    def __str__(self) -> str:
        numpy = "" if self.simd is None else f", NumPy {' '.join(self.simd) or 'plain'}"
        return f"OpenBLAS {self.kernel}{numpy}" + ("" if self.target is None else f", Numba {self.target}")

    def environment(self) -> dict[str, str]:
        """Return environment variables for a process that should compute in this arithmetic."""
        own, variables = here(), {KERNEL: self.kernel}
        if own is not None and self.simd is not None:
            variables[WITHOUT] = " ".join(sorted(set(own.simd or ()) - set(self.simd)))
        if self.target is not None:
            # Without FEATURES, Numba compiles for the named processor with the instructions of this machine's.
            masked = self.simd is not None and not _AVX512.intersection(self.simd)
            variables |= {TARGET: self.target, FEATURES: "-avx512f" if masked else ""}
        return variables

    def covers(self, other: "Arithmetic | None") -> bool:
        """Return whether the other arithmetic agrees in every field that is known here."""
        return (
            other is not None
            and self.kernel == other.kernel
            and self.simd in (None, other.simd)
            and self.target in (None, other.target)
        )

    def runs_here(self) -> bool:
        """Return whether a process on this machine computes in this arithmetic if it is requested."""
        environment = {**os.environ, **worker_environment(), **self.environment()}
        done = subprocess.run([sys.executable, "-c", _PROBE], env=environment, capture_output=True, text=True)
        return done.returncode == 0 and self.covers(arithmetic(json.loads(done.stdout)))


def arithmetic(made: Mapping[str, Any]) -> Arithmetic | None:
    """Return the arithmetic in a provenance entry; None if it does not name exactly one OpenBLAS kernel.

    The entry may come from an untrusted file, so names are checked.
    """
    pools, simd, target = made.get("blas"), made.get("simd"), made.get("compiled_for")
    pools = [pool for pool in pools if isinstance(pool, dict)] if isinstance(pools, list) else []
    kernels = {str(pool.get("architecture")) for pool in pools if pool.get("internal_api") == "openblas"}
    sets = tuple(str(name) for name in simd if name != _HALF_PRECISION) if isinstance(simd, list) else None
    if target is None:
        target = _OLD_TARGETS.get(re.split(r"\W", str(made.get("cpu")))[0])
    names = (*kernels, *(sets or ()), *([] if target is None else [str(target)]))
    if len(kernels) != 1 or not all(_PLAIN.fullmatch(name) for name in names):
        return None
    return Arithmetic(kernels.pop(), sets, target)


@cache
def here() -> Arithmetic | None:
    """Return the arithmetic of this process and of the workers that it starts."""
    return arithmetic(provenance())


def others(makers: Iterable[Mapping[str, Any]]) -> list[Arithmetic]:
    """Return the arithmetics in these provenance entries, except the one of this process."""
    own, named = here(), {arithmetic(made) for made in makers} - {None}
    return sorted((one for one in named if one and not one.covers(own)), key=str)


def other_versions(makers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the NumPy versions in these provenance entries, except the installed one.

    Another version contains another OpenBLAS, whose singular vectors may have other signs, so a draw of `haar` differs.
    """
    libraries = [made.get("libraries") for made in makers]
    named = {str(each.get("numpy", "")) for each in libraries if isinstance(each, dict)} - {np.__version__}
    return sorted(f"NumPy {version}" for version in named if _VERSION.fullmatch(version))


@contextmanager
def computing_in(other: Arithmetic) -> Iterator[None]:
    """Context in which new workers compute in the other arithmetic; this process is not affected."""
    variables = other.environment()
    with environment_restored(variables):
        end_processes()
        os.environ.update(variables)
        try:
            yield
        finally:
            end_processes()
