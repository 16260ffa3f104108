"""Variable selection on a user's table for `recover select`: the selectors, their stability over splits, the report."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from recovery.config.header import StyleSpec
from recovery.errors import ParameterError
from recovery.extras.user_table import Table, encode, read_table
from recovery.report.figures import render
from recovery.report.figures.sheet import sheet
from recovery.report.figures.style import LINES, Style
from recovery.report.formats import write
from recovery.selection.selectors import Cutoff, Selector, SelectorName
from recovery.text import many
from recovery.types import Array, Index, Mask, Rng

BASELINES: tuple[SelectorName, ...] = ("lasso", "omp", "forest", "boosting")
MOST_LINES = 30
"""Number of columns that the text lists; JSON has all."""
MOST_NOTES = 12
"""Number of notes on the table that the text lists; warnings are all listed."""
STABLE = 0.9
"""Variables that the network selects in at least this share of the splits are stable."""
CLEAR = 1.1
"""Smallest ratio of the importances on both sides of the cutoff that counts as a clear separation."""
TRAINING_SHARE = 0.8
"""Default share of the rows that each split fits; it predicts the others."""


@dataclass(frozen=True)
class SelectorChoice:
    """The choice of one selector among g variables.

    importances (g,): relative to the largest; chosen (g,): selected in the fit to all rows; frequency (g,): the share
    of splits in which a variable was selected. rmse, r2 (splits,): root mean squared error, and 1 - mean squared error
    / variance, of the predictions on held-out rows. accuracy, auc (splits,): for a target with two values only, the
    share of held-out rows whose prediction is nearer to their value, and the area under the ROC curve.
    """

    selector: str
    importances: Array
    chosen: Mask
    frequency: Array
    rmse: Array
    r2: Array
    accuracy: Array | None = None
    auc: Array | None = None

    @property
    def _at_cutoff(self) -> tuple[float, float] | None:
        """The least importance of a selected variable and the largest of another; None if all or none are selected."""
        chosen, others = self.importances[self.chosen], self.importances[~self.chosen]
        return (float(chosen.min()), float(others.max())) if len(chosen) and len(others) else None

    @property
    def cutoff(self) -> float | None:
        """The importance midway between selected and other variables; None if the importances of both overlap."""
        ends = self._at_cutoff
        return None if ends is None or ends[0] <= ends[1] else (ends[0] + ends[1]) / 2

    @property
    def predicts(self) -> bool:
        """Whether R2 is clearly above 0: its mean over the splits is at least twice its standard error."""
        return bool(self.r2.mean() >= 2 * self.r2.std(ddof=1) / np.sqrt(len(self.r2)))

    def of(self, i: int) -> dict[str, float]:
        """Return the numbers of one variable."""
        numbers = {"importance": self.importances, "chosen": self.chosen, "frequency": self.frequency}
        return {name: values[i].item() for name, values in numbers.items()}

    def separation(self) -> list[str]:
        """Return a sentence on how clearly the cutoff separates the importances, or nothing if it cannot be said."""
        ends = self._at_cutoff
        if ends is None or ends[1] <= 0:
            return []
        ratio = ends[0] / ends[1]
        if ratio >= CLEAR:
            return [f"the least important of them has {ratio:.2g} times the importance of the next column"]
        more = f"{ratio - 1.0:.0%}" if ratio >= 1.01 else "less than 1%"
        return [f"the least important of them is only {more} above the next column: the cutoff is not clear"]


def study(
    rng: Rng, X: Array, y: Array, groups: Index, selectors: Iterable[Selector], splits: int, rows: int | None = None
) -> Iterator[SelectorChoice]:
    """Apply each selector to all rows, then with the same hyperparameters to `splits` random subsets of `rows` rows.

    All selectors get the same splits. Raises `ParameterError` if fewer than two rows are held out, and `DataError` if
    a fit is impossible.
    """
    drawing, fitting = rng.spawn(2)
    size = round(TRAINING_SHARE * len(X)) if rows is None else rows
    if size > len(X) - 2:
        raise ParameterError(
            f"{size} of {len(X)} rows leave fewer than 2 to predict; at most {len(X) - 2} can be fitted"
        )
    orders, values = [drawing.permutation(len(X)) for _ in range(splits)], np.unique(y)
    for selector in selectors:
        whole = selector(fitting, X, y, groups)
        again = selector.only(whole.fitted.hyperparameters)
        chosen = np.zeros((splits, len(whole.chosen)), np.bool_)
        squares, variances, accuracy, auc = np.zeros((4, splits))
        for i, order in enumerate(orders):
            kept, left = order[:size], order[size:]
            part = again(fitting, X[kept], y[kept], groups)
            chosen[i] = part.chosen
            predicted, labels = part.fitted.predict(X[left]), y[left]
            squares[i] = np.mean((predicted - labels) ** 2)
            variances[i] = max(labels.var(), np.finfo(float).tiny)
            accuracy[i], auc[i] = as_classes(predicted, labels, *values) if len(values) == 2 else (0.0, 0.0)
        largest = whole.importances.max()
        yield SelectorChoice(
            selector.name,
            whole.importances / (largest if largest > 0 else 1.0),
            whole.chosen,
            chosen.mean(axis=0),
            np.sqrt(squares),
            1.0 - squares / variances,
            *((accuracy, auc) if len(values) == 2 else ()),
        )


def as_classes(predicted: Array, labels: Array, low: float, high: float) -> tuple[float, float]:
    """Return the accuracy of predicted classes, and the area under the ROC curve (NaN if one class is absent)."""
    from sklearn.metrics import roc_auc_score

    upper = labels == high
    area = float(roc_auc_score(upper, predicted)) if 0 < upper.sum() < len(upper) else float("nan")
    return float(np.mean((predicted > (low + high) / 2) == upper)), area


@dataclass(frozen=True)
class SelectionReport:
    """The result of `recover select`: the choice of the network first, then those of the baselines."""

    source: str
    target: str
    table: Table
    choices: tuple[SelectorChoice, ...]
    splits: int

    @property
    def order(self) -> Index:
        """Indices of the variables, most important to the network first."""
        return np.argsort(-self.choices[0].importances, kind="stable")

    @property
    def chosen(self) -> list[str]:
        """Names of the variables that the network selects when it is fitted to all rows, most important first."""
        return [self.table.names[i] for i in self.order if self.choices[0].chosen[i]]

    @property
    def stable(self) -> list[str]:
        """Names of the variables that the network selects in a share `STABLE` or more of the splits, in this order."""
        return [self.table.names[i] for i in self.order if self.choices[0].frequency[i] >= STABLE]

    @property
    def frame(self) -> pd.DataFrame:
        """A table with one row per variable (`column`) and selector: importance, chosen, and frequency over splits."""
        names = self.table.names
        rows = [{"column": names[i], "selector": c.selector} | c.of(i) for c in self.choices for i in self.order]
        return pd.DataFrame(rows)

    def as_json(self) -> str:
        """Return the whole result as JSON, with the columns in order of importance."""
        names, first = self.table.names, self.choices[0]
        document = {
            "data": self.source,
            "target": self.target,
            "rows": len(self.table.y),
            "splits": self.splits,
            **{
                name: {choice.selector: getattr(choice, name).tolist() for choice in self.choices}
                for name in ("r2", "rmse", "accuracy", "auc")
                if getattr(first, name) is not None
            },
            "columns": [{"column": names[i], **{c.selector: c.of(i) for c in self.choices}} for i in self.order],
            "notes": list(self.table.notes),
            "warnings": list(self.warnings),
        }
        return json.dumps(document, indent=2)

    @property
    def warnings(self) -> list[str]:
        """Warnings about the table, and a warning if the network predicts no better than the mean.

        The warning names the baseline that predicts best, if one does.
        """
        first, *others = self.choices
        if first.predicts:
            return list(self.table.warnings)
        negative = f"below 0 in {np.count_nonzero(first.r2 < 0)} of {many(len(first.r2), 'split')}"
        useless = f"R2 of the network is not clearly above 0 ({negative}), so its choice is meaningless"
        best = max((one for one in others if one.predicts), key=lambda one: float(one.r2.mean()), default=None)
        if best is None:
            return [*self.table.warnings, f"{useless}: no column explains the target"]
        names = ", ".join(self.table.names[i] for i in np.flatnonzero(best.frequency >= STABLE)) or "none"
        return [
            *self.table.warnings,
            f"{useless}. {best.selector} has R2 = {best.r2.mean():.2f}; its stable columns: {names}",
        ]

    def __str__(self) -> str:
        """Return the result as text: the table, ranked columns with all choices, predictions, the chosen columns."""
        table, first = self.table, self.choices[0]
        columns = many(len(table.names), "column")
        lines = [f"{self.source}: {len(table.y)} rows, {columns} that could explain {self.target!r}"]
        lines += [f"  warning: {text}" for text in self.warnings]
        lines += [f"  {text}" for text in table.notes[:MOST_NOTES]]
        if len(table.notes) > MOST_NOTES:
            lines.append(f"  ... {len(table.notes) - MOST_NOTES} more notes, all in --json")
        lines += ["", *self._ranking(), ""]
        classes = " accuracy and area under the ROC curve," if first.auc is not None else ""
        lines.append(f"R2 on held-out rows, and root mean squared error,{classes} means over the splits:")
        for choice in self.choices:
            scores = [v for v in (choice.r2, choice.rmse, choice.accuracy, choice.auc) if v is not None]
            words = [f"{v.mean():.3g} +- {v.std(ddof=1) / np.sqrt(len(v)):.2g}" for v in scores]
            lines.append(f"  {choice.selector:<9} {' '.join(f'{word:<18}' for word in words).rstrip()}")
        lines += ["", f"chosen: {', '.join(self.chosen) or 'none'}", *first.separation()]
        lines.append(f"stable (chosen in {STABLE:.0%} of {self.splits} splits): {', '.join(self.stable) or 'none'}")
        return "\n".join(lines)

    def _ranking(self) -> list[str]:
        """Return a line per column: its importance, and for each selector a star if chosen and the frequency."""
        names = self.table.names
        most = max([len("column"), *(len(names[i]) for i in self.order[:MOST_LINES])])
        width = min(most, 40)
        head = f"{'':>4} {'column':<{width}} importance  " + "".join(f"{c.selector:>11}" for c in self.choices)
        lines = [head]
        for rank, i in enumerate(self.order[:MOST_LINES], start=1):
            name = names[i] if len(names[i]) <= width else names[i][: width - 1] + "~"
            marks = "".join(f"{'* ' if c.chosen[i] else ''}{c.frequency[i]:.0%}".rjust(11) for c in self.choices)
            lines.append(f"{rank:>4} {name:<{width}} {self.choices[0].importances[i]:10.3f}  {marks}")
        if len(names) > MOST_LINES:
            lines.append(f"     ... {len(names) - MOST_LINES} more, all in --json")
        lines.append("     * chosen on all rows; percentages: share of the splits in which it was chosen")
        return lines


def select_columns(
    data: "pd.DataFrame | str | Path",
    target: str,
    *,
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    cutoff: Cutoff = "shadow",
    count: int | None = None,
    splits: int = 10,
    rows: int | None = None,
    baselines: bool = True,
    seed: int = 0,
) -> SelectionReport:
    """Select the columns of a table that matter for `target`, as `recover select` does; `print` shows it in words.

    data: a table with one row per observation, or a CSV or Parquet file. target: a column of numbers or of two classes.
    keep: columns to keep although they look like identifiers; drop: columns to leave out. cutoff: how many columns are
    chosen, as for the command; count: choose this number instead. splits: number of random subsets of the rows, each of
    `rows` rows, or of 80 %. baselines: also run LASSO, OMP, forest and boosting.
    Raises `DataError` for a table that cannot be used, and `ParameterError` for too many rows or columns.
    """
    names: tuple[SelectorName, ...] = ("network", *(BASELINES if baselines else ()))
    rule: Cutoff = cutoff if count is None else "count"
    selectors = [Selector(name, cutoff=rule, count=count) for name in names]
    if isinstance(data, pd.DataFrame):
        source, table = "the table", encode(data, target, keep, drop)
    else:
        source, table = str(data), read_table(Path(data), target, keep, drop)
    if count is not None and count > len(table.names):
        raise ParameterError(f"--count {count} is more than the {len(table.names)} columns of the table")
    rng = np.random.default_rng(seed)
    choices = tuple(study(rng, table.X, table.y, table.groups, selectors, splits, rows))
    return SelectionReport(source, target, table, choices, splits)


def write_selection(report: SelectionReport, folder: Path) -> list[Path]:
    """Write selection.json and selection.png into a folder, and return their paths."""
    picture = render(draw_importances(report.table.names, report.choices[0], report.target), "png")
    return [
        write(folder / "selection.json", report.as_json().encode() + b"\n"),
        write(folder / "selection.png", picture),
    ]


MOST_BARS = 30
LONGEST = 28
"""Characters of a column's name in the figure."""


