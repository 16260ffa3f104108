"""How often an arrangement pattern exists: the all-ones pattern, or the split of two classes (Proposition 23)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge

from recovery.errors import ParameterError
from recovery.instances.all_ones import decide_all_ones
from recovery.instances.draw import Instance, Setting
from recovery.instances.ensembles import Mixture
from recovery.methods.columns import Columns, select
from recovery.methods.method import Measurement
from recovery.programs.architecture import Architecture
from recovery.theory.mixture import split_bound, split_probability
from recovery.theory.wendel import wendel
from recovery.types import Rng


@dataclass(frozen=True)
class Arrangement:
    """Draw the data `draws` times and count an event; columns `frequency`, `predicted`, `bound`, `z_score`.

    event: `all_ones`, some h has X h > 0, predicted by Wendel's law (rows symmetric, in general position); `split`,
    the pattern of mu1/||mu1|| - mu2/||mu2|| is the class labels of a `mixture`, predicted by the exact law for the
    means drawn, with the paper's bound (P1, Proposition 23).
    `predicted` is the mean of the law over the draws, `z_score` (count - expected) / standard deviation, null where
    the law leaves nothing to chance. With one draw `holds` says whether the event occurred; the first draw is the
    instance's own X.
    """

    columns: ClassVar[Columns] = select("holds", "all_ones", "frequency", "predicted", "bound", "z_score")

    event: Literal["all_ones", "split"] = "all_ones"
    draws: Annotated[int, Ge(1)] = 1

    def check(self, setting: Setting, architecture: Architecture) -> None:
        """Refuse a split of data without two classes. Raises `ParameterError`."""
        del architecture
        if self.event == "split" and not isinstance(setting.ensemble, Mixture):
            raise ParameterError("event 'split' is about two classes: it needs data {ensemble: mixture}")

    def __call__(self, instance: Instance, architecture: Architecture) -> Measurement:
        self.check(instance.setting, architecture)
        hits, law, bounds = [], [], []
        for rng in _streams(instance, self.draws):
            hit, probability, bound = (
                self._all_ones(instance, rng) if self.event == "all_ones" else _split(instance, rng)
            )
            hits.append(hit)
            law.append(probability)
            bounds.append(bound)
        expected, spread = float(np.sum(law)), float(np.sqrt(np.sum(np.array(law) * (1 - np.array(law)))))
        return Measurement(
            holds=hits[0] if self.draws == 1 else None,
            all_ones=hits[0] if self.draws == 1 and self.event == "all_ones" else None,
            frequency=float(np.mean(hits)),
            predicted=expected / self.draws,
            bound=None if self.event == "all_ones" else float(np.mean(bounds)),
            z_score=(sum(hits) - expected) / spread if spread > 1e-6 else None,
        )

    def _all_ones(self, instance: Instance, rng: Rng) -> tuple[bool, float, float]:
        n, d = instance.setting.n, instance.setting.d
        X = instance.setting.ensemble.draw(rng, n, d)
        return decide_all_ones(X).exists, float(wendel(n, d)), float("nan")

    def cost(self, n: int, d: int) -> float:
        return self.draws * (1e-5 + n * d * 1e-8 * (1 if self.event == "split" else 30))


def _streams(instance: Instance, draws: int) -> list[Rng]:
    """The data stream from its start, which draws the instance's own X again, and further ones spawned from it."""
    seed = instance.streams.seed("data")
    more = np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 1)).spawn(draws - 1)
    return [instance.streams.data, *(np.random.Generator(np.random.PCG64(each)) for each in more)]


def _split(instance: Instance, rng: Rng) -> tuple[bool, float, float]:
    """Whether one draw of the mixture is split by its means, the exact law given these, and the paper's bound."""
    ensemble, n, d = instance.setting.ensemble, instance.setting.n, instance.setting.d
    assert isinstance(ensemble, Mixture)
    start = rng.bit_generator.state
    means = ensemble.draw_means(rng, d)
    rng.bit_generator.state = start
    X = ensemble.draw(rng, n, d)  # draws the same means first
    first = round(ensemble.share * n)
    lengths = np.linalg.norm(means, axis=1)
    unit = means / lengths[:, None]
    pattern = X @ (unit[0] - unit[1]) >= 0
    hit = bool(pattern[:first].all() and not pattern[first:].any())
    given = (lengths[0], lengths[1], float(unit[0] @ unit[1]), ensemble.sigma, first, n - first)
    return hit, float(split_probability(*given)), float(split_bound(*given)) if ensemble.sigma > 0 else 1.0
