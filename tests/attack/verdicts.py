"""An attack on verdicts over all patterns by other code.

A draw has a small matrix of one family, planted neurons of one kind, and one architecture. It gives four verdicts: of
gated and exact programs, over patterns of kind `all` and `exhaustive`. The code here enumerates the cells in integers,
forms every operator, and solves the program by Clarabel. A proof of uniqueness in ball arithmetic settles a
disagreement.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import clarabel
import numpy as np
import scipy
from flint import arb, arb_mat, ctx
from scipy import sparse

from recovery.instances.draw import Setting, draw
from recovery.instances.patterns import Patterns
from recovery.instances.planted import Neurons
from recovery.methods.min_norm import MinNorm
from recovery.programs.architecture import ARCHITECTURES, Architecture
from recovery.types import Array, Mask, Rng

from .cells import cells, integers, pivots, signs

TRIED = (
    *ARCHITECTURES.values(),
    Architecture("leaky", slope=0.2),
    Architecture("leaky_skip", skip=True, slope=0.5),
    Architecture("sloped", slope=-0.3),
)
LOWER, HIGHER = 1e-6, 1e-8
"""Relative distances of the optimum below the planted cost: from LOWER, W* is not optimal; up to HIGHER, it may be."""
FAR, NEAR = 1e-3, 1e-6
"""Relative distances of Clarabel's images from those of W*: from FAR, W* is not unique; up to NEAR, it may be."""
ROUNDING = 1e-12
BITS = 300


def _spoiled(rng: Rng, n: int, d: int, zero: float = 0.0, repeated: float = 0.0, factors: Any = (1.0,)) -> Array:
    X = rng.standard_normal((n, d))
    X[rng.random(n) < zero] = 0.0
    copies = rng.random(n) < repeated
    X[copies] = X[rng.integers(0, n, int(copies.sum()))]
    return X * rng.choice(factors, (n, 1))


def _clustered(rng: Rng, n: int, d: int) -> Array:
    X = rng.standard_normal((n, d))
    return X[:2][rng.integers(0, 2, n)] + 0.1 * X


def _whole(rng: Rng, n: int, d: int, low: int = -2, high: int = 2, deficient: bool = False) -> Array:
    X = rng.integers(low, high + 1, (n, d)).astype(float)
    X[:, -1] = X[:, 0] if deficient else X[:, -1]
    return X


CONTINUOUS: dict[str, Callable[[Rng, int, int], Array]] = {
    "gaussian": _spoiled,
    "heavy tails": lambda rng, n, d: rng.standard_t(2, (n, d)),
    "positive": lambda rng, n, d: rng.random((n, d)),
    "clustered": _clustered,
    "uneven columns": lambda rng, n, d: rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d),
}
FAMILIES = CONTINUOUS | {
    "integers": _whole,
    "zeros and ones": partial(_whole, low=0, high=1),
    "deficient integers": partial(_whole, deficient=True),
    "plus and minus one": lambda rng, n, d: rng.choice([-1.0, 1.0], (n, d)),
    "few entries": lambda rng, n, d: rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5),
    "zero rows": partial(_spoiled, zero=0.3),
    "repeated rows": partial(_spoiled, repeated=0.4),
    "multiples of rows": partial(_spoiled, repeated=0.5, factors=(-2.0, -1.0, 0.5, 1.0)),
    "opposite rows": partial(_spoiled, repeated=0.6, factors=(-1.0, 1.0)),
}
"""Family -> matrix (n, d). Rows of the continuous families are in general position with probability 1."""


def _random(rng: Rng, X: Array, k: int) -> tuple[Array, Array]:
    return rng.standard_normal((X.shape[1], k)), rng.choice([-1.0, 1.0], k)


def _pair(rng: Rng, X: Array, factor: float, outer: tuple[float, float], turned: bool = False) -> tuple[Array, Array]:
    w, other = rng.standard_normal((2, X.shape[1]))
    return np.column_stack([w, factor * w + turned * 10.0 ** -rng.integers(1, 8) * other]), np.array(outer)


def _orthogonal(rng: Rng, X: Array, whole: bool) -> tuple[Array, Array]:
    """Return a neuron that is orthogonal to a row, up to rounding or as whole multiples of two entries; and another."""
    W, x = rng.standard_normal((X.shape[1], 2)), X[rng.choice(np.flatnonzero(X.any(axis=1)))]
    W[:, 0] -= x * (x @ W[:, 0]) / (x @ x)
    if whole:
        W[:, 0] = 0.0
        W[:2, 0] = (x[1], -x[0]) if x[:2].any() else (1.0, 0.0)
    return (W, rng.choice([-1.0, 1.0], 2)) if W[:, 0].any() else _random(rng, X, 2)


