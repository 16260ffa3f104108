"""Draw one instance: X, y, planted neurons, patterns and a test set, each from its own random stream."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Literal, NoReturn

import numpy as np

from recovery.errors import DataError, ParameterError
from recovery.instances.all_ones import AllOnes, decide_all_ones
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.ensembles import Ensemble, Gaussian, checked
from recovery.instances.files import File, FileColumn, Recorded
from recovery.instances.patterns import Patterns, patterns_of, sample_patterns, unique_patterns
from recovery.instances.planted import Linear, Planted, Target
from recovery.programs.architecture import RELU, Architecture
from recovery.text import did_you_mean
from recovery.types import Array, Mask, Rng, Scalar

NoiseScale = Literal["sample", "unit"]
NAMES = ("data", "planted", "noise", "patterns", "test", "training", "hyperplane")
"""The random streams of an instance, one per thing that is drawn."""


@dataclass(frozen=True)
class Setting:
    """The sizes and laws from which an instance is drawn.

    n: number of rows. d: number of columns. ensemble: the law of the data. planted: the planted model, which makes the
    labels. noise: standard deviation of the noise, before `noise_scale`. patterns: the activation patterns of the
    programs. noise_scale: the noise of each label is N(0, noise^2 / n) for `sample` (P1), and N(0, noise^2) for `unit`
    (P3).
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
    """The random streams of an instance, one per thing that is drawn; `seed` returns the seed sequence of a name.

    Each access returns a new generator, so drawing from one has no effect on later draws: a method called twice draws
    the same numbers. hyperplane: for methods that choose a hyperplane.
    """

    seed: Callable[[str], np.random.SeedSequence]
    """Must return a new sequence at each call, because `Generator.spawn` counts in it."""

    @classmethod
    def spawn(cls, rng: Rng) -> "Streams":
        """Return independent streams from one generator, which must come from a `SeedSequence`."""
        source = rng.bit_generator.seed_seq
        if not isinstance(source, np.random.SeedSequence):
            raise ParameterError("the generator must come from a SeedSequence, as numpy.random.default_rng makes it")
        keys = {name: child.spawn_key for name, child in zip(NAMES, source.spawn(len(NAMES) - 1), strict=False)}
        keys["hyperplane"] = (*keys["patterns"], 0)
        return cls(lambda name: np.random.SeedSequence(source.entropy, spawn_key=keys[name]))

    def fresh(self, name: str) -> Rng:
        """Return a generator at the beginning of the stream `name`."""
        return np.random.Generator(np.random.PCG64(self.seed(name)))

    def __getattr__(self, name: str) -> Rng:
        if name not in NAMES:
            raise AttributeError(name)
        return self.fresh(name)


