"""Numbers in prose: a template's `{{...}}` filled in from stored grids, and what in it was typed.

- `{{share GRID COLUMN | QUERY}}`: how many trials succeed, as a range if some are undecided; COLUMN may be an event
  such as `group_error<=1e-5`, QUERY is one of pandas over the grid's rows.
- `{{trials GRID | QUERY}}`: how many trials are stored, and the grid's name with a link to the gallery.
- `{{mean GRID COLUMN | QUERY}}`, `median`, `largest`, `smallest`; `square mean` is the square of it.
- `{{claim GRID K}}`: the verdict on the config's claim number K, and what was measured.
- `{{half GRID K}}`: where the threshold of claim K was found, with its interval, for each panel.
  `{{half GRID COLUMN | NAME: VALUE; ...}}`: the threshold n/d of the panels at these coordinates.
- `{{crossing GRID | NAME: VALUE; ...}}`: the threshold of the panel or slice at these coordinates, with its interval.
- `{{ends GRID COLUMN LEVEL | QUERY}}`: where the mean of COLUMN is last at least LEVEL, as n/d: the least and the
  greatest over the values of d.
- `{{growth GRID K}}`: how the threshold n/d of claim K, one panel, changes with d: p of d^p, and what that means.
  `{{growth GRID COLUMN | NAME: VALUE; ...}}`: the same for the panel at these coordinates.
- `{{fails GRID COLUMN | QUERY}}`: how many trials fail, and the least share that they can be of all, at 97.5 %.
- `{{missed GRID COLUMN | QUERY | TRUTH}}`: of the draws that fail among TRUTH, how many succeed among QUERY.
- `{{missed share ...}}`: the same, as the interval of that share (Clopper and Pearson, 95 %).
- `{{powers GRID COLUMN | QUERY | SIZES}}`: how the rows n from which half of the trials succeed grow with each size,
  as a product of powers: least squares over all curves, with 95 % t intervals, which count the misfit of powers too.
- `{{rows GRID COLUMN | QUERY}}`: that n of one curve, with its 95 % profile interval. `{{widest GRID COLUMN | QUERY |
  SIZES}}`: the largest ratio of the ends of such an interval, and of how many curves.
- `{{pairs GRID COLUMN EVENT | QUERY}}`: of pairs of draws of one n and d, one with the event, the share in which it has
  the smaller COLUMN.
- `{{kappa GRID | QUERY}}`: kappa of P(recovered) = P(chi-squared, n - d + 1 degrees of freedom, > kappa d), by maximum
  likelihood, with its 95 % profile interval. `{{rule GRID KAPPA | QUERY}}`: in how many draws recovery is the event
  1/||lam||^2 > KAPPA d of the least-norm dual lam, computed from the draws.
- `{{within GRIDS}}`: how many numbers of all tables that the configs claim are within three errors.
- `{{numbers GRID K}}`: the table of claim number K: each number as printed, ours, and z; bold beyond three errors.
- `{{number GRID COLUMN | QUERY | PRINTED ERROR}}`: the mean, and z beside a printed number with its standard error;
  ERROR is `ours` where the source's mean is taken to be as uncertain as ours.
- `{{agreement rows GRIDS}}`, `columns`, `median`: the same for each row or column of the tables; the median of |z|.
- `{{within DRAWS GRIDS}}`: the same, with the error that a mean of the source over DRAWS draws with our spread has.
  `{{within DRAWS rounded GRIDS}}`: the same for differences reduced by half of the last printed digit.
- `{{verdict GRID K}}`: the verdict on claim number K as the gallery has it.
- `{{coverage PAPER}}`: a table of the statements of a paper by verdict.
- `{{paper TEXT}}`: a quotation. `{{test FILE TEXT}}`: what a test shows; the file must have the text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binomtest, chi2, norm, t

from docs.statements import by_verdict
from recovery.config import Trial
from recovery.config.claims import TableClaim, ThresholdClaim
from recovery.instances.planted import Neurons
from recovery.interval import LEVEL
from recovery.methods.columns import parse_event
from recovery.report.claims import Analysis
from recovery.report.claims.mean_tables import FAR, claimed_table, claimed_tables
from recovery.report.diagram import Diagram
from recovery.report.diagram.vocabulary import fraction_words
from recovery.report.statistics.growth import growth
from recovery.runner.placement import TransitionCurve, estimate
from recovery.runner.rerun import trials_of_grid
from recovery.runner.trial import draw_instance
from recovery.store import read
from recovery.theory.network import network_recovery
from recovery.types import Array, Scalar

ROOT = Path(__file__).parents[1]
GRIDS = ROOT / "results" / "papers"
PLACE = re.compile(r"\{\{(.+?)\}\}", flags=re.DOTALL)
LABEL = re.compile(r"[a-z]+(?: = [\d.]+)?")
"""Titles of panels that prose names."""
STATISTICS = {"mean": np.mean, "median": np.median, "largest": np.max, "smallest": np.min}
QUOTED = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)", flags=re.DOTALL)
"""Code, which runs or names something, and the targets of links."""
NAMED = re.compile(
    r"(?:Figures?|Theorems?|Propositions?|Lemmas?|Definitions?|[Tt]ables?|sections?|pages?|Remarks?|Appendix|appendix|Algorithm"
    r"|Corollary|order|Order)[\s~]+[A-Z]?[\w.]*(?:(?:, | and | to )\d+)*|\(\d+\)|\(N+IC-1\)|\bP\d\b|\*\*\(|\bD\.1\b"
    r"|\(\d+\)'s|E\.1\.2"
)
"""Numbers that are names: of figures, statements and equations."""
WHOLE = re.compile(r"\$[^$]*\$")


def filled(template: str) -> str:
    """The template's text with every number in its place. Raises `ValueError` for a place that cannot be filled."""
    return PLACE.sub(lambda match: _value(" ".join(match[1].split())), template)


