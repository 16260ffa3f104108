"""Isometry conditions as measurements: whether a condition holds on an instance, its margin, and the worst pattern.

`Limit` measures the value at one hyperplane and compares it with its limit as n grows (P1, section VI).
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Interval

from recovery.conditions.neural_isometry import Condition, orthogonal_uniform_isometry, planted_dual, uniform_isometry
from recovery.conditions.search import BestPattern, most_active
from recovery.errors import ParameterError
from recovery.instances.draw import Instance, Setting
from recovery.instances.patterns import unique_patterns
from recovery.methods.cascade import NO_DUAL
from recovery.methods.columns import Columns, select
from recovery.methods.generation import proof_cost
from recovery.methods.method import UNDECIDED, Measurement
from recovery.methods.representation import check_representable, planted_neurons
from recovery.programs.architecture import Architecture
from recovery.programs.orthonormal import ranks_are_sure
from recovery.theory.moments import opposite_limit, orthogonal_limit, relu_limit
from recovery.types import Array, Rng

VALUES = ("isometry_value", "isometry_margin")
KNOWN = (
    "a limit is known for one ReLU neuron under relu, and for two opposite or two orthogonal ones under relu_norm "
    "(tilt for the orthogonal ones only)"
)


@dataclass(frozen=True)
class Isometry:
    """Evaluate a condition; columns `holds`, `isometry_value`, `isometry_margin`, `attained_by` (a pattern's index).

    condition: `planted`, the condition for recovery of the planted neurons by the architecture: (NIC-L), (NIC-1),
    (NIC-k), (NNIC-1) or (NNIC-k); `uniform`, (7), for every linear neuron at once; `trace`, (orth-SNIC-L),
    max tr(D_j) <= n - d, its form for orthonormal data.
    For a normalised architecture `planted` is not measured where rounding decides ranks (rows of very different norms).
    starts: the number of local searches where `patterns.kind` is `searched` (`planted` and `trace` only).
    search: `smoothed` makes `starts` ascents on a smooth objective in place of them, for `planted`; it reaches
    thousands of rows.
    With `patterns.kind: all` the value of `planted` is the largest over all patterns, proved with at most
    `patterns.nodes` cells; without a proof `reason` states both bounds.
    """

    columns: ClassVar[Columns] = select(
        *("holds", "isometry_value", "isometry_margin", "attained_by", "pattern_count", "all_ones", "redraws"),
        *("patterns_proved", "reason"),
    )

    condition: Literal["planted", "uniform", "trace"] = "planted"
    starts: Annotated[int, Ge(1)] = 4
    search: Literal["circles", "smoothed"] = field(default="circles", metadata={"later": True})

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse settings to which the condition does not apply. Raises `ParameterError`."""
        if setting.patterns.kind == "all" and self.condition != "planted":
            raise ParameterError("patterns.kind all works with condition planted only; use sampled or exhaustive")
        if setting.patterns.kind == "searched" and self.condition == "uniform":
            raise ParameterError("condition 'uniform' is not searched; use patterns.kind sampled or exhaustive")
        if self.search == "smoothed" and (self.condition != "planted" or architecture.normalizes_after):
            raise ParameterError(
                "search smoothed works with condition planted of networks without normalised ReLU neurons only; leave "
                "it out"
            )
        if self.condition == "planted":
            architecture.require("isometry")
            check_representable(setting, architecture)

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        searched = instance.setting.patterns.kind == "searched"
        measured = Measurement(
            pattern_count=instance.patterns.shape[1],
            all_ones=None if instance.all_ones is None else instance.all_ones.exists,
            redraws=instance.planted.redraws,
        )
        if searched:
            instance = self._grown(instance, architecture)
        normalized = self.condition == "planted" and architecture.normalized
        if normalized and not ranks_are_sure(architecture.features(instance.X), instance.patterns):
            doubt = "rounding decides the ranks of normalised neurons"
            measured.unmeasured |= dict.fromkeys(("holds", *VALUES), doubt)
            return measured
        everywhere = instance.setting.patterns.kind == "all"
        condition = self.evaluate(instance, architecture)
        measured.unmeasured |= {"holds": condition.reason or UNDECIDED, **dict.fromkeys(VALUES, NO_DUAL)}
        return measured.having(
            holds=condition.holds,
            isometry_value=condition.value if np.isfinite(condition.value) else None,
            isometry_margin=condition.margin if np.isfinite(condition.value) else None,
            attained_by=condition.attained_by,
            pattern_count=None if everywhere else instance.patterns.shape[1],
            patterns_proved="all" if everywhere and condition.holds is not None else None,
            reason=condition.reason,
        )

    def evaluate(self, instance: Instance, architecture: Architecture) -> Condition:
        """Evaluate the condition over the patterns of the instance."""
        if self.condition == "uniform":
            return uniform_isometry(architecture.groups(instance.X, instance.patterns).base, instance.patterns)
        if self.condition == "trace":
            return orthogonal_uniform_isometry(instance.patterns, instance.setting.d)
        dual, kind = planted_dual(architecture, instance.X, planted_neurons(instance)), instance.setting.patterns
        return dual.over_all(kind.nodes) if kind.kind == "all" else dual.over(instance.patterns)

    def _grown(self, instance: Instance, architecture: Architecture) -> Instance:
        """Return the instance with the pattern added at which a search finds the largest value of the condition."""
        X, rng = instance.X, instance.streams.training
        worst: BestPattern | None
        if self.condition == "trace":
            worst = most_active(X, rng, restarts=self.starts)
        else:
            dual = planted_dual(architecture, X, planted_neurons(instance))
            worst = dual.searched(rng, starts=self.starts, smoothed=self.search == "smoothed")
        if worst is None:
            return instance
        known = [instance.patterns, worst.pattern[:, None]]
        return instance.with_patterns(unique_patterns(architecture.features(X), known))

    def setting_cost(self, setting: Setting) -> float:
        """Estimate the seconds of a product over the patterns, or of a proof over all of them."""
        if setting.patterns.kind == "all":
            return proof_cost("gated", setting)
        n, d = setting.n, setting.d
        patterns = 2.0 * n
        return 1e-4 + patterns * n * d * 1e-10 * (float(np.log2(n + 1)) if self.condition == "trace" else d / 8)


@dataclass(frozen=True)
class Limit:
    """Dual norm ||A_h^T lam|| at a hyperplane h; columns `isometry_value`, and `predicted`, its limit for large n.

    A_h = D_h X, and D_h = diag(1[X h >= 0]) is the pattern of the hyperplane h; for `relu_norm` A_h is replaced by
    orthonormal columns of the same span. The dual lam has the least norm of all duals of the planted neurons.

    degrees: the angle of h to the first planted neuron, towards the second of two orthogonal neurons and otherwise in
    a random direction. tilt: the angle of h to the plane of two orthogonal neurons.
    Planted: one ReLU neuron with `relu` (g of Proposition 9), or with `relu_norm` two normalised neurons, opposite or
    orthogonal (g1, g2 of Proposition 8). `predicted` is for Gaussian data.
    """

    columns: ClassVar[Columns] = select("isometry_value", "predicted", "redraws")

    degrees: Annotated[float, Interval(ge=-180, le=180)] = 90.0
    tilt: Annotated[float, Interval(ge=0, le=90)] = 0.0

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse settings for which the limit as n grows is not known. Raises `ParameterError`."""
        one = architecture.plain and not self.tilt
        two = architecture.normalizes_after and not architecture.skip
        k, form = setting.planted.neurons, setting.planted.form
        if form not in ("relu", "normalized_relu") or not ((one and k == 1) or (two and k == 2)):
            raise ParameterError(f"{KNOWN}; found planted {form}, k = {k}, {architecture.name}, tilt {self.tilt:g}")

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        planted, rng = planted_neurons(instance), instance.streams.hyperplane
        W, t, tilt = planted.directions, np.deg2rad(self.degrees), np.deg2rad(self.tilt)
        predicted, second = self._prediction(W, t)
        h = np.cos(t) * W[:, 0] + np.sin(t) * (_orthogonal(rng, W[:, :1]) if second is None else second)
        if self.tilt:
            h = np.cos(tilt) * h + np.sin(tilt) * _orthogonal(rng, W)
        dual = planted_dual(architecture, instance.X, planted)
        own = (instance.X @ h >= 0)[:, None]
        value = None if dual.lam is None else float(dual.own.over(own).dual_norms(dual.lam)[0])
        measured = Measurement(isometry_value=value, predicted=predicted, redraws=planted.redraws)
        measured.unmeasured["isometry_value"] = NO_DUAL
        return measured

    def _prediction(self, W: Array, t: float) -> tuple[float, Array | None]:
        """Return the limit at planted W, angle t, and the direction to which h turns (None: any orthogonal one)."""
        if W.shape[1] == 1:
            return float(relu_limit(np.cos(t))), None
        cosine = float(W[:, 0] @ W[:, 1])
        if abs(cosine + 1) < 1e-12 and not self.tilt:
            return float(opposite_limit(np.cos(t))), None
        if abs(cosine) < 1e-12:
            flat = np.cos(np.deg2rad(self.tilt))
            return float(orthogonal_limit(flat * np.cos(t), flat * np.sin(t))), W[:, 1]
        raise ParameterError(f"{KNOWN}; found two with cosine {cosine:.3g}, tilt {self.tilt:g}")

    def cost(self, n: int, d: int) -> float:
        return 1e-4 + n * d * d * 1e-9


def _orthogonal(rng: Rng, W: Array) -> Array:
    """Draw a unit vector orthogonal to the columns of W (d, k)."""
    Q, v = np.linalg.qr(W)[0], rng.standard_normal(len(W))
    v = v - Q @ (Q.T @ v)
    length = float(np.linalg.norm(v))
    if length < 1e-12:
        raise ParameterError("no direction is orthogonal to the planted neurons: d is too small")
    return v / length
