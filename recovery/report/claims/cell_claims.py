"""Claims about numbers in grid cells: a value, a bound in every cell, a proportion, a table of means."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from recovery.config.claims import BinomialClaim, BoundClaim, Statistic, TableClaim, ValueClaim
from recovery.errors import ReportError
from recovery.interval import Interval
from recovery.methods.columns import implied
from recovery.report.claims.mean_tables import claimed_table
from recovery.report.claims.result import AGREE, Judgement, Kinds, concluded, replicates, results_of, undecided
from recovery.report.diagram import PLAIN, Diagram, as_numbers, unknown_words
from recovery.report.statistics import Estimates
from recovery.report.statistics.samples import SAMPLES, Sample
from recovery.text import many
from recovery.theory import CURVES
from recovery.types import Array, Mask

FAMILY = 1e-3
"""Error rate of a table, shared by its numbers."""
WORDS = {"mean": "", "median": "the median of ", "every": "every "}


def state_value(claim: ValueClaim | BoundClaim) -> str:
    name = f"{WORDS[claim.statistic]}{claim.of}"
    if isinstance(claim, BoundClaim) or claim.value is None:
        sides = (("at least", claim.at_least), ("at most", claim.at_most))
        limits = " and ".join(f"{words} {_named(limit)}" for words, limit in sides if limit is not None)
        return f"{name} is {limits}{' in every cell' if isinstance(claim, BoundClaim) else ''}"
    near = f"within a factor of {claim.factor:g}" if claim.factor else f"± {claim.tolerance or 0:g}"
    return f"{name} is {claim.value:g} {near}"


def state_binomial(claim: BinomialClaim) -> str:
    return f"{claim.of} has probability {claim.probability:g} (level {claim.level:g})"


def state_table(claim: TableClaim) -> str:
    return f"means of {claim.of} as tabulated, {len(claim.values)} x {len(claim.at)} numbers"


def _named(limit: float | str) -> str:
    if isinstance(limit, str):
        return CURVES[limit].label if limit in CURVES else limit
    return f"{limit:g}"


@dataclass(frozen=True)
class Test:
    """A test, at a significance level, of limits for the `statistic` of the trials of a grid cell, or of all cells."""

    place: str
    sample: Sample
    statistic: Statistic
    limits: tuple[float, float]
    level: float

    @classmethod
    def of_cells(
        cls, diagram: Diagram, rows: Mask, limits: tuple[Array, Array], statistic: Statistic, level: float
    ) -> "list[Test]":
        """Return a test of each cell at its share of the level; limits: the lower and the upper, each per row."""
        cells, tests = diagram.cells, list[Test]()
        codes = np.unique(cells.code[rows])
        parts = [rows & (cells.code == code) for code in codes]
        samples = Sample.each(diagram, diagram.quantity, parts)
        for code, here, sample in zip(codes, parts, samples, strict=True):
            least, most = (float(np.nanmean(side[here])) for side in limits)
            place = PLAIN.where(dict(cells.keys.iloc[code]))
            tests.append(cls(place, sample, statistic, (least, most), level / len(codes)))
        return tests

    @cached_property
    def found(self) -> Interval:
        """The 95 % interval of the statistic; for `every`, from the least to the greatest value."""
        return self.sample.interval(self.statistic)

    @cached_property
    def outer(self) -> Interval:
        """The interval at the level of the test."""
        return self.sample.interval(self.statistic, 1 - self.level)

    @property
    def outside(self) -> bool:
        """Whether the interval at the level is wholly outside the limits; for `every`, whether some value is."""
        ends = (self.outer.high, self.outer.low)
        low, high = ends[::-1] if self.statistic == "every" else ends
        least, most = self.limits
        return low < least - _rounding(least) or high > most + _rounding(most)

    @property
    def words(self) -> str:
        """The estimate with its interval, or the range of the values, and the number of trials."""
        sample = self.sample
        lacking = unknown_words(sample.unknown)
        if not (count := len(sample.values)):
            return f"no known value: {lacking} trials" if lacking else "no trial finished"
        left = f", {lacking}" if lacking else ""
        ends = f"{self.found.low:.4g} to {self.found.high:.4g}"
        estimate = f"{self.found.estimate:.4g}" if self.found.known else "not known"
        shown = ends if self.statistic == "every" else f"{estimate}, {self.found.words('.4g')}"
        return f"{shown}, {count} trials{left}"

    def needed(self, limits: tuple[float, float]) -> str:
        """Describe the trials that would decide whether the number lies within these limits."""
        sample = self.sample
        if not len(sample.values) and not sample.unknown:
            return "finished trials"
        lacking = results_of(sample.unknown) if sample.unknown else ""
        if self.statistic != "every" and not lacking and not self.found.bounded and len(sample.values) < SAMPLES:
            return f"at least {SAMPLES} trials"
        if self.statistic == "every" or not self.found.bounded:
            return lacking or "values that differ, or a claim about every trial"
        return replicates(self.found, self.outer, *limits, lacking)


def judge_value(estimates: Estimates, rows: Mask, claim: ValueClaim | BinomialClaim) -> tuple[str, Judgement]:
    """Judge a number over all trials: contradicted if its interval at the level is outside the limits, supported if its
    95 % interval is inside. For `every`, no trial may be outside.

    A stated probability is contradicted by an exact test of all trials or of a cell, with half the level each, and
    supported by its tolerance. Undecided trials may have ended either way.
    """
    diagram, cells = estimates.diagram, list[Test]()
    sample = Sample.of(diagram, diagram.quantity, rows)
    if isinstance(claim, ValueClaim):
        whole, within = Test("", sample, claim.statistic, claim.limits, claim.level), claim.limits
    else:
        if not diagram.proportion:
            raise ReportError(f"{diagram.quantity} is not a proportion")
        p, every = claim.probability, np.full(len(rows), claim.probability)
        cells = Test.of_cells(diagram, rows, (every, every), "mean", claim.level / 2)
        cells = cells if len(cells) > 1 else []
        level = claim.level / 2 if cells else claim.level
        whole, within = Test("", sample, "mean", (p, p), level), (p - claim.tolerance, p + claim.tolerance)
    found, caveat = whole.found, sample.caveat if whole.statistic == "mean" else ""
    text = "; ".join(filter(None, [whole.words, caveat]))
    for test in [whole, *cells]:
        if len(test.sample.values) and test.outside:
            return text + (f"; contradicted at {test.place}" if test.place else ""), "contradicted"
    inside = within[0] <= found.low and found.high <= within[1]
    if whole.statistic == "every":
        inside = len(sample.values) > 0 and not sample.unknown
    # if the estimate is outside the tolerance, only an interval without the stated probability decides
    decides = within if within[0] <= found.estimate <= within[1] else whole.limits
    return concluded(text, "supported" if inside else "inconclusive", whole.needed(decides))


def judge_bound(estimates: Estimates, rows: Mask, claim: BoundClaim) -> tuple[str, Judgement]:
    """Judge a bound. The tests of single cells share half the error rate; a joint test of a frequency has the rest.

    Supported if nothing contradicts, every cell was measured, and some outcome of these trials would have contradicted.
    """
    diagram, upper = estimates.diagram, claim.at_most is not None
    bounds, far = _limits(diagram, claim.at_most if upper else claim.at_least), np.full(len(rows), np.inf)
    # a one-sided test is a two-sided interval at twice the error rate
    limits = (-far, bounds) if upper else (bounds, far)
    tests = Test.of_cells(diagram, rows, limits, claim.statistic, claim.level)
    known = [one for one in tests if len(one.sample.values) and not np.isnan(one.limits[upper])]
    ends = (0.0, 1.0) if diagram.proportion else implied(diagram.quantity.column, None, None)
    worst = [_worst_case(one, upper, ends) for one in known]
    lacking = [one.sample for one in tests if one.sample.unknown and one not in known]
    lacking += [one.sample for one, least in zip(known, worst, strict=True) if one.sample.unknown and least.outside]
    empty = sum(not len(one.sample.values) and not one.sample.unknown for one in tests)
    able = sum(_able(one, upper, ends) for one in known)
    caveats = dict.fromkeys(one.sample.caveat for one in known if claim.statistic == "mean")
    together = bool(known) and diagram.proportion and claim.statistic == "mean"
    p, least = _together([(one.sample, one.limits[upper]) for one in known], upper) if together else (1.0, 1.0)
    jointly = least < claim.level / 2
    enough = "all together" if jointly and not able else able
    text = "; ".join([f"{len(known)} cells, {enough} with enough trials to contradict it", *filter(None, caveats)])
    against = [f"{_worst(one, upper):.4g} against {one.limits[upper]:.4g}" for one in known]
    if beyond := [f"{one.place}: {words}" for one, words in zip(known, against, strict=True) if one.outside]:
        shown = "; ".join(beyond[:3]) + (f" and {len(beyond) - 3} more" if len(beyond) > 3 else "")
        return f"{text}; beyond it at {shown}", "contradicted"
    if together:
        if p < claim.level / 2:
            return f"{text}; beyond it in all cells together, p < {p:.1g}", "contradicted"
        if _together([(one.sample, one.limits[upper]) for one in worst], upper)[0] < claim.level / 2:
            lacking = [one.sample for one in tests if one.sample.unknown]
    if known:
        gaps = [(1 if upper else -1) * (one.limits[upper] - _worst(one, upper)) for one in known]
        text += f"; nearest to it {against[int(np.argmin(gaps))]}"
    if lacking:
        unknown = sum((one.unknown for one in lacking), Counter[str]())
        text += f"; {unknown_words(unknown)} trials in {many(len(lacking), 'cell')}"
        return undecided(text, results_of(unknown))
    if empty:
        return undecided(f"{text}; {many(empty, 'cell')} without a finished trial", "finished trials")
    few = claim.statistic == "mean" and not diagram.proportion
    needed = f"{SAMPLES} trials per cell" if few else "more replicates: no outcome of these would contradict it"
    return concluded(text, "supported" if able or jointly else "inconclusive", needed)


def _worst(test: Test, upper: bool) -> float:
    """Return the test's estimate; for the statistic `every`, the greatest value if the bound is upper, or the least."""
    return test.found.estimate if test.statistic != "every" else test.found.high if upper else test.found.low


