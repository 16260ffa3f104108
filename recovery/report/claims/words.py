"""What a report says of a pooled threshold, in sentences: whether it stands, why not, and what needs no curve."""

from collections.abc import Callable, Sequence

import numpy as np

from recovery.report.diagram import PLAIN
from recovery.report.statistics import CrossedRow, Crossing, Pooled

SHOWN = 3
"""Sizes whose n50 without a curve is named in words: the least, the middle and the largest."""


def _drift(found: Pooled) -> str:
    (first, _, _), (last, _, _) = found.directed.ends
    return f"the ratio n/d changes by {_change(found)} from d = {first:g} to d = {last:g}"


def _change(found: Pooled) -> str:
    estimate, low, high = found.directed.change()
    return f"{estimate:+.0%} ({low:+.0%} to {high:+.0%})"


def _way(found: Pooled, name: str) -> float:
    """The sign of a shape along growing n."""
    return found.directed.z[name] * (1.0 if name == "tails" else float(np.sign(found.model.slope)))


def _skew(found: Pooled) -> str:
    slow, fast = ("begins slowly", "ends fast") if _way(found, "skew") > 0 else ("begins fast", "ends slowly")
    return f"the transition {slow} and {fast}, and the curve is symmetric"


def _tails(found: Pooled) -> str:
    what = "fewer" if _way(found, "tails") > 0 else "more"
    return f"far from the transition {what} trials go the other way than the curve allows"


REASONS: dict[str, Callable[[Pooled], str]] = {
    "drift": _drift,
    "exponent": lambda found: "the width of the transition does not grow with the square root of n",
    "skew": _skew,
    "tails": _tails,
    "apart": lambda found: "the exact intervals of the sizes d have no n/d in common",
    "scatter": lambda found: "the cells lie farther from every such curve than chance brings them",
}
"""What the model fails in -> one sentence."""


def standing(found: Pooled) -> str:
    """`one ratio`, `mean over d` or `withdrawn`; nothing without a transition."""
    if np.isnan(found.ratio.estimate):
        return ""
    return "withdrawn" if found.withdrawn else "mean over d" if found.is_mean else "one ratio"


def why(found: Pooled) -> str:
    """Why the ratio is withdrawn, needs no curve, or is only a mean; nothing if it stands as it is."""
    if not standing(found):
        return ""
    reasons = [REASONS[name](found) + _p(found, name) for name in found.reasons[:1]]
    if found.is_mean and not found.withdrawn:
        reasons.append(_open(found))
    return "; ".join(reasons)


def _open(found: Pooled) -> str:
    if not found.directed.ends:
        return "the grid does not tell whether the ratio changes with d"
    (first, _, _), (last, _, _) = found.directed.ends
    return f"from d = {first:g} to d = {last:g} the ratio may change by {_change(found)}"


def _p(found: Pooled, name: str) -> str:
    """The p-value of a reason that has one."""
    if name == "apart":
        return ""
    return f" (p {p_value(found.goodness if name == 'scatter' else found.directed.p_value(name))})"


def in_words(found: Pooled) -> str:
    """`50 % at n/d = 1.993 (1.955 to 2.030)`, or what the data leave open, or why no ratio is given; of a number, also
    between what it jumps."""
    if found.jump is None:
        return _threshold(found, "50 %")
    return way(found) if np.isnan(found.ratio.estimate) else f"{way(found)}; {_threshold(found, 'half way')}"


def way(found: Pooled) -> str:
    """`falls from 1 to 0.47 with n, a quarter and three quarters of the way at n/d = 2.61 and 3.10`."""
    jump = found.jump
    if jump is None or np.isnan(jump.before):
        return "does not jump along n"
    verb = "rises" if jump.after > jump.before else "falls"
    words = f"{verb} from {jump.before:.3g} to {jump.after:.3g} with n"
    ends = [part.given.estimate for part in jump.quarters]
    if not ends or np.isnan(ends).any():
        return words
    return f"{words}, a quarter and three quarters of the way at n/d = {ends[0]:.3f} and {ends[1]:.3f}"