def _dead(rng: Rng, X: Array) -> tuple[Array, Array]:
    """Return a neuron, and one that is active on no row if such a whole direction is found."""
    W = rng.integers(-2, 3, (X.shape[1], 50)).astype(float)
    dead = np.flatnonzero((X @ W <= 0).all(axis=0) & W.any(axis=0))
    return (np.column_stack([W[:, dead[0]], rng.standard_normal(len(W))]) if len(dead) else W[:, :2]), np.ones(2)


NEURONS: dict[str, Callable[[Rng, Array], tuple[Array, Array]]] = {
    "one": partial(_random, k=1),
    "two": partial(_random, k=2),
    "three": partial(_random, k=3),
    "opposite": partial(_pair, factor=-1.0, outer=(1.0, 1.0)),
    "opposite, minus": partial(_pair, factor=-1.0, outer=(1.0, -1.0)),
    "twice": partial(_pair, factor=1.0, outer=(1.0, 1.0)),
    "cancelling": partial(_pair, factor=1.0, outer=(1.0, -1.0)),
    "nearly cancelling": partial(_pair, factor=1.0, outer=(1.0, -1.0), turned=True),
    "nearly equal": partial(_pair, factor=1.0, outer=(1.0, 1.0), turned=True),
    "orthogonal": partial(_orthogonal, whole=True),
    "orthogonal up to rounding": partial(_orthogonal, whole=False),
    "dead": _dead,
    "linear": partial(_random, k=1),
}
"""Kind -> directions (d, k) and outer signs; `linear` is a linear neuron, for architectures with a skip connection."""


@dataclass(frozen=True)
class Fixed:
    """An ensemble and a planted model with given values."""

    X: Array = field(hash=False, compare=False)
    planted: Neurons = field(hash=False, compare=False)
    form = property(lambda self: self.planted.form)
    slope = property(lambda self: self.planted.slope)
    neurons = property(lambda self: len(self.planted.signs))

    def draw(self, rng: Rng, *sizes: object) -> Any:
        return self.X if len(sizes) == 2 else self.planted


@dataclass(frozen=True)
class Block:
    """A signed group: sum of A v over blocks is y, with B v on one side of each row if it has a cone; cost ||N v||."""

    pattern: Mask
    A: Array
    N: Array
    cone: Array | None
    planted: Array


