"""Arrangement patterns: columns of a boolean matrix D (n, p), each 1[X h_j >= 0] for some h_j != 0.

A zero row of X contributes nothing to an operator D X. It counts as active in every pattern, so patterns that differ
only there are equal, and a pattern whose other rows are all inactive is empty.
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
    """The pattern set of a program.

    `sampled`: the patterns of `count` random hyperplanes (`auto`: max(n, 50); `double`: max(2n, 50), P1's number for
    its isometry checks). Sampling practically never finds the all-ones pattern: `all_ones: decide` decides exactly
    whether it exists and includes it if so; `ignore` leaves it out, as a program that only samples does. It exists if
    some w has X w > 0 on every non-zero row: P1's (31). P1's (5) has closed conditions and would also admit it where
    opposite rows x and -x are both at zero; a neuron there also belongs to other patterns. `searched`: the sampled
    patterns, and those that the method finds by searching for the worst. `exhaustive`: all patterns, for small d (at
    most 200 000); `count` is ignored. `all`: the sampled patterns, and those that violate a dual, until one is proved
    to be feasible over all patterns. If a proof needs more than `nodes` cones, or cells, the verdict is undecided.
    """

    kind: Literal["sampled", "searched", "exhaustive", "all"] = "sampled"
    count: Annotated[int, Ge(1)] | Literal["auto", "double"] = "auto"
    all_ones: Literal["decide", "ignore"] = "decide"
    nodes: Annotated[int, Ge(1)] = field(default=2_000_000, metadata={"later": True})

    def samples(self, n: int) -> int:
        """Return the number of hyperplanes to sample for n rows."""
        if isinstance(self.count, int):
            return self.count
        return max(2 * n if self.count == "double" else n, FEWEST_SAMPLES)


def live_rows(X: Array) -> Mask:
    """Return which rows of X (n, d) are non-zero, (n,)."""
    if X.shape[1] and X[:, 0].all():
        return np.ones(len(X), dtype=np.bool_)
    return np.asarray(X.any(axis=1))


def patterns_of(X: Array, directions: Array) -> Mask:
    """Return 1[X h >= 0] for each column h of `directions` (d, m); shape (n, m)."""
    result: Mask = X @ directions >= 0
    return result


def sample_patterns(rng: Rng, X: Array, count: int) -> Mask:
    """Draw the patterns of `count` hyperplanes with standard normal directions, including repeats; shape (n, count)."""
    return patterns_of(X, rng.standard_normal((X.shape[1], count)))


def unique_patterns(X: Array, blocks: Iterable[Mask]) -> Mask:
    """Return the distinct non-empty columns of all blocks, in order of appearance; zero rows of X are active."""
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
