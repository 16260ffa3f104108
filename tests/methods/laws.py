"""Data and planted models that tests give: fixed rows, spoiled rows, and fixed neurons."""

from dataclasses import dataclass

import numpy as np

from recovery.instances.planted import Neurons
from recovery.types import Array, Rng

SPOILED = ["zero", "repeated", "opposite", "nearly equal", "integers", "uneven"]


@dataclass(frozen=True)
class Rows:
    """These rows."""

    rows: tuple[tuple[float, ...], ...]

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        return np.array(self.rows, dtype=float)


@dataclass(frozen=True)
class Spoiled:
    """Gaussian rows of which some are zero or repeat others, or whose entries or sizes are others."""

    how: str

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        X: Array = rng.standard_normal((n, d))
        if self.how == "zero":
            X[::3] = 0.0
        elif self.how == "repeated":
            X[1::2] = X[: n // 2]
        elif self.how == "opposite":
            X[1::2] = -X[: n // 2]
        elif self.how == "nearly equal":
            X[1::2] = X[: n // 2] * (1.0 + 1e-4 * rng.standard_normal((n // 2, d)))
        elif self.how == "integers":
            X = np.round(1.5 * X)
        elif self.how == "uneven":
            X *= 10.0 ** rng.integers(-4, 4, (n, 1))
        return X


@dataclass(frozen=True)
class Given:
    """These planted neurons, divided by their norms if `unit`."""

    directions: tuple[tuple[float, ...], ...]
    signs: tuple[float, ...]
    form: str = "relu"
    slope: float = 0.0
    unit: bool = True

    @property
    def neurons(self) -> int:
        return len(self.signs)

    def draw(self, rng: Rng, X: Array) -> Neurons:
        W = np.array(self.directions).T
        W = W / np.linalg.norm(W, axis=0) if self.unit else W
        return Neurons(self.form, W, np.array(self.signs), 0, self.slope)  # type: ignore[arg-type]
