"""Claims about numbers in grid cells: a value, a bound in every cell, a proportion, a table of means."""

import numpy as np
import scipy

from recovery.config.claims import BinomialClaim, BoundClaim, TableClaim, ValueClaim
from recovery.errors import ReportError
from recovery.interval import Interval
from recovery.report.claims.result import AGREE, RESULTS, Judgement, against, concluded, replicates, undecided
from recovery.report.diagram import PLAIN, Diagram, as_numbers
from recovery.report.statistics import Estimates
from recovery.report.statistics.means import claimed_table
from recovery.report.statistics.samples import SAMPLES, Sample
from recovery.theory import CURVES
from recovery.types import Array, Mask

FAMILY = 1e-3
"""Error rate of a table, shared by its numbers."""
WORDS = {"mean": "", "median": "the median of ", "every": "every "}


def state_value(claim: ValueClaim) -> str:
    name = f"{WORDS[claim.statistic]}{claim.of}"
    if claim.value is None:
        return f"{name} is {_sides(claim.at_least, claim.at_most)}"
    near = f"within a factor of {claim.factor:g}" if claim.factor else f"± {claim.tolerance or 0:g}"
    return f"{name} is {claim.value:g} {near}"


def state_bound(claim: BoundClaim) -> str:
    return f"{WORDS[claim.statistic]}{claim.of} is {_sides(claim.at_least, claim.at_most)} in every cell"


def state_binomial(claim: BinomialClaim) -> str:
    return f"{claim.of} has probability {claim.probability:g} (level {claim.level:g})"


def state_table(claim: TableClaim) -> str:
    return f"means of {claim.of} as tabulated, {len(claim.values)} x {len(claim.at)} numbers"


def _sides(least: float | str | None, most: float | str | None) -> str:
    sides = (("at least", least), ("at most", most))
    return " and ".join(f"{words} {_named(limit)}" for words, limit in sides if limit is not None)


def _named(limit: float | str) -> str:
    if isinstance(limit, str):
        return CURVES[limit].label if limit in CURVES else limit
    return f"{limit:g}"


def judge_value(estimates: Estimates, rows: Mask, claim: ValueClaim) -> tuple[str, Judgement]:
    """Judge a claim about the mean, the median or every value of these rows' trials; also returns the measured text.

    The claim is supported if the 95 % interval over all trials is inside the limits, and contradicted if the interval
    of confidence level 1 - `claim.level` is outside. For `every`, no trial may be outside.
    """
    sample = _sample(estimates.diagram, rows)
    found = sample.interval(claim.statistic)
    if claim.statistic == "every":
        return _every(sample, found.low, found.high, *claim.limits)
    outer = sample.interval(claim.statistic, 1 - claim.level)
    verdict = against(found, outer, *claim.limits)
    caveat = sample.caveat() if claim.statistic == "mean" else ""
    text = "; ".join(filter(None, [_words(found, sample), caveat]))
    return concluded(text, verdict, _trials_needed(sample, found, outer, *claim.limits))


