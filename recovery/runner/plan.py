"""What a sweep asks for and what its folder already holds. Nothing here writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from recovery.config import Sweep, Trials, own_code
from recovery.config.coded import Coded
from recovery.errors import StoreError
from recovery.methods.columns import columns_document
from recovery.runner.own_code import sweep_of
from recovery.runner.rounds import next_round
from recovery.store.folder import Folder, check_continuation
from recovery.store.provenance import provenance
from recovery.store.round_files import Round, counts, read_rounds
from recovery.store.row_schema import FAILURES, keys_of
from recovery.types import Index, Mask

UNSTORED = -1


@dataclass(frozen=True)
class Plan:
    """A sweep's trials beside what its folder holds of them.

    trials: of a boundary, those of the first round and of `rounds`, the rounds planned so far.
    """

    sweep: Sweep
    folder: Folder
    trials: Trials
    rounds: Sequence[Round]
    stored: Coded[str]
    """Statuses; the code of each trial is that of its row's, or UNSTORED."""
    listing: frozenset[str] | None = None
    """The files that `rounds` and `stored` were read from."""

    @property
    def next_round(self) -> tuple[int, int] | None:
        """Number and trials of the round that is planned when all of `trials` are stored; None if there is none."""
        first = len(self.sweep.cells) * self.sweep.replicates
        return next_round(self.sweep.sampling, first, self.rounds, len(self.trials))

    @property
    def unstored(self) -> Mask:
        """Which of the trials have no row."""
        return np.equal(self.stored.codes, UNSTORED)

    @property
    def missing(self) -> Trials:
        """The trials without a row."""
        return self.trials.take(self.unstored)

    @property
    def unmeasured(self) -> Mask:
        """Which of the trials have no row, or one that is no measurement."""
        failed = [code for code, status in enumerate(self.stored.values) if status in FAILURES]
        return self.unstored | np.isin(self.stored.codes, failed)

    @property
    def counts(self) -> Counter[str]:
        """How many of the trials are stored, by status."""
        counts = np.bincount(self.stored.codes[~self.unstored], minlength=len(self.stored.values)).tolist()
        return Counter({status: count for status, count in zip(self.stored.values, counts, strict=True) if count})

    @cached_property
    def changed(self) -> set[str]:
        """The stored trials that ran other code of the user's than there is now, when first asked for."""
        codes = self.sweep.cells.codes
        return self.folder.of_other_code(codes) if codes else set()


def plan(sweep: Sweep, out: Path) -> Plan:
    """Compose the trials and look at the folder. Raises `StoreError` if it holds another sweep."""
    trials = sweep.trials()
    planned = Plan(sweep, Folder(out), trials, [], _standing(trials, None))
    if planned.folder.exists():
        planned = up_to_date(planned)
        goes_on(planned)
    return planned


def up_to_date(plan: Plan) -> Plan:
    """The plan with the rounds and rows that its folder holds by now."""
    listing = plan.folder.listing()
    if listing == plan.listing:
        return plan
    rounds, _ = read_rounds(plan.folder.rounds)
    trials = plan.trials if rounds == plan.rounds else plan.sweep.trials(counts(rounds))
    stored = _standing(trials, plan.folder.statuses())
    return replace(plan, trials=trials, rounds=rounds, stored=stored, listing=listing)


def _standing(trials: Trials, rows: pa.Table | None) -> Coded[str]:
    """The status of the row of each trial; the ids are asked for where there are rows."""
    if rows is None or not len(rows):
        return Coded([], np.full(len(trials), UNSTORED))
    status = rows["status"].combine_chunks().dictionary_encode()
    place, there = places(trials, rows["trial_id"])
    codes = np.full(len(trials), UNSTORED)
    codes[place[there]] = status.indices.to_numpy()[there]
    return Coded(status.dictionary.to_pylist(), codes)


def places(trials: Trials, ids: pa.ChunkedArray) -> tuple[Index, Mask]:
    """The place of each id among the trials, and whether it has one."""
    keys = keys_of(ids)
    rising = np.argsort(keys)  # neighbours are found where the last one was
    place = np.empty(len(keys), np.intp)
    place[rising] = np.searchsorted(trials.keys[trials.rising], keys[rising])
    place = trials.rising[np.minimum(place, len(trials) - 1)]
    return place, np.equal(trials.keys[place], keys)


def goes_on(plan: Plan) -> bool:
    """Whether the folder's plan is this very one; False if this one is larger. Raises `StoreError` if it is another."""
    content = plan.folder.load()
    if content["digest"] == plan.sweep.digest:
        return True
    lost: Sequence[object] | Index = range(content["trials"])
    if own_code(content["config"]) <= own_code(plan.sweep.document):  # other code is not run to look at it
        here = {key: plan.sweep.document[key] for key in ("folder",) if key in plan.sweep.document}
        before = sweep_of({**content["config"], **here}, trust=True).trials(counts(plan.rounds))
        lost = np.setdiff1d(before.keys, plan.trials.keys)
    check_continuation(plan.folder, content, content_of(plan.sweep), len(lost))
    if len(plan.trials) > plan.sweep.size:
        raise StoreError(
            f"{plan.folder.path}: the rounds so far, with {plan.sweep.replicates} replicates of every cell, are "
            f"{len(plan.trials)} trials, and sampling.budget is {plan.sweep.size}; raise it, or give another --out"
        )
    return False


def content_of(sweep: Sweep) -> dict[str, Any]:
    """What `sweep.json` holds of a sweep."""
    return {
        "name": sweep.name,
        "digest": sweep.digest,
        "trials": sweep.size,
        "cells": len(sweep.cells),
        "config": sweep.document,
        "columns": columns_document(sweep.columns),
        "provenance": provenance(),
    }
