"""Running what a sweep still misses: round by round, until all is stored or something asks to stop."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from recovery.config import Trial, Trials, Until
from recovery.config.coded import Coded
from recovery.errors import StoreError
from recovery.runner.batches import share
from recovery.runner.forecast import MOST_SECONDS, time_some
from recovery.runner.plan import UNSTORED, Plan, content_of, goes_on, places, up_to_date
from recovery.runner.progress import Progress
from recovery.runner.recorder import Recorder
from recovery.runner.rounds import Looking, plan_round, split
from recovery.runner.stop import Stop, StopRequested
from recovery.runner.trial import TRACEBACK, Row
from recovery.runner.workers import Engine, EngineLostError
from recovery.store.compaction import add_columns, take_out
from recovery.store.grid import answers
from recovery.store.parts import Damaged
from recovery.store.row_schema import FAILURES, coordinate_types
from recovery.types import Mask, Scalar

MOST_EQUAL = 50
"""Failed trials of a method, all alike: running its others tells nothing more."""
CHANGED = "changed-"
"""Begins the names of the datasets where rows go whose code is no more."""


@dataclass(frozen=True)
class Options:
    """How to run, none of which changes a row."""

    engine: Engine
    shard: tuple[int, int] = (1, 1)
    retry_failed: bool = False
    max_failures: int | None = None
    max_equal_failures: int = MOST_EQUAL
    rerun_changed: bool = False


@dataclass(frozen=True)
class Forecast:
    """How many trials a run would take on, for how long, and by what that is known; None if there are none."""

    trials: int
    seconds: float | None
    known_by: str = ""


def forecast(plan: Plan, options: Options, most: float = MOST_SECONDS) -> Forecast:
    """Estimate a run from the times of the stored trials, for the methods' costs; without any, time a few, for at most
    about so many seconds."""
    if options.rerun_changed and (others := plan.changed):
        again, there = places(plan.trials, pa.chunked_array([sorted(others)], pa.string()))
        codes = plan.stored.codes.copy()
        codes[again[there]] = UNSTORED
        plan = replace(plan, stored=Coded(plan.stored.values, codes))
    mine = _mine(plan, options)
    if not len(mine):
        return Forecast(0, None)
    timings = plan.folder.timings()
    place, there = places(plan.trials, timings["trial_id"])
    if not there.any():
        timing = time_some(mine, most=most)
        return Forecast(len(mine), timing.seconds / options.engine.jobs, str(timing))
    rate = timings["seconds"].to_numpy()[there].sum() / plan.trials.costs[place[there]].sum()
    return Forecast(len(mine), float(rate * mine.costs.sum()) / options.engine.jobs, "stored timings")


@dataclass
class Summary:
    """What one run did, and what the folder holds after it."""

    planned: int
    ran: Counter[str] = field(default_factory=Counter)
    """Trials of this run by status."""
    stored: Counter[str] = field(default_factory=Counter)
    """Trials of the plan that are stored, by status."""
    damaged: list[Damaged] = field(default_factory=list)
    changed: int = 0
    """Stored trials that ran other code of the user's than there is now."""
    stopped: str | None = None
    """Why it stopped early, if it did."""
    gave_up: str | None = None
    """Why it makes no sense to go on, if it does not."""
    looked: Sequence[str] = ()
    """What the last look said of a sweep's rule."""
    unmet: str = ""
    """Why it ended without meeting it, if it did."""

    @property
    def failures(self) -> int:
        return sum(self.ran[status] for status in FAILURES)


def run(
    plan: Plan, options: Options, progress: Progress, stop: Stop | None = None, look: Looking | None = None
) -> Summary:
    """Run what is missing and store a row for each trial, until done or asked to stop (by `stop`, if it is entered).

    look: tells whether the rule of a sweep with one is met; without it, such a sweep ends after the trials planned.

    Raises `StoreError` before the first trial if the folder cannot be written; later it stops early.
    """
    damaged = _open(plan)
    others = plan.changed
    if options.rerun_changed and others:
        take_out(plan.folder, others, CHANGED)
        others = set()
    summary = Summary(plan.sweep.size, damaged=damaged, changed=len(others))
    with nullcontext(stop) if stop is not None else Stop() as stopping, progress:
        tried = np.zeros(0, np.uint64)
        while not (summary.stopped or summary.gave_up):
            plan = up_to_date(plan)
            mine = _mine(plan, options)
            untried = mine.take(~np.isin(mine.keys, tried)) if len(tried) else mine
            if len(untried):
                _run_trials(plan, untried, options, progress, stopping, summary)
                tried = np.concatenate([tried, untried.keys])
            elif len(mine) and (lost := int(np.isin(mine.keys, plan.missing.keys).sum())):
                summary.stopped = f"{lost} trials have run and have no row in the folder"
            elif not _begin_round(plan, summary, progress, look):
                break
        plan = up_to_date(plan)
    summary.stored = plan.counts
    return summary


