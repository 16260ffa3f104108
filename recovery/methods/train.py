"""Gradient training of a finite network on an instance (P1, section VII; P2).

`Contraction` measures whether gradient descent on the population loss contracts towards the planted weights (P2,
Lemma 4).
"""

from dataclasses import dataclass, field
from math import e, log
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Interval

from recovery.errors import DataError, refuse
from recovery.instances.draw import Instance, Setting
from recovery.instances.ensembles import Standard
from recovery.instances.planted import Linear
from recovery.methods.columns import Columns, select
from recovery.methods.method import UNDECIDED, Measurement
from recovery.methods.min_norm import MinNorm
from recovery.methods.representation import check_representable
from recovery.methods.trained import DIVERGED, EXCESS, MEASURED, measure, observer, targets, with_excess
from recovery.programs.architecture import Architecture
from recovery.training.descent import Budget, descend, lbfgs
from recovery.training.models import (
    Empirical,
    Initialization,
    Minibatches,
    Outer,
    Parameters,
    initialize,
    paired_outer,
    sign_halves,
)
from recovery.training.optimizers import SCHEDULES, Adam, AdamW, GradientDescent, Optimizer
from recovery.training.population import Population, correlation
from recovery.types import Array, Rng

ROUNDING = 1e-12
"""A bound on the rounding of the minimum, relative to max(1, ratio^2)."""
FULL_BATCH = ("gd", "scaled_gd", "lbfgs")