class Case:
    """One draw, and its programs as blocks over all cells and the planted patterns."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([20, seed])
        self.architecture = TRIED[seed % len(TRIED)]
        kinds = [kind for kind in NEURONS if kind != "linear" or self.architecture.skip]
        self.kind, self.family = kinds[rng.integers(len(kinds))], list(FAMILIES)[rng.integers(len(FAMILIES))]
        d = int(rng.integers(2, 5))
        X = FAMILIES[self.family](rng, int(rng.integers(2, (13, 10, 8)[d - 2])), d)
        self.X = X if X.any() else X + 1.0
        W, outer = NEURONS[self.kind](rng, self.X)
        W = W + ~W.any(axis=0)
        form = (
            "linear" if self.kind == "linear" else "normalized_relu" if self.architecture.normalizes_after else "relu"
        )
        self.planted = Neurons(form, W / np.linalg.norm(W, axis=0), outer, 0, self.architecture.slope)  # type: ignore[arg-type]
        self.F = self.architecture.features(self.X)
        self.H = np.pad(self.planted.directions, ((0, self.F.shape[1] - d), (0, 0)))
        # the project takes the patterns of these floats; an exact product may have the other sign by rounding
        self.products = self.F @ self.H

    def verdicts(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield program, kind of patterns, verdict and reason; an exception is a verdict of its own."""
        both = Fixed(self.X, self.planted)
        for program, patterns in product(("gated", "exact"), ("all", "exhaustive")):
            setting = Setting(*self.X.shape, both, both, patterns=Patterns(patterns))  # type: ignore[arg-type]
            try:
                instance = draw(setting, np.random.default_rng(0), self.architecture)
                row = MinNorm(program)(instance, self.architecture)  # type: ignore[arg-type]
                yield program, patterns, str(row.verdict), str(row.reason)
            except Exception as error:  # the attack looks for these
                yield program, patterns, "exception", f"{type(error).__name__}: {error}"

    @property
    def ill_posed(self) -> bool:
        """Whether a neuron is zero on the data, or so up to rounding, or all cancel."""
        sizes = np.linalg.norm(self.images, axis=0) / np.linalg.norm(self.F)
        outside = self.planted.form != "linear" and not (self.products >= 0)[self.F.any(axis=1)].any(axis=0).all()
        lengths = np.linalg.norm(self.images, axis=0).clip(1e-300) if self.architecture.normalizes_after else 1.0
        y = self.images / lengths @ self.planted.signs / np.linalg.norm(self.F)
        return bool(outside or sizes.min() < ROUNDING or np.linalg.norm(y) < ROUNDING)

    @property
    def images(self) -> Array:
        """The activations of the planted neurons."""
        Z, slope = self.products, self.architecture.slope
        return Z if self.planted.form == "linear" else np.where(Z > 0, Z, slope * Z)

    def blocks(self, cones: bool) -> list[Block]:
        """Form the program."""
        form, slope, outer = self.architecture, self.architecture.slope, self.planted.signs
        B = self.F[:, pivots(integers(self.F))] if form.normalized else self.F
        linear, after, live = self.planted.form == "linear", form.normalizes_after, self.F.any(axis=1)
        C = np.linalg.lstsq(B, self.products, rcond=None)[0] if form.normalized else self.H
        C = C / (np.linalg.norm(self.images, axis=0) if after else 1.0)
        own = [tuple(map(bool, column)) for column in (self.products >= 0).T] if not linear else []
        found = []
        if form.skip:
            found.append(Block(np.ones(len(B), bool), B, self._norm(B, B), None, C @ outer * linear))
        for cell in sorted({*cells(self.F), *own}):
            pattern = np.array(cell)
            D = np.where(pattern, 1.0, slope)[:, None] * B
            for sign in ((1.0, -1.0) if cones else (1.0,)) if pattern[live].any() else ():
                held = [i for i, p in enumerate(own) if p == cell and (not cones or outer[i] == sign)]
                weight = C[:, held] @ (np.ones(len(held)) if cones else outer[held])
                kept = pivots(integers(D)) if after and not cones else list(range(B.shape[1]))
                if len(kept) < len(weight):
                    weight = np.linalg.lstsq(D[:, kept], D @ weight, rcond=None)[0]
                A = sign * D[:, kept]
                cone = np.where(pattern, 1.0, -1.0)[:, None] * B if cones else None
                found.append(Block(pattern, A, self._norm(A, B), cone, weight))
        return found

    def _norm(self, A: Array, B: Array) -> Array:
        form = self.architecture
        return A if form.normalizes_after else B if form.normalizes_before else np.eye(B.shape[1])


def optimum(blocks: list[Block], y: Array) -> tuple[float, list[Array], Array, bool]:
    """Solve by Clarabel: the least cost, the weights of the blocks, the dual, and whether the solution is accurate."""
    size, count = float(np.abs(y).max()) or 1.0, len(blocks)
    ends = np.cumsum([block.A.shape[1] for block in blocks])
    ordered = [block for block in blocks if block.cone is not None]
    norms = [sparse.csr_matrix(np.vstack([np.zeros(b.N.shape[1]), b.N])) for b in blocks]
    heads = [sparse.csr_matrix(([1.0], ([0], [0])), (1 + len(b.N), 1)) for b in blocks]
    parts = [sparse.hstack([*(b.A for b in blocks), sparse.csr_matrix((len(y), count))])]
    if ordered:
        inner = sparse.block_diag([sparse.csr_matrix((0, b.A.shape[1])) if b.cone is None else b.cone for b in blocks])
        parts.append(sparse.hstack([-inner, sparse.csr_matrix((inner.shape[0], count))]))
    parts.append(-sparse.hstack([sparse.block_diag(norms), sparse.block_diag(heads)]))
    whole = sparse.vstack(parts).tocsc()
    shapes = [clarabel.ZeroConeT(len(y)), clarabel.NonnegativeConeT(len(y) * len(ordered))]
    shapes += [clarabel.SecondOrderConeT(1 + len(b.N)) for b in blocks]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.tol_gap_abs, settings.tol_gap_rel, settings.tol_feas = False, 1e-11, 1e-11, 1e-11
    q = np.concatenate([np.zeros(ends[-1]), np.ones(count)])
    right = np.concatenate([y / size, np.zeros(whole.shape[0] - len(y))])
    found = clarabel.DefaultSolver(sparse.csc_matrix((len(q), len(q))), q, whole, right, shapes, settings).solve()
    x = size * np.array(found.x)
    sound = str(found.status) in ("Solved", "AlmostSolved")
    return float(q @ x), np.split(x[: ends[-1]], ends[:-1]), -np.array(found.z[: len(y)]), sound


