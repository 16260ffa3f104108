"""Architectures: two-layer networks as values that define everything that depends on the kind of network.

A user's architecture is such a value, or an instance of a subclass that overrides `features`; a config refers to it as
`architecture: module:NAME`. No code depends on an architecture's name.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.groups import Groups
from recovery.programs.orthonormal import orthonormal_base
from recovery.types import Array, Mask

Use = Literal["gated", "exact", "isometry", "trained", "learned"]
CONVEX: frozenset[Use] = frozenset({"gated", "exact", "isometry"})


@dataclass(frozen=True)
class Architecture:
    """A kind of two-layer network, f(X) = [X w_0] + sum_i N((X w_i)_+) a_i.

    name: its name in rows and reports. skip: whether there is a skip connection X w_0. normalization: of each neuron
    over the data, to a trained length: `none`, `after` the ReLU (P1's normalised network), or `before` it (P1, (24): on
    whitened data). slope: slope of the activation for negative arguments; 0 is the ReLU. uses: what the architecture
    supports: `gated` and `exact` convex programs, `isometry` conditions, networks `trained` by gradient descent or
    `learned` from moments.
    """

    name: str
    skip: bool = False
    normalization: Literal["none", "before", "after"] = "none"
    slope: float = 0.0
    uses: frozenset[Use] = CONVEX

    def __post_init__(self) -> None:
        unknown = set(self.uses) - set(get_args(Use))
        if unknown or not self.uses:
            raise ParameterError(
                f"architecture {self.name!r}: uses are some of {', '.join(get_args(Use))}, found "
                f"{', '.join(map(str, sorted(self.uses))) or 'none'}"
            )
        if not -1.0 < self.slope < 1.0:
            raise ParameterError(f"architecture {self.name!r}: slope must lie between -1 and 1, found {self.slope}")
        if self.slope != 0.0 and self.normalized:
            raise ParameterError(f"architecture {self.name!r}: a slope goes with normalization: none only")
        if (self.slope != 0.0 or self.normalizes_before) and self.uses - CONVEX:
            unknown_to = "a slope is" if self.slope else "normalization: before is"
            raise ParameterError(f"architecture {self.name!r}: {unknown_to} known to convex programs only")

    def __str__(self) -> str:
        return self.name

    @property
    def plain(self) -> bool:
        """Whether f(X) = sum_i (X w_i)_+ a_i."""
        return not self.skip and not self.normalized and self.slope == 0.0

    @property
    def normalized(self) -> bool:
        """Whether neurons are scaled to a trained length: weights are then coordinates in bases of the data."""
        return self.normalization != "none"

    @property
    def normalizes_after(self) -> bool:
        """Whether the length of a neuron is the norm of its activations."""
        return self.normalization == "after"

    @property
    def normalizes_before(self) -> bool:
        """Whether the length of a neuron is the norm of X w, before the activation."""
        return self.normalization == "before"

    def measured(self, pattern: Mask) -> Mask:
        """Return the rows over which the length of a normalised neuron of this pattern (n,) is computed, (n,)."""
        return pattern if self.normalizes_after else np.ones_like(pattern)

    def require(self, use: Use) -> None:
        """Raise `ParameterError` if the architecture does not support this use."""
        if use not in self.uses:
            able = ", ".join(name for name, other in ARCHITECTURES.items() if use in other.uses)
            raise ParameterError(f"architecture {self.name!r} cannot be {_DOING[use]}; those that can are {able}")

    def features(self, X: Array) -> Array:
        """Return the inputs of the neurons, (n, d'), for X (n, d): X, and further columns after it, if any."""
        return X

    @property
    def own_features(self) -> bool:
        """Whether the inputs of the neurons are not just X."""
        return type(self).features is not Architecture.features

    def lift(self, W: Array, X: Array) -> Array:
        """Convert neurons W (d, k) on X (n, d) to (d', k) on its features, with zeros for further columns."""
        more = self.features(X[:1]).shape[1] - X.shape[1]
        return np.pad(W, ((0, more), (0, 0))) if more else W

    def groups(self, X: Array, patterns: Mask) -> Groups:
        """Return the group operators for patterns (n, p) of the features of X (n, d)."""
        F = self.features(X)
        base, coordinates = orthonormal_base(F) if self.normalized else (F, np.eye(F.shape[1]))
        if self.skip:
            patterns = np.hstack([np.ones((len(patterns), 1), dtype=np.bool_), patterns])
        return Groups(base, patterns, coordinates, self.skip, self.normalizes_after, self.slope)

    def check(self) -> None:
        """Raise `ParameterError` if `features` or `groups` do not return what this class documents."""
        X = np.random.default_rng(0).standard_normal((5, 2))
        F = self.features(X)
        if F.ndim != 2 or len(F) != 5 or F.shape[1] < 2 or not np.array_equal(F[:, :2], X):
            raise ParameterError(
                f"architecture {self.name!r}: features(X) must be X and then further columns, one row a row of X"
            )
        patterns = F @ np.ones((F.shape[1], 1)) >= 0
        groups = self.groups(X, patterns)
        if (groups.linear, groups.slope) != (self.skip, self.slope):
            raise ParameterError(f"architecture {self.name!r}: groups(X, patterns) has another skip or slope")


_DOING: dict[Use, str] = {
    "gated": "solved as a gated program",
    "exact": "solved as an exact program",
    "isometry": "judged by an isometry condition",
    "trained": "trained",
    "learned": "learned from moments",
}


class _Absent(Architecture):
    """Placeholder architecture, without uses, for a user's method that needs none."""

    def __post_init__(self) -> None:
        pass


NONE = _Absent("none", uses=frozenset())


@dataclass(frozen=True)
class Biased(Architecture):
    """The architecture f(X) = sum_i (X w_i + b_i)_+ a_i: its features are X and a column of ones (P4)."""

    def features(self, X: Array) -> Array:
        return np.hstack([X, np.ones((len(X), 1))])


_ALL: frozenset[Use] = CONVEX | {"trained"}

ARCHITECTURES: dict[str, Architecture] = {
    each.name: each
    for each in (
        Architecture("relu", uses=_ALL),
        Architecture("relu_skip", skip=True, uses=_ALL),
        Architecture("relu_norm", normalization="after", uses=_ALL),
        Architecture("relu_norm_skip", skip=True, normalization="before"),
        Biased("relu_bias", uses=_ALL | {"learned"}),
    )
}
"""Architectures by name."""
RELU = ARCHITECTURES["relu"]


def find_architecture(name: str) -> Architecture:
    """Return the architecture of this name. Raises `ParameterError` if there is none."""
    if name not in ARCHITECTURES:
        raise ParameterError(f"unknown architecture {name!r}; there are {', '.join(ARCHITECTURES)}")
    return ARCHITECTURES[name]