def typed(template: str) -> list[str]:
    """The numbers of a template that no grid, test or quotation stands behind.

    Whole numbers in formulas are sizes, exponents and the like; a decimal is a measurement wherever it stands.
    """
    text = QUOTED.sub(" ", PLACE.sub(" ", template))
    loose = [number for formula in WHOLE.findall(text) for number in re.findall(r"\d+\.\d+", formula)]
    return loose + re.findall(r"\d[\d.]*", NAMED.sub(" ", WHOLE.sub(" ", text)))


def _value(asked: str) -> str:
    verb, _, rest = asked.partition(" ")
    try:
        return VERBS[verb](*rest.split(" | ")) if verb in VERBS else _statistic(verb, *rest.split(" | "))
    except ValueError as error:
        raise ValueError(f"{asked}: {error}") from error


def _tested(rest: str) -> str:
    file, _, text = rest.partition(" ")
    if text not in (ROOT / file).read_text():
        raise ValueError(f"{file} does not have {text!r}")
    return text


def _statistic(verb: str, what: str, query: str = "") -> str:
    grid, column = what.split()
    values = _column(grid, column, query)
    if not len(values):
        raise ValueError("no trials")
    if verb == "fails":
        # what is undecided or failed to run may have succeeded: it counts among all
        failures, everyone = int((values == 0).sum()), _count(grid, query)
        least = binomtest(failures, everyone).proportion_ci(method="exact").low
        return f"{failures} of {everyone}, at least {least:.0%}"
    if verb == "share":
        return fraction_words(int(values.sum()), len(values), _count(grid, query) - len(values))
    return f"{STATISTICS[verb](values):.3g}"


def _stored(grid: str, query: str = "") -> str:
    (page,) = [path.name for path in GRIDS.glob("*.md") if f"\n## {grid}\n" in path.read_text()]
    return f"{_count(grid, query)} trials of [{grid}](papers/{page}#{grid})"


def _verdict(rest: str) -> str:
    grid, number = rest.split()
    return gallery()[grid][int(number) - 1]


def _claim(rest: str) -> str:
    grid, number = rest.split()
    claim = _analysis(grid).claims[int(number) - 1]
    first, *others = claim.measured.split("; ")
    limits = [other for other in others if " patterns, but the statement " in other]
    measured = claim.measured if claim.measured.count(" (z = ") else "; ".join([first, *limits])
    return f"{claim.verdict} ({measured})"


def _count(grid: str, query: str) -> int:
    return len(_rows(grid).query(query) if query else _rows(grid))


def _column(grid: str, column: str, query: str) -> np.ndarray:
    rows = _rows(grid).query(query) if query else _rows(grid)
    name, bound = parse_event(column)
    values = rows[name].dropna().to_numpy(dtype=float)
    return values if bound is None else (values <= bound).astype(float)


def _missed(what: str, looked: str, truth: str) -> str:
    """Draws are the same where n, d and the replicate are; both queries are to leave one row of each."""
    *share, grid, column = what.split()
    parts = [_rows(grid).query(query).set_index(["n", "d", "replicate"])[column].dropna() for query in (truth, looked)]
    true, seen = (part.astype(float) for part in parts)
    both = true[true == 0].index.intersection(seen.index)
    if not (true.index.is_unique and seen.index.is_unique and len(both)):
        raise ValueError("no pairs of draws")
    missed = int(seen[both].sum())
    if not share:
        return f"{missed} of {len(both)}"
    ends = binomtest(missed, len(both)).proportion_ci(method="exact")
    return f"{ends.low:.1%} to {ends.high:.1%}"