def _threshold(found: Pooled, what: str) -> str:
    ratio = found.ratio
    if np.isnan(ratio.estimate):
        low, high = ratio.between
        if np.isfinite(high):
            return f"the grid begins beyond the transition: {what} lies below n/d = {high:.3g}"
        if np.isfinite(low):
            return f"the grid ends before the transition: {what} lies above n/d = {low:.3g}"
        if found.panel.undefined:
            return "not measured"
        answered = (found.panel.cells["yes"] + found.panel.cells["no"] > 0).any()
        return f"the grid does not tell where {what} lies" if answered else "no finished trials"
    if found.withdrawn:
        return f"no one n/d, because {why(found)}: read n50 at each d"
    given = found.given
    words = f"{what} at {at_ratio(found)} ({interval(given)})"
    words += ", beyond the n/d of the grid" if found.beyond and np.isfinite(given.estimate) else ""
    words += " as a mean over d" if found.is_mean else ""
    words += " without a curve, because " if found.reasons else f"; without a curve {interval(found.common)}"
    if ratio.separated:
        words += ", separated"
    if ratio.slope < 0:
        words += ", falling with n"
    return words + (f"{'' if found.reasons else '; '}{why(found)}" if why(found) else "")


def at_ratio(found: Pooled) -> str:
    """`n/d = 1.993`, or that rising fractions cross one half where no cell is."""
    estimate = found.given.estimate
    return "n/d beyond the grid" if np.isnan(estimate) else f"n/d = {estimate:.3f}"


def measured(found: Pooled) -> tuple[str, str]:
    """The ratio and its interval, `1.993` and `1.955 to 2.030`; or why there is none, and nothing."""
    if np.isnan(found.ratio.estimate):
        return "outside the grid", ""
    if found.withdrawn or found.beyond:
        return "no one ratio" if found.withdrawn else "beyond the grid", ""
    return f"{found.given.estimate:.3f}", interval(found.given)


def interval(found: Crossing, form: str = ".3f") -> str:
    """`1.955 to 2.030`, or the end that an open interval has."""
    low, high = found.low, found.high
    if np.isinf(low) and np.isinf(high):
        return "open at both ends"
    if np.isinf(low):
        return f"below {high:{form}}"
    return f"above {low:{form}}" if np.isinf(high) else f"{low:{form}} to {high:{form}}"


def without_curve(found: Pooled) -> str:
    """`n50 without a curve: d = 10: 18 (10 to 30), ...` at a few sizes; empty without a transition."""
    there = [size for size in found.sizes if np.isfinite(size.n50.estimate)]
    if not there:
        return ""
    chosen = sorted({round(k) for k in np.linspace(0, len(there) - 1, SHOWN)})
    parts = [f"d = {there[k].d:g}: {there[k].n50.estimate:.4g} ({interval(there[k].n50, 'g')})" for k in chosen]
    return f"n50 without a curve, at {', '.join(parts)}"


def rows_in_words(found: Sequence[CrossedRow], x: str, y: str | None) -> str:
    """`50 % without a curve, at tau = 0.5: n = 2000 (1000 to 3000), ...` for each row that shows something."""
    parts = [f"{f'{y} = {PLAIN.value(row.y)}: ' if y else ''}{words}" for row in found if (words := _crossed(row, x))]
    return f"50 % without a curve{', at ' if y else ': '}{'; '.join(parts)}" if parts else ""


def _crossed(row: CrossedRow, x: str) -> str:
    low, high = row.half.low, row.half.high
    if np.isfinite(row.half.estimate):
        return f"{x} = {row.half.estimate:.4g} ({interval(row.half, 'g')})"
    return f"{x} above {low:g}" if np.isfinite(low) else f"{x} below {high:g}" if np.isfinite(high) else ""


UNFIT = {
    "drift": "not proportional to d",
    "apart": "not proportional to d",
    "scatter": "probit fit rejected",
}
"""Why a panel has no ratio -> its caption."""


def caption(found: Pooled) -> str:
    """`50 %: n/d = 1.99 [1.96, 2.03]` for a panel's corner; empty without an estimate."""
    given = found.given
    if np.isnan(found.ratio.estimate):
        return ""
    what = "50 %" if found.jump is None else "jump"
    if found.withdrawn:
        return f"{what}: {next(UNFIT[reason] for reason in found.reasons if reason in UNFIT)}"
    if found.beyond:
        return f"{what}: beyond the grid"
    bounded = given.low > 0 and np.isfinite(given.high)
    ends = f"[{given.low:.2f}, {given.high:.2f}]" if bounded else "(interval open)"
    words = f"{what}: n/d = {given.estimate:.2f} {ends}"
    return words + (", nonparametric" if found.reasons else ", average over d" if found.is_mean else "")


def p_value(p: float) -> str:
    """`= 0.002`, or `< 1e-15`."""
    return f"= {p:.1g}" if p >= 1e-15 else "< 1e-15"
