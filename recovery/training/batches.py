"""Mini-batches: the losses of one epoch's disjoint random subsets of the rows."""

from collections.abc import Iterator

import numpy as np

from recovery.training.models import Empirical
from recovery.types import Array, Rng


class Minibatches:
    """Calling it shuffles the rows and gives the loss of each batch in turn; the last one may be smaller.

    Each loss is scaled by n/size, so that its gradient is on average that of the whole loss. It keeps rows of its own,
    which the next batch of its size overwrites.
    """

    def __init__(
        self, rng: Rng, X: Array, Y: Array, k: int, factor: float, size: int, dtype: type[np.floating]
    ) -> None:
        self.rng = rng
        self.X, self.Y = X.astype(dtype), Y.T.astype(dtype)
        n, size = len(X), min(size, len(X))
        self.sizes = [size] * (n // size) + ([n % size] if n % size else [])
        self.losses = {b: Empirical(X[:b].copy(), Y[:b].copy(), k, factor * n / b, dtype) for b in set(self.sizes)}

    def __call__(self) -> Iterator[Empirical]:
        order = self.rng.permutation(len(self.X))
        start = 0
        for size in self.sizes:
            rows, loss = order[start : start + size], self.losses[size]
            np.take(self.X, rows, axis=0, out=loss.X)
            np.take(self.Y, rows, axis=1, out=loss.Y)
            yield loss
            start += size
