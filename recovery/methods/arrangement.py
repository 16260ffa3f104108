"""Frequency of an arrangement pattern: the all-ones pattern, or the pattern of two classes (P1, appendix J)."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Interval

from recovery.conditions.ties import exact_signs
from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.draw import Instance, Setting
from recovery.instances.ensembles import Mixture
from recovery.methods.columns import Columns, select
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.theory.mixture import direction_constant, split_bound, split_probability, theorem13_sigma
from recovery.theory.wendel import wendel
from recovery.types import EPS, Array, Rng

UNSURE = "rounding decides whether the event occurred"


@dataclass(frozen=True)
class Arrangement:
    """Draw the data `draws` times and count an event; columns `frequency`, `predicted`, `bound`, `z_score`.

    event: `all_ones`, some h has X h > 0, predicted by Wendel's law (symmetric rows in general position); `split`, the
    pattern of mu1/||mu1|| - mu2/||mu2|| equals the class labels of a `mixture`, predicted by the exact law for the
    means drawn, with the bound of P1, Proposition 23; `direction`, the leading eigenvector w of the Gram matrix of the
    first class has ||w - mu1/||mu1|| ||^2 <= c_1 sigma, up to its sign, with probability at least 1 - `delta` by P1,
    Proposition 25; `eigenvector`, the pattern of that w equals the class labels, with probability at least 1 - `delta`
    if sigma satisfies P1, Theorem 13, and bounded by 0 otherwise.
    `predicted` is the mean of the law over the draws, and `z_score` is (count - expected) / standard deviation, null
    where the law is 0 or 1. With one draw `holds` states whether the event occurred. The first draw is the X of the
    instance.
    """

    columns: ClassVar[Columns] = select("holds", "all_ones", "frequency", "predicted", "bound", "z_score")

    event: Literal["all_ones", "split", "direction", "eigenvector"] = "all_ones"
    draws: Annotated[int, Ge(1)] = 1
    delta: Annotated[float, Interval(gt=0, lt=1)] = field(default=0.1, metadata={"later": True})

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse events about classes, or about rows of the first, for data without them. Raises `ParameterError`."""
        del architecture
        if self.event != "all_ones" and not isinstance(setting.ensemble, Mixture):
            raise ParameterError(f"event {self.event!r} is about two classes: it needs data {{ensemble: mixture}}")
        if self.event in ("direction", "eigenvector") and round(setting.ensemble.share * setting.n) == 0:  # type: ignore[attr-defined]
            raise ParameterError(f"event {self.event!r} is about the rows of the first class; found none")

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        event = {"all_ones": self._all_ones, "split": _split}.get(self.event, self._eigenvector)
        hits, laws, bounds = zip(*(event(instance, rng) for rng in _streams(instance, self.draws)), strict=True)
        law = np.array(laws)
        expected, spread = float(law.sum()), float(np.sqrt((law * (1 - law)).sum()))
        count = None if None in hits else sum(hits)
        row = Measurement(
            holds=hits[0] if self.draws == 1 else None,
            all_ones=hits[0] if self.draws == 1 and self.event == "all_ones" else None,
            frequency=None if count is None else count / self.draws,
            predicted=None if np.isnan(expected) else expected / self.draws,
            bound=None if self.event == "all_ones" else float(np.mean(bounds)),
            z_score=(count - expected) / spread if count is not None and spread > 1e-6 else None,
        )
        if count is None:
            row.unmeasured |= {"frequency": UNSURE} | ({"holds": UNSURE} if self.draws == 1 else {})
            row.unmeasured |= {"z_score": UNSURE} if spread > 1e-6 else {}
        return row

    def _all_ones(self, instance: Instance, rng: Rng) -> tuple[bool, float, float]:
        n, d = instance.setting.n, instance.setting.d
        X = instance.setting.ensemble.draw(rng, n, d)
        return decide_all_ones(X).exists, float(wendel(n, d)), float("nan")

    def _eigenvector(self, instance: Instance, rng: Rng) -> tuple[bool | None, float, float]:
        """Return whether `direction` or `eigenvector` occurred, None if rounding decides; NaN for a law; the bound."""
        means, X, first, sigma = _classes(instance, rng)
        n, d = X.shape
        length = float(np.linalg.norm(means[0]))
        values, vectors = np.linalg.eigh(X[:first].T @ X[:first])
        gap, rounding = float(values[-1] - values[:-1].max(initial=0.0)), (first + 8 * d) * EPS * float(values.sum())
        angle = 2 * rounding / gap if gap > 2 * rounding else np.inf  # Davis and Kahan
        w = vectors[:, -1]
        w = w if w @ means[0] >= 0 else -w
        if self.event == "direction":
            allowed = direction_constant(first, d, length, self.delta) * sigma
            room = allowed - float(np.square(w - means[0] / length).sum())
            return (None if abs(room) <= 8 * (angle + EPS) else bool(room > 0)), float("nan"), 1 - self.delta
        small = sigma <= theorem13_sigma(n, first, d, length, self.delta)
        known = abs(w @ means[0]) > angle * length
        return _separates(X, w, first, angle if known else np.inf), float("nan"), 1 - self.delta if small else 0.0

    def cost(self, n: int, d: int) -> float:
        return self.draws * (1e-5 + n * d * 1e-8 * (30 if self.event == "all_ones" else 1))


def _streams(instance: Instance, draws: int) -> list[Rng]:
    """Return the data stream, which draws the X of the instance again, and further streams spawned from it."""
    seed = instance.streams.seed("data")
    more = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1)).spawn(draws - 1)
    return [instance.streams.data, *(np.random.Generator(np.random.PCG64(each)) for each in more)]


def _split(instance: Instance, rng: Rng) -> tuple[bool | None, float, float]:
    """Return whether the means split one draw of the mixture, the exact law for these means, and the bound of P1."""
    means, X, first, sigma = _classes(instance, rng)
    lengths = np.linalg.norm(means, axis=1)
    unit = means / lengths[:, None]
    given = (lengths[0], lengths[1], float(unit[0] @ unit[1]), sigma, first, len(X) - first)
    # in one dimension a direction is 1 or -1, without rounding
    hit = _separates(X, unit[0] - unit[1], first, 0.0 if X.shape[1] == 1 else 4 * EPS)
    return hit, float(split_probability(*given)), float(split_bound(*given)) if sigma > 0 else 1.0


def _classes(instance: Instance, rng: Rng) -> tuple[Array, Array, int, float]:
    """Draw a mixture: return its means (2, d), its rows (n, d), the number of rows of the first class, and sigma."""
    ensemble, n, d = instance.setting.ensemble, instance.setting.n, instance.setting.d
    assert isinstance(ensemble, Mixture)
    start = rng.bit_generator.state
    means = ensemble.draw_means(rng, d)
    rng.bit_generator.state = start
    X = ensemble.draw(rng, n, d)  # `draw` starts from the same state of the generator, so it draws the same means first
    return means, X, round(ensemble.share * n), ensemble.sigma


def _separates(X: Array, w: Array, first: int, turned: float) -> bool | None:
    """Return whether X w >= 0 on exactly the first `first` rows, those of the first class, without rounding of X w.

    None where a w that differs by a vector of length `turned` may have another answer.
    """
    sizes, wanted = np.linalg.norm(X, axis=1), np.arange(len(X)) < first
    sure = (np.abs(X @ w) > (turned + len(w) * EPS) * sizes) | (sizes == 0) | (turned == 0)
    if (sure & ((exact_signs(X, w) >= 0) != wanted)).any():
        return False
    return True if sure.all() else None