def draw_importances(names: Sequence[str], choice: SelectorChoice, target: str) -> Figure:
    """Draw one bar per column, largest first, in colour if chosen; dots show the share of splits that chose it."""
    order = np.argsort(-choice.importances, kind="stable")[:MOST_BARS]
    at = np.arange(len(order))
    more = len(names) - len(order)
    title = f"What explains {_short(target)}" + (f" ({more} more columns below)" if more > 0 else "")
    with sheet(1, title, Style(StyleSpec()), aspect=0.12 + 0.05 * len(order)) as page:
        ax = page.axes[0]
        colours = [LINES[0] if choice.chosen[i] else "#c9d3da" for i in order]
        ax.barh(at, choice.importances[order], color=colours, height=0.7)
        ax.plot(choice.frequency[order], at, "o", color=LINES[1], ms=3, label="share of splits in which chosen")
        if choice.cutoff is not None:
            ax.axvline(choice.cutoff, color="black", lw=0.8, ls="--", label="cutoff")
        ax.set_yticks(at, [_short(names[i]) for i in order])
        ax.set_ylim(len(order) - 0.4, -0.6)
        ax.set_xlim(0, 1.03)
        page.label("importance, relative to the largest", "")
        page.add(ax.get_legend_handles_labels()[0])
    return page.figure


def _short(name: str) -> str:
    name = name.replace("$", r"\$")
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"