def _mine(plan: Plan, options: Options) -> Trials:
    """The missing trials of this shard; shares are cut from whole rounds, so that they do not shift."""
    wanted = plan.unmeasured if options.retry_failed else plan.unstored
    if options.shard != (1, 1):
        chosen = np.zeros(len(wanted), np.bool_)
        for part in split(plan.sweep, plan.rounds, plan.trials):
            chosen[part[share(plan.trials.costs[part], *options.shard)]] = True
        wanted = wanted & chosen
    return plan.trials.take(wanted)


def _run_trials(plan: Plan, trials: Trials, options: Options, progress: Progress, stop: Stop, summary: Summary) -> None:
    recorder = Recorder(plan.folder, plan.sweep, content_of(plan.sweep), stop.request)
    results = options.engine.run(trials)
    failures = Failures(options.max_equal_failures)
    try:
        with recorder:
            progress.begin(trials)
            while (done := stop.wait(results)) is not None:
                recorder.add(done)
                summary.ran.update(row["status"] for _, row in done)
                progress.advance(done)
                for trial, row in done:
                    progress.tell(failures.first(trial, row))
                    summary.gave_up = summary.gave_up or failures.add(trial, row)
                if options.max_failures is not None and summary.failures >= options.max_failures:
                    summary.gave_up = f"{summary.failures} trials failed"
                if summary.gave_up:
                    break
    except (StopRequested, StoreError, EngineLostError) as error:
        summary.stopped = str(error)
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib counts the results that nobody fetches; they run again
            results.close()


def _begin_round(plan: Plan, summary: Summary, progress: Progress, look: Looking | None) -> bool:
    """Plan the next round, if there is one and the rounds before it are stored."""
    if plan.next_round is None:
        summary.planned = len(plan.trials)
        if isinstance(plan.sweep.sampling, Until):
            rule = plan.rounds[-1]["until"]
            summary.looked, unmet = rule["words"], [panel for panel in rule["panels"] if not panel["known"]]
            if unmet:
                ceiling = f"{plan.sweep.sampling.ceiling} times the first round is the ceiling"
                raised = f"{ceiling}; --set sampling.ceiling=N raises it"
                summary.unmet = "no further trial would tell" if unmet[0]["left"] else raised
        _settle(plan)
        return False
    number, size = plan.next_round
    if waiting := int(plan.unstored.sum()):
        summary.stopped = f"round {number} waits for {waiting} trials of the rounds before it that have no row yet"
        return False
    told = None
    if isinstance(plan.sweep.sampling, Until):
        if look is None:
            return False
        told = look(plan.folder.path)
        summary.looked = told.words
        progress.tell("\n".join(told.words))
    content = plan_round(plan.sweep, plan.trials, number, size, answers(plan.folder, plan.sweep.report.event), told)
    try:
        plan.folder.write_round(content)
    except StoreError as error:
        summary.stopped = str(error)
        return False
    return True


def _settle(plan: Plan) -> None:
    """Record that rounds without a transition to place trials at have left some of the budget."""
    content = plan.folder.load()
    if content["trials"] > len(plan.trials) and content["digest"] == plan.sweep.digest:
        plan.folder.update({**content, "trials": len(plan.trials)})


def _open(plan: Plan) -> list[Damaged]:
    """Create the folder, or record that its plan has grown; clear away what earlier runs left."""
    content = content_of(plan.sweep)
    if not plan.folder.exists():
        plan.folder.create(content)
    same = goes_on(plan)  # another process may have been first
    damaged = plan.folder.prepare()
    if not same:
        types = coordinate_types({name: column.distinct for name, column in plan.sweep.cells.coordinates.items()})

        def coordinates(ids: pa.ChunkedArray) -> tuple[Mask, Mapping[str, Sequence[Scalar]]]:
            place, there = places(plan.trials, ids)
            planned = plan.trials.take(place[there])
            return there, {name: list(planned.coordinates(name)) for name in types}

        add_columns(plan.folder, types, plan.sweep.columns, coordinates)
        plan.folder.update(content)
    return damaged


class Failures:
    """Counts the failed trials of one run by method, type of error and place; `most` 0 never gives up."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._measured: set[str] = set()
        self._shown: set[frozenset[str]] = set()

    def add(self, trial: Trial, row: Row) -> str | None:
        """Why to stop, if this is one failure too many: so many of a method, all alike, and none measured."""
        method = str(trial.cell.coordinates["method"])
        if row["status"] == "ok":
            self._measured.add(method)
        if row["status"] != "failed":
            return None
        kind = (method, row["error_type"], _place(row))
        self._counts[kind] += 1
        if self._counts[kind] != self._most or method in self._measured:
            return None
        return f"{self._most} trials of {method} failed alike and none was measured ({': '.join(_said(row))})"

    def first(self, trial: Trial, row: Row) -> str | None:
        """The traceback of the first failed trial of each choice of the user's code; else None."""
        if row["status"] != "failed" or not trial.cell.own or trial.cell.own in self._shown:
            return None
        self._shown.add(trial.cell.own)
        return "\n  ".join([f"trial {trial.id} failed: {': '.join(_said(row))}", *row.get(TRACEBACK, "").splitlines()])


def _said(row: Row) -> list[str]:
    return [part for part in (row["error_type"], row["error_message"]) if part]


def _place(row: Row) -> str:
    return str(row.get(TRACEBACK, "")).rpartition("\n")[2]
