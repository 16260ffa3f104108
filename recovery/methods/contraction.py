"""Does gradient descent on the population loss contract towards the planted weights? (P2, Lemma 4)"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Interval

from recovery.instances.draw import Instance
from recovery.methods.columns import Columns, select
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.training.population import correlation


@dataclass(frozen=True)
class Contraction:
    """min over a of <W - W*, grad L> - c ||W - W*||_F^2 over ||w_1||^2; columns `objective`, and `holds` where >= 0.

    v = (1, -1), W* = [a, -a], ||w_1 + w_2|| <= ||a||/2. degrees: the angle of w_1 and w_2. ratio: ||w_2||/||w_1||.
    constant: c. A closed form: nothing of the instance enters.
    """

    columns: ClassVar[Columns] = select("objective", "holds")

    degrees: Annotated[float, Interval(ge=0, le=180)] = 90.0
    ratio: Annotated[float, Gt(0)] = 1.0
    constant: Annotated[float, Interval(gt=0, lt=0.5)] = 0.3

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        value = float(correlation(np.array(np.deg2rad(self.degrees)), np.array(self.ratio), self.constant))
        return Measurement(objective=value, holds=value >= -ROUNDING * max(1.0, self.ratio**2))

    def cost(self, n: int, d: int) -> float:
        return 1e-4


ROUNDING = 1e-12
"""At opposite neurons of equal length the minimum is 0, which rounding may put just below."""
