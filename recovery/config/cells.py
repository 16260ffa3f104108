"""The cells and trials of a sweep as columns. One of them is made when it is reached, its id when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, overload

import numpy as np

from recovery.config.coded import Coded
from recovery.config.components import imported
from recovery.instances.draw import Setting
from recovery.methods.method import Method
from recovery.programs.architecture import Architecture
from recovery.types import Array, Codes, Index, Scalar
from recovery.user import resolve

ID_BYTES = 8
LEAST_COST = 1e-9
PIECE = 2**16
"""Trials whose ids are hashed at once, which bounds what the pieces of their texts take."""


@dataclass(frozen=True)
class Cell:
    """One setting of a sweep, to be drawn several times.

    coordinates: column -> flat value, for the rows. canonical: the resolved science fields, as plain data; `text` is
    their canonical JSON, of which ids are hashes. cost: what the method guesses that a trial takes; only ratios matter.
    own: the user's code that its trials run, as `module:NAME`, and `code` a hash of its sources; `setting`,
    `architecture` and `method` have an `Own` in place of a value of it.
    """

    setting: Setting
    architecture: Architecture
    method: Method
    seed: int
    coordinates: Mapping[str, Scalar]
    canonical: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)
    cost: float
    own: frozenset[str] = frozenset()
    code: str = ""

    @cached_property
    def imported(self) -> Cell:
        """The cell with the values of the user's code, which is imported: whatever it raises is raised here."""
        if not self.own:
            return self
        for name in sorted(self.own):  # a solver is a name to its method
            resolve(name)
        setting = self.setting
        return replace(
            self,
            setting=replace(setting, ensemble=imported(setting.ensemble), planted=imported(setting.planted)),
            architecture=imported(self.architecture),
            method=imported(self.method),
        )

    @property
    def id(self) -> str:
        """By which rounds know a cell: the id of its first trial."""
        return self.trial(0).id

    def trial(self, replicate: int) -> Trial:
        """The replicate's trial; its id is a hash of the JSON of [canonical, replicate]."""
        digest = self._digest.copy()
        digest.update(b"%d]" % replicate)
        return Trial(digest.hexdigest(), replicate, self)

    @cached_property
    def _digest(self) -> Any:
        return blake2b(f"[{self.text},".encode(), digest_size=ID_BYTES)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_digest", "imported")}


class Trial(NamedTuple):
    """One unit of work. Its id depends on the cell's canonical fields and the replicate, on nothing else."""

    id: str
    replicate: int
    cell: Cell


@dataclass(frozen=True, eq=False)
class SweepCells(Sequence[Cell]):
    """Every cell of a sweep once, the first axis changing slowest.

    coordinates: column -> its values. costs (cells,): at least `LEAST_COST`. own: the user's code that each runs. make:
    the cell of a number. pieces: columns whose texts, one after another, are the canonical JSON of each cell.
    """

    coordinates: Mapping[str, Coded[Scalar]]
    costs: Array
    own: Coded[frozenset[str]]
    methods: Sequence[Method]
    codes: frozenset[str]
    """Hashes of the user's code that the cells run."""
    pieces: Sequence[Coded[str]]
    make: Callable[[int], Cell]

    def __len__(self) -> int:
        return len(self.costs)

    @overload
    def __getitem__(self, at: int) -> Cell: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Cell]: ...

    def __getitem__(self, at: int | slice) -> Cell | Sequence[Cell]:
        numbers = range(len(self))[at]
        return self.make(numbers) if isinstance(numbers, int) else [self.make(number) for number in numbers]

    @property
    def largest(self) -> tuple[int, int]:
        """n and d of the cell with the most entries of X."""
        n, d = (self.coordinates[name] for name in ("n", "d"))
        sizes = [np.array(one.values, np.float64)[one.codes] for one in (n, d)]
        at = int(np.argmax(sizes[0] * sizes[1]))
        return n[at], d[at]  # type: ignore[return-value]

    @cached_property
    def keys(self) -> Array:
        """The ids of each cell, as numbers."""
        return self.trials(1).keys

    def trials(self, replicates: int | Index) -> Trials:
        """So many trials of each cell, cell by cell."""
        count = np.broadcast_to(np.asarray(replicates, np.intp), len(self))
        cell = np.repeat(np.arange(len(self)), count)
        return Trials(self, cell, np.arange(len(cell)) - np.repeat(np.cumsum(count) - count, count))

    def hashes(self, cells: Index, replicates: Index) -> Iterator[bytes]:
        """The ids of these trials as bytes."""
        texts, fixed = list[Sequence[bytes]](), [b"["]
        varying = list[Codes]()
        for piece in self.pieces:
            if len(piece.values) == 1:
                fixed[-1] += piece.values[0].encode()
            else:
                texts.append([value.encode() for value in piece.values])
                varying.append(piece.codes[cells])
                fixed.append(b"")
        tails = [b",%d]" % replicate for replicate in range(int(replicates.max(initial=0)) + 1)]
        begun = blake2b(fixed[0], digest_size=ID_BYTES)
        columns = [[text + after for text in some] for some, after in zip(texts, fixed[1:], strict=True)]
        for start in range(0, len(cells), PIECE):
            part = slice(start, start + PIECE)
            read = [map(some.__getitem__, codes[part].tolist()) for some, codes in zip(columns, varying, strict=True)]
            for words in zip(*read, map(tails.__getitem__, replicates[part].tolist()), strict=True):
                digest = begun.copy()
                digest.update(b"".join(words))
                yield digest.digest()


