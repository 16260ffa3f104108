"""One instance: X, y, planted neurons, patterns and a test set, each from a random stream of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from recovery.errors import DataError, ParameterError
from recovery.instances.all_ones import AllOnes, decide_all_ones
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.ensembles import Ensemble, Gaussian
from recovery.instances.files import File
from recovery.instances.patterns import Patterns, patterns_of, sample_patterns, unique_patterns
from recovery.instances.planted import Linear, Planted, Target
from recovery.programs.architecture import RELU, Architecture
from recovery.types import Array, Mask, Rng

NoiseScale = Literal["sample", "unit"]


@dataclass(frozen=True)
class Setting:
    """What an instance is drawn from: sizes and laws.

    noise_scale: each label's noise is N(0, noise^2 / n) for `sample` (P1), N(0, noise^2) for `unit` (P3).
    """

    n: int
    d: int
    ensemble: Ensemble = Gaussian()
    planted: Planted = Linear()
    noise: float = 0.0
    patterns: Patterns = Patterns()
    noise_scale: NoiseScale = "sample"


@dataclass(frozen=True)
class Streams:
    """Seeds of an instance's random streams, one for each thing that is drawn.

    Each attribute is a fresh generator at every access, so that whoever draws from one leaves nothing behind: a method
    called twice draws the same. hyperplane: for a method that places one.
    """

    seeds: Mapping[str, np.random.SeedSequence]

    @classmethod
    def spawn(cls, rng: Rng) -> "Streams":
        """Independent streams from one generator."""
        source = rng.bit_generator.seed_seq
        if not isinstance(source, np.random.SeedSequence):
            raise ParameterError("the generator must come from a SeedSequence, as numpy.random.default_rng makes it")
        names = ("data", "planted", "noise", "patterns", "test", "training")
        seeds = dict(zip(names, source.spawn(len(names)), strict=True))
        patterns = seeds["patterns"]
        seeds["hyperplane"] = np.random.SeedSequence(patterns.entropy, spawn_key=(*patterns.spawn_key, 0))
        return cls(seeds)

    def fresh(self, name: str) -> Rng:
        """The generator of this stream, from its start."""
        seed = self.seeds[name]
        # a copy: `Generator.spawn` counts in its seed, and the next generator from it would spawn others
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)))

    data = property(lambda self: self.fresh("data"))
    planted = property(lambda self: self.fresh("planted"))
    noise = property(lambda self: self.fresh("noise"))
    patterns = property(lambda self: self.fresh("patterns"))
    test = property(lambda self: self.fresh("test"))
    training = property(lambda self: self.fresh("training"))
    hyperplane = property(lambda self: self.fresh("hyperplane"))


@dataclass(frozen=True)
class Instance:
    """One draw.

    X (n, d); y (n,), noise included; `signal`, y without it; `patterns` (n, p), boolean columns, those of ReLU
    planted neurons first and in their order, the all-ones pattern last if it was decided to exist; `all_ones` is
    None when that was not asked. A method that draws on its own takes
    `streams.training`.
    """

    setting: Setting
    X: Array
    y: Array
    signal: Array
    planted: Target
    patterns: Mask
    all_ones: AllOnes | None
    streams: Streams

    @cached_property
    def test(self) -> Array | None:
        """A fresh draw of the data's law, shape (n, d), made when first asked for; None for a file."""
        if isinstance(self.setting.ensemble, File):
            return None
        return self.setting.ensemble.draw(self.streams.test, self.setting.n, self.setting.d)


def draw(setting: Setting, streams: Streams | Rng, architecture: Architecture = RELU) -> Instance:
    """Draw one instance, with patterns of the architecture's features.

    Raises `ParameterError` where the setting has none (say, no non-negative direction), and `DataError` where a planted
    model of the user's draws something else than it says.
    """
    if isinstance(streams, np.random.Generator):
        streams = Streams.spawn(streams)
    n, d = setting.n, setting.d
    if n < 1 or d < 1:
        raise ParameterError(f"n and d must be at least 1, found n = {n}, d = {d}")
    if not setting.noise >= 0:
        raise ParameterError(f"noise must be >= 0, found {setting.noise}")
    X = setting.ensemble.draw(streams.data, n, d)
    planted = setting.planted.draw(streams.planted, X)
    signal = _labels(setting, planted, X)
    y = signal
    if setting.noise > 0:
        size = setting.noise if setting.noise_scale == "unit" else setting.noise / np.sqrt(n)
        y = signal + size * streams.noise.standard_normal(n)
    patterns, all_ones = _draw_patterns(setting, streams.patterns, X, architecture.features(X), planted)
    return Instance(setting, X, y, signal, planted, patterns, all_ones, streams)


def _labels(setting: Setting, planted: Target, X: Array) -> Array:
    """The noiseless labels, checked: a planted model may be the user's."""
    name = type(setting.planted).__name__
    if planted.form != setting.planted.form:
        raise DataError(
            f"planted model {name} draws form {planted.form!r} and says that it is {setting.planted.form!r}"
        )
    signal = np.asarray(planted.labels(X), dtype=np.float64)
    if signal.shape != (setting.n,) or not np.isfinite(signal).all():
        wrong = f"shape {signal.shape}" if signal.shape != (setting.n,) else "NaN or infinite numbers"
        raise DataError(f"planted model {name}: labels have {wrong}; wanted {setting.n} finite numbers")
    return signal


def _draw_patterns(setting: Setting, rng: Rng, X: Array, F: Array, planted: Target) -> tuple[Mask, AllOnes | None]:
    """Patterns of the features F of X, those of planted neurons first."""
    blocks = [patterns_of(X, planted.hyperplanes)]
    if setting.patterns.kind == "exhaustive":
        cells, _ = enumerate_cells(F)
        blocks.append(cells[:, ~cells.all(axis=0)])
    else:
        blocks.append(sample_patterns(rng, F, setting.patterns.samples(setting.n)))
    all_ones = None
    if setting.patterns.all_ones == "decide":
        all_ones = decide_all_ones(F)
        if all_ones.exists:
            blocks.append(np.ones((setting.n, 1), dtype=np.bool_))
    return unique_patterns(F, blocks), all_ones
