"""Small random programs, including degenerate ones, that every solver must handle."""

import numpy as np

from recovery.instances.draw import Setting, draw
from recovery.instances.ensembles import CubicGaussian, Gaussian, Haar
from recovery.instances.patterns import unique_patterns
from recovery.instances.planted import Linear, NormalizedRelu, Relu
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.groups import Groups
from recovery.programs.program import GatedProgram

DATA = ("plain", "wide", "between", "rank_deficient", "repeated_rows", "one_pattern", "zero_labels")
BETAS = (None, 1e-8, 1e-4, 1e-2, 1.0, 100.0)


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