@dataclass(frozen=True)
class Train:
    """Train `neurons` neurons by a gradient method, and measure the trained network.

    The defaults are those of P1: n + 1 neurons, all layers trained from uniform weights, ||f - y||^2, 400 epochs of
    AdamW. The loss of P2 is `half_mean`, (1/2n) ||f - Y||^2, or its expectation `population` over standard Gaussian x;
    P1's (9) has `half_sum`, 1/2 ||f - y||^2, with `beta`.

    neurons: a number, or `n+1`. outputs: r; above 1 the targets are e_1..e_r (planted: linear, direction: basis).
    outer: `trained`, or fixed: `signs` (halves of +1 and -1), `paired` ([R; -R], R random orthogonal), or a list.
    center: the multiple of the planted direction that is added to every initial neuron.
    reset_state: a new optimiser at every epoch, as in the published code of P1; its figures need `true`.
    optimizer: `lbfgs` (SciPy) has no learning rate, ends by itself where the loss stops falling, and trains all layers.
    learning_rate: the size of a step. schedule: how the size changes; `theorem2` is a first step of 2, then the rate.
    weight_decay: factor of the weights, decoupled for adamw, an l2 term of the gradient for sgd and adam.
    beta: weight decay in the loss, which gets beta/2 times the squared norm of all parameters.
    start: the number of the random start; each number has its own initial weights.
    target_loss: the loss at which training stops early. tolerance: the gradient norm at which training stops early.
    success: recovered when the relative error is at most this.
    record: the number of epochs between points of the stored trajectory, with powers of two before it; 0 stores none.
    compare: `verdict` also decides whether the convex program recovers on this instance.
    excess: also measure how far the objective is above its optimum over all networks of any width, which the convex
    program proves; with loss: half_sum, beta, and patterns: {kind: all}.
    """

    columns: ClassVar[Columns] = MEASURED | EXCESS
    noiseless: ClassVar[tuple[str, ...]] = ("recovered",)

    loss: Literal["sum", "half_sum", "half_mean", "population"] = "sum"
    neurons: Annotated[int, Ge(1)] | Literal["n+1"] = "n+1"
    outputs: Annotated[int, Ge(1)] = 1
    outer: Outer | tuple[float, ...] = "trained"
    initialization: Initialization = "uniform"
    scale: Annotated[float, Gt(0)] = 1.0
    center: float = 0.0
    optimizer: Literal["gd", "scaled_gd", "sgd", "adam", "adamw", "lbfgs"] = "adamw"
    learning_rate: Annotated[float, Gt(0)] = 2e-3
    schedule: Literal["constant", "theorem2", "cosine"] = "constant"
    momentum: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[float, Ge(0)] = 0.0
    reset_state: bool = False
    batch: Annotated[int, Ge(1)] | Literal["full"] = "full"
    epochs: Annotated[int, Ge(0)] = 400
    target_loss: Annotated[float, Gt(0)] | None = None
    tolerance: Annotated[float, Gt(0)] | None = None
    precision: Literal["float32", "float64"] = "float64"
    success: Annotated[float, Gt(0)] = 1e-2
    record: Annotated[int, Ge(0)] = 0
    compare: Literal["none", "verdict"] = "none"
    beta: Annotated[float, Gt(0)] | None = field(default=None, metadata={"later": True})
    start: Annotated[int, Ge(0)] = field(default=0, metadata={"later": True})
    excess: bool = field(default=False, metadata={"later": True})

    def __post_init__(self) -> None:
        k, r, given = self.neurons, self.outputs, isinstance(self.outer, tuple)
        fixed = self.outer != "trained"
        odd = isinstance(k, int) and k % 2 == 1
        refuse(
            (fixed and k == "n+1", "a fixed outer layer needs `neurons` as a number"),
            (self.outer == "signs" and odd, f"outer: signs needs an even number of neurons, found {k}"),
            (self.outer == "signs" and r > 1, "outer: signs is for outputs = 1; use outer: paired"),
            (self.outer == "paired" and k != 2 * r, f"outer: paired needs neurons = 2 * outputs = {2 * r}, found {k}"),
            (given and r > 1, "an outer layer given as a list is for outputs = 1"),
            (given and len(self.outer) != k, f"outer gives {len(self.outer)} weights for {k} neurons"),
            (given and 0.0 in self.outer, "an outer layer given as a list must have no zero in it"),
            (self.optimizer == "scaled_gd" and not fixed, "scaled_gd divides by a fixed outer layer; give outer"),
            (self.optimizer in FULL_BATCH and self.batch != "full", f"{self.optimizer} takes the full batch; use sgd"),
            (self.optimizer in FULL_BATCH and self.weight_decay > 0, f"{self.optimizer} has no weight_decay; use sgd"),
            (self.momentum > 0 and self.optimizer != "sgd", "momentum is for optimizer: sgd"),
            (self.loss == "population" and self.batch != "full", "the population loss has no batches"),
            (self.loss == "population" and self.precision != "float64", "the population loss is computed in float64"),
            (self.loss == "population" and k == "n+1", "the population loss has no n; give `neurons` as a number"),
            (self.loss == "population" and self.beta is not None, "the population loss has no beta"),
            (self.optimizer == "lbfgs" and fixed, "lbfgs trains all layers; leave outer out"),
            (self.optimizer == "lbfgs" and self.record > 0, "lbfgs records no trajectory; leave record out"),
            (self.optimizer == "lbfgs" and self.precision != "float64", "lbfgs needs precision: float64"),
            (self.excess and self.beta is None, "excess needs beta: without it the least objective is 0"),
            (self.excess and self.loss != "half_sum", "excess needs loss: half_sum, as the convex program has it"),
            (self.excess and self.weight_decay > 0, "excess needs weight_decay: 0; beta is in the objective"),
            (self.excess and (fixed or r > 1), "excess needs one output and a trained outer layer"),
        )

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse settings that cannot be trained, or compared as the method asks. Raises `ParameterError`."""
        architecture.require("trained")
        if self.compare != "none":
            check_representable(setting, architecture)
        law, r, kind = setting.planted, self.outputs, setting.patterns.kind
        basis = isinstance(law, Linear) and law.direction == "basis" and r <= setting.d and setting.noise == 0
        noiseless = law.form == "linear" and setting.noise == 0 and isinstance(setting.ensemble, Standard)
        refuse(
            (
                r > 1 and not basis,
                f"method.outputs = {r} has the targets e_1..e_{r}: it needs d >= {r}, noise 0 and planted: {{kind: "
                "linear, direction: basis}",
            ),
            (
                self.loss == "population" and not (noiseless and architecture.plain and not architecture.own_features),
                "method.loss: population is known for planted: {kind: linear}, data: {ensemble: standard}, "
                "architecture: relu and no noise",
            ),
            (self.compare != "none" and r > 1, "method.compare is for outputs = 1: the convex program has one"),
            (
                self.excess and architecture.normalized,
                f"method.excess is not known for normalised neurons, found architecture {architecture}",
            ),
            (self.excess and kind != "all", f"method.excess needs patterns: {{kind: all}}, found {kind}"),
            (
                self.beta is not None and architecture.normalized,
                "method.beta: the objective of a normalised network with a penalty has no minimum",
            ),
        )

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        """Train on the instance. Raises `ParameterError` for what `check` refuses, `DataError` for NaN or infinity."""
        self.check(instance.setting, architecture)
        if not (np.isfinite(instance.X).all() and np.isfinite(instance.y).all()):
            raise DataError("X or y contains NaN or infinity; training needs finite numbers")
        A, X = targets(instance, self.outputs), architecture.features(instance.X)
        directions = architecture.lift(instance.planted.hyperplanes if A is None else A.T, instance.X).T
        rng = instance.streams.training
        if self.start:  # each other start jumps to a distant part of the random stream, so that no two overlap
            rng = np.random.Generator(rng.bit_generator.jumped(self.start))  # type: ignore[attr-defined]
        parameters = self.initial(rng, architecture, *X.shape)
        parameters["W"][...] += self.center * directions.sum(axis=0)
        start, k = parameters.copy(), len(parameters["W"])
        Y = instance.y[:, None] if self.outputs == 1 or A is None else instance.X @ A.T
        loss = self._empirical(X, Y, k, self._factor(len(X)))
        never = -np.inf
        budget = Budget(self.epochs, self.target_loss or never, self.tolerance or never)
        if self.optimizer == "lbfgs":
            descent = lbfgs(loss, parameters, budget)
        else:
            descent = descend(
                Population(A) if self.loss == "population" and A is not None else loss,
                parameters,
                self._rule(parameters),
                SCHEDULES[self.schedule](self.learning_rate, self.epochs),
                budget,
                train_outer=self.outer == "trained",
                reset_state=self.reset_state,
                batches=self._batches(rng, X, Y, k),
                record_every=self.record,
                observe=observer(rng, directions),
            )
        outer = None if self.outer == "trained" else start["V"]
        row = measure(instance, descent, start, A, outer, self.success)
        if self.compare != "none":
            row = row.having(convex_recovered=MinNorm()(instance, architecture).recovered)
        row.unmeasured["convex_recovered"] = "method.compare is none" if self.compare == "none" else UNDECIDED
        if self.excess and self.beta is not None and row.stopped != "diverged":
            return with_excess(row, instance, descent.parameters, loss, self.beta)
        row.unmeasured |= dict.fromkeys(EXCESS, DIVERGED if self.excess else "method.excess is off")
        return row

    def initial(self, rng: Rng, architecture: Architecture, n: int, d: int) -> Parameters:
        """Return the initial parameters for n rows in d dimensions, before `center` is added."""
        k, r = n + 1 if self.neurons == "n+1" else self.neurons, self.outputs
        parameters = initialize(rng, architecture, k, d, r, self.initialization, self.scale, self._dtype)
        if self.outer == "signs":
            parameters["V"][...] = sign_halves(k)
        elif self.outer == "paired":
            parameters["V"][...] = paired_outer(rng, r)
        elif self.outer != "trained":
            parameters["V"][...] = np.array(self.outer)[:, None]
        return parameters

    @property
    def _dtype(self) -> type[np.floating]:
        return np.float32 if self.precision == "float32" else np.float64

    def _factor(self, n: int) -> float:
        return {"sum": 1.0, "half_sum": 0.5}.get(self.loss, 0.5 / n)

    def _empirical(self, X: Array, Y: Array, k: int, factor: float) -> Empirical:
        return Empirical(X, Y, k, factor, self._dtype, self.beta or 0.0)

    def _batches(self, rng: Rng, X: Array, Y: Array, k: int) -> Minibatches | None:
        """Return mini-batches, None if `full`; losses are scaled so that their mean gradient is the whole gradient."""
        if self.batch == "full":
            return None
        whole = self._factor(len(X)) * len(X)
        return Minibatches(rng, X, Y, self.batch, lambda x, y: self._empirical(x, y, k, whole / len(x)))

    def _rule(self, parameters: Parameters) -> Optimizer:
        if self.optimizer in ("adam", "adamw"):
            return (AdamW if self.optimizer == "adamw" else Adam)(self.weight_decay)
        if self.optimizer != "scaled_gd":
            return GradientDescent(self.weight_decay, self.momentum)
        scaling = parameters.like()
        scaling.flat[...] = 1.0
        scaling["W"][...] = 1.0 / np.sum(parameters["V"] ** 2, axis=1, keepdims=True)
        return GradientDescent(scaling=scaling.trainable(outer=False))

    def cost(self, n: int, d: int) -> float:
        """Estimate the seconds: two products of n, d and the neurons per epoch, plus a constant for the calls.

        The number of epochs of a run that may stop early is taken as log-uniform.
        """
        k = n + 1 if self.neurons == "n+1" else self.neurons
        speed = 1.1e11 if self.precision == "float32" else 5.5e10
        rows = k if self.loss == "population" else n
        early = self.target_loss is not None or self.tolerance is not None
        epochs = self.epochs / log(self.epochs + e) if early else self.epochs
        floor = 1e-4 if self.loss == "population" else 2.5e-5
        return 1e-3 + epochs * (floor + 4.0 * rows * k * (d + 30) / speed)


@dataclass(frozen=True)
class Contraction:
    """Least progress of gradient descent beyond the rate c, over all planted weights: `objective`; `holds`: it is >= 0,
    null where rounding decides.

    `objective` is min over a of <W - W*, grad L> - c ||W - W*||_F^2 over ||w_1||^2, where ||w_1 + w_2|| <= ||a||/2.
    The output weights and the planted weights of two neurons are v = (1, -1), W* = [a, -a].
    degrees: the angle of w_1 and w_2. ratio: ||w_2||/||w_1||. constant: c. A closed form: the instance is not used.
    """

    columns: ClassVar[Columns] = select("objective", "holds")

    degrees: Annotated[float, Interval(ge=0, le=180)] = 90.0
    ratio: Annotated[float, Gt(0)] = 1.0
    constant: Annotated[float, Interval(gt=0, lt=0.5)] = 0.3

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        if self.degrees == 180 and self.ratio == 1:  # w_2 = -w_1, where the minimum over a is exactly 0
            return Measurement(objective=0.0, holds=True)
        value = float(correlation(np.array(np.deg2rad(self.degrees)), np.array(self.ratio), self.constant))
        sure = abs(value) > ROUNDING * max(1.0, self.ratio**2)
        measured = Measurement(objective=value, holds=value > 0 if sure else None)
        measured.unmeasured["holds"] = "rounding decides the sign"
        return measured

    def cost(self, n: int, d: int) -> float:
        return 1e-4
