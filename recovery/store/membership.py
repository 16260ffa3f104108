"""Which stored rows are the sweep's own: a part says which configs made it, and where one is another, the ids tell."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from recovery.config import from_document
from recovery.config.components import COMPONENTS
from recovery.errors import RecoverError
from recovery.store.parts import PROVENANCE
from recovery.store.rounds import Round, counts


class LeftOut(NamedTuple):
    """How many rows are not the sweep's, and in which parts they are."""

    rows: int
    paths: Sequence[Path]

    def __str__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        what = "rows of another sweep, or of trials that this one does not plan, are left out"
        return f"{self.paths[0]}{more}: {self.rows} {what}"


def own_rows(
    content: Mapping[str, Any], rounds: Sequence[Round], parts: Sequence[tuple[Path, pa.Table]]
) -> tuple[list[pa.Table], LeftOut | None]:
    """Of each part the rows of the sweep that `content` of sweep.json and its rounds plan, and what was left out.

    A part that this very config made is the sweep's, and so is one that does not say what made it. Others may come from
    a smaller plan of the same sweep, or from another one: their rows are the sweep's if their trials are planned. Where
    the trials cannot be composed without running the user's code or without a data file, configs are compared instead.
    """
    kept, paths, lost = [], [], 0
    for path, table in parts:
        makers = _makers(table)
        own = table
        if any(maker.get("digest") != content["digest"] for maker in makers):
            planned = _planned(json.dumps(content["config"]), json.dumps(dict(counts(rounds))))
            if planned is not None:
                own = table.filter(pc.is_in(table["trial_id"], planned))
            elif not any(_may_be_same(content["config"], maker.get("config")) for maker in makers):
                own = table.slice(0, 0)
        if len(own):
            kept.append(own)
        if len(own) < len(table):
            paths.append(path)
            lost += len(table) - len(own)
    return kept, LeftOut(lost, paths) if lost else None


def _makers(table: pa.Table) -> list[dict[str, Any]]:
    try:
        makers = json.loads((table.schema.metadata or {}).get(PROVENANCE, b"[]"))
    except ValueError:
        return []
    return [maker for maker in makers if isinstance(maker, dict)] if isinstance(makers, list) else []


@lru_cache(maxsize=2)
def _planned(config: str, asked: str) -> pa.Array | None:
    """The ids of the planned trials; None where they cannot be composed here."""
    try:
        return pa.array(
            [trial.id for trial in from_document(json.loads(config)).trials(json.loads(asked))], pa.string()
        )
    except RecoverError:
        return None


def _may_be_same(config: Mapping[str, Any], other: object) -> bool:
    """Whether two configs may have trials in common: the same seed, and the same fields where neither has an axis."""
    if not isinstance(other, Mapping) or config.get("seed") != other.get("seed"):
        return False
    axes = json.dumps([config.get("axes"), other.get("axes")])
    return all(config.get(name) == other.get(name) for name in COMPONENTS if f'"{name}' not in axes)
