import numpy as np
import pytest

from recovery.errors import ParameterError
from recovery.instances.draw import Setting, Streams, draw
from recovery.instances.patterns import Patterns, unique_patterns
from recovery.instances.planted import Linear, Relu
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES


def test_patterns_that_differ_on_zero_rows_are_one():
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    columns = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 1]], dtype=bool)
    assert unique_patterns(X, [columns]).T.tolist() == [[True, True, False], [False, True, True]]


def verdict(X, seed, kind):
    setting = Setting(len(X), X.shape[1], ensemble=Own(X), planted=Linear(), patterns=Patterns(kind))
    instance = draw(setting, Streams.spawn(np.random.default_rng(seed)))
    return MinNorm()(instance, ARCHITECTURES["relu_skip"])


def test_a_zero_row_changes_no_verdict():
    """With rows in a half-space, the identity is a pattern, with or without a zero row.

    The skip connection and a neuron then have the same image: w* is never the unique optimum, and often beaten.
    """
    rng = np.random.default_rng(11)
    for seed in range(20):
        X = rng.standard_normal((8, 3))
        X *= np.sign(X[:, :1])
        for kind in ("sampled", "exhaustive"):
            plain, zero = verdict(X, seed, kind), verdict(np.vstack([X, np.zeros(3)]), seed, kind)
            assert plain["verdict"] == zero["verdict"] in ("not_unique", "not_optimal")
            assert plain["all_ones"] == zero["all_ones"] is True


# Parts of an instance are drawn at their first access, and the order of access has no effect.


def test_the_order_in_which_parts_are_asked_for_changes_none() -> None:
    setting = Setting(20, 3, planted=Relu(k=2), noise=0.1, patterns=Patterns(all_ones="decide"))
    one, other = (draw(setting, np.random.default_rng(4)) for _ in range(2))
    first = one.patterns, one.all_ones, one.test, one.streams.training.standard_normal(3)
    last = other.streams.training.standard_normal(3), other.test, other.all_ones, other.patterns
    assert np.array_equal(first[0], last[3])
    assert str(first[1]) == str(last[2])
    assert np.array_equal(first[2], last[1])
    assert np.array_equal(first[3], last[0])
    assert one.patterns is one.patterns


def test_patterns_that_cannot_be_drawn_are_missed_by_whoever_asks_for_them() -> None:
    instance = draw(Setting(60, 12, patterns=Patterns("exhaustive")), np.random.default_rng(0))
    assert instance.y.shape == (60,)
    with pytest.raises(ParameterError, match="patterns"):
        _ = instance.patterns
    assert instance.with_patterns(np.ones((60, 1), dtype=np.bool_)).patterns.shape == (60, 1)


class Own:
    """A user's ensemble that returns a given matrix."""

    def __init__(self, X) -> None:
        self.X = X

    def draw(self, rng, n, d):
        return self.X


def test_lists_and_whole_numbers_are_data() -> None:
    rows = [[1, -2], [3, 0], [0, 1], [2, 2]]
    instance = draw(Setting(4, 2, ensemble=Own(rows)), np.random.default_rng(0))
    assert instance.X.dtype == np.float64
    assert instance.patterns.shape[0] == 4
