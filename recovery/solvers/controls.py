"""Every constant of the proximal-point Newton method, with its reason; those of cones differ where faces are thin."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Controls:
    """The constants of one kind of program. Symbols: `recovery.solvers.inner`. Measured on the papers' figures.

    growth, hard_growth, hard: factor of the step s after a solved inner problem, and after one of over `hard` steps
    (gated: 5 saves no steps, 10 makes some inner problems fail). retreat, patience: after more failures in a row than
    `patience`, s falls to this fraction: with columns in units far apart nearly all inner problems fail once s is large
    (of 192 gated programs with columns of 0.01 to 100, 141 are solved without it and 183 with it).
    inexactness, tighter: an inner problem is solved to this fraction of the error; multiplied by `tighter` if the start
    already satisfies it. 0.01 takes 20 % more steps, from 0.5 on some problems take many. strict: below this error, a
    misfit may not add more to a regularised objective. digits: relative rounding error of a gradient, phi or norm.
    weight, decay, least_weight: the proximal weight as a fraction of what one group adds to the Hessian, its divisor
    once a step is solved, and its least fraction of the first value. longest: largest s over its first value.
    reach, least_reach, few: a group without weight takes part in a step if its norm is within this multiple of the last
    step's largest rise (cones: excess) of the bound, at least `least_reach` of the bound; all do if they are more than
    the fraction `few`. With cones and a least reach of 0, steps over a few groups send the dual far outside the
    bounds of the others, and return in turn (at (370, 10), 3 000 steps without a solution instead of 210).
    first_share, smallest: the largest fraction of signed groups in the first step with cones, and the least number.
    slack: norms known to exceed the bound by less than this fraction of the last error are not projected.
    rough, rough_steps, rough_rank: above this error, the first steps of an inner problem use a rough Hessian, if groups
    have at least `rough_rank` variables (with faces of fewer, rough Hessians take twice the steps).
    damping, damped, eased: a step shortened below `damped` adds this multiple of the mean of H's diagonal to it, four
    times more after each; a whole step takes it back. Without it, directions that no face holds run far and shorten
    the others (20 % fewer steps with cones; 1e-6 stalls).
    armijo, sufficient: a step must lower phi by this fraction of its slope, or the gradient to this fraction of the
    least. lengths, shorter, shorter_at_most: trials of a step, and the range of the factor of one shortening.
    risen, bracket, shortest: a step is shortened to the approximate minimum of phi if phi' at its end exceeds `risen`
    of its first size; the relative width of the bracket, and the least length.
    close: weights of a Hessian that changed by less than this fraction keep their value.
    fewer, loose, rounds: conjugate gradients take a step if k active groups of r variables have k + r at most this
    fraction of n (measured at 220 to 800 rows); their relative residual, and their limit.
    outer_limit, inner_limit, step_limit: of proximal-point steps, Newton steps in one, and all Newton steps.
    nearly: largest error at which a solve that stopped counts as nearly solved. tolerance: of a solve, a hundredth of
    the gap that proves an optimum (`Program.gap_tolerance`).
    strong: if beta exceeds this fraction of the least beta without weights, s starts larger, by the root of the ratio,
    so that large steps exclude groups sooner (at a tenth, 12 steps become 9). fitted: the fraction of s at the start if
    the linear group has weights there (of 0.5 to 1, 3 to 6 % fewer steps than 1). outside, outside_fitted: the largest
    norm of A^T lam at the start, over the bound: without weights (1.3: 3 % fewer steps than 1.01), and for
    interpolation or if the linear group has weights (1.3: 6 % more).
    roughly: gap of a gated solution that only serves as a start (5 to 20 % faster for 80 to 100 rows). astray, leaving:
    it leaves its cones if groups outside them, by more than the fraction `astray` of their largest value, have more
    than the fraction `leaving` of all weight.
    conic_entries: most entries of all operators at which `auto` also calls a conic solver without a certificate.
    """

    growth: float = 3.0
    hard_growth: float = 3.0
    hard: int = 60
    retreat: float = 0.05
    patience: int = 0
    inexactness: float = 0.2
    tighter: float = 0.1
    strict: float = 1.0
    digits: float = 1e-12
    weight: float = 1e-2
    decay: float = 5.0
    least_weight: float = 1e-8
    longest: float = 1e5
    reach: float = 0.2
    least_reach: float = 1e-3
    few: float = 0.85
    first_share: float = 1.0
    smallest: int = 30
    slack: float = 1e-2
    rough: float = 0.03
    rough_steps: int = 6
    rough_rank: int = 0
    damping: float = 1e-9
    damped: float = 0.5
    eased: float = 4.0
    armijo: float = 1e-4
    sufficient: float = 0.9
    lengths: int = 2
    shorter: float = 0.1
    shorter_at_most: float = 0.7
    risen: float = 0.9
    bracket: float = 0.02
    shortest: float = 1e-9
    close: float = 0.1
    fewer: float = 0.4
    loose: float = 0.1
    rounds: int = 12
    outer_limit: int = 80
    inner_limit: int = 60
    step_limit: int = 5000
    nearly: float = 1e-6
    tolerance: float = 1e-10
    strong: float = 1e-2
    fitted: float = 0.8
    outside: float = 1.3
    outside_fitted: float = 1.01
    roughly: float = 1e-2
    astray: float = 0.1
    leaving: float = 0.1
    conic_entries: int = 2_000_000


GATED = Controls()
CONES = Controls(
    growth=2.0,
    hard_growth=1.41,
    hard=20,
    retreat=0.02,
    patience=1,
    strict=1e-2,
    longest=1e30,
    reach=1.0,
    least_reach=0.5,
    few=1.0,
    first_share=0.4,
    rough_steps=4,
    rough_rank=10,
    lengths=12,
    outer_limit=200,
    inner_limit=40,
    step_limit=3000,
    tolerance=1e-8,
)
"""A growth of 3 takes more steps, and more so the more rows per variable there are. Most faces of thin cones are rays,
and with a large s one inner problem after the other fails: of 72 programs with columns of 0.01 to 100, 51 are solved
without the retreat and all with it."""
SEARCH = Controls(damping=1e-10, lengths=30, inner_limit=100, shortest=1e-8)
"""For the dual of given weights: one inner problem, to a minimum or a zero of phi."""
