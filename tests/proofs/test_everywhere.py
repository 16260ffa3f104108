"""Proofs of recoveries over all patterns: leaves against exact rationals; false trees and claims are refused."""

from itertools import product

import numpy as np
import pytest
from flint import arb

from recovery.conditions.balls import Unproved, largest
from recovery.conditions.branching import BOUND, KNOWN
from recovery.conditions.exact_model import Model
from recovery.conditions.oracle import TOLERANCE, NeuronValues, neuron_values
from recovery.errors import RecoverError
from recovery.extras.proofs.everywhere import bounds_of_tree, prove_unique_everywhere
from recovery.extras.proofs.leaves import Tree, search_tree
from recovery.extras.rigorous import verify_rigorously
from recovery.instances.draw import Setting, Streams, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Linear, NormalizedRelu, Relu
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.types import Mask
from tests.conditions.isometry import row_sum
from tests.conditions.test_oracle import KINDS, by_enumeration, drawn
from tests.methods.laws import SPOILED, Spoiled
from tests.suites import first

EXACT = MinNorm(program="exact")
GATED = MinNorm(program="gated")


def values_of(seed: int, n: int = 7, d: int = 3) -> NeuronValues:
    rng = np.random.default_rng([3, seed])
    return neuron_values(row_sum(rng.standard_normal((n, d)), rng.standard_normal(n)))


def proved(f: NeuronValues, tree: Tree, limit: float, known: Mask) -> float:
    """The bound of a tree on f, whose coefficients are the floats, off the known cells (k, m)."""
    terms = [[arb(f.scale) * a for a in row] for row in np.vstack([f.up, -f.down]).tolist()]
    linear = [arb(f.scale) * a for a in f.c.tolist()]
    return largest(bounds_of_tree(f, tree, terms, linear, known, limit))


def bound_of(f: NeuronValues, known: Mask | None, limit: float, nodes: int) -> float:
    return proved(f, search_tree(f, known, nodes, limit), limit, f.cells(known))


@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_over_all_leaves_is_above_every_cell(kind: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng([3, seed])
        X, weights = drawn(kind, rng), rng.standard_normal(12)
        weights = weights[: len(X)]
        f = neuron_values(row_sum(X, weights))
        try:
            wanted = by_enumeration(X, weights)
        except RecoverError:  # rounding determines which cells exist
            continue
        slack = 3 * TOLERANCE * f.scale
        assert wanted - 1e-13 * f.scale <= bound_of(f, None, wanted + slack, 10**6) <= wanted + 2 * slack
        if wanted > 1e-3 * f.scale:
            with pytest.raises(Unproved, match="the dual norm over all patterns reaches"):
                bound_of(f, None, wanted - 1e-4 * f.scale, 10**6)


def tampered(how: str, tree: Tree, m: int) -> Tree:
    ends, numbers = tree
    first = int(np.argmax(ends == BOUND))
    wrong = numbers.copy()
    wrong[0, 0 if how == "y" else m] = {"y": 0.5, "a": -1e-3, "more": 1.001}.get(how, np.nan)
    return {
        "": (ends, numbers),
        "short": (ends[:-1], numbers),
        "long": (np.append(ends, ends[-1]), numbers),
        "unsplit": (np.full(1, BOUND), numbers[:1]),
        "twice": (np.concatenate([ends[:1], ends[:1], ends[1:]]), numbers),
        "known": (np.where(np.arange(len(ends)) == first, KNOWN, ends), numbers[1:]),
        "fewer": (ends, numbers[:-1]),
    }.get(how, (ends, wrong))


@pytest.mark.parametrize(
    "how", ["", "short", "long", "unsplit", "twice", "known", "fewer", "y", "a", "more", "not a number"]
)
def test_a_false_tree_proves_nothing(how: str) -> None:
    f = values_of(1, 12, 4)
    value, point = f.search(None, 0.0, 10**6, stop=False)[:2]
    known = np.zeros((12, 1), dtype=np.bool_)
    known[f.rising, 0] = f.up @ point > 0
    floor = f.search(known, 0.0, 10**6, stop=False)[0] + TOLERANCE
    assert floor < 0.999 * value  # so that a leaf is the known cell
    limit = (floor + 2 * TOLERANCE) * f.scale
    tree = search_tree(f, known, 10**6, limit)
    assert {BOUND, KNOWN} < set(tree[0].tolist())
    try:
        bound = proved(f, tampered(how, tree, len(f.up)), limit, f.cells(known)) / f.scale
    except Unproved:
        bound = np.inf
    assert (bound <= limit / f.scale) is (how == "")


def test_a_planted_neuron_on_a_hyperplane_is_not_proved_unique() -> None:
    """The row (0, 1) is orthogonal to the neuron (1, 0), so that two patterns share its cost."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.2], [-0.5, -1.0]])
    model = Model(
        ARCHITECTURES["relu"], X, X @ np.array([[1.0], [0.0]]) >= 0, np.array([[1.0], [0.0]]), np.ones(1), (0,)
    )
    with pytest.raises(Unproved, match="close to the hyperplane of row 2"):
        prove_unique_everywhere(model, np.array([1.0, 0.0, 0.0, 0.0]), 10**4)


@pytest.mark.parametrize(
    ("how", "method"),
    first(2 + len(SPOILED), [("", GATED), *product(["", *SPOILED], [EXACT]), *product(SPOILED, [GATED])]),
    ids=lambda value: getattr(value, "program", None),
)
@pytest.mark.parametrize(
    ("name", "planted"),
    [("relu_skip", Linear()), ("relu", Relu(k=1)), ("relu_norm_skip", Linear()), ("relu_norm", NormalizedRelu(k=2))],
)
def test_recoveries_are_proved_and_no_false_one_is(name: str, planted: object, how: str, method: MinNorm) -> None:
    """The reference is the verdict over all enumerated patterns."""
    architecture, proved, claimed = ARCHITECTURES[name], 0, 0
    for seed, n in enumerate((1, 8, 14)):

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
    assert claimed >= 1 or how in SPOILED[:5]


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
