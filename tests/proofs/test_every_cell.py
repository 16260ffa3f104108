"""Proofs of gated recoveries over all patterns: bounds against every cell; false trees and claims are refused."""

import contextlib

import numpy as np
import pytest

from recovery.conditions.balls import Unproved
from recovery.conditions.exact_model import Model, model_of
from recovery.extras.proofs import every_cell as cells, leaves
from recovery.extras.proofs.every_cell import prove_unique_in_every_cell
from recovery.instances import all_ones
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Setting, Streams, draw
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.types import Array

RELU_SKIP = ARCHITECTURES["relu_skip"]


def least_norm(n: int, d: int, seed: int, architecture: Architecture = RELU_SKIP) -> tuple[Model, Array, float]:
    """A planted linear neuron w, the dual X (X^T X)^-1 w, and its largest norm over all cells."""
    instance = draw(Setting(n, d), Streams.spawn(np.random.default_rng([n, d, seed])), architecture)
    model = model_of(instance, architecture)
    w = model.neurons[:, 0] / np.linalg.norm(model.neurons)
    lam = model.X @ np.linalg.solve(model.X.T @ model.X, w)
    found, _ = enumerate_cells(model.X)
    scale = np.where(found, 1.0, architecture.slope)
    return model, lam, float(np.linalg.norm((model.X * lam[:, None]).T @ scale, axis=0).max())


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_what_is_proved_bounds_every_cell_and_violated_duals_are_not_proved(slope: float) -> None:
    proved = refused = 0
    architecture = Architecture("leaky_skip", skip=True, slope=slope)
    for seed in range(40):
        model, lam, largest = least_norm(8 + seed % 5, 2 + seed % 3, seed, architecture)
        bound = np.inf
        with contextlib.suppress(Unproved):
            bound = prove_unique_in_every_cell(model, lam, 10**5)
        assert largest <= bound * (1 + 1e-12)
        assert bound < 1.0 or largest > 1.0 - 1e-9, seed
        proved, refused = proved + (bound < 1.0), refused + (bound == np.inf)
    assert min(proved, refused) >= 5


@pytest.mark.parametrize("how", ["closed", "no sense", "empty", "weights"])
def test_false_floats_prove_nothing(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    examined = 0
    for seed in range(20):
        model, lam, largest = least_norm(9, 3, seed)
        if largest <= 1.0:
            continue
        examined += 1
        if how in ("closed", "no sense"):
            mu = 0.5 if how == "closed" else 1e-9
            for module in (cells, leaves):
                monkeypatch.setattr(module, "bound_over_sides", lambda *_, mu=mu: (0.0, mu, 0.3))
        else:
            monkeypatch.setattr(cells, "cell_point", lambda *_: 0)
        if how == "weights":
            monkeypatch.setattr(all_ones.scipy.optimize, "nnls", lambda A, b: (np.ones(A.shape[1]), 0.0))
        with pytest.raises(Unproved):
            prove_unique_in_every_cell(model, lam, 10**5)
    assert examined >= 5
