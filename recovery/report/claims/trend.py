"""Claims that a number or a frequency rises or falls along a coordinate, or the exponent with which it grows."""

from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
import scipy

from recovery.config import ReportSpec
from recovery.config.claims import MonotoneClaim, PowerClaim
from recovery.errors import ReportError
from recovery.interval import LEVEL, Interval
from recovery.report.claims.result import Judged, Judgement, Kinds, decided, p_value, results_of, undecided
from recovery.report.claims.threshold import stated_limits
from recovery.report.diagram import PLAIN, Diagram, as_numbers, is_number, unknown_words
from recovery.report.statistics import Estimates
from recovery.report.statistics.growth import growth, power
from recovery.report.statistics.samples import Sample
from recovery.text import many
from recovery.types import Array, Mask


def state_monotone(claim: MonotoneClaim) -> str:
    return f"{claim.of} {claim.direction} with {claim.along.split('.')[-1]} (level {claim.level:g})"


def judge_monotone(estimates: Estimates, rows: Mask, claim: MonotoneClaim) -> tuple[str, Judgement]:
    """Judge a trend along an axis on each line of cells in which all other coordinates are equal.

    Contradicted if two cells of a line are in the opposite order (Fisher's exact test, or Mann and Whitney's), at half
    of the error rate shared among all pairs, or if all lines together show the opposite trend at the other half: with
    few replicates no pair can show it. Supported if Kendall's rank correlation shows the trend in every line at 5 %,
    and all lines together (Fisher's combination of p-values) show it at the claim's level. Values that are not known
    count against either.
    """
    diagram, rises = with_coordinate(estimates.diagram, claim.along), claim.direction == "rises"
    frame = diagram.frame
    low, high = diagram.quantity.ends(frame) if rises else (-end for end in diagram.quantity.ends(frame)[::-1])
    yes = float(rises) if diagram.proportion else None
    at, used = as_numbers(frame[claim.along]), rows & diagram.cells.finished & ~np.isnan(low)
    others = [name for name in diagram.layout.keys if name != claim.along]
    groups = frame.loc[used, others].groupby(others, dropna=False).indices if others else {(): np.arange(used.sum())}
    pairs, places = list[tuple[Array, Array]](), list[tuple[float, float, str]]()
    trends, opposite_trends = list[float](), list[float]()
    for inside in groups.values():
        there = np.flatnonzero(used)[inside]
        x, least, most = at[there], low[there], high[there]
        steps = np.unique(x)
        if len(steps) < 2:
            continue
        # replace an unknown value by the end of its range that lowers the correlation: in the right half the least
        right = scipy.stats.rankdata(x) > (len(x) + 1) / 2
        trends.append(_trend(x, np.where(right, least, most), "greater"))
        opposite_trends.append(_trend(x, np.where(right, most, least), "less"))
        where = PLAIN.where({name: frame[name].iloc[there[0]] for name in others})
        for a, b in combinations(steps, 2):
            pairs.append((least[x == a], most[x == b]))
            places.append((a, b, f" ({where})" if where else ""))
    if not trends:
        return undecided(f"no line of cells along {claim.along}", f"cells that differ in {claim.along} alone")
    each = no_lower_p_values(pairs, yes)
    p = float(each.min())
    name = claim.along.split(".")[-1]
    words = min(f"{name} = {a:g} and {b:g}{where}" for one, (a, b, where) in zip(each, places, strict=True) if one == p)
    positive = (np.maximum(some, 1e-300) for some in (trends, opposite_trends))
    together, opposite = (float(scipy.stats.combine_pvalues(some).pvalue) for some in positive)
    text = f"{len(trends)} lines, trend p {p_value(together)}"
    if unknown := Sample.of(diagram, diagram.quantity, rows).unknown:
        text += f", {unknown_words(unknown)} trials"
    if p < claim.level / 2 / len(pairs):
        return f"{text}; in the opposite direction between {words}, p {p_value(p)}", "contradicted"
    if opposite < claim.level / 2:
        return f"{text}; in the opposite direction in all lines together, p {p_value(opposite)}", "contradicted"
    shown = sum(trend < 1 - LEVEL for trend in trends)
    if together < claim.level and shown == len(trends):
        return text, "supported"
    needed = results_of(unknown) if unknown else "more replicates, or more cells per line"
    return undecided(f"{text}, visible in {shown} of {len(trends)} lines", needed)


