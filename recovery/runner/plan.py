"""What a sweep asks for and what its folder already holds. Nothing here writes."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from recovery.config import Sweep, Trial, own_code
from recovery.errors import StoreError
from recovery.methods.columns import columns_document
from recovery.runner.own_code import sweep_of
from recovery.runner.rounds import next_round
from recovery.store.folder import Folder, check_continuation
from recovery.store.provenance import provenance
from recovery.store.rounds import Round, counts, read_rounds
from recovery.store.schema import FAILURES


@dataclass(frozen=True)
class Plan:
    """A sweep's trials beside what its folder holds of them.

    trials: of a boundary, those of the first round and of `rounds`, the rounds planned so far.
    """

    sweep: Sweep
    folder: Folder
    trials: list[Trial]
    rounds: Sequence[Round]
    stored: dict[str, str]
    """trial id -> status"""
    listing: frozenset[str] | None = None
    """The files that `rounds` and `stored` were read from."""

    @property
    def next_round(self) -> tuple[int, int] | None:
        """Number and trials of the round that is planned when all of `trials` are stored; None if there is none."""
        first = len(self.sweep.cells) * self.sweep.replicates
        return next_round(self.sweep.sampling, first, self.rounds, len(self.trials))

    @cached_property
    def missing(self) -> list[Trial]:
        """The trials without a row."""
        stored = self.stored
        return [trial for trial in self.trials if trial.id not in stored]

    @property
    def unmeasured(self) -> list[Trial]:
        """The trials without a row, and those whose row is no measurement."""
        return [trial for trial in self.trials if self.stored.get(trial.id) in (None, *FAILURES)]

    @property
    def counts(self) -> Counter[str]:
        """How many of the trials are stored, by status."""
        if len(self.stored) == len(self.trials) - len(self.missing):  # nothing is stored that is not planned here
            return Counter(self.stored.values())
        return Counter(self.stored[trial.id] for trial in self.trials if trial.id in self.stored)


def plan(sweep: Sweep, out: Path) -> Plan:
    """Compose the trials and look at the folder. Raises `StoreError` if it holds another sweep."""
    planned = Plan(sweep, Folder(out), _listed(sweep.trials()), [], {})
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
    trials = plan.trials if rounds == plan.rounds else _listed(plan.sweep.trials(counts(rounds)))
    return replace(plan, trials=trials, rounds=rounds, stored=plan.folder.statuses(), listing=listing)


def _listed(trials: Iterator[Trial]) -> list[Trial]:
    """A list of what may be millions of objects, none of them garbage: the collector would look at them all."""
    gc.disable()
    try:
        return list(trials)
    finally:
        gc.enable()


def changed(plan: Plan) -> set[str]:
    """The stored trials that ran other code of the user's than there is now."""
    codes = {cell.code for cell in plan.sweep.cells if cell.own}
    return plan.folder.of_other_code(codes) if codes else set()


def goes_on(plan: Plan) -> bool:
    """Whether the folder's plan is this very one; False if this one is larger. Raises `StoreError` if it is another."""
    content = plan.folder.load()
    if content["digest"] == plan.sweep.digest:
        return True
    lost: Collection[object] = range(content["trials"])
    if own_code(content["config"]) <= own_code(plan.sweep.document):  # other code is not run to look at it
        here = {key: plan.sweep.document[key] for key in ("folder",) if key in plan.sweep.document}
        before = sweep_of({**content["config"], **here}, trust=True).trials(counts(plan.rounds))
        lost = {trial.id for trial in before} - {trial.id for trial in plan.trials}
    check_continuation(plan.folder, content, content_of(plan.sweep), lost)
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
