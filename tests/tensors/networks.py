"""Random networks for the tests of this package."""

import numpy as np

from recovery.programs.relu_network import ReluNetwork


def draw_network(seed: int, d: int, m: int, bias: float = 1.0) -> ReluNetwork:
    """Unit weights uniform on the sphere, biases on [-bias, bias], |a| on [1/2, 2] with random signs."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((m, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    return ReluNetwork(W, bias * rng.uniform(-1, 1, m), rng.choice([-1.0, 1.0], m) * rng.uniform(0.5, 2.0, m))
