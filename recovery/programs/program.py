"""A convex program as data. It knows no solver."""

from dataclasses import dataclass

import numpy as np

from recovery.errors import ParameterError
from recovery.programs.groups import Groups
from recovery.types import Array


@dataclass(frozen=True)
class Program:
    """The gated group-lasso program over groups A_g and labels y (n,).

    beta None: min sum_g ||w_g|| subject to sum_g A_g w_g = y (P1, (12), (15), (17)).
    beta > 0:  min 1/2 ||sum_g A_g w_g - y||^2 + beta sum_g ||w_g||.
    P1 prints (27), (28), (211), (212) without the 1/2; that form with beta is this one with beta / 2.
    """

    groups: Groups
    y: Array
    beta: float | None = None

    def __post_init__(self) -> None:
        if self.y.shape != (self.groups.n,):
            raise ParameterError(f"y must have shape ({self.groups.n},), found {self.y.shape}")
        if self.beta is not None and not 0 < self.beta < np.inf:
            raise ParameterError(f"beta must be positive and finite, found {self.beta}")

    @property
    def interpolates(self) -> bool:
        return self.beta is None

    @property
    def penalty(self) -> float:
        """The factor of sum_g ||w_g||: 1 for interpolation, else beta."""
        return 1.0 if self.beta is None else self.beta

    def objective(self, W: Array) -> float:
        """The primal objective at W (p, r); for interpolation the constraint is not looked at."""
        norms = self.penalty * float(np.linalg.norm(W, axis=1).sum())
        if self.interpolates:
            return norms
        residual = self.groups.forward(W) - self.y
        return norms + 0.5 * float(residual @ residual)

    def dual_objective(self, lam: Array) -> float:
        """y.lam, less 1/2 ||lam||^2 when regularised; a lower bound when max_g ||A_g^T lam|| <= penalty."""
        value = float(self.y @ lam)
        return value if self.interpolates else value - 0.5 * float(lam @ lam)
