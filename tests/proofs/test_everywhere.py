"""Proofs of recoveries over all patterns: leaves against exact rationals; false trees and claims are refused."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from recovery.conditions.balls import Unproved
from recovery.conditions.branching import BOUND, branch
from recovery.conditions.oracle import Turned, turn
from recovery.errors import RecoverError
from recovery.extras.proofs import bound_tree as tree
from recovery.extras.proofs.bound_tree import leaf_bounds, prove_bound
from recovery.extras.rigorous import verify_rigorously
from recovery.instances.draw import Setting, Streams, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Relu
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.types import Array, Rng
from tests.conditions.test_oracle import KINDS, by_enumeration, drawn

EXACT = MinNorm(program="exact")
GATED = MinNorm(program="gated")


def turned_of(seed: int, n: int = 7, d: int = 3) -> Turned:
    rng = np.random.default_rng([3, seed])
    turned = turn(rng.standard_normal((n, d)), rng.standard_normal(n))
    assert turned is not None
    return turned


def squared_length(turned: Turned, s: Array, opened: Array, y: Array, a: Array, mu: Array) -> Fraction:
    """Compute ||z||^2 in rationals."""
    up, down = [[[Fraction(x) for x in row] for row in part.tolist()] for part in (turned.up, turned.down)]
    z = [Fraction(x) for x in turned.c.tolist()]
    for k, sign in enumerate(s.tolist()):
        steep = Fraction(mu[k]) + sum(
            max(int(sign) * row[k], Fraction(0)) for row, o in zip(up, opened, strict=True) if o
        )
        z[k] += int(sign) * steep
    for k in range(len(z)):
        z[k] += sum(Fraction(b) * row[k] for b, row, o in zip(y.tolist(), up, opened, strict=True) if not o)
        z[k] -= sum(Fraction(b) * row[k] for b, row in zip(a.tolist(), down, strict=True))
    return sum((x * x for x in z), Fraction(0))


@pytest.mark.parametrize("size", [1.0, 1e12])
def test_the_length_of_a_leaf_is_never_rounded_down(size: float) -> None:
    for seed in range(40):
        turned, rng = turned_of(seed), np.random.default_rng(seed)
        m, q, r = len(turned.up), len(turned.down), turned.r
        S, on = rng.choice([-1.0, 1.0], (5, r)), rng.random((5, m)) < 0.5
        opened, a = rng.random((5, m)) < 0.4, rng.random((5, q))
        y = np.where(on, 1.0, 0.0) + np.where(on, 1.0, -1.0) * size * rng.random((5, m))
        mu = size * rng.random((5, r))
        bounds = leaf_bounds(turned, S, on, opened, y, a, mu)
        for bound, *numbers in zip(bounds.tolist(), S, opened, y, a, mu, strict=True):
            true = squared_length(turned, *numbers)
            assert true <= Fraction(bound) ** 2 <= true * (1 + Fraction(1, 10**10)) + Fraction(size) ** 2 / 10**25


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_over_all_leaves_is_above_every_cell(kind: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng([3, seed])
        X = drawn(kind, rng)
        turned = turn(X, rng.standard_normal(len(X)))
        if turned is None:
            assert not X.any()
            continue
        rows = np.vstack([np.pad(turned.up, ((0, 0), (0, turned.c.size - turned.up.shape[1]))), turned.down])
        weights = np.repeat([1.0, -1.0], [len(turned.up), len(turned.down)])
        known = np.empty((0, len(turned.up)), dtype=np.bool_)
        try:
            wanted = by_enumeration(rows, weights, turned.c)
        except RecoverError:  # rounding determines which cells exist
            continue
        assert wanted - 1e-13 <= prove_bound(turned, known, wanted + 1e-7, 10**6) <= wanted + 2e-7
        if wanted > 1e-3:
            with pytest.raises(Unproved, match="the dual norm over all patterns reaches"):
                prove_bound(turned, known, wanted - 1e-4, 10**6)


def tampered(how: str):  # type: ignore[no-untyped-def]
    def branched(*arguments):  # type: ignore[no-untyped-def]
        value, point, bound, count, left, ends, leaves = branch(*arguments)
        m = len(arguments[0])
        if how == "short":
            ends = ends[:-1]
        elif how == "long":
            ends = np.append(ends, ends[-1])
        elif how == "unsplit":
            ends, leaves = np.full(2 ** arguments[3][0], BOUND, np.int32), leaves[: 2 ** arguments[3][0]]
        elif how == "twice":
            ends = np.concatenate([ends[:1], ends[:1], ends[1:]])
        elif how == "cell":
            ends = np.where(ends == BOUND, m + 1, ends)
        elif how == "known":
            first = int(np.argmax(ends == BOUND))
            ends, leaves = np.where(np.arange(len(ends)) == first, m + 2, ends), leaves[1:]
        elif how == "numbers":
            leaves = leaves.copy()
            leaves[0, -1] = -1e-3
        elif how == "fewer":
            leaves = leaves[:-1]
        return value, point, bound, count, left, ends, leaves

    return branched


@pytest.mark.parametrize("how", ["", "short", "long", "unsplit", "twice", "cell", "known", "numbers", "fewer"])
def test_a_false_tree_proves_nothing(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turned = turned_of(1, 12, 4)
    problem, every = (
        (turned.up, turned.down, turned.c, (turned.r, 0, 2**turned.r)),
        np.empty((0, len(turned.up)), dtype=np.bool_),
    )
    highest, point = branch(*problem, every, 0.0, 1e-8, 10**6, False, False)[:2]
    known = (turned.up @ point > 0)[None]
    limit = branch(*problem, known, 0.0, 1e-8, 10**6, False, False)[0] + 1e-8
    assert limit < 0.999 * highest  # so that a leaf is the known cell
    monkeypatch.setattr(tree, "branch", tampered(how))
    try:
        bound = prove_bound(turned, known, limit, 10**6)
    except Unproved:
        bound = np.inf
    assert (bound <= limit + 2e-8) if not how else bound > limit + 2e-8


@dataclass(frozen=True)
class Spoiled:
    """An ensemble with zero, repeated, nearly equal, integer or rescaled rows."""

    how: str

    def draw(self, rng: Rng, n: int, d: int) -> Array:
        X: Array = rng.standard_normal((n, d))
        if self.how == "zero":
            X[0] = 0.0
        elif self.how == "repeated":
            X[n // 2 :] = X[: n - n // 2]
        elif self.how == "near":
            X[n // 2 :] = X[: n - n // 2] + 1e-9 * rng.standard_normal((n - n // 2, d))
        elif self.how == "integers":
            X = rng.integers(-2, 3, (n, d)).astype(float)
        elif self.how == "unit":
            X *= 1e8
        elif self.how == "uneven":
            X *= 10.0 ** rng.integers(-4, 5, (n, 1))
        return X


@pytest.mark.parametrize("method", [EXACT, GATED], ids=lambda method: method.program)
@pytest.mark.parametrize("how", ["", "zero", "repeated", "near", "integers", "unit", "uneven"])
@pytest.mark.parametrize(
    ("name", "planted"),
    [
        ("relu_skip", Linear()),
        ("relu", Relu(k=1)),
        ("relu_norm_skip", Linear()),
        ("relu_norm", NormalizedRelu(k=2)),
    ],
)
def test_recoveries_are_proved_and_no_false_one_is(name: str, planted: object, how: str, method: MinNorm) -> None:
    """The reference is the verdict over all enumerated patterns."""
    architecture, proved, claimed = ARCHITECTURES[name], 0, 0
    for seed in range(5):
        n = (1, 5, 8, 11, 14)[seed]

        def instance(kind: str, n: int = n, seed: int = seed):  # type: ignore[no-untyped-def]
            setting = Setting(n, 2 + seed % 2, Spoiled(how), planted, patterns=Patterns(kind=kind))  # type: ignore[arg-type]
            return draw(setting, Streams.spawn(np.random.default_rng([7, seed])), architecture)

        try:
            verdict = method(instance("all"), architecture).verdict
            true = method(instance("exhaustive"), architecture).verdict
        except RecoverError:
            continue
        found = verify_rigorously(instance("all"), architecture, method, "recovered")
        assert not found.proved or true != "not_optimal", (seed, true, found)
        assert found.proved or found.reason
        if verdict == "recovered":
            claimed += 1
            proved += found.proved
            assert found.proved is (found.bound is not None and found.bound < 1.0), (seed, found)
    assert proved == claimed
    assert claimed >= 1 or how in ("zero", "repeated", "near", "integers")


def test_a_leaky_network_and_more_neurons() -> None:
    for architecture, planted, n in (
        (Architecture("leaky_skip", skip=True, slope=0.3), Linear(), 14),
        (ARCHITECTURES["relu"], Relu(k=2, signs="alternating"), 40),
    ):
        mine = draw(
            Setting(n, 3, planted=planted, patterns=Patterns(kind="all")),
            Streams.spawn(np.random.default_rng(n)),
            architecture,
        )
        assert EXACT(mine, architecture).verdict == "recovered"
        found = verify_rigorously(mine, architecture, EXACT, "recovered")
        assert found.proved, found
        assert found.bound < 1.0


def test_the_limit_of_nodes_is_reported() -> None:
    turned = turned_of(0, 14, 4)
    known = np.empty((0, len(turned.up)), dtype=np.bool_)
    with pytest.raises(Unproved, match="limit of nodes"):
        prove_bound(turned, known, 0.1, 1)