def _worst_case(test: Test, upper: bool, far: tuple[float, float]) -> Test:
    """Return the test with each value that is not known as far beyond the bound as it may be. far: the least and the
    greatest number that the column can hold."""
    sample = test.sample
    if not sample.unknown:
        return test
    # a mean of numbers with an unknown one has no bound
    statistic = "every" if test.statistic == "mean" and not sample.proportion else test.statistic
    values = np.append(sample.values, np.full(sample.unknown.total(), far[upper]))
    return replace(test, sample=Sample(values, sample.proportion), statistic=statistic)


def _able(test: Test, upper: bool, far: tuple[float, float]) -> bool:
    """Return whether some outcome of the test's trials would contradict the bound. far: as in `_worst_case`."""
    sample, most = test.sample, far[upper]
    if test.statistic == "mean" and not sample.proportion:
        return len(sample.values) >= SAMPLES and (most > test.limits[1] if upper else most < test.limits[0])
    return replace(test, sample=Sample(np.full(len(sample.values), most), sample.proportion)).outside


def judge_table(estimates: Estimates, rows: Mask, claim: TableClaim) -> tuple[str, Judgement]:
    """Judge a table: contradicted if a number differs at its share of the level `FAMILY`, supported if all agree."""
    table = claimed_table(estimates.diagram, claim)
    agrees, differs = table.judged(FAMILY / table.stated.size)
    text = f"{int(agrees.sum())} of {agrees.size} {AGREE}"
    if left := int((~agrees & ~differs).sum()):
        text += f"; {left} undecided"
    if unknown := sum((one.unknown for row in table.samples for one in row), Counter[str]()):
        text += f"; {unknown_words(unknown)} trials"
    words = (
        f"{list(claim.values)[i]} at {claim.across} {table.columns[j]}: {table.mean[i, j]:.3g} for "
        f"{table.stated[i, j]:g} (z = {table.z[i, j]:+.1f})"
        for i, j in zip(*np.nonzero(differs), strict=True)
    )
    text = "; ".join([text, *words])
    few = (table.count < SAMPLES).any()
    verdict: Judgement = "contradicted" if differs.any() else "supported" if agrees.all() else "inconclusive"
    return concluded(text, verdict, f"{SAMPLES} trials for each mean" if few else "more replicates")


def _rounding(bound: float) -> float:
    """Return the rounding error within which a number equals the bound; 0 for an infinite bound."""
    return 1e-9 * max(1.0, abs(bound)) if np.isfinite(bound) else 0.0


def _limits(diagram: Diagram, limit: float | str | None) -> Array:
    """Return `limit` at each row: a number (NaN for None), the theory curve of this name, or the measured column."""
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


def _together(cells: list[tuple[Sample, float]], upper: bool) -> tuple[float, float]:
    """Bound the p-value of the sum of all successes (unless `upper`, failures), if cells have the stated frequencies.

    cells: sample, stated frequency. Returns Chernoff's bound, and its value if all trials succeed (fail). A sum detects
    a departure that no single cell shows, and the bound is rigorous for cells of unequal probabilities.
    """
    total = np.array([len(one.values) + one.unknown.total() for one, _ in cells], dtype=float)
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


NUMBERS: Kinds = {
    ValueClaim: (state_value, judge_value),
    BoundClaim: (state_value, judge_bound),
    BinomialClaim: (state_binomial, judge_value),
    TableClaim: (state_table, judge_table),
}
