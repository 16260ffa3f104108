"""In which arithmetic rows were computed, and how to compute in it again.

OpenBLAS and NumPy have other code for each family of processors, and Numba makes it. All of it is right, and each
rounds otherwise: a training run, which is chaotic in rounding, ends elsewhere. Where a processor can run the other's
code, variables of the environment choose it, for processes that have not begun.
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

from recovery.runner.fork_server import worker_environment
from recovery.runner.pool import end_processes
from recovery.store.provenance import provenance

KERNEL, WITHOUT, TARGET = "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "NUMBA_CPU_NAME"
"""Variables that OpenBLAS, NumPy and Numba read when they are loaded."""
_TARGETS_BEFORE = {"Intel": "skylake-avx512", "AMD": "znver5"}
"""Vendor -> what Numba compiled for, in rows that are older than that note. All Intel with AVX-512 are tuned alike."""
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
"""What shows whether a processor can run the chosen code: it may lack an instruction, and then the process dies."""


@dataclass(frozen=True)
class Arithmetic:
    """kernel: OpenBLAS's name of its code. simd: the instruction sets that NumPy uses. target: the processor for which
    Numba compiles. None where that is not known."""

    kernel: str
    simd: tuple[str, ...] | None = None
    target: str | None = None

    def __str__(self) -> str:
        numpy = "" if self.simd is None else f", NumPy {' '.join(self.simd) or 'plain'}"
        return f"OpenBLAS {self.kernel}{numpy}" + ("" if self.target is None else f", Numba {self.target}")

    def environment(self) -> dict[str, str]:
        """The variables of a process that is to compute so, as far as this machine can."""
        own, variables = here(), {KERNEL: self.kernel}
        if own is not None and self.simd is not None:
            variables[WITHOUT] = " ".join(sorted(set(own.simd or ()) - set(self.simd)))
        return variables if self.target is None else {**variables, TARGET: self.target}

    def covers(self, other: "Arithmetic | None") -> bool:
        """Whether the other is this one, as far as this one is known."""
        return (
            other is not None
            and self.kernel == other.kernel
            and self.simd in (None, other.simd)
            and self.target in (None, other.target)
        )

    def runs_here(self) -> bool:
        """Whether a process of this machine, asked for this arithmetic, computes in it."""
        environment = {**os.environ, **worker_environment(), **self.environment()}
        done = subprocess.run([sys.executable, "-c", _PROBE], env=environment, capture_output=True, text=True)
        return done.returncode == 0 and self.covers(arithmetic(json.loads(done.stdout)))


def arithmetic(made: Mapping[str, Any]) -> Arithmetic | None:
    """That of what `provenance` says; None where it names no kernel of OpenBLAS, or several.

    It may come from another's file: anything may be in it.
    """
    pools, simd, target = made.get("blas"), made.get("simd"), made.get("compiled_for")
    pools = [pool for pool in pools if isinstance(pool, dict)] if isinstance(pools, list) else []
    kernels = {str(pool.get("architecture")) for pool in pools if pool.get("internal_api") == "openblas"}
    sets = tuple(str(name) for name in simd) if isinstance(simd, list) else None
    if target is None:
        target = _TARGETS_BEFORE.get(re.split(r"\W", str(made.get("cpu")))[0])
    names = (*kernels, *(sets or ()), *([] if target is None else [str(target)]))
    if len(kernels) != 1 or not all(_PLAIN.fullmatch(name) for name in names):
        return None
    return Arithmetic(kernels.pop(), sets, target)


@cache
def here() -> Arithmetic | None:
    """That of this process, and of the workers that it starts."""
    return arithmetic(provenance())


def others(makers: Iterable[Mapping[str, Any]]) -> list[Arithmetic]:
    """The arithmetics in which rows were computed by what `makers` says, without this process's own."""
    own, named = here(), {arithmetic(made) for made in makers} - {None}
    return sorted((one for one in named if one and not one.covers(own)), key=str)


def other_versions(makers: Iterable[Mapping[str, Any]]) -> list[str]:
    """The versions of NumPy with which rows were computed, without this process's own: no variable chooses one.

    Another version has another OpenBLAS, in which some singular vector has the other sign: a draw of `haar` is then
    another draw.
    """
    libraries = [made.get("libraries") for made in makers]
    named = {str(each.get("numpy", "")) for each in libraries if isinstance(each, dict)} - {np.__version__}
    return sorted(f"NumPy {version}" for version in named if _VERSION.fullmatch(version))


@contextmanager
def computing_in(other: Arithmetic) -> Iterator[None]:
    """Workers that start in this context compute in the other arithmetic; this process goes on as it was."""
    variables = other.environment()
    before = {name: os.environ.get(name) for name in variables}
    end_processes()
    os.environ.update(variables)
    try:
        yield
    finally:
        end_processes()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
