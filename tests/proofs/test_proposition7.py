"""An exact counterexample to P1's Proposition 7, in fractions and by the proofs package.

The proposition states that for d < n < 2d the exact program with a skip connection recovers a linear neuron w* with
probability 1 unless X w* >= 0. Here X w* = (4, -6, -4, 9), and the network
    f(x) = w0.x + (u1.x)_+ + (u2.x)_+
has the same four labels at a sum of norms of at most 2.60502, less than ||w*|| = sqrt 29. No activation is zero, so
the same holds for every X near this one: for a set of positive probability. The proof's error: A <= B does not imply
A^2 <= B^2.
"""

import itertools
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from recovery.conditions.exact_model import Model
from recovery.extras.proofs.interpolants import Weight, prove_cheaper
from recovery.extras.rigorous import verify_rigorously
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from tests.methods.test_verdicts_hold import planted_instance

X = ((3, 2, -1), (-1, -4, -1), (-4, -4, 0), (-4, 3, 2))
"""Rows of the data, n = 4, d = 3."""
PLANTED = (-2, 3, -4)
"""w*."""
SKIP = (Fraction(-941, 7100), Fraction(10739, 7100), Fraction(727, 7100))
"""w0."""
NEURONS = (
    (Fraction(-9, 20), Fraction(7, 100), Fraction(3, 20)),
    (Fraction(187, 1775), Fraction(1054, 1775), Fraction(51, 1775)),
)
"""First layers u1 and u2. Their outer weights are 1, so each adds ||u|| to the sum of norms."""
MOST = Fraction(260502, 100000)
"""An upper bound on ||w0|| + ||u1|| + ||u2||."""
SKIP_NET = ARCHITECTURES["relu_skip"]


def dot(x, y):
    return sum(Fraction(a) * b for a, b in zip(x, y, strict=True))


def root_above(square, digits=12):
    """A fraction that exceeds sqrt(square) by at most 10^-digits."""
    scale = 10 ** (2 * digits)
    return Fraction(isqrt(square.numerator * scale // square.denominator) + 1, 10**digits)


def test_a_cheaper_network_has_the_same_labels():
    for x in X:
        label = dot(x, SKIP) + sum(max(Fraction(0), dot(x, u)) for u in NEURONS)
        assert label == dot(x, PLANTED)
    total = sum(root_above(dot(w, w)) for w in (SKIP, *NEURONS))
    assert total <= MOST < root_above(dot(PLANTED, PLANTED)) - 1


def test_it_is_what_the_proposition_is_about():
    """d < n < 2d, some h has X h > 0, X w* has both signs, and no activation is zero, so near X the same holds."""
    n, d = len(X), len(X[0])
    assert d < n < 2 * d
    assert any(all(dot(x, h) > 0 for x in X) for h in itertools.product(range(-6, 7), repeat=d))
    signs = {dot(x, PLANTED) > 0 for x in X}
    assert signs == {True, False}
    assert all(dot(x, u) != 0 for x in X for u in (PLANTED, *NEURONS))


def test_the_room_of_proofs_agrees():
    data = np.array(X, dtype=float)
    patterns = np.column_stack([np.ones(4, dtype=bool), *(data @ np.array(u, dtype=float) >= 0 for u in NEURONS)])
    model = Model(SKIP_NET, data, patterns, np.array(PLANTED, dtype=float)[:, None], np.ones(1), (0,))
    weights = [Weight(g, 1, np.array(w, dtype=float)) for g, w in enumerate((SKIP, *NEURONS))]
    ratio = prove_cheaper(model, weights, exact=True)
    assert ratio == pytest.approx(2.60502 / np.sqrt(29), abs=1e-5)


def test_the_program_says_so_too():
    instance = planted_instance(np.array(X, float), np.array(PLANTED, float), "linear", "sampled")
    method = MinNorm(program="exact")
    verdict = method(instance, SKIP_NET)["verdict"]
    assert verdict == "not_optimal"
    assert verify_rigorously(instance, SKIP_NET, method, verdict).proved


def test_it_leaves_out_a_neuron_that_is_negative_on_every_row():
    """The last line of its proof: X w* <= 0, not X w* >= 0. One ReLU neuron -w* of outer weight -1 costs as much."""
    rows, planted = ((1, 2, 0), (0, 1, 1), (2, 0, 1), (1, 1, 3)), (-1, -2, -1)
    labels = [dot(x, planted) for x in rows]
    assert max(labels) < 0
    assert labels == [-max(Fraction(0), dot(x, [-w for w in planted])) for x in rows]
    instance = planted_instance(np.array(rows, float), np.array(planted, float), "linear")
    assert MinNorm(program="exact")(instance, SKIP_NET)["verdict"] == "not_unique"
