"""The Python API: load, run and read sweeps from a script or a notebook."""

from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from recovery.config import Sweep, measuring
from recovery.errors import ParameterError, RecoverError
from recovery.report.claims import Analysis
from recovery.report.claims.lines import columns
from recovery.report.diagram import Diagram, summary, unknown
from recovery.report.figures import draw_into, main_figure, main_kind, render
from recovery.report.statistics import exact_interval
from recovery.report.until import interim_analysis
from recovery.runner.loading import load as load
from recovery.runner.plan import plan
from recovery.runner.progress import display, notebook_shell
from recovery.runner.run import Options, run as run_plan
from recovery.runner.stop import Stop
from recovery.store import Grid, read as read_grid
from recovery.text import command_text

if TYPE_CHECKING:
    from altair import ConcatChart


class Results:
    """The stored results of a sweep with their report. A notebook shows them as a picture with tables.

    A parameter `value` is a column, or an event such as `max_deviation<=1e-3`; by default it is the `value` of the
    config's report.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid

    @property
    def frame(self) -> pd.DataFrame:
        """The rows, one per trial."""
        return self.grid.frame

    @property
    def sweep(self) -> dict[str, Any]:
        """The content of `sweep.json`: the config, its digest, what wrote it last."""
        return self.grid.sweep

    def analysis(self, value: str | Sequence[str] | None = None) -> Analysis:
        """Return all estimates of the report, as objects. If `value` is a list, estimates use the first, and figures
        show all side by side."""
        return Analysis(Diagram.of(self.grid, value))

    def cells(self, value: str | None = None) -> pd.DataFrame:
        """Return a row per grid cell with its counts; for a proportion also the exact 95 % interval, `low` to
        `high`."""
        table = self.analysis(value).diagram.table
        if "yes" not in table:
            return table
        low, high = exact_interval(table["yes"], table["no"], unknown(table))
        return table.assign(low=low, high=high)

    def thresholds(self, value: str | None = None) -> pd.DataFrame:
        """Return one row per threshold, with its interval: first those that are pooled over the slices of a panel, such
        as n/d, then those of the slices. Empty if the value is no event along a numeric axis."""
        return pd.DataFrame(self.analysis(value).thresholds())

    def claims(self) -> pd.DataFrame:
        """Return the claims of the config as a table, each with its estimate and verdict."""
        return pd.DataFrame([vars(claim) for claim in self.analysis().claims])

    @overload
    def plot(self, value: str | Sequence[str] | None = None) -> Figure: ...

    @overload
    def plot(
        self, value: str | Sequence[str] | None = None, *, ax: Axes, panel: int = 0, key: bool = True
    ) -> ScalarMappable | None: ...

    def plot(
        self,
        value: str | Sequence[str] | None = None,
        ax: Axes | None = None,
        panel: int = 0,
        key: bool = True,
    ) -> Figure | ScalarMappable | None:
        """Return the diagram as a matplotlib figure.

        With `ax`, one panel is drawn into it, with a colour bar and a key unless `key` is false, and the cells of the
        map are returned for a colour bar of your own; None for lines.
        """
        show_figures()
        analysis = self.analysis(value)
        return main_figure(analysis)[1].draw() if ax is None else draw_into(ax, analysis, panel, key)

    def chart(self, value: str | None = None) -> "ConcatChart":
        """Return the diagram as an Altair chart, with the numbers of each cell in a tooltip. Raises `ParameterError` if
        Altair, which is in the extra `notebook`, is not installed."""
        from recovery.report.page.spec import altair_chart  # imported here, because few scripts need it

        analysis = self.analysis(value)
        return altair_chart(analysis, main_kind(analysis, panels=True))

    def _repr_png_(self) -> bytes:
        return render(self.plot(), "png")

    def _repr_html_(self) -> str:
        if not len(self.grid.table):
            return f"<p>{escape(repr(self))}</p>"
        analysis = self.analysis()
        picture = b64encode(render(main_figure(analysis)[1].draw(), "png")).decode()
        parts = [f"<p><b>{escape(analysis.diagram.heading)}</b><br>{escape(repr(self))}</p>"]
        parts.append(f'<img style="max-width: 100%" src="data:image/png;base64,{picture}">')
        if rows := columns(analysis.lines):
            parts.append(pd.DataFrame(rows).to_html(index=False, border=0))
        parts += [f"<p>{claim.verdict}: {escape(claim.stated)}</p>" for claim in analysis.claims]
        return "".join(parts)

    def __repr__(self) -> str:
        words = summary(self.analysis().diagram) if len(self.grid.table) else "empty"
        return f"{self.grid.path}: {words}"


def show_figures() -> None:
    """Let a notebook show matplotlib figures as pictures: a new kernel shows them as text."""
    shell = notebook_shell()
    if shell is not None:
        formatters = shell.display_formatter.formatters
        if not any(Figure in formatter.type_printers for formatter in formatters.values()):
            formatters["image/png"].for_type(Figure, lambda figure: render(figure, "png"))


class IncompleteError(RecoverError):
    """A run that ended before every trial was stored; calling it again continues it."""


def run(
    config: Sweep | str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    overrides: Sequence[str] | Mapping[str, Any] = (),
    *,
    jobs: int | None = None,
    backend: str | None = None,
    trial_timeout: float | None = None,
    quiet: bool = False,
    rerun: Collection[str] = (),
    keep_changed: bool = False,
    measure: Sequence[str] = (),
) -> Results:
    """Run the missing trials of a sweep, store a row for each, and return the results, as `recover sweep` does.

    config: a loaded sweep, or an argument of `load`. out: the results folder, by default `results/NAME`, which the
    command can continue. overrides: a list of `PATH=VALUE`, or a mapping of paths to values, for a config that is
    loaded here. jobs: number of processes, by default one per core. backend: `processes`, `threading` or `dask`, by
    default the choice of the config. trial_timeout: the longest time of a trial in seconds, by default no limit.
    quiet: whether the progress bar is hidden. rerun: `failed`, `changed` or both: which stored trials run again.
    keep_changed: whether rows of changed user code stay beside new ones. measure: columns that every trial
    measures; the trials whose row lacks one run again.

    Call it in the main thread. Raises `ConfigError`, `ParameterError`, `StoreError`, and `IncompleteError` if it was
    stopped early.
    """
    if isinstance(config, Sweep) and overrides:
        raise ParameterError("overrides are for a config that is loaded here; give them to `load`, which made this one")
    sweep = config if isinstance(config, Sweep) else load(config, overrides)
    if measure:
        sweep = measuring(sweep, measure)
    planned = plan(sweep, Path(out) if out is not None else Path("results") / sweep.name)
    options = Options.of(sweep, jobs, backend, trial_timeout, rerun=rerun, keep_changed=keep_changed)
    with Stop() as stop:
        summary = run_plan(planned, options, display(sweep.name, quiet=quiet), stop, interim_analysis)
    folder = planned.folder.path
    if reason := summary.gave_up or summary.stopped:
        then = f"`{command_text('status', folder)}` says why" if summary.gave_up else "call it again to go on"
        stored = summary.stored.total()
        raise IncompleteError(f"{folder}: {stored} of {summary.planned} trials stored: {reason}; {then}")
    return read(folder)


def read(path: str | Path) -> Results:
    """Return the stored results in a folder.

    path: the results folder.

    Raises `StoreError` as `recovery.store.read` does.
    """
    return Results(read_grid(path))
