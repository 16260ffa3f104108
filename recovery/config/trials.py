"""The grid cells and trials of a sweep as columns; single cells, trials and ids are made on demand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, overload

import numpy as np

from recovery.config.categorical import CategoricalColumn, constant, distinct
from recovery.config.components import COMPONENTS, Component, imported, is_left_out
from recovery.errors import ParameterError
from recovery.instances.draw import Setting
from recovery.methods.method import Method
from recovery.programs.architecture import Architecture
from recovery.types import Array, Codes, Index, Scalar
from recovery.user import resolve

ID_BYTES = 8
MOST_TRIALS = 10_000_000
"""Most trials of one sweep: all are planned in memory."""
LEAST_COST = 1e-9
CHUNK = 2**16
"""Trials whose ids are hashed at once, which bounds the memory of their texts."""

AXES = "axes"
"""Key in a cell's canonical JSON of the user axes that its science fields do not reflect."""
NO_AXES = Component({}, None, {}, {}, "")
"""All axes of the cell are reflected in its science fields."""
TEXT_ORDER = sorted([*COMPONENTS, AXES, "seed"])


def is_unsaid(name: str, part: Component) -> bool:
    """Return whether a component is left out of the canonical JSON."""
    return not part.text or (name != AXES and is_left_out(name, part))


@dataclass(frozen=True)
class Cell:
    """One grid cell of a sweep, which is drawn several times.

    parts: the validated science fields. coordinates: column -> flat value, as rows store it. cost: the method's
    estimate of seconds per trial; only ratios matter. code: hashes of the sources of the user code.
    """

    seed: int
    parts: Mapping[str, Component] = field(repr=False)
    coordinates: Mapping[str, Scalar]
    cost: float
    code: tuple[str, ...] = ()

    @cached_property
    def setting(self) -> Setting:
        """The sizes and laws that instances are drawn from; `UserValue` stands for values of user code."""
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
        texts = {name: part.text for name, part in self.parts.items() if not is_unsaid(name, part)}
        texts["seed"] = str(self.seed)
        return "{" + ",".join(f'"{name}":{texts[name]}' for name in TEXT_ORDER if name in texts) + "}"

    @cached_property
    def canonical(self) -> Mapping[str, Any]:
        """The science fields and the seed as plain data."""
        return json.loads(self.text)

    @cached_property
    def imported(self) -> Cell:
        """The cell with the values of user code, which is imported: whatever it raises is raised here."""
        if not self.own:
            return self
        for name in sorted(self.own):  # import all user code, also solvers, which methods refer to by name
            resolve(name)
        parts = {name: replace(part, value=imported(part.value)) for name, part in self.parts.items()}
        return replace(self, parts=parts)

    @property
    def id(self) -> str:
        """The id of the cell's first trial, by which rounds refer to the cell."""
        return self.trial(0).id

    def trial(self, replicate: int) -> Trial:
        """Return a trial of the cell; its id is a hash of the JSON of [canonical, replicate]."""
        digest = self._digest.copy()
        digest.update(b"%d]" % replicate)
        return Trial(digest.hexdigest(), replicate, self)

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
class SweepCells(Sequence[Cell]):
    """Every grid cell of a sweep once, as columns; the first axis changes slowest.

    parts: science field, or `AXES` -> its components. coordinates: column -> its values. costs: estimated seconds per
    trial, at least `LEAST_COST`, shape (cells,). point: the place of each cell among the points of all blocks of axes.
    hashes: set of user code that a cell runs -> hashes of its sources.
    """

    seed: int
    parts: Mapping[str, CategoricalColumn[Component]]
    coordinates: Mapping[str, CategoricalColumn[Scalar]]
    costs: Array
    point: Index
    hashes: Mapping[frozenset[str], tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.costs)

    @overload
    def __getitem__(self, at: int) -> Cell: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Cell]: ...

    def __getitem__(self, at: int | slice) -> Cell | Sequence[Cell]:
        rows = range(len(self))[at]
        return self._cell(rows) if isinstance(rows, int) else [self._cell(row) for row in rows]

    def _cell(self, row: int) -> Cell:
        parts = {name: column[row] for name, column in self.parts.items()}
        coordinates = {name: column[row] for name, column in self.coordinates.items()}
        return Cell(self.seed, parts, coordinates, float(self.costs[row]), self.hashes.get(self.own[row], ()))

    @cached_property
    def own(self) -> CategoricalColumn[frozenset[str]]:
        """The user code that each cell runs."""
        return user_code_of(self.parts)

    @property
    def methods(self) -> list[Method]:
        """Every method of the cells once."""
        return [part.value for part in self.parts["method"].distinct]

    @property
    def codes(self) -> frozenset[str]:
        """Hashes that rows of the cells may store of their user code."""
        return frozenset(code for codes in self.hashes.values() for code in codes)

    @property
    def largest(self) -> tuple[int, int]:
        """n and d of the cell with the largest data matrix X."""
        n, d = (self.coordinates[name] for name in ("n", "d"))
        sizes = [np.array(one.values, np.float64)[one.codes] for one in (n, d)]
        at = int(np.argmax(sizes[0] * sizes[1]))
        return n[at], d[at]  # type: ignore[return-value]

    @cached_property
    def keys(self) -> Array:
        """The ids of the cells as numbers."""
        return self.trials(1).keys

    def trials(self, replicates: int | Index) -> Trials:
        """Return the first `replicates` trials of each cell, cell by cell; one number for all cells, or one for each.

        Raises `ParameterError` if there are too many to hold in memory.
        """
        count = np.broadcast_to(np.asarray(replicates, np.intp), len(self))
        if count.sum() > MOST_TRIALS:
            raise ParameterError(f"the sweep has {count.sum()} trials; at most {MOST_TRIALS} are allowed")
        cell = np.repeat(np.arange(len(self)), count)
        return Trials(self, cell, np.arange(len(cell)) - np.repeat(np.cumsum(count) - count, count))

    def _texts(self, name: str) -> CategoricalColumn[str]:
        """Return the part of each cell's canonical JSON for one key."""
        if name == "seed":
            return constant(f',"seed":{self.seed}}}', len(self))
        start = "{" if name == TEXT_ORDER[0] else ","
        return self.parts[name].map(lambda p: "" if is_unsaid(name, p) else f'{start}"{name}":{p.text}').merged()

    def ids(self, cells: Index, replicates: Index) -> Iterator[bytes]:
        """Yield the ids of trials, as bytes: `Cell.trial` for many at once."""
        texts, fixed = list[Sequence[bytes]](), [b"["]
        varying = list[Codes]()
        for column in map(self._texts, TEXT_ORDER):
            if len(column.values) == 1:
                fixed[-1] += column.values[0].encode()
            else:
                texts.append([value.encode() for value in column.values])
                varying.append(column.codes[cells])
                fixed.append(b"")
        tails = [b",%d]" % replicate for replicate in range(int(replicates.max(initial=0)) + 1)]
        common = blake2b(fixed[0], digest_size=ID_BYTES)
        columns = [[text + after for text in some] for some, after in zip(texts, fixed[1:], strict=True)]
        for start in range(0, len(cells), CHUNK):
            part = slice(start, start + CHUNK)
            read = [map(some.__getitem__, codes[part].tolist()) for some, codes in zip(columns, varying, strict=True)]
            for words in zip(*read, map(tails.__getitem__, replicates[part].tolist()), strict=True):
                digest = common.copy()
                digest.update(b"".join(words))
                yield digest.digest()