@dataclass(frozen=True, eq=False)
class Trials(Sequence[Trial]):
    """Some trials of a sweep: the number of the cell of each, and its replicate."""

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
        return self.cells.make(int(self.cell[at])).trial(int(self.replicate[at]))

    def __iter__(self) -> Iterator[Trial]:
        """One after another; those of a cell that follow one another share it."""
        before, cell = -1, None
        for number, replicate in zip(map(int, self.cell), map(int, self.replicate), strict=True):
            if number != before or cell is None:
                before, cell = number, self.cells.make(number)
            yield cell.trial(replicate)

    def take(self, which: Any) -> Trials:
        """Those at these places, or where a mask is true."""
        taken = Trials(self.cells, self.cell[which], self.replicate[which])
        if "keys" in vars(self):
            vars(taken)["keys"] = self.keys[which]
        return taken

    @cached_property
    def keys(self) -> Array:
        """The ids, as numbers: an id is the number's hexadecimal digits."""
        return np.frombuffer(b"".join(self.cells.hashes(self.cell, self.replicate)), ">u8").astype(np.uint64)

    @cached_property
    def rising(self) -> Index:
        """The places of the trials, by their ids."""
        return np.argsort(self.keys)

    @property
    def ids(self) -> list[str]:
        return [f"{key:016x}" for key in self.keys.tolist()]

    @property
    def costs(self) -> Array:
        """What the methods guess that each takes."""
        return self.cells.costs[self.cell]

    def counts(self, which: Any) -> Index:
        """How many of those where a mask is true belong to each cell."""
        return np.bincount(self.cell[which], minlength=len(self.cells))

    def coordinates(self, name: str) -> Coded[Scalar]:
        return self.cells.coordinates[name].take(self.cell)


def trials_of(trials: Iterable[Trial]) -> Trials:
    """Trials that are at hand, as columns."""
    if isinstance(trials, Trials):
        return trials
    given = list(trials)
    known = {id(trial.cell): i for i, trial in reversed(list(enumerate(given)))}
    made = [given[i].cell for i in sorted(known.values())]
    number = {id(cell): i for i, cell in enumerate(made)}
    every = np.arange(len(made))
    names = dict.fromkeys(name for cell in made for name in cell.coordinates)
    cells = SweepCells(
        coordinates={name: Coded([cell.coordinates.get(name) for cell in made], every).merged() for name in names},
        costs=np.maximum([cell.cost for cell in made], LEAST_COST),
        own=Coded([cell.own for cell in made], every).merged(),
        methods=list({id(cell.method): cell.method for cell in made}.values()),
        codes=frozenset(cell.code for cell in made if cell.own),
        pieces=[Coded([cell.text for cell in made], every)],
        make=made.__getitem__,
    )
    cell = np.array([number[id(trial.cell)] for trial in given], np.intp)
    return Trials(cells, cell, np.array([trial.replicate for trial in given], np.intp))
