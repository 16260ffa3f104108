"""User methods whose `cost` misjudges their time, for benchmarks/forecast.py."""

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from recovery.instances.draw import Instance
from recovery.methods.columns import Columns, select
from recovery.programs.architecture import Architecture


@dataclass(frozen=True)
class Cubic:
    """Computes for a time that grows with n^3, although its cost is n d."""

    columns: ClassVar[Columns] = select("recovered")

    def cost(self, n: int, d: int) -> float:
        return float(n * d)

    def seconds(self, instance: Instance) -> float:
        return float((instance.setting.n / 400) ** 3)

    def __call__(self, instance: Instance, architecture: Architecture) -> dict[str, bool]:
        end = time.process_time() + self.seconds(instance)
        while time.process_time() < end:
            np.linalg.norm(instance.X)
        return {"recovered": True}


class HeavyTail(Cubic):
    """Computes for a random time whose variance is infinite."""

    def seconds(self, instance: Instance) -> float:
        return float(0.02 * abs(instance.streams.training.standard_cauchy()) ** 0.7)


class Waiting(Cubic):
    """Waits without computing."""

    def __call__(self, instance: Instance, architecture: Architecture) -> dict[str, bool]:
        time.sleep(0.1 + instance.setting.d / 100)
        return {"recovered": True}