def _trend(x: Array, y: Array, alternative: Literal["less", "greater"]) -> float:
    """Return the one-sided p-value of Kendall's rank correlation; 1 if all y are equal."""
    return float(scipy.stats.kendalltau(x, y, alternative=alternative).pvalue) if (y != y[0]).any() else 1.0


def with_coordinate(diagram: Diagram, along: str) -> Diagram:
    """Return the diagram with `along` among its coordinates. Raises `ReportError` unless it is numeric."""
    if along not in diagram.layout.keys:  # other coordinates may be computed from it
        diagram = diagram.laid_out(ReportSpec(x=along))
    if along not in diagram.frame or not is_number(diagram.frame[along]):
        raise ReportError(f"{along} is not a numeric coordinate of this grid")
    return diagram


def no_lower_p_values(pairs: list[tuple[Array, Array]], yes: float | None) -> Array:
    """Return for each pair of samples the one-sided p-value of the hypothesis that the second is not lower.

    yes: of a proportion, the value that counts as success; None for numbers. Pairs of equal sizes are ranked in one
    call, which gives exact p-values only if no sample has ties. So pairs with ties are ranked separately.
    """
    if yes is not None:
        tables = [np.array([[(part == yes).sum(), (part != yes).sum()] for part in pair]) for pair in pairs]
        return np.array([scipy.stats.fisher_exact(table, alternative="greater").pvalue for table in tables])
    p = np.ones(len(pairs))
    sizes = np.array([(len(first), len(second)) for first, second in pairs])
    for size in np.unique(sizes, axis=0):
        at = np.flatnonzero((sizes == size).all(axis=1))
        first, second = (np.array([pairs[i][side] for i in at]) for side in (0, 1))
        ordered = np.sort(np.concatenate([first, second], axis=1), axis=1)
        tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        for part in (tied & (ordered[:, 0] < ordered[:, -1]), ~tied):
            if part.any():
                tested = scipy.stats.mannwhitneyu(first[part], second[part], alternative="greater", axis=1)
                p[at[part]] = tested.pvalue
    return p


def state_power(claim: PowerClaim) -> str:
    width = ""
    if len(claim.probabilities) == 2:
        first, last = (f"{100 * one:g}" for one in claim.probabilities)
        width = f"distance along {claim.threshold} from {first} % to {last} % of "
    what = f"power law of {width}'{claim.of}' in {claim.along.split('.')[-1]}"
    return f"{what}: exponent {stated_limits(claim)} (level {claim.level:g})"