def balls(A: Array) -> arb_mat:
    """Convert floats exactly."""
    return arb_mat(*A.shape, [arb(float(x)) for x in A.ravel()])


def unique(blocks: list[Block], lam: Array, spared: list[Block]) -> bool:
    """Prove in ball arithmetic, from a dual near `lam`, that no block except `spared` shares the planted cost."""
    with ctx.workprec(BITS):
        rows, right, images = [], [], []
        for block in blocks:
            if block.planted.any():
                A, N, c = balls(block.A), balls(block.N), balls(block.planted[:, None])
                u = N.transpose() * (N * c)
                norm = (c.transpose() * u)[0, 0].sqrt()
                keep = pivots(integers(block.A)) if block.N is block.A else range(A.ncols())
                rows += [A.transpose().tolist()[j] for j in keep]
                right += [[u[j, 0] / norm] for j in keep]
                images.append((A * c).entries())
        K, start, G = arb_mat(rows), balls(lam[:, None]), arb_mat(images)
        try:
            dual = start + K.transpose() * (K * K.transpose()).solve(arb_mat(right) - K * start)
        except ZeroDivisionError:
            return False
        others = [b for b in blocks if not b.planted.any() and not any(b is s for s in spared)]
        return (G * G.transpose()).det() != 0 and all(any(s < 1 for s in _squares(b, dual)) for b in others)


def _squares(block: Block, dual: arb_mat) -> Iterator[arb]:
    """Yield bounds on the squared dual norm of a block: without its cone, then with multipliers of its rows."""
    keep = pivots(integers(block.A)) if block.N is block.A else list(range(block.A.shape[1]))
    N, b = balls(block.N[:, keep]), balls(block.A[:, keep]).transpose() * dual
    M = N.transpose() * N
    yield (b.transpose() * M.solve(b))[0, 0]
    if block.cone is not None and len(keep) == block.A.shape[1]:
        root = np.linalg.qr(block.N, mode="r").T
        sides = np.linalg.solve(root, np.column_stack([block.cone.T, [float(x.mid()) for x in b.entries()]]))
        mu = scipy.optimize.nnls(sides[:, :-1], -sides[:, -1])[0]
        b += balls(block.cone.T) * balls(mu[:, None])
        yield (b.transpose() * M.solve(b))[0, 0]


def fates(seed: int) -> Iterator[tuple[str, str, str, str]]:
    """Yield program, kind of patterns, verdict and fate of each verdict of a draw.

    `agrees`; `proved` or `false` after a disagreement; `open` if no proof was found; `undecided`, or `ill-posed` where
    it should be; `missed` if it is undecided, though Clarabel's optimum is clearly below the planted cost.
    """
    case, solved = Case(seed), {}
    for program, patterns, verdict, reason in case.verdicts():
        fate = f"exception: {reason}"
        if case.ill_posed and verdict not in ("exception", "recovered"):
            fate = "ill-posed"
        elif verdict != "exception":
            if program not in solved:
                blocks = case.blocks(program == "exact")
                y = sum((b.A @ b.planted for b in blocks), np.zeros(len(case.X)))
                solved[program] = blocks, y, *optimum(blocks, y)
            fate = judge(case, verdict, *solved[program])
        yield program, patterns, verdict, fate


def judge(
    case: Case, verdict: str, blocks: list[Block], y: Array, value: float, found: list[Array], lam: Array, sound: bool
) -> str:
    """Return the fate of a verdict on a well-posed draw."""
    cost = float(sum(np.linalg.norm(b.N @ b.planted) for b in blocks))
    lower = value / cost - 1.0
    far = max(np.abs(b.A @ (v - b.planted)).max() for b, v in zip(blocks, found, strict=True)) / np.abs(y).max()
    if verdict == "undecided":
        return "missed" if sound and lower < -1e-5 else "undecided"
    doubted = {
        "recovered": lower < -LOWER or far > FAR,
        "not_optimal": lower > -HIGHER,
        "not_unique": lower > -LOWER and far < NEAR,
    }[verdict]
    if sound and not doubted:
        return "agrees"
    # rounding decides whether a neuron that is nearly on a hyperplane is in the cells of both sides
    small = np.abs(case.products) < ROUNDING * np.linalg.norm(case.F)
    met = small & np.column_stack([signs(case.F, h) != 0 for h in case.H.T])
    own = case.products >= 0
    near = [b for b in blocks if ((b.pattern[:, None] == own) | met).all(axis=0).any()]
    if unique(blocks, lam, near):
        return "proved" if verdict == "recovered" else "false"
    return f"open: optimum {lower:+.0e}, distance {far:.0e}"
