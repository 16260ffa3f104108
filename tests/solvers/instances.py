"""Small random programs, including degenerate ones, that every solver must handle."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.verdicts import KINDS
from recovery.instances.draw import Instance, Setting, draw
from recovery.instances.ensembles import CubicGaussian, Gaussian, Haar
from recovery.instances.patterns import Patterns, unique_patterns
from recovery.instances.planted import Linear, NormalizedRelu, Planted, Relu
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.exact import ExactProgram
from recovery.programs.groups import Groups
from recovery.programs.program import GatedProgram
from recovery.types import Array, Rng

PLANTED: dict[str, Planted] = {
    **dict.fromkeys(("relu", "relu_bias"), Relu(k=2, signs="alternating")),
    **dict.fromkeys(("relu_skip", "relu_norm_skip"), Linear()),
    "relu_norm": NormalizedRelu(k=2, signs="alternating"),
}
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
DATA = ("plain", "wide", "between", "rank_deficient", "repeated_rows", "one_pattern", "zero_labels")
BETAS = (None, 1e-8, 1e-4, 1e-2, 1.0, 100.0)
STRANGE_BETAS = (None, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)


def drawn(architecture: str, n: int, d: int, seed: int, noise: float = 0.3, count: int = 10) -> Instance:
    setting = Setting(n, d, planted=PLANTED[architecture], noise=noise, patterns=Patterns(count=count))
    return draw(setting, np.random.default_rng(seed))


def wide_program(architecture: str, instance: Instance, beta: float | None) -> ExactProgram:
    """The exact program without confinement."""
    groups = ARCHITECTURES[architecture].groups(instance.X, instance.patterns)
    return ExactProgram(replace(groups, confined=False), instance.y, beta)


def small_program(seed: int) -> GatedProgram:
    """Draw a program by its seed: kind of data, architecture, noise, and beta relative to the zero threshold."""
    rng = np.random.default_rng(seed)
    kind = DATA[seed % len(DATA)]
    architecture = list(ARCHITECTURES)[int(rng.integers(4))]
    d = int(rng.integers(2, 7))
    n = {"wide": max(2, d - 2), "between": int(1.5 * d)}.get(kind, int(rng.integers(2 * d, 4 * d)))
    ensemble = (Gaussian(), Haar(), CubicGaussian())[int(rng.choice(3, p=[0.6, 0.2, 0.2]))]
    planted = (Linear(), Relu(), NormalizedRelu(k=2, geometry="opposite"))[int(rng.integers(3))]
    noise = float(rng.choice([0.0, 0.2]))
    instance = draw(Setting(n, d, ensemble, planted, noise), rng)
    X, y, patterns = instance.X, instance.y, instance.patterns
    if kind == "rank_deficient":
        X[:, -1] = X[:, 0]
        patterns = unique_patterns(X, [X @ rng.standard_normal((d, 30)) >= 0])
        y = X @ rng.standard_normal(d)
    if kind == "repeated_rows":
        X[1] = X[0]
        patterns = unique_patterns(X, [X @ rng.standard_normal((d, 30)) >= 0])
        y = np.maximum(X @ rng.standard_normal(d), 0)
    if kind == "one_pattern":
        patterns = patterns[:, :1]
        y = np.where(patterns[:, 0], X @ rng.standard_normal(d), 0.0)
    if kind == "zero_labels":
        y = np.zeros(n)
    groups = ARCHITECTURES[architecture].groups(X, patterns)
    beta = BETAS[int(rng.integers(len(BETAS)))]
    return GatedProgram(groups, y, None if beta is None else beta * zero_threshold(groups, y))


def zero_threshold(groups: Groups, y: np.ndarray) -> float:
    """max_g ||A_g^T y||, from which on the optimum is zero; 1 if y is zero."""
    return float(np.linalg.norm(groups.adjoint(y), axis=1).max()) or 1.0


def _nearly_equal(rng: Rng, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    X[n // 2 :] = X[: n - n // 2] * (1.0 + 1e-9 * rng.standard_normal((n - n // 2, d)))
    return X


STRANGE: dict[str, Callable[[Rng, int, int], Array]] = {
    **KINDS,
    "nearly equal rows": _nearly_equal,
    "whole numbers times 1e8": lambda rng, n, d: 1e8 * rng.integers(-3, 4, (n, d)),
}
"""Kind -> matrix (n, d)."""


def strange_program(kind: str, seed: int) -> ExactProgram:
    """A program over a matrix of this kind, one in six with one row, one with few, one with many."""
    rng = np.random.default_rng([seed, 35])
    d = int(rng.integers(1, 7))
    n = (1, int(rng.integers(2, 6)), 40)[seed % 6] if seed % 6 < 3 else int(rng.integers(d, 4 * d + 1))
    X = STRANGE[kind](rng, n, d)
    architecture = list(ARCHITECTURES)[int(rng.integers(len(ARCHITECTURES)))]
    F = ARCHITECTURES[architecture].features(X)
    # whole directions meet rows of whole numbers exactly: there cones have no interior
    directions = rng.standard_normal((F.shape[1], 15))
    if seed % 2:
        directions = np.round(directions)
    patterns = unique_patterns(F, [F @ directions >= 0])
    if seed % 5 == 0:  # patterns twice, and sets of rows that are no pattern: their cones may be zero alone
        patterns = np.hstack([patterns, patterns[:, :2], rng.random((n, 3)) < 0.5])
    if not patterns.shape[1]:
        patterns = np.ones((n, 1), dtype=np.bool_)
    groups = ARCHITECTURES[architecture].groups(X, patterns)
    y = np.zeros(n)
    for h in directions[:, : int(rng.integers(1, 4))].T:
        y += rng.choice([-1.0, 1.0]) * np.maximum(F @ h, 0.0)
    beta = STRANGE_BETAS[int(rng.integers(len(STRANGE_BETAS)))]
    if beta is not None:
        y += rng.choice([0.1, 1.0]) * np.abs(y).max(initial=0.0) * rng.standard_normal(n)
        beta *= float(groups.dual_norms(y).max(initial=0.0)) or 1.0
    return ExactProgram(replace(groups, confined=False), y, beta)
