"""Grid cells and trials of a sweep, and the ids of trials."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from recovery.config.components import COMPONENTS, Component, imported, is_left_out
from recovery.errors import ParameterError
from recovery.instances.draw import Setting
from recovery.methods.method import Method
from recovery.programs.architecture import Architecture
from recovery.types import Array, Index, Scalar
from recovery.user import resolve

ID_BYTES = 8
MOST_TRIALS = 10_000_000
"""Most trials of one sweep: all are planned in memory."""

AXES = "axes"
"""Key in a cell's canonical JSON of its user axes."""
TEXT_ORDER = sorted([*COMPONENTS, AXES, "seed"])


@dataclass(frozen=True)
class Cell:
    """One grid cell of a sweep, which is drawn several times.

    parts: the validated science fields. coordinates: column -> flat value, as rows store it. cost: the method's
    estimate of seconds per trial; only ratios matter. point: the number of its point in the blocks of axes. measures:
    columns that every trial measures, because the report, a claim or the rule needs them; no part of the ids.
    """

    seed: int
    parts: Mapping[str, Component] = field(repr=False)
    coordinates: dict[str, Scalar]
    cost: float
    point: int = 0
    measures: frozenset[str] = frozenset()

    @property
    def is_drawn(self) -> bool:
        """Whether its trials draw an instance; false with `data: none`."""
        return "planted" in self.parts

    @cached_property
    def setting(self) -> Setting:
        """Sizes and laws of instances; user code is a `UserValue`. Raises `ParameterError` if none is drawn."""
        if not self.is_drawn:
            raise ParameterError("with `data: none` a trial has no instance")
        value = {name: part.value for name, part in self.parts.items()}
        more = {name: value[name] for name in ("planted", "noise", "patterns", "noise_scale")}
        return Setting(value["n"], value["d"], ensemble=value["data"], **more)

    @property
    def architecture(self) -> Architecture:
        """The architecture, or a `UserValue`."""
        return self.parts["architecture"].value

    @property
    def method(self) -> Method:
        """The method, or a `UserValue` with its columns."""
        return self.parts["method"].value

    @cached_property
    def own(self) -> frozenset[str]:
        """The user code that the cell's trials run, as `module:NAME`."""
        return frozenset[str]().union(*(part.user_code for part in self.parts.values()))

    @cached_property
    def text(self) -> str:
        """The canonical JSON of the science fields and the seed, from which trial ids are computed."""
        texts = {name: part.text for name, part in self.parts.items() if not is_left_out(name, part)}
        texts["seed"] = str(self.seed)
        return "{" + ",".join([f'"{name}":{texts[name]}' for name in TEXT_ORDER if name in texts]) + "}"

    @cached_property
    def canonical(self) -> Mapping[str, Any]:
        """The science fields and the seed as plain data."""
        return json.loads(self.text)

    @cached_property
    def imported(self) -> Cell:
        """The cell with its user code imported and made into values. Raises whatever the user code raises."""
        if not self.own:
            return self
        for name in sorted(self.own):  # import all user code, also solvers, which methods refer to by name
            resolve(name)
        parts = {name: replace(part, value=imported(part.value)) for name, part in self.parts.items()}
        return replace(self, parts=parts)

    @cached_property
    def id(self) -> str:
        """The id of the cell's first trial, by which rounds refer to the cell."""
        return self.trial(0).id

    def trial(self, replicate: int) -> Trial:
        """Return a trial of the cell."""
        return Trial(self.digest(replicate).hex(), replicate, self)

    def digest(self, replicate: int) -> bytes:
        """Return the id of a trial as bytes: a hash of the JSON of [canonical, replicate]."""
        digest = self._digest.copy()
        digest.update(b"%d]" % replicate)
        return digest.digest()

    @cached_property
    def _digest(self) -> Any:
        return blake2b(f"[{self.text},".encode(), digest_size=ID_BYTES)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}


class Trial(NamedTuple):
    """One unit of work. Its id depends on the canonical JSON of its cell and on the replicate only."""

    id: str
    replicate: int
    cell: Cell


@dataclass(frozen=True, eq=False)
class Trials(Sequence[Trial]):
    """Trials of a sweep: of each, `cell` is the index in `cells`. A `Trial` is made only when it is indexed."""

    cells: Sequence[Cell]
    cell: Index
    replicate: Index

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Trials:
        """Return columns of single trials."""
        if isinstance(trials, Trials):
            return trials
        given = list(trials)
        cells = list({id(trial.cell): trial.cell for trial in given}.values())
        number = {id(cell): i for i, cell in enumerate(cells)}
        cell = np.array([number[id(trial.cell)] for trial in given], np.intp)
        return cls(cells, cell, np.array([trial.replicate for trial in given], np.intp))

    @classmethod
    def first(cls, cells: Sequence[Cell], count: Index) -> Trials:
        """Return the first `count[i]` trials of each cell i. Raises `ParameterError` for too many for memory."""
        if count.sum() > MOST_TRIALS:
            raise ParameterError(f"the sweep has {count.sum()} trials; at most {MOST_TRIALS} are allowed")
        cell = np.repeat(np.arange(len(cells)), count)
        return cls(cells, cell, np.arange(len(cell)) - np.repeat(np.cumsum(count) - count, count))

    def __len__(self) -> int:
        return len(self.cell)

    def __getitem__(self, at: Any) -> Any:
        """Return the trial at a position, or the trials of a slice."""
        return self.take(at) if isinstance(at, slice) else self.cells[self.cell[at]].trial(int(self.replicate[at]))

    def __iter__(self) -> Iterator[Trial]:
        for cell, replicate in zip(self.cell.tolist(), self.replicate.tolist(), strict=True):
            yield self.cells[cell].trial(replicate)

    def coordinates(self, name: str) -> list[Scalar]:
        """Return the coordinate `name` of each trial."""
        values = [cell.coordinates[name] for cell in self.cells]
        return [values[cell] for cell in self.cell.tolist()]

    def take(self, which: Any) -> Trials:
        """Return the trials at these positions, in a slice, or where a mask is true."""
        taken = Trials(self.cells, self.cell[which], self.replicate[which])
        if "keys" in vars(self):
            vars(taken)["keys"] = self.keys[which]
        return taken

    @cached_property
    def keys(self) -> Array:
        """The ids as numbers: an id is the hexadecimal form of its number."""
        pairs = zip(self.cell.tolist(), self.replicate.tolist(), strict=True)
        return np.frombuffer(b"".join([self.cells[cell].digest(i) for cell, i in pairs]), ">u8").astype(np.uint64)

    @property
    def ids(self) -> list[str]:
        """The ids of the trials."""
        return [f"{key:016x}" for key in self.keys.tolist()]

    @cached_property
    def costs(self) -> Array:
        """The estimated seconds of each trial."""
        return np.array([cell.cost for cell in self.cells], np.float64)[self.cell]