def _ends(what: str, query: str) -> str:
    grid, column, level = what.split()
    means = _rows(grid).query(query).groupby(["d", "n"])[column].mean().reset_index()
    far = means[means[column] >= float(level)]
    ends = far.groupby("d")["n"].max()
    ratios = ends.to_numpy() / ends.index.to_numpy()
    return f"{ratios.min():.2f} to {ratios.max():.2f}"


def _about(what: str, where: str = "") -> tuple[str, ThresholdClaim]:
    """Return the grid, and the claim K of `GRID K`, or what `GRID COLUMN | NAME: VALUE; ...` says in a claim's form."""
    grid, of = what.split()
    if not of.isdigit():
        return grid, ThresholdClaim(of=of, ratio="n/d", at_least=1, where=_coordinates(where))
    claim = _analysis(grid).diagram.sweep.claims[int(of) - 1]
    if not isinstance(claim, ThresholdClaim):
        raise ValueError(f"claim {of} of {grid} is about no threshold")
    return grid, claim


def _coordinates(where: str) -> dict[str, Scalar]:
    pairs = (pair.split(": ") for pair in where.split("; "))
    return {name: float(value) if re.fullmatch(r"[\d.e-]+", value) else value for name, value in pairs}


def _growth(*about: str) -> str:
    grid, claim = _about(*about)
    shown = _analysis(grid).showing(claim.of)
    (panel,) = shown.diagram.matching(shown.diagram.panels, claim.where)
    grown = growth([shown.diagram.panels[panel]], shown.diagram.along, [0.5])
    if grown is None:
        raise ValueError("one size tells no growth")
    found = grown.interval(LEVEL)  # of n/d
    means = "grows" if found.low > 0 else "falls" if found.high < 0 else "a constant is not ruled out"
    return f"{found:+.2f}: {means}"


def _within(rest: str) -> str:
    options, grids = list[str](), rest.split()
    while grids[0].isdigit() or grids[0] == "rounded":
        options.append(grids.pop(0))
    scores = _scores(float(options[0]) if options else np.inf, grids, "rounded" in options)
    near = np.concatenate([(np.abs(z) <= FAR).ravel() for _, z in scores])
    return f"{near.sum()} of {near.size}"


def _scores(draws: float, grids: list[str], rounded: bool = False) -> list[tuple[Sequence[str], Array]]:
    """The rows and the z-scores of all tables that the configs of the grids claim; a rounding error counts as 0.

    rounded: differences are reduced by half of the last digit that is printed.
    """
    found = []
    for grid in grids:
        for table in claimed_tables(_analysis(grid).diagram):
            other = table.stated_error if np.isinf(draws) else table.error * np.sqrt(table.count / draws)
            apart = table.mean - table.stated
            least = 10.0 ** -_decimals(table.stated) / 2 if rounded else 1e-12
            apart = np.sign(apart) * np.maximum(np.abs(apart) - least, 0.0)
            z = np.divide(apart, np.hypot(table.error, other), where=apart != 0, out=np.zeros_like(apart))
            found.append(([*table.claim.values], z))
    return found


def _decimals(printed: Array) -> Array:
    """Return the number of decimals of each number as it is printed, at least one."""
    return np.array([[len(repr(float(one)).partition(".")[2]) for one in row] for row in printed])


def _agreement(rest: str) -> str:
    """`network 27 of 36, lasso 35 of 36` for each row of the tables, or `42, 43, 43 and 32 of 45` for each column."""
    by, *grids = rest.split()
    scores = _scores(np.inf, grids)
    if by == "median":
        return f"{np.median(np.concatenate([np.abs(z).ravel() for _, z in scores])):.1f}"
    if by == "columns":
        near = np.vstack([np.abs(z) <= FAR for _, z in scores])
        *first, last = (str(count) for count in near.sum(axis=0))
        return f"{', '.join(first)} and {last} of {len(near)}"
    near_of: dict[str, list[bool]] = {}
    for rows, z in scores:
        for row, line in zip(rows, np.abs(z) <= FAR, strict=True):
            near_of.setdefault(row, []).extend(line.tolist())
    return ", ".join(f"{row} {sum(near)} of {len(near)}" for row, near in near_of.items())


