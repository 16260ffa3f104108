"""Everything that a user can add, in one file: an ensemble, architectures, planted models, a method with a column, a
solver, a kind of figure and a kind of claim.

Copied beside a config as own_things.py by the tests of the recipes.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from recovery.instances.planted import Neurons, Relu
from recovery.methods.columns import Column, select
from recovery.programs.architecture import Architecture
from recovery.solvers.conic import solve_conic
from recovery.solvers.table import Solver


def spiked(rng, n, d, scale=3.0):
    """Gaussian rows with one long direction."""
    X = rng.standard_normal((n, d)) / np.sqrt(n)
    X[:, 0] *= scale
    return X


class Biased(Architecture):
    """ReLU neurons that also see a constant column."""

    def features(self, X):
        return np.hstack([X, np.full((len(X), 1), 1 / np.sqrt(len(X)))])


BIASED = Biased("biased", uses=frozenset({"gated", "exact", "isometry"}))
LEAKY = Architecture("leaky", slope=0.2)
LEAKY_SKIP = Architecture("leaky_skip", skip=True, slope=0.2)
ONLY_GATED = Architecture("only_gated", skip=True, uses=frozenset({"gated"}))
NOT_ONE = "relu"


class Twisted(Architecture):
    """Features that are not X and then more: cannot be."""

    def features(self, X):
        return X[:, ::-1]


TWISTED = Twisted("twisted")


@dataclass(frozen=True)
class LeakyNeuron(Relu):
    """Planted neurons of a leaky network."""

    slope: ClassVar[float] = 0.2


@dataclass(frozen=True)
class Shifted:
    """A linear neuron, and labels that no linear neuron gives."""

    by: float = 0.1
    form: ClassVar[str] = "linear"
    neurons: ClassVar[int] = 1
    slope: ClassVar[float] = 0.0

    def draw(self, rng, X):
        w = rng.standard_normal((X.shape[1], 1))
        return Offset("linear", w / np.linalg.norm(w), np.ones(1), by=self.by)


@dataclass(frozen=True)
class Offset(Neurons):
    by: float = 0.0

    def labels(self, X):
        return super().labels(X) + self.by


@dataclass(frozen=True)
class Angle:
    """Least squares, and the angle of what it finds to the planted direction."""

    columns: ClassVar = select("recovered") | {"angle": Column(float, "angle to the planted direction", "degrees")}

    tolerance: float = 1e-6

    def cost(self, n, d):
        return 1e-4

    def __call__(self, instance, architecture):
        w = np.linalg.lstsq(instance.X, instance.y, rcond=None)[0]
        cosine = w @ instance.planted.directions[:, 0] / np.linalg.norm(w)
        angle = float(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
        return {"recovered": angle <= self.tolerance, "angle": angle}


MINE = Solver({"gated": lambda program: solve_conic(program, "CLARABEL")})


@dataclass(frozen=True)
class MeanClaim:
    """The mean of a column over all trials that measured it."""

    of: str
    value: float
    tolerance: float
    where: dict = field(default_factory=dict)
    source: str = ""


def state_mean(claim):
    return f"the mean of {claim.of} is {claim.value:g} within {claim.tolerance:g}"


def judge_mean(estimates, panels, claim):
    found = float(estimates.diagram.frame[claim.of].mean())
    return f"{found:.4g}", "supported" if abs(found - claim.value) <= claim.tolerance else "contradicted"