@dataclass(frozen=True, eq=False)
class Trials(Sequence[Trial]):
    """Trials of a sweep as columns: the number of the cell, and the replicate."""

    cells: SweepCells
    cell: Index
    replicate: Index

    def __len__(self) -> int:
        return len(self.cell)

    @overload
    def __getitem__(self, at: int) -> Trial: ...

    @overload
    def __getitem__(self, at: slice) -> Trials: ...

    def __getitem__(self, at: int | slice) -> Trial | Trials:
        if isinstance(at, slice):
            return self.take(np.arange(len(self))[at])
        return self.cells[int(self.cell[at])].trial(int(self.replicate[at]))

    def __iter__(self) -> Iterator[Trial]:
        """Yield the trials in order; consecutive trials of a cell share one `Cell`."""
        before, cell = -1, None
        for number, replicate in zip(map(int, self.cell), map(int, self.replicate), strict=True):
            if number != before or cell is None:
                before, cell = number, self.cells[number]
            yield cell.trial(replicate)

    def take(self, which: Any) -> Trials:
        """Return the trials at these positions, or where a mask is true."""
        taken = Trials(self.cells, self.cell[which], self.replicate[which])
        if "keys" in vars(self):
            vars(taken)["keys"] = self.keys[which]
        return taken

    @cached_property
    def keys(self) -> Array:
        """The ids as numbers: an id is the hexadecimal form of its number."""
        return np.frombuffer(b"".join(self.cells.ids(self.cell, self.replicate)), ">u8").astype(np.uint64)

    @cached_property
    def rising(self) -> Index:
        """The positions of the trials, sorted by id."""
        return np.argsort(self.keys)

    @property
    def ids(self) -> list[str]:
        """The ids of the trials."""
        return [f"{key:016x}" for key in self.keys.tolist()]

    @property
    def costs(self) -> Array:
        """The estimated seconds of each trial."""
        return self.cells.costs[self.cell]

    def counts(self, which: Any) -> Index:
        """Return the number of trials of each cell where a mask is true."""
        return np.bincount(self.cell[which], minlength=len(self.cells))

    def coordinates(self, name: str) -> CategoricalColumn[Scalar]:
        """Return the coordinate `name` of each trial."""
        return self.cells.coordinates[name].take(self.cell)


def user_code_of(parts: Mapping[str, CategoricalColumn[Component]]) -> CategoricalColumn[frozenset[str]]:
    """Return the names of the user code that each cell with these components runs."""
    named = [column.map(lambda part: part.user_code).merged() for column in parts.values()]
    first, number = distinct(named)
    sets = [frozenset[str]().union(*(column[row] for column in named)) for row in first]
    return CategoricalColumn(sets, number).merged()


def trials_of(trials: Iterable[Trial]) -> Trials:
    """Return columns of single trials of one sweep."""
    if isinstance(trials, Trials):
        return trials
    given = list(trials)
    cells = list({id(trial.cell): trial.cell for trial in given}.values())
    number = {id(cell): i for i, cell in enumerate(cells)}
    every = np.arange(len(cells))
    names = list(cells[0].coordinates) if cells else []
    columns = SweepCells(
        seed=cells[0].seed if cells else 0,
        parts={n: CategoricalColumn([cell.parts[n] for cell in cells], every).merged() for n in (*COMPONENTS, AXES)},
        coordinates={n: CategoricalColumn([cell.coordinates[n] for cell in cells], every).merged() for n in names},
        costs=np.array([cell.cost for cell in cells]),
        point=every,
        hashes={cell.own: cell.code for cell in cells},
    )
    cell = np.array([number[id(trial.cell)] for trial in given], np.intp)
    return Trials(columns, cell, np.array([trial.replicate for trial in given], np.intp))