def judge_bound(estimates: Estimates, rows: Mask, claim: BoundClaim) -> tuple[str, Judgement]:
    """Judge a bound in each cell with a share of half the error rate; a test of all cells of a frequency has the rest.

    Supported if nothing contradicts, every cell was measured, and some outcome of these trials would have contradicted.
    """
    diagram = estimates.diagram
    limit, upper = (claim.at_least, False) if claim.at_least is not None else (claim.at_most, True)
    limits = _limits(diagram, limit)
    codes = np.unique(diagram.cells.code[rows])
    level = claim.level / (2 * len(codes))
    tallies, beyond, caveats, unmeasured, able = [], list[str](), dict[str, None](), 0, 0
    for code in codes:
        here = rows & (diagram.cells.code == code)
        sample, bound = _sample(diagram, here), float(np.nanmean(limits[here]))
        # A one-sided test is a two-sided interval at twice the error rate.
        found = sample.interval(claim.statistic, 1 - 2 * level)
        low, high = found.low, found.high
        middle = found.estimate if claim.statistic != "every" else (high if upper else low)
        if np.isnan(bound) or not len(sample.values):
            unmeasured += 1
            continue
        outside = low > bound + _rounding(bound) if upper else high < bound - _rounding(bound)
        if claim.statistic == "every":
            outside = high > bound + _rounding(bound) if upper else low < bound - _rounding(bound)
            unmeasured += sample.undecided > 0
        able += _able(sample, bound, upper, level, claim.statistic)
        caveats |= {sample.caveat(high=not upper): None} if claim.statistic == "mean" else {}
        if outside:
            beyond.append(f"{_place(diagram, code)}: {middle:.4g} against {bound:.4g}")
        tallies.append((sample, bound, middle))
    text = "; ".join([f"{len(tallies)} cells, {able} with enough trials to contradict it", *filter(None, caveats)])
    if beyond:
        shown = "; ".join(beyond[:3]) + (f" and {len(beyond) - 3} more" if len(beyond) > 3 else "")
        return f"{text}; beyond it at {shown}", "contradicted"
    if diagram.proportion and claim.statistic == "mean" and tallies:
        p, least = _together([(one, bound) for one, bound, _ in tallies], upper)
        able = able or int(least < claim.level / 2)
        if p < claim.level / 2:
            return f"{text}; beyond it in all cells together, p < {p:.1g}", "contradicted"
    if tallies:
        gaps = [(bound - middle if upper else middle - bound) for _, bound, middle in tallies]
        _, bound, middle = tallies[int(np.argmin(gaps))]
        text += f"; nearest to it {middle:.4g} against {bound:.4g}"
    if unmeasured:
        return undecided(f"{text}; {unmeasured} cells without a result", RESULTS)
    few = claim.statistic == "mean" and not diagram.proportion
    needed = f"{SAMPLES} trials per cell" if few else "more replicates: no outcome of these would contradict it"
    return concluded(text, "supported" if able else "inconclusive", needed)


def judge_binomial(estimates: Estimates, rows: Mask, claim: BinomialClaim) -> tuple[str, Judgement]:
    """Test a stated probability exactly, on all trials and in each cell; the tests share the error rate. Undecided
    trials may have ended either way."""
    diagram = estimates.diagram
    if not diagram.proportion:
        raise ReportError(f"{diagram.quantity} is not a proportion")
    codes = np.unique(diagram.cells.code[rows])
    whole = _sample(diagram, rows)
    parts = [whole, *(_sample(diagram, rows & (diagram.cells.code == code)) for code in codes if len(codes) > 1)]
    shares = [claim.level] if len(parts) == 1 else [claim.level / 2, *[claim.level / 2 / len(codes)] * len(codes)]
    found = whole.interval("mean")
    text = _words(found, whole)
    for i, (sample, share) in enumerate(zip(parts, shares, strict=True)):
        tested = sample.interval("mean", 1 - share)
        if not tested.low <= claim.probability <= tested.high:
            return text + (f"; contradicted at {_place(diagram, codes[i - 1])}" if i else ""), "contradicted"
    near = claim.probability - claim.tolerance <= found.low and found.high <= claim.probability + claim.tolerance
    # outside the tolerance, an interval without the probability decides
    reach = claim.tolerance if abs(found.estimate - claim.probability) <= claim.tolerance else 0.0
    limits = claim.probability - reach, claim.probability + reach
    needed = _trials_needed(whole, found, whole.interval("mean", 1 - shares[0]), *limits)
    return concluded(text, "supported" if near else "inconclusive", needed)


def judge_table(estimates: Estimates, rows: Mask, claim: TableClaim) -> tuple[str, Judgement]:
    """Judge a table: contradicted if a number differs at its share of `FAMILY`, supported if all agree (`judged`)."""
    table = claimed_table(estimates.diagram, claim)
    agrees, differs = table.judged(FAMILY / table.stated.size)
    text = f"{int(agrees.sum())} of {agrees.size} {AGREE}"
    if left := int((~agrees & ~differs).sum()):
        text += f"; {left} undecided"
    words = (
        f"{table.rows[i]} at {table.across} {table.columns[j]}: {table.mean[i, j]:.3g} for "
        f"{table.stated[i, j]:g} (z = {table.z[i, j]:+.1f})"
        for i, j in zip(*np.nonzero(differs), strict=True)
    )
    text = "; ".join([text, *words])
    few = (table.count < SAMPLES).any()
    verdict: Judgement = "contradicted" if differs.any() else "supported" if agrees.all() else "inconclusive"
    return concluded(text, verdict, f"{SAMPLES} trials for each mean" if few else "more replicates")


