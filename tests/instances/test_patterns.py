import numpy as np

from recovery.extras.inspection import inspect_data
from recovery.instances.draw import Setting, Streams, draw
from recovery.instances.patterns import Patterns, unique_patterns
from recovery.instances.planted import Linear
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES


def test_patterns_that_differ_on_zero_rows_are_one():
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    columns = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 1]], dtype=bool)
    patterns = unique_patterns(X, [columns])
    assert patterns.T.tolist() == [[True, True, False], [False, True, True]]


class Fixed:
    """An ensemble that always returns the same matrix."""

    def __init__(self, X):
        self.X = X

    def draw(self, rng, n, d):
        return self.X


def verdict(X, seed, kind):
    setting = Setting(len(X), X.shape[1], ensemble=Fixed(X), planted=Linear(), patterns=Patterns(kind))
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


def test_inspection_leaves_zero_rows_out():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((9, 3))
    X *= np.sign(X[:, :1])
    plain, zero = inspect_data(X, rng), inspect_data(np.insert(X, [2, 5], 0.0, axis=0), rng)
    assert (plain.n, plain.patterns) == (zero.n, zero.patterns)
    assert [f.answer for f in plain.findings] == [f.answer for f in zero.findings] == ["no"] * 3
    assert "2 zero rows are left out" in zero.findings[0].reason


def test_inspection_proves_nothing_false_on_whole_numbers():
    """The pattern 01101, which floating-point enumeration missed, has norm sqrt(19/18)."""
    X = np.array([[1.0, 1, -1], [-1, 0, 1], [0, 0, 1], [1, 0, 1], [-1, -1, -1]])
    found = inspect_data(X, np.random.default_rng(0), planted=np.array([[-1.0, -2, -2]]))
    assert found.findings[-1].answer == "no"
    assert found.findings[-1].value >= np.sqrt(19 / 18) * (1 - 1e-12)


def test_inspection_says_what_closed_conditions_change():
    X = np.array([[1.0, 0.0, 0.2], [-1.0, 0.0, -0.2], [0.0, 1.0, 0.1], [0.3, 1.0, 0.9]])
    found = inspect_data(X, np.random.default_rng(0)).findings[0]
    assert found.answer == "yes"
    assert "the closed conditions (5) of P1 admit the pattern" in found.reason


def test_uniform_recovery_by_a_count_of_rows_needs_general_position():
    """(26) counts rows; without general position its condition is not sufficient, for example with d parallel rows."""
    X = np.array([[-1.0, 0], [-1, 0], [1, 1], [1, -1], [1, 1], [1, -1]])
    trace = inspect_data(X, np.random.default_rng(0)).findings[2]
    assert trace.value <= trace.bound
    assert trace.answer == "no"
