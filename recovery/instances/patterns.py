"""Arrangement patterns: the columns of a boolean matrix D (n, p); column j is 1[X h_j >= 0] for some h_j != 0.

A zero row of X is in no operator D X, so it decides nothing: it counts as active in every pattern, patterns that
differ there only are one, and a pattern whose other rows are all inactive is empty.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge

from recovery.types import Array, Mask, Rng

FEWEST_SAMPLES = 50
"""P1 samples max(n, 50) hyperplanes."""


@dataclass(frozen=True)
class Patterns:
    """Which patterns enter a program.

    `sampled`: those of `count` random hyperplanes (`auto`: max(n, 50); `double`: max(2n, 50), P1's number for its
    isometry checks). Sampling never meets the all-ones pattern: `all_ones: decide` decides exactly whether it exists
    and then includes it; `ignore` leaves it out, as a program that only samples does.
    It exists where some w has X w > 0 on every row that is not zero: P1's (31). P1's (5) has closed conditions and
    would also admit it where opposite rows x and -x are both at zero; a neuron there is one of other patterns too.
    `searched`: the sampled ones, and those that the method itself finds by looking for the worst.
    `exhaustive`: all of them, for small d (at most 200 000); `count` has no meaning then.
    `all`: the sampled ones, and those that violate a dual, until one is proved to be feasible over all patterns; a
    proof that needs more than `nodes` cones, or cells, leaves the verdict open.
    """

    kind: Literal["sampled", "searched", "exhaustive", "all"] = "sampled"
    count: Annotated[int, Ge(1)] | Literal["auto", "double"] = "auto"
    all_ones: Literal["decide", "ignore"] = "decide"
    nodes: Annotated[int, Ge(1)] = field(default=2_000_000, metadata={"later": True})

    def samples(self, n: int) -> int:
        """The number of hyperplanes to sample for n rows."""
        if isinstance(self.count, int):
            return self.count
        return max(2 * n if self.count == "double" else n, FEWEST_SAMPLES)


def live_rows(X: Array) -> Mask:
    """Which rows of X (n, d) are not zero, (n,)."""
    if X.shape[1] and X[:, 0].all():
        return np.ones(len(X), dtype=np.bool_)
    return np.asarray(X.any(axis=1))


def patterns_of(X: Array, directions: Array) -> Mask:
    """1[X h >= 0] for each column h of `directions` (d, m); shape (n, m)."""
    result: Mask = X @ directions >= 0
    return result


def sample_patterns(rng: Rng, X: Array, count: int) -> Mask:
    """The patterns of `count` hyperplanes with standard normal directions, repeats included; shape (n, count)."""
    return patterns_of(X, rng.standard_normal((X.shape[1], count)))


def unique_patterns(X: Array, blocks: Iterable[Mask]) -> Mask:
    """The distinct non-empty columns of the blocks side by side, in order of appearance; zero rows of X active."""
    some = [block for block in blocks if block.shape[1]]
    columns = some[0] if len(some) == 1 else np.hstack(some) if some else np.empty((len(X), 0), dtype=np.bool_)
    live = live_rows(X)
    if not live.all():
        columns = columns.copy()
        columns[~live] = columns[live].any(axis=0)
    rows = np.packbits(np.ascontiguousarray(columns.T), axis=1)
    keys = rows.view(f"V{rows.shape[1]}").ravel().tolist()
    distinct, empty = set(keys), bytes(rows.shape[1])
    if len(distinct) == len(keys) and empty not in distinct:
        return columns
    first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
    first.pop(empty, None)
    return columns[:, sorted(first.values())]
