"""Proofs over all patterns for neurons normalised after the ReLU: bounds against every cell; false claims are refused.

`tests.attack.verdicts` enumerates the cells in integers, and solves the programs over them by Clarabel.
"""

import contextlib
from collections import Counter

import numpy as np
import pytest

from recovery.conditions.balls import Unproved
from recovery.conditions.branching import BOUND, KNOWN
from recovery.conditions.exact_model import Balls, Model, model_of
from recovery.conditions.oracle import exact_dual
from recovery.extras.proofs.every_cell import prove_unique_in_every_cell
from recovery.extras.proofs.everywhere import bound_of_tree, prove_unique_everywhere, tree_of
from recovery.extras.proofs.leaves import Tree
from recovery.extras.rigorous import verify_rigorously
from recovery.instances.arrangements import enumerate_cells
from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import NormalizedRelu
from recovery.methods.generation import grown_program
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES
from recovery.programs.orthonormal import projection_norms
from recovery.types import Array
from tests.attack.verdicts import TRIED, Case, Fixed, judge, optimum

RELU_NORM = ARCHITECTURES["relu_norm"]
GATED, EXACT = MinNorm("gated"), MinNorm("exact")
VERDICTS = ("recovered", "not_optimal", "not_unique")


def model_and_dual(n: int, d: int, seed: int, method: MinNorm) -> tuple[Model, Array | None]:
    """The planted cells and the dual that column generation proves, if any."""
    setting = Setting(n, d, planted=NormalizedRelu(k=2), patterns=Patterns("all"))
    instance = draw(setting, np.random.default_rng([n, d, seed]), RELU_NORM)
    problem, found = grown_program(method.problem(instance, RELU_NORM))
    lam = None if found.lam is None else found.lam / problem.program.groups.scales
    return model_of(problem.instance, RELU_NORM), lam


@pytest.mark.parametrize("method", [GATED, EXACT], ids=lambda method: method.program)
def test_what_is_proved_bounds_every_cell_and_violated_duals_are_not_proved(method: MinNorm) -> None:
    prove = prove_unique_in_every_cell if method is GATED else prove_unique_everywhere
    proved = refused = 0
    for seed in range(8):
        n, d = 14 + seed, 2 + seed % 2
        model, lam = model_and_dual(n, d, seed, method)
        if lam is None:
            continue
        groups = RELU_NORM.groups(model.X, enumerate_cells(model.X)[0])
        own = model.patterns[:, list(model.support)]
        for size in (0.0, 0.3, 3.0):
            rng = np.random.default_rng([5, seed])
            # changes that keep M^T lam = u: off the ranges of the planted groups
            M = np.hstack([model.X * own[:, [g]] for g in range(own.shape[1])])
            step = rng.standard_normal(n)
            dual = lam + size * (step - M @ np.linalg.lstsq(M, step, rcond=None)[0])
            others = ~(groups.patterns[:, :, None] == own[:, None]).all(axis=0).any(axis=1)
            if method is GATED:
                largest = projection_norms(groups.base, groups.patterns[:, others], dual).max()
            else:
                signs = np.array([model.signs[model.owner.index(g)] for g in model.support])
                largest = max(
                    exact_dual(groups, s * dual, 1.0, limit=0.0, known=own[:, signs == s], nodes=10**6).lower
                    for s in (1.0, -1.0)
                )
            bound = np.inf
            with contextlib.suppress(Unproved):
                bound = prove(model, dual, 10**6)
            assert largest <= bound * (1 + 1e-9)
            assert bound < 1.0 or largest > 1.0 - 1e-8, (seed, size)
            proved, refused = proved + (bound < 1.0), refused + (bound == np.inf)
    assert min(proved, refused) >= 3


def tampered(how: str, tree: Tree) -> Tree:
    ends, ys = tree
    first, at = int(np.argmax(ends == BOUND)), np.arange(len(ends))
    return {
        "short": (ends[:-1], ys),
        "long": (np.append(ends, BOUND), np.vstack([ys, ys[-1:]])),
        "unsplit": (np.full(1, BOUND), ys[:1]),
        "twice": (np.concatenate([ends[:1], ends]), ys),
        "known": (np.where(at == first, KNOWN, ends), ys[1:]),
        "bounded": (np.where(ends == KNOWN, BOUND, ends), np.zeros((np.count_nonzero(ends < 0), ys.shape[1]))),
        "fewer": (ends, ys[:-1]),
        "not a number": (ends, np.full_like(ys, np.nan)),
        "zero": (ends, 0.0 * ys),
        "larger": (ends, ys + 1.0),
        "": (ends, ys),
    }[how]


@pytest.mark.parametrize(
    "how", ["", "short", "long", "unsplit", "twice", "known", "bounded", "fewer", "not a number", "zero", "larger"]
)
def test_a_false_tree_proves_nothing(how: str) -> None:
    model, lam = model_and_dual(16, 3, 1, EXACT)
    assert lam is not None
    sign = int(model.signs[0])
    f, tree = tree_of(model, lam, sign, 10**6)
    assert {BOUND, KNOWN} <= set(tree[0].tolist())
    bound = np.inf
    with contextlib.suppress(Unproved):
        bound = bound_of_tree(Balls(model), lam, sign, f, tampered(how, tree))
    assert (bound < 1.0) is (how == "")


def test_the_limit_of_nodes_is_reported() -> None:
    for method, prove in ((GATED, prove_unique_in_every_cell), (EXACT, prove_unique_everywhere)):
        model, lam = model_and_dual(18, 2, 0, method)
        assert lam is not None
        with pytest.raises(Unproved, match="limit of nodes"):
            prove(model, lam, 1)


@pytest.mark.parametrize(
    ("draws", "least", "others"),
    [pytest.param(20, 17, 2, marks=pytest.mark.deep), pytest.param(110, 100, 5, marks=pytest.mark.soak)],
)
def test_verdicts_over_all_patterns_are_proved_and_no_false_one_is(draws: int, least: int, others: int) -> None:
    """Gaussian, integer, sparse, zero, repeated and opposite rows; equal, cancelling, orthogonal and dead neurons."""
    counts: Counter[str] = Counter()
    for seed in range(TRIED.index(RELU_NORM), draws * len(TRIED), len(TRIED)):
        case = Case(seed)
        if case.ill_posed:
            continue
        for method in (GATED, EXACT):
            both = Fixed(case.X, case.planted)
            setting = Setting(*case.X.shape, both, both, patterns=Patterns("all"))  # type: ignore[arg-type]
            verdict = method(draw(setting, np.random.default_rng(0), RELU_NORM), RELU_NORM).verdict
            blocks = case.blocks(method is EXACT)
            y = sum((b.A @ b.planted for b in blocks), np.zeros(len(case.X)))
            solved = blocks, y, *optimum(blocks, y)
            for claim in VERDICTS:
                found = verify_rigorously(draw(setting, np.random.default_rng(0), RELU_NORM), RELU_NORM, method, claim)
                assert found.proved or found.reason, (seed, method.program, claim)
                if found.proved:
                    fate = judge(case, claim, *solved)
                    assert fate in ("agrees", "proved"), (seed, method.program, claim, fate)
                if claim == verdict:
                    counts.update([f"{claim}: {'proved' if found.proved else found.reason}"])
    proved = sum(count for outcome, count in counts.items() if outcome.endswith(": proved"))
    assert proved >= least, counts
    assert counts.total() - proved <= others, counts