def judge_power(estimates: Estimates, rows: Mask, claim: PowerClaim) -> tuple[str, Judgement]:
    """Judge the exponent, common to all panels, of a number's medians or of an event's thresholds.

    For medians, its interval comes from their scatter about the fitted lines, which includes the misfit of a power law.
    """
    diagram = with_coordinate(estimates.diagram, claim.along)
    if diagram.proportion:
        if claim.threshold == claim.along:
            raise ReportError(f"the threshold is along {claim.along}, so it is no power of {claim.along}")
        if open_ended := without_measuring(diagram, rows):
            return open_ended
        axes = ReportSpec(x=claim.threshold, y=claim.along, pool="none")
        diagram = with_coordinate(diagram, claim.threshold).laid_out(axes)
        panels = [diagram.panels[i] for i in diagram.matching(diagram.panels, claim.where)]
        found = growth(panels, diagram.along, claim.probabilities)
        if found is None:
            needed = f"grid cells on both sides of it along {claim.threshold} at two values of {claim.along}"
            return undecided(f"no two values of {claim.along} show where it is", needed)
        fits = [found]
    else:
        sides = _medians(diagram, rows, claim)
        unknown = Sample.of(diagram, diagram.quantity, rows).unknown
        if any(unknown.values()) and not all(np.isfinite(line).all() for lines in sides for line in lines):
            return undecided(f"{unknown_words(unknown)} trials leave a median without bounds", results_of(unknown))
        # drop medians without a finite logarithm, which are 0 or infinite
        sides = [[line[:, np.isfinite(line).all(axis=0)] for line in lines] for lines in sides]
        fits = [replace(one, error=0.0) for lines in sides if (one := power(lines)) is not None and one.freedom > 0]
        if len(fits) < len(sides):
            points = sum(line.shape[1] for line in sides[0] if line.shape[1] > 1)
            return undecided(f"{points} points along {claim.along}", "three values of it in a line of cells")
        found = fits[0]
    inner, outer = (
        Interval((low.estimate + high.estimate) / 2, low.low, high.high, level)
        for level in (LEVEL, 1 - claim.level)
        for low, high in [(fits[0].interval(level), fits[-1].interval(level))]
    )
    points = f"{sum(line.shape[1] for line in found.lines)} points in {many(len(found.lines), 'line')}"
    name = "exponent" if diagram.proportion else "exponent of the median"
    text = f"{name} {inner.estimate:.2f}, {inner.words('.2f')}, {points}"
    if diagram.proportion and len(found.lines) == 1:
        text += "; " + " to ".join(f"{value:.3g} at {claim.along} = {y:g}" for y, value in found.lines[0].T[[0, -1]])
    if found.missing:
        text += f"; without {'; '.join(found.missing)}"
    return decided([Judged.of("", text, inner, outer, claim.limits, f"more values of {claim.along}")])


def without_measuring(diagram: Diagram, rows: Mask) -> tuple[str, Judgement] | None:
    """Return that a claim about growing thresholds is undecided if some trials did not measure the event, else None."""
    unknown = Sample.of(diagram, diagram.quantity, rows).unknown
    if not unknown["unmeasured"]:
        return None
    return undecided(f"{unknown_words(unknown)} trials, which may have either outcome", results_of(unknown))


def _medians(diagram: Diagram, rows: Mask, claim: PowerClaim) -> list[list[Array]]:
    """Return for each line of cells the coordinates, the medians (NaN unless positive), and ones for the errors.

    Returned twice: where values are unknown, a median has a range, and the first list has the medians that make the
    exponent least, the second greatest. The exponent is linear in their logarithms.
    """
    frame = diagram.frame
    ends = dict(zip(("low", "high"), diagram.quantity.ends(frame), strict=True))
    used = rows & diagram.cells.finished & ~np.isnan(ends["low"])
    others = [name for name in diagram.layout.keys if name != claim.along]
    grouped = frame.assign(**ends)[used].groupby([*others, claim.along], dropna=False)
    medians = grouped[["low", "high"]].median().reset_index()
    positive = medians[(medians["high"] > 0) & (medians[claim.along] > 0)]
    lines = positive.groupby(others, dropna=False) if others else [((), positive)]

    def points(line: pd.DataFrame, first: str, second: str) -> Array:
        x = np.log(line[claim.along])
        y = np.where(x > x.mean(), line[first], line[second])
        return np.array([line[claim.along], np.where(y > 0, y, np.nan), np.ones(len(line))], dtype=float)

    return [[points(line, *ends) for _, line in lines] for ends in (("low", "high"), ("high", "low"))]


TRENDS: Kinds = {MonotoneClaim: (state_monotone, judge_monotone), PowerClaim: (state_power, judge_power)}