def _numbers(rest: str) -> str:
    grid, number = rest.split()
    diagram = _analysis(grid).diagram
    claim = diagram.sweep.claims[int(number) - 1]
    if not isinstance(claim, TableClaim):
        raise ValueError("the claim is no table")
    table = claimed_table(diagram, claim)
    symbol = {"noise": r"\sigma"}.get(claim.across, claim.across)
    lines = [f"| {claim.axis.removeprefix('method.')} | {' | '.join(f'${symbol} = {c}$' for c in table.columns)} |"]
    lines.append("|---" * (len(table.columns) + 1) + "|")
    for i, row in enumerate(table.claim.values):
        cells = [_beside(*part) for part in zip(table.stated[i], table.mean[i], table.z[i], strict=True)]
        lines.append(f"| {row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _beside(stated: float, mean: float, z: float) -> str:
    bold = "**" if abs(z) > FAR else ""
    return f"{stated:g} / {bold}{mean:.3g} ({z:+.1f}){bold}"


def _number(what: str, query: str, printed: str) -> str:
    values = _column(*what.split(), query)
    if len(values) < 2:
        raise ValueError("no trials")
    error = float(values.std(ddof=1)) / np.sqrt(len(values))
    stated, own = printed.split()
    z = (values.mean() - float(stated)) / np.hypot(error, error if own == "ours" else float(own))
    return f"{values.mean():.3g} (z = {z:+.1f})"


def _crossing(grid: str, where: str) -> str:
    coordinates = _coordinates(where)
    found = [one.interval for one in _analysis(grid).thresholds_where(coordinates)]
    for name, value in () if found else coordinates.items():  # a slice of a pooled threshold
        others = {other: coordinates[other] for other in coordinates if other != name}
        pooled = [one for one in _analysis(grid).thresholds_where(others) if one.along.by == name]
        found += [each.along_x for one in pooled for each in one.slices if each.y == value]
    if len(found) != 1:
        raise ValueError(f"{len(found)} thresholds")
    (interval,) = found
    if not interval.known:
        return f"above {interval.low:.3g}" if np.isfinite(interval.low) else f"below {interval.high:.3g}"
    return f"{interval.estimate:.3g} ({interval.low:.3g} to {interval.high:.3g})"


@dataclass(frozen=True)
class Curve:
    """The sizes of a curve, and n from which half of its trials succeed, with a 95 % interval."""

    sizes: tuple[float, ...]
    estimate: float
    low: float
    high: float


def _curves(what: str, query: str, names: str = "") -> tuple[list[str], list[Curve]]:
    (grid, column), sizes = what.split(), [name.strip("`") for name in names.split()]
    rows = _rows(grid).query(query)
    curves = []
    for key, part in rows.groupby(sizes) if sizes else [((), rows)]:
        cells = part.dropna(subset=column).groupby("n")[column].agg(["sum", "count"])
        # a line of the probit against log n, whose root is the logarithm of the rows
        found = estimate(np.log(cells.index), cells["sum"], cells["count"] - cells["sum"], TransitionCurve(grows=False))
        if found is None:
            raise ValueError(f"no half at {key}")
        curves.append(Curve(key, *np.exp(found.half + norm.ppf([0.5, 0.025, 0.975]) * found.error)))
    return sizes, curves


def _pairs(what: str, query: str) -> str:
    grid, column, event = what.split()
    smaller = pairs = 0.0
    for _, cell in _rows(grid).query(query).dropna(subset=[column, event]).groupby(["n", "d"]):
        has = cell[event].astype(bool)
        apart = cell[column][~has].to_numpy()[None] - cell[column][has].to_numpy()[:, None]
        smaller, pairs = smaller + float((apart > 0).sum() + (apart == 0).sum() / 2), pairs + apart.size
    if not pairs:
        raise ValueError("no pairs")
    return f"{smaller / pairs:.2f} of {pairs:.0f}"


def _kappa(grid: str, query: str) -> str:
    rows = _rows(grid).query(query).dropna(subset=["recovered"])
    n, d, recovered = (rows[name].to_numpy(float) for name in ("n", "d", "recovered"))
    grid_of = np.linspace(0.05, 1.5, 2901)
    chances = [np.clip(network_recovery(n, d, kappa), 1e-12, 1 - 1e-12) for kappa in grid_of]
    likely = np.array([np.log(np.where(recovered == 1, p, 1 - p)).sum() for p in chances])
    inside = grid_of[likely >= likely.max() - chi2.ppf(LEVEL, 1) / 2]
    return f"{grid_of[likely.argmax()]:.3f} ({inside[0]:.3f} to {inside[-1]:.3f})"


def _rule(what: str, query: str) -> str:
    grid, kappa = what.split()
    rows = _rows(grid).query(query).dropna(subset=["recovered"])
    trials = _trials(grid)
    right = 0
    for trial_id, recovered in zip(rows["trial_id"], rows["recovered"], strict=True):
        instance = draw_instance(trials[trial_id])
        planted = instance.planted
        if not isinstance(planted, Neurons) or planted.form != "linear":
            raise ValueError("no linear neuron")
        X = instance.X / np.sqrt(np.mean(instance.X**2))
        lam = np.linalg.pinv(X.T) @ planted.directions[:, 0]
        right += (1 / (lam @ lam) > float(kappa) * X.shape[1]) == bool(recovered)
    return f"{right} of {len(rows)}"


@cache
def _trials(grid: str) -> dict[str, Trial]:
    planned = trials_of_grid(read(GRIDS / grid), trust=False)
    return {trial_id: planned[place] for place, trial_id in enumerate(planned.ids)}


def _powers(*asked: str) -> str:
    sizes, curves = _curves(*asked)
    design = np.column_stack([np.ones(len(curves)), np.log([curve.sizes for curve in curves])])
    values = np.log([curve.estimate for curve in curves])
    beta = np.linalg.lstsq(design, values, rcond=None)[0]
    freedom = len(values) - len(beta)
    variance = float(np.sum((values - design @ beta) ** 2)) / freedom * np.linalg.inv(design.T @ design)
    half = t.isf(0.025, freedom) * np.sqrt(np.diag(variance))
    named = [{"planted.neurons": "m"}.get(size, size) for size in sizes]
    parts = [f"${n}$: {b:.2f} ({b - h:.2f} to {b + h:.2f})" for n, b, h in zip(named, beta[1:], half[1:], strict=True)]
    return ", ".join(parts)


def _half_row(*asked: str) -> str:
    _, (curve,) = _curves(*asked)
    return "{} ({} to {})".format(*(f"{float(f'{n:.3g}'):.0f}" for n in (curve.estimate, curve.low, curve.high)))


def _widest(*asked: str) -> str:
    _, curves = _curves(*asked)
    return f"{max(curve.high / curve.low for curve in curves):.3g} over {len(curves)} curves"


@cache
def _rows(grid: str) -> pd.DataFrame:
    return read(GRIDS / grid).frame


@cache
def _analysis(grid: str) -> Analysis:
    return Analysis(Diagram.of(read(GRIDS / grid)))


@cache
def gallery() -> dict[str, list[str]]:
    """Figure -> the verdicts on its claims, in order, from the pages that `recover reproduce` writes."""
    parts = [part for page in sorted(GRIDS.glob("*.md")) for part in page.read_text().split("\n## ")[1:]]
    return {part.split("\n")[0].strip(): re.findall(r"^- \*\*(.+?)\*\*:", part, flags=re.MULTILINE) for part in parts}


def _half_way(*asked: str) -> str:
    (grid, claim), found = _about(*asked), list[str]()
    about = _analysis(grid).showing(claim.of, claim.probability, claim.what).thresholds_where(claim.where)
    for one in about:
        interval, ends = one.interval, [(each.y, each.interval.estimate) for each in one.each]
        words = f"{interval.estimate:.3f} ({interval.low:.3f} to {interval.high:.3f})"
        if not one.constant:
            words = " to ".join(f"{at:.3f} at d = {d:g}" for d, at in (ends[0], ends[-1]))
        label = f" at {one.panel.title}" if len(about) > 1 and LABEL.fullmatch(one.panel.title) else ""
        found += [words + label] if interval.known or not one.constant else []
    if not found:
        raise ValueError("no threshold")
    return f"n/d = {', '.join(found)}"


VERBS: dict[str, Callable[..., str]] = {
    **{"paper": str, "test": _tested, "coverage": by_verdict, "verdict": _verdict, "claim": _claim, "trials": _stored},
    **{"half": _half_way, "growth": _growth, "crossing": _crossing, "missed": _missed, "ends": _ends, "rule": _rule},
    **{"numbers": _numbers, "number": _number, "within": _within, "agreement": _agreement, "pairs": _pairs},
    **{"kappa": _kappa, "powers": _powers, "widest": _widest, "rows": _half_row},
    "square": lambda *asked: f"{float(_value(' | '.join(asked))) ** 2:.3g}",
}
"""First word of a place -> the function of its other parts; the other words are in `_statistic`."""
