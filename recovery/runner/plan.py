"""The plan of a run: the trials of a sweep and the status of those that its folder stores. Only reads the folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from recovery.config import Sweep, Trials, Until, from_document, refined
from recovery.errors import StoreError
from recovery.methods.columns import columns_document
from recovery.runner.batches import shard_numbers
from recovery.runner.loading import sweep_of
from recovery.runner.rounds import split
from recovery.store.folder import Folder, shown_differences
from recovery.store.grid import StoredRows, unmeasured
from recovery.store.provenance import provenance
from recovery.store.round_files import Round, added, counts, intact_rounds, read_rounds
from recovery.store.row_schema import FAILURES, keys_of
from recovery.types import Index, Mask

Statuses = NDArray[np.object_]
"""The status of each trial, None without a row."""


@dataclass(frozen=True)
class Plan:
    """A sweep, its results folder, its trials, and the status of each stored trial.

    trials: with rounds, the trials of the first round and of `rounds`, the rounds planned so far. stored: the status of
    each trial's row, None without a row. index: the stored rows. listing: the files that were read.
    """

    sweep: Sweep
    folder: Folder
    trials: Trials
    rounds: Sequence[Round]
    stored: Statuses
    index: StoredRows
    listing: frozenset[str] | None = None

    @property
    def next_round(self) -> int | None:
        """Number of the round to plan once all of `trials` are stored, or None after the last round."""
        sampling = self.sweep.sampling
        if not (isinstance(sampling, Until) and self.rounds):
            return 2 if isinstance(sampling, Until) else None
        last, until = self.rounds[-1], self.rounds[-1]["until"]
        asked = (until["rule"], until.get("refine", False)) == (sampling.rule, sampling.refine)
        met = all(panel["known"] for panel in until["panels"])
        over = until["ended"] and asked and (met or last["budget"] == self.sweep.size)
        return None if over else int(last["round"]) + 1

    @property
    def unstored(self) -> Mask:
        """Mask of the trials without a row."""
        return np.array([status is None for status in self.stored.tolist()], np.bool_)

    @property
    def missing(self) -> Trials:
        """The trials without a row."""
        return self.trials.take(self.unstored)

    def shards(self, count: int) -> Index:
        """Return the shard of each trial, from 1 to `count`.

        Each round is divided among all shards, stored trials included, so that no trial changes its shard while trials
        are stored.
        """
        numbers = np.zeros(len(self.trials), np.intp)
        for places in split(self.sweep, self.rounds, self.trials):
            numbers[places] = shard_numbers(self.trials.costs[places], count)
        return numbers

    @property
    def unmeasured(self) -> Mask:
        """Mask of the trials without a row and of those that failed."""
        return self.unstored | np.isin(self.stored, FAILURES)

    @property
    def counts(self) -> Counter[str]:
        """Number of stored trials by status."""
        return Counter(self.stored[~self.unstored].tolist())

    @cached_property
    def stale(self) -> set[str]:
        """Ids of the trials whose rows were made by other user code than the files hold at the first access."""
        return self.index.stale(self.sweep)

    @cached_property
    def lacking(self) -> set[str]:
        """Ids of the trials whose row lacks a value that the sweep was asked to measure in every trial (`also`)."""
        also = self.sweep.also
        return unmeasured(self.folder, also) if also and self.folder.exists() else set()

    def without(self, ids: Collection[str]) -> Plan:
        """Return the plan in which these trials count as not stored."""
        place, planned = places(self.trials, pa.chunked_array([sorted(ids)], pa.string()))
        stored = self.stored.copy()
        stored[place[planned]] = None
        return replace(self, stored=stored)


def planned_trials(sweep: Sweep, rounds: Sequence[Round]) -> Trials:
    """Return the trials of a sweep after these rounds, which may have added grid cells."""
    axes = added(rounds)
    grown = sweep_of(refined(sweep.document, axes), trust=True) if axes else sweep
    return replace(grown, also=sweep.also).trials(counts(rounds))


def plan(sweep: Sweep, out: Path) -> Plan:
    """Compose a run's trials, and read which of them `out` stores. Raises `StoreError` if it holds another sweep."""
    trials, folder = sweep.trials(), Folder(out)
    planned = Plan(sweep, folder, trials, [], _statuses(trials, None), StoredRows(folder.trials))
    if folder.exists():
        planned = refresh(planned, tolerant=True)
        check_growth(planned)
    return planned


def refresh(plan: Plan, *, tolerant: bool = False) -> Plan:
    """Return the plan with the rounds and rows that its folder holds now.

    Raises `StoreError` for a damaged round, unless `tolerant`: a run would plan that round again without end.
    """
    listing = plan.folder.listing()
    if listing == plan.listing:
        return plan
    rounds = intact_rounds(plan.folder.rounds)[0] if tolerant else read_rounds(plan.folder.rounds)
    trials = plan.trials if rounds == plan.rounds else planned_trials(plan.sweep, rounds)
    plan.index.refresh()
    stored = _statuses(trials, plan.index.rows)
    return replace(plan, trials=trials, rounds=rounds, stored=stored, listing=listing)


def _statuses(trials: Trials, rows: pa.Table | None) -> Statuses:
    """Return the status of each trial's row. Ids of trials are computed only if there are rows."""
    stored = np.full(len(trials), None, np.object_)
    if rows is not None and len(rows):
        status = rows["status"].combine_chunks().dictionary_encode()
        place, planned = places(trials, rows["trial_id"])
        texts = np.array(status.dictionary.to_pylist(), np.object_)
        stored[place[planned]] = texts[status.indices.to_numpy()[planned]]
    return stored


def places(trials: Trials, ids: pa.ChunkedArray) -> tuple[Index, Mask]:
    """Return the index of each id among the trials, 0 for other ids, and the mask of the ids that are among them."""
    found = pc.index_in(pa.array(keys_of(ids)), value_set=pa.array(trials.keys))
    return found.fill_null(0).to_numpy().astype(np.intp), found.is_valid().to_numpy(zero_copy_only=False)


def check_growth(plan: Plan) -> None:
    """Raise `StoreError` if the folder's sweep has trials that the plan does not have: a folder may only grow."""
    content = plan.folder.load()
    if content["digest"] == plan.sweep.digest:
        return
    before = from_document(refined(content["config"], added(plan.rounds))).trials(counts(plan.rounds))
    if lost := len(np.setdiff1d(before.keys, plan.trials.keys)):
        lines = [
            f"{plan.folder.path} holds another sweep: {lost} of its {len(before)} trials are not in this one.",
            *shown_differences(content["config"], plan.sweep.document),
            "A folder may grow: by replicates, axes, shards and --until. Give another --out, or move the folder away.",
        ]
        raise StoreError("\n".join(lines))


def content_of(sweep: Sweep) -> dict[str, Any]:
    """Return the content of `sweep.json` for a sweep."""
    return {
        "name": sweep.name,
        "digest": sweep.digest,
        "trials": sweep.size,
        "cells": len(sweep.cells),
        "config": sweep.document,
        "columns": columns_document(sweep.columns),
        "provenance": provenance(),
    }
