"""A run: execute the missing trials of a sweep round by round, until all are stored or a stop is requested."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from joblib import cpu_count

from recovery.config import Sweep, Trial, Trials, Until
from recovery.errors import StoreError
from recovery.runner.batches import slurm_shard
from recovery.runner.engine import Engine, EngineLostError
from recovery.runner.plan import Plan, check_growth, content_of, places, planned_trials, refresh
from recovery.runner.progress import Progress
from recovery.runner.recorder import Recorder
from recovery.runner.rounds import InterimAnalysis, plan_round
from recovery.runner.stop import Stop, StopRequested
from recovery.runner.trial import TRACEBACK, Row
from recovery.store.compaction import add_columns, take_out
from recovery.store.files import Damaged, running
from recovery.store.row_schema import FAILURES, FINISHED, coordinate_types
from recovery.types import Mask, Scalar

MOST_EQUAL = 50
"""A run gives up after this many trials of a method failed alike and none was measured."""
LIMITS = {
    "spacing": "the spacing of the grid limits the interval, not the trials; more values of the axis would narrow it",
    "change": "the threshold changes from slice to slice, so no pooled interval narrows; report.pool: none has a "
    "target for each slice",
    "monotone": "success is not monotone along the axis, so there is no threshold",
    "": "further trials would not decide it",
}
"""What limits an interval, as a round records it -> why the sweep ended without meeting the rule."""
STALE, LACKING = "changed-", "unmeasured-"
"""Prefixes of the datasets that stale rows, and rows without a wanted value, are moved to before their trials run
again."""


@dataclass(frozen=True)
class Options:
    """Options of a run; none of them changes a row.

    rerun: `failed`, `changed` or both: trials to run again. keep_changed: keep stale rows beside rows of today's code.
    """

    engine: Engine
    shard: tuple[int, int] = (1, 1)
    rerun: Collection[str] = ()
    keep_changed: bool = False

    @classmethod
    def of(cls, sweep: Sweep, jobs: int | None, backend: str | None, timeout: float | None, **more: Any) -> Options:
        """Return the options of a run of this sweep. Raises `ParameterError`.

        jobs: by default one per core. backend: by default the config's. timeout: seconds of a trial. more: the other
        options; shard is by default the one of this SLURM array task, or all trials outside an array.
        """
        engine = Engine(cpu_count() if jobs is None else jobs, backend or sweep.backend, timeout)
        shard = more.pop("shard", None) or slurm_shard(os.environ) or (1, 1)
        return cls(engine, shard, **more)


@dataclass
class Summary:
    """Outcome of a run, and what the folder holds after it.

    ran, stored: numbers of trials by status, of this run and of the plan. changed: stored trials of other user code.
    stopped: why the run stopped early. gave_up: why running further trials would be pointless. interim: the last
    interim analysis of the sweep's rule, as text. unmet: why the run ended without meeting the rule.
    """

    planned: int
    ran: Counter[str] = field(default_factory=Counter)
    stored: Counter[str] = field(default_factory=Counter)
    damaged: list[Damaged] = field(default_factory=list)
    changed: int = 0
    stopped: str | None = None
    gave_up: str | None = None
    interim: Sequence[str] = ()
    unmet: str = ""

    @property
    def failed(self) -> bool:
        """Whether stored trials failed."""
        return any(self.stored[status] for status in FAILURES)


def run(plan: Plan, options: Options, progress: Progress, stop: Stop, analyse: InterimAnalysis) -> Summary:
    """Run the missing trials and store a row for each, until all are stored or a stop is requested.

    stop: an entered `Stop`. analyse: decides whether the sweep's rule is met. Raises `StoreError` if the folder is not
    writable, or has stale rows that rows of today's code would join; a later failure to read or write it ends the run
    early.
    """
    stale, again = plan.stale, "changed" in options.rerun
    grows = len(trials_to_run(plan, options)) or plan.next_round is not None or plan.lacking
    if stale and grows and not (again or options.keep_changed):
        raise StoreError(
            f"{plan.folder.path}: {len(stale)} stored rows ran user code that has changed since, and rows of today's "
            "code are not mixed with them; --rerun changed runs their trials again, --keep-changed keeps both"
        )
    damaged = open_folder(plan)
    if stale and again:
        take_out(plan.folder, stale, STALE)
        stale = set()
    if plan.lacking:
        take_out(plan.folder, plan.lacking, LACKING)
    summary = Summary(plan.sweep.size, damaged=damaged, changed=len(stale))
    tried = np.zeros(0, np.uint64)
    with closing(progress), running(plan.folder.path) as others:
        if others:
            progress.print(f"also run by {', '.join(others)}: each leaves out the trials that another has stored")
        while True:
            try:
                plan = refresh(plan)
            except StoreError as error:  # the folder cannot be read
                summary.stopped = summary.stopped or str(error)
            if summary.stopped or summary.gave_up:
                break
            trials = trials_to_run(plan, options)
            untried = trials.take(~np.isin(trials.keys, tried)) if len(tried) else trials
            if len(untried):
                _run_trials(plan, untried, options, progress, stop, summary)
                tried = np.concatenate([tried, untried.keys])
            elif len(trials) and (lost := int(np.isin(trials.keys, plan.missing.keys).sum())):
                summary.stopped = f"{lost} trials ran, but the folder has no rows of them"
            elif not _begin_round(plan, stop, summary, progress, analyse):
                break
    summary.stored = plan.counts
    return summary


def trials_to_run(plan: Plan, options: Options) -> Trials:
    """Return the trials of this shard that are missing and, if `options.rerun` has `failed`, those that failed."""
    wanted = plan.unmeasured if "failed" in options.rerun else plan.unstored
    if options.shard != (1, 1):
        index, count = options.shard
        wanted = wanted & (plan.shards(count) == index)
    return plan.trials.take(wanted)


def _run_trials(plan: Plan, trials: Trials, options: Options, progress: Progress, stop: Stop, summary: Summary) -> None:
    others = partial(plan.index.keys_of_others, failed="failed" not in options.rerun)
    recorder = Recorder(plan.folder, plan.sweep, trials.cells, content_of(plan.sweep), stop.request, others)
    results = options.engine.run(trials, recorder.stored_by_others)
    failures = Failures()
    try:
        with recorder:
            progress.begin(trials)
            while (done := stop.wait(results)) is not None:
                recorder.add(done)
                summary.ran.update(row["status"] for _, row in done)
                progress.advance(done)
                for trial, row in done:
                    if text := failures.first_traceback(trial, row):
                        progress.print(text)
                    summary.gave_up = summary.gave_up or failures.add(trial, row)
                if summary.gave_up:
                    break
    except (StopRequested, StoreError, EngineLostError) as error:
        summary.stopped = str(error)
    finally:
        with warnings.catch_warnings():
            # joblib warns of results that are not fetched; a later run repeats their trials
            warnings.simplefilter("ignore")
            results.close()


def _begin_round(plan: Plan, stop: Stop, summary: Summary, progress: Progress, analyse: InterimAnalysis) -> bool:
    """Plan the next round if there is one and all earlier rounds are stored; return whether it was planned."""
    if plan.next_round is None:
        _finish_rounds(plan, summary)
        return False
    # rounds are planned only with the folder's own config, which has all of its grid cells
    if plan.folder.load()["digest"] != plan.sweep.digest:
        summary.planned = len(plan.trials)
        return False
    number = plan.next_round
    if waiting := int(plan.unstored.sum()):
        summary.stopped = f"round {number} waits for {waiting} trials of earlier rounds that have no row yet"
    elif stop.reason is not None:
        summary.stopped = stop.reason
    if summary.stopped:
        return False
    interim = analyse(plan.folder.path)
    summary.interim = interim.words
    progress.print("\n".join(interim.words))
    content = plan_round(plan.sweep, plan.trials, number, interim, plan.rounds)
    # compose the new axis values now, so that errors appear before the round is written: it cannot be taken back
    if "axes" in content:
        planned_trials(plan.sweep, [*plan.rounds, content])
    try:
        plan.folder.write_round(content)
    except StoreError as error:
        summary.stopped = str(error)
    return not summary.stopped


def _finish_rounds(plan: Plan, summary: Summary) -> None:
    """Set in the summary why a rule is not met; if rounds left some of the budget, store the number of trials."""
    summary.planned = len(plan.trials)
    if isinstance(plan.sweep.sampling, Until):
        until = plan.rounds[-1]["until"]
        summary.interim, unmet = until["words"], [panel for panel in until["panels"] if not panel["known"]]
        if unmet:
            ceiling = f"the ceiling of {plan.sweep.sampling.ceiling} times the first round is reached"
            raised = f"{ceiling}; more sizes, more cells near the threshold or --set sampling.ceiling=N would help"
            summary.unmet = LIMITS.get(unmet[0].get("limit"), LIMITS[""]) if unmet[0]["left"] else raised
    content = plan.folder.load()
    if content["trials"] > len(plan.trials) and content["digest"] == plan.sweep.digest:
        plan.folder.update({**content, "trials": len(plan.trials)})


def open_folder(plan: Plan) -> list[Damaged]:
    """Create the folder or extend its plan, and clean up after earlier runs; return the damaged files."""
    content = content_of(plan.sweep)
    if not plan.folder.exists():
        plan.folder.create(content)
    check_growth(plan)  # again, because another process may have created the folder
    damaged = plan.folder.prepare(plan.index.damaged)
    stored = plan.folder.load()
    if stored["digest"] != plan.sweep.digest:
        # older rows may have columns that the methods do not declare any more
        plan.folder.update({**content, "columns": stored["columns"] | content["columns"]})
    _complete_columns(plan)
    return damaged


def _complete_columns(plan: Plan) -> None:
    """Add the columns that this plan has to rows that were stored under a smaller plan."""
    paths = plan.index.of_other_plans(plan.sweep.digest)
    if not paths:
        return
    types = coordinate_types(cell.coordinates for cell in plan.trials.cells)

    def coordinates(ids: pa.ChunkedArray) -> tuple[Mask, Mapping[str, Sequence[Scalar]]]:
        place, planned = places(plan.trials, ids)
        known = plan.trials.take(place[planned])
        return planned, {name: known.coordinates(name) for name in types}

    add_columns(plan.folder, paths, types, plan.sweep.columns, coordinates)


class Failures:
    """Counts of a run's failed trials by method, error type and place in the code."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._measured: set[str] = set()
        self._shown: set[frozenset[str]] = set()

    def add(self, trial: Trial, row: Row) -> str | None:
        """Count a row; return why to give up if `MOST_EQUAL` trials of a method failed alike and none was measured."""
        method = str(trial.cell.coordinates["method"])
        if row["status"] in FINISHED:
            self._measured.add(method)
        if row["status"] != "failed":
            return None
        place = str(row.get(TRACEBACK, "")).rpartition("\n")[2]
        kind = (method, row["error_type"], place)
        self._counts[kind] += 1
        if self._counts[kind] != MOST_EQUAL or method in self._measured:
            return None
        return f"{MOST_EQUAL} trials of {method} failed alike and none was measured ({_error(row)})"

    def first_traceback(self, trial: Trial, row: Row) -> str | None:
        """Return the traceback, with the error, of the first failed trial of each set of user code; otherwise None."""
        if row["status"] != "failed" or not trial.cell.own or trial.cell.own in self._shown:
            return None
        self._shown.add(trial.cell.own)
        return "\n  ".join([f"trial {trial.id} failed: {_error(row)}", *row.get(TRACEBACK, "").splitlines()])


def _error(row: Row) -> str:
    return ": ".join(part for part in (row["error_type"], row["error_message"]) if part)