def _sample(diagram: Diagram, rows: Mask) -> Sample:
    return Sample.of(diagram, diagram.quantity, rows)


def _every(sample: Sample, low: float, high: float, least: float, most: float) -> tuple[str, Judgement]:
    text = f"{low:.4g} to {high:.4g}, {_trials(sample)}"
    if not len(sample.values):
        return undecided("no trial finished", "finished trials")
    if low < least - _rounding(least) or high > most + _rounding(most):
        return text, "contradicted"
    return concluded(text, "inconclusive" if sample.undecided else "supported", RESULTS)


def _trials_needed(sample: Sample, found: Interval, outer: Interval, least: float, most: float) -> str:
    """Describe the trials that would decide whether a number lies within the limits."""
    if not len(sample.values):
        return "finished trials"
    if not found.bounded and len(sample.values) < SAMPLES:
        return f"at least {SAMPLES} trials"
    if not found.bounded:
        return RESULTS if sample.undecided else "values that differ, or a claim about every trial"
    return replicates(found, outer, least, most)


def _words(found: Interval, sample: Sample) -> str:
    return (
        f"{found.estimate:.4g}, {found.words('.4g')}, {_trials(sample)}" if len(sample.values) else "no trial finished"
    )


def _trials(sample: Sample) -> str:
    return f"{len(sample.values)} trials" + (f", {sample.undecided} more without a result" if sample.undecided else "")


def _rounding(bound: float) -> float:
    """Return the rounding error within which a number equals the bound; 0 for an infinite bound."""
    return 1e-9 * max(1.0, abs(bound)) if np.isfinite(bound) else 0.0


def _limits(diagram: Diagram, limit: float | str | None) -> Array:
    """Return the bound at each row: a number, a theory curve at the row's coordinates, or a measured column."""
    frame = diagram.frame
    if not isinstance(limit, str):
        return np.full(len(frame), np.nan if limit is None else limit, dtype=float)
    if limit not in CURVES:
        if limit not in frame:
            raise ReportError(f"{limit} is neither a theory curve nor a column of this grid")
        return as_numbers(frame[limit])
    missing = [axis for axis in CURVES[limit].axes if axis not in frame]
    if missing:
        raise ReportError(f"the theory curve {limit} depends on {missing[0]}, which this grid does not have")
    values: Array = np.asarray(CURVES[limit].function(*(as_numbers(frame[axis]) for axis in CURVES[limit].axes)), float)
    return np.clip(values, 0.0, 1.0) if diagram.proportion else values


def _able(sample: Sample, bound: float, upper: bool, level: float, statistic: str) -> bool:
    """Return whether some outcome of these trials would contradict the bound."""
    if statistic != "mean" or not sample.proportion:
        return sample.decides(high=not upper) if statistic == "mean" else len(sample.values) > 0
    worst_of_all = Sample(np.full(len(sample.values), float(upper)), True).interval("mean", 1 - 2 * level)
    return bool(worst_of_all.low > bound if upper else worst_of_all.high < bound)


def _together(cells: list[tuple[Sample, float]], upper: bool) -> tuple[float, float]:
    """Bound the p-value of the successes (failures, for a lower bound) of all cells at their bounds (Chernoff).

    Returns this bound, and the least value that it could have had. A sum over many cells detects a departure that no
    single cell shows, and the bound is rigorous for cells of unequal probabilities.
    """
    total = np.array([len(one.values) + one.undecided for one, _ in cells], dtype=float)
    wrong = np.array([(one.values.sum() if upper else (1 - one.values).sum()) for one, _ in cells]).sum()
    chance = np.array([bound if upper else 1 - bound for _, bound in cells])

    def bounded(count: float) -> float:
        def exponent(t: float) -> float:
            return float(scipy.special.xlog1py(total, chance * np.expm1(t)).sum() - t * count)

        if count <= total @ chance:
            return 1.0
        least = scipy.optimize.minimize_scalar(exponent, bounds=(0.0, 50.0), method="bounded")
        return float(np.exp(min(least.fun, 0.0)))

    return bounded(float(wrong)), bounded(float(total.sum()))


def _place(diagram: Diagram, code: int) -> str:
    return PLAIN.where(dict(diagram.cells.keys.iloc[code]))
