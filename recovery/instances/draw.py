"""One instance: X, y, planted neurons, patterns and a test set, each from a random stream of its own."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recovery.errors import ParameterError
from recovery.instances.all_ones import AllOnes, decide_all_ones
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.ensembles import Ensemble, Gaussian
from recovery.instances.files import File
from recovery.instances.patterns import Patterns, patterns_of, sample_patterns, unique_patterns
from recovery.instances.planted import Linear, Neurons, Planted
from recovery.types import Array, Mask, Rng


@dataclass(frozen=True)
class Setting:
    """What an instance is drawn from: sizes and laws."""

    n: int
    d: int
    ensemble: Ensemble = Gaussian()
    planted: Planted = Linear()
    noise: float = 0.0
    patterns: Patterns = Patterns()


@dataclass(frozen=True)
class Streams:
    """One generator each, so that changing what one of them draws leaves the others as they were."""

    data: Rng
    planted: Rng
    noise: Rng
    patterns: Rng
    test: Rng
    training: Rng

    @classmethod
    def spawn(cls, rng: Rng) -> "Streams":
        """Six independent streams from one generator."""
        return cls(*rng.spawn(6))


@dataclass(frozen=True)
class Instance:
    """One draw.

    X (n, d); y (n,), noise included; `signal`, y without it; `patterns` (n, p), boolean columns, those of ReLU
    planted neurons first and in their order, the all-ones pattern last if it was decided to exist; `all_ones` is
    None when that was not asked. A method that draws on its own takes `streams.training`.
    """

    setting: Setting
    X: Array
    y: Array
    signal: Array
    planted: Neurons
    patterns: Mask
    all_ones: AllOnes | None
    streams: Streams

    @cached_property
    def test(self) -> Array | None:
        """A fresh draw of the data's law, shape (n, d), made when first asked for; None for a file."""
        if isinstance(self.setting.ensemble, File):
            return None
        return self.setting.ensemble.draw(self.streams.test, self.setting.n, self.setting.d)


def draw(setting: Setting, streams: Streams | Rng) -> Instance:
    """Draw one instance. Raises `ParameterError` where the setting has none (say, no non-negative direction)."""
    if isinstance(streams, np.random.Generator):
        streams = Streams.spawn(streams)
    n, d = setting.n, setting.d
    if n < 1 or d < 1:
        raise ParameterError(f"n and d must be at least 1, found n = {n}, d = {d}")
    if not setting.noise >= 0:
        raise ParameterError(f"noise must be >= 0, found {setting.noise}")
    X = setting.ensemble.draw(streams.data, n, d)
    planted = setting.planted.draw(streams.planted, X)
    signal = planted.labels(X)
    y = signal
    if setting.noise > 0:
        y = signal + setting.noise / np.sqrt(n) * streams.noise.standard_normal(n)
    patterns, all_ones = _draw_patterns(setting, streams.patterns, X, planted)
    return Instance(setting, X, y, signal, planted, patterns, all_ones, streams)


def _draw_patterns(setting: Setting, rng: Rng, X: Array, planted: Neurons) -> tuple[Mask, AllOnes | None]:
    blocks = [] if planted.form == "linear" else [patterns_of(X, planted.directions)]
    if setting.patterns.kind == "exhaustive":
        cells, _ = enumerate_cells(X)
        blocks.append(cells[:, ~cells.all(axis=0)])
    else:
        blocks.append(sample_patterns(rng, X, setting.patterns.samples(setting.n)))
    all_ones = None
    if setting.patterns.all_ones == "decide":
        all_ones = decide_all_ones(X)
        if all_ones.exists:
            blocks.append(np.ones((setting.n, 1), dtype=np.bool_))
    return unique_patterns(X, blocks), all_ones