@dataclass(frozen=True)
class Instance:
    """One instance: all that was drawn from a setting.

    setting: sizes and laws. X: data (n, d). y: labels (n,), with noise. signal: labels without noise. planted: the
    drawn planted model. draw_patterns, decide: functions that return `patterns` and `all_ones`, and compute them once.
    streams: one random stream per thing that is drawn. coordinates: name -> value of the trial's row, your own axes
    included; empty for an instance that is drawn without a sweep.
    """

    setting: Setting
    X: Array
    y: Array
    signal: Array
    planted: Target
    draw_patterns: Callable[[], Mask] = field(repr=False)
    decide: Callable[[], AllOnes | None] = field(repr=False)
    streams: Streams = field(repr=False)
    coordinates: Mapping[str, Scalar] = field(default_factory=dict, repr=False)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise AttributeError with the attribute that was probably meant, or what a property of this name raised."""
        if hasattr(type(self), name):
            object.__getattribute__(self, name)
        names = [one for one in (*self.__dataclass_fields__, *dir(type(self))) if not one.startswith("_")]
        raise AttributeError(f"an instance has no {name!r}{did_you_mean(name, names)}")

    @property
    def patterns(self) -> Mask:
        """Boolean columns (n, p), drawn at the first access: those of ReLU planted neurons first, in their order, and
        the all-ones pattern last if it was decided to exist. Raises `ParameterError` if they cannot be drawn.
        """
        return self.draw_patterns()

    @property
    def all_ones(self) -> AllOnes | None:
        """The decision whether the all-ones pattern exists, made at first access; None if the setting ignores it."""
        return self.decide()

    @cached_property
    def rng(self) -> Rng:
        """The generator for a method with random choices. It is one generator, so each draw gives new numbers."""
        return self.streams.training

    def with_patterns(self, patterns: Mask) -> "Instance":
        """Return a copy with these patterns (n, p)."""
        return replace(self, draw_patterns=lambda: patterns)

    @property
    def has_test(self) -> bool:
        """Whether there is a test draw. A file without recorded labels or without further rows has none."""
        recorded = isinstance(self.planted, Recorded) and len(self.planted.others) > 0
        return recorded or not isinstance(self.setting.ensemble, File)

    @cached_property
    def test(self) -> Array | None:
        """A fresh draw of X, shape (n, d), made at the first access; of a file, the rows that were not drawn. None if
        not `has_test`.
        """
        if not self.has_test:
            return None
        if isinstance(self.planted, Recorded) and len(self.planted.others):
            return self.planted.others
        return self.setting.ensemble.draw(self.streams.test, self.setting.n, self.setting.d)

    @property
    def test_labels(self) -> Array | None:
        """The labels of the rows of `test` by the planted model, without noise; None if not `has_test`."""
        return None if self.test is None else self.planted.labels(self.test)


def draw(setting: Setting, streams: Streams | Rng, architecture: Architecture = RELU) -> Instance:
    """Draw one instance, with patterns of the architecture's features.

    setting: sizes and laws. streams: a generator from `numpy.random.default_rng`, or its streams. architecture: the
    network whose features make the patterns.

    Raises `ParameterError` if the setting has no instance (for example, no non-negative direction), and `DataError` if
    a user's ensemble or planted model does not draw what it declares.
    """
    if isinstance(streams, np.random.Generator):
        streams = Streams.spawn(streams)
    n, d = setting.n, setting.d
    if n < 1 or d < 1:
        raise ParameterError(f"n and d must be at least 1, found n = {n}, d = {d}")
    if not setting.noise >= 0:
        raise ParameterError(f"noise must be >= 0, found {setting.noise}")
    planted: Target
    if isinstance(setting.planted, FileColumn):
        planted = setting.planted.take(streams.data, setting.ensemble, n, d)
        X = planted.X
    else:
        X = checked(setting.ensemble.draw(streams.data, n, d), n, d, type(setting.ensemble).__name__)
        planted = setting.planted.draw(streams.planted, X)
    signal = _labels(setting, planted, X)
    y = signal
    if setting.noise > 0:
        size = setting.noise if setting.noise_scale == "unit" else setting.noise / np.sqrt(n)
        y = signal + size * streams.noise.standard_normal(n)

    @cache
    def decide() -> AllOnes | None:
        return decide_all_ones(architecture.features(X)) if setting.patterns.all_ones == "decide" else None

    @cache
    def draw_patterns() -> Mask:
        planes = architecture.lift(planted.hyperplanes, X)
        return _patterns(setting, streams.patterns, architecture.features(X), planes, decide())

    return Instance(setting, X, y, signal, planted, draw_patterns, decide, streams)


def _labels(setting: Setting, planted: Target, X: Array) -> Array:
    """Return the noiseless labels, validated because the planted model may be user code."""
    name = type(setting.planted).__name__
    if planted.form != setting.planted.form:
        raise DataError(f"planted model {name} draws form {planted.form!r}, but declares form {setting.planted.form!r}")
    signal = np.asarray(planted.labels(X), dtype=np.float64)
    if signal.shape != (setting.n,) or not np.isfinite(signal).all():
        wrong = f"shape {signal.shape}" if signal.shape != (setting.n,) else "NaN or infinite numbers"
        raise DataError(f"planted model {name}: labels have {wrong}; expected {setting.n} finite numbers")
    return signal


def _patterns(setting: Setting, rng: Rng, F: Array, planes: Array, all_ones: AllOnes | None) -> Mask:
    """Return the patterns of the features F: those of the planted hyperplanes, then all patterns or sampled ones.

    The all-ones pattern is the last column if it exists.
    """
    blocks = [patterns_of(F, planes)] if planes.shape[1] else []
    if setting.patterns.kind == "exhaustive":
        cells, _ = enumerate_cells(F)
        blocks.append(cells[:, ~cells.all(axis=0)])
    else:
        blocks.append(sample_patterns(rng, F, setting.patterns.samples(setting.n)))
    if all_ones is not None and all_ones.exists:
        blocks.append(np.ones((setting.n, 1), dtype=np.bool_))
    return unique_patterns(F, blocks)
