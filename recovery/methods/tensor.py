"""Estimation of the parameters of a planted network from Hermite moments, with an optional polish (P4)."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval

from recovery.errors import DataError, refuse
from recovery.instances.draw import Instance, Setting
from recovery.instances.ensembles import Standard
from recovery.instances.planted_functions import PlantedNetwork
from recovery.methods.columns import Column, Columns, select
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.programs.relu_network import ReluNetwork, function_error, parameter_error
from recovery.tensors.hermite import count_operations, estimate, exact, from_samples
from recovery.tensors.learner import Learned, LearnOptions, learn
from recovery.tensors.polish import random_starts, search
from recovery.tensors.printed_steps import truncated_regression
from recovery.types import Array, Rng

MOST_DIRECTIONS = 10
"""Largest number of directions with `auto`; pairs of directions cost its square."""


@dataclass(frozen=True)
class Tensor:
    """Learn a network of one hidden layer with biases from data with x ~ N(0, I).

    neurons: a number, or `planted` for the number of planted neurons. order: l; 1 needs independent weights, 2
    independent w (x) w and d <= 12. samples: `infinite` uses the exact moments of the planted network, not the rows.
    directions: number of directions; each contracts T_{2l+1}, each pair contracts T_{2l+2}; `auto` is min(d, 10).
    decomposition: `joint`, all orders at once; `paired`, two orders by plain Jennrich as in Algorithm 4 of P4.
    rank: `neurons` takes this number of weights from the moments; `noise` takes the weights above the noise level.
    signs: `nearest`, the signs whose linear part fits the moments best; `first_moment`, Algorithm 3 of P4, for order 1.
    regression: how outer weights and the linear part are found: `all_rows`, least squares on all rows; `none`, from the
    moments (with signs by the first moment and paired weights, Algorithm 6); `split`, Algorithm 5:
    moments from the first half of the rows, the function from a truncated regression on the rest.
    averages: `explained` first subtracts from the labels the part that a polynomial of degree 2 explains, which changes
    no moment; `plain` averages y He_k(x), as P4 does.
    polish: `lm` fits all parameters to the rows by Levenberg-Marquardt, with at most `evaluations` evaluations.
    start: initial point of `lm`: `tensor`, `random` (several, as the evaluations allow), `both` (`tensor` first).
    success: recovered when the parameter error is at most this.

    There is no command for a user's table: the moments need jointly normal columns and more rows than real tables have
    (benchmarks/tensors.md: on a table of 442 rows no unit was found in 9 of 10 splits).
    """

    neurons: Annotated[int, Ge(1)] | Literal["planted"] = "planted"
    order: Annotated[int, Interval(ge=1, le=2)] = 1
    samples: Literal["drawn", "infinite"] = "drawn"
    directions: Annotated[int, Ge(1)] | Literal["auto"] = "auto"
    decomposition: Literal["joint", "paired"] = "joint"
    rank: Literal["neurons", "noise"] = "neurons"
    polish: Literal["none", "lm"] = "none"
    start: Literal["tensor", "random", "both"] = "tensor"
    evaluations: Annotated[int, Ge(1)] = 100
    success: Annotated[float, Gt(0)] = 1e-2
    signs: Literal["nearest", "first_moment"] = field(default="nearest", metadata={"later": True})
    regression: Literal["all_rows", "none", "split"] = field(default="all_rows", metadata={"later": True})
    averages: Literal["explained", "plain"] = field(default="explained", metadata={"later": True})

    columns: ClassVar[Columns] = select("recovered", "flip_margin") | {
        "parameter_error": Column(float, "the largest ||(w, b, a) - (w*, b*, a*)|| of a unit, after the best matching"),
        "unsigned_error": Column(float, "the same where (w, b) and (-w, -b) count as one"),
        "function_error": Column(float, "||f - f*|| / ||f*|| over x ~ N(0, I), exact to 1e-8"),
        "units_found": Column(int, "units above the sampling noise in the moments", "units"),
        "fit_residual": Column(float, "||f(X) - y|| / ||y|| on the rows"),
        "evaluations": Column(int, "evaluations of the polish", "evaluations"),
        "starts": Column(int, "starts of the polish, until it fitted or its evaluations were used up", "starts"),
    }

    def __post_init__(self) -> None:
        exact = self.samples == "infinite"
        refuse(
            (exact and self.polish != "none", "samples: infinite has no rows for a polish to fit; use polish: none"),
            (exact and self.regression == "split", "samples: infinite has no rows for regression: split to halve"),
            (
                self.signs == "first_moment" and self.order != 1,
                "signs: first_moment needs independent weights; use order: 1",
            ),
            (self.start != "tensor" and self.polish == "none", f"start: {self.start} is for polish: lm"),
        )

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse settings whose moments are not known or too expensive. Raises `ParameterError`."""
        architecture.require("learned")
        known = isinstance(setting.ensemble, Standard) and setting.planted.form == "other"
        refuse((not known, "method tensor needs data: {ensemble: standard} and planted: {kind: network}"))
        n, d, m = setting.n, setting.d, self._neurons(setting)
        refuse(
            (self.order == 2 and d > 12, f"order 2 has matrices of d^2 x d^2 numbers, so d <= 12; found d = {d}"),
            (n < 2, "moments need at least n = 2 rows"),
            (self.regression == "split" and n < 4, f"regression: split needs at least n = 4 rows, found {n}"),
            (
                self.decomposition == "paired" and d > 1 and self._directions(d) == 1,
                "decomposition: paired compares contractions of one tensor: it needs at least 2 directions",
            ),
            (
                self.polish == "lm" and n < m * (d + 2),
                f"a polish of {m} units needs at least n = {m * (d + 2)} rows, found {n}",
            ),
        )

    def setting_cost(self, setting: Setting) -> float:
        """Estimate the seconds of the moments, and of the polish on at most 50 rows per parameter."""
        n, d = setting.n, setting.d
        moments = 1e-10 * n * count_operations(d, self._directions(d), self.order)
        p = (d + 2) * self._neurons(setting)
        steps = self.evaluations if self.polish == "lm" else 0
        return 1e-2 + moments + 1e-3 * steps + 1e-10 * p**2 * (min(n, 50 * p) * steps + n * min(steps, 10))

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        """Learn from the instance. Raises `ParameterError` for what `check` refuses, `DataError` for another target."""
        self.check(instance.setting, architecture)
        target = instance.planted
        if not isinstance(target, PlantedNetwork):
            raise DataError(f"method tensor needs a planted network to compare with, found {type(target).__name__}")
        planted, rng = target.network.unit(), instance.streams.training
        learned = self._learn(instance, planted, rng)
        row = Measurement(units_found=learned.rank, flip_margin=planted.flip_margin())
        units, network = learned.units, learned.network
        if self.regression == "split":
            half = len(instance.y) // 2
            network = truncated_regression(instance.X[half:], instance.y[half:], units, self._neurons(instance.setting))
        if self.polish == "lm":
            X, y = instance.X, instance.y
            fitted = search(X, y, self._starts(X, y, units, self._neurons(instance.setting), rng), self.evaluations)
            units = network = fitted.network
            row |= {"evaluations": fitted.evaluations, "starts": fitted.starts}
        if self.samples == "drawn":
            size = np.linalg.norm(instance.y)
            row["fit_residual"] = float(np.linalg.norm(network(instance.X) - instance.y) / size) if size > 0 else None
        error = parameter_error(units, planted)
        row.unmeasured |= dict.fromkeys(("parameter_error", "unsigned_error"), "the numbers of units differ")
        return row.having(
            recovered=error is not None and error <= self.success,
            parameter_error=error,
            unsigned_error=parameter_error(units, planted, up_to_sign=True),
            function_error=function_error(network, planted),
        )

    def _learn(self, instance: Instance, planted: ReluNetwork, rng: Rng) -> Learned:
        d = instance.setting.d
        G = np.linalg.qr(rng.standard_normal((d, d)))[0][: self._directions(d)]
        neurons = self._neurons(instance.setting)
        options = LearnOptions(
            joint=self.decomposition == "joint",
            trust=self.samples == "drawn" and self.rank == "neurons",
            printed_signs=self.signs == "first_moment",
            regressed=self.regression == "all_rows",
        )
        if self.samples == "infinite":
            return learn(exact(planted, self.order, G), neurons, rng, options=options)
        seen = len(instance.y) // 2 if self.regression == "split" else None
        data = instance.X[:seen], instance.y[:seen]
        plain = self.averages == "plain"
        moments = estimate(*data, self.order, G) if plain else from_samples(*data, self.order, G)
        return learn(moments, neurons, rng, data, options)

    def _starts(self, X: Array, y: Array, units: ReluNetwork, m: int, rng: Rng) -> Iterator[ReluNetwork]:
        """Yield the starting networks of the polish; random units complete a tensor start with fewer than m units."""
        lacking = m - len(units.a)
        first = units + next(random_starts(X, y, lacking, rng)) if lacking > 0 else units
        rest = random_starts(X, y, m, rng)
        return {"tensor": iter([first]), "random": rest, "both": chain([first], rest)}[self.start]

    def _neurons(self, setting: Setting) -> int:
        return (setting.planted.neurons or 1) if self.neurons == "planted" else self.neurons

    def _directions(self, d: int) -> int:
        return min(d, MOST_DIRECTIONS if self.directions == "auto" else self.directions)
