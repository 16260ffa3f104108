"""Cells, trials and sweeps: what a config comes to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

from recovery.config.claims import Claim
from recovery.config.components import imported
from recovery.config.header import ReportSpec
from recovery.config.sampling import Boundary, Even, Sampling, Until
from recovery.config.tree import canonical_json
from recovery.instances.draw import Setting
from recovery.methods.columns import Columns, columns_of, union
from recovery.methods.method import Method
from recovery.programs.architecture import Architecture
from recovery.types import Scalar
from recovery.user import resolve

ID_BYTES = 8


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
    def imported(self) -> "Cell":
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

    def trial(self, replicate: int) -> "Trial":
        """The replicate's trial."""
        return next(self.trials([replicate]))

    def trials(self, replicates: Iterable[int]) -> Iterator["Trial"]:
        """The trials of these replicates; the id of each is a hash of the JSON of [canonical, replicate]."""
        begun = self._digest
        for replicate in replicates:
            digest = begun.copy()
            digest.update(b"%d]" % replicate)
            yield Trial(digest.hexdigest(), replicate, self)

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


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A validated config. `document` is the config as plain data, all that `from_document` needs to build it again.

    axes: the dotted paths of its axes; each is a column of every cell's coordinates. computed: those that expressions
    of others give. backend: where trials run
    unless the command line says otherwise; it is no part of the document. combinations: the values that the
    coordinates of these names take together, in the config's order, without composing any cell.
    """

    name: str
    title: str
    source: str
    seed: int
    replicates: int
    backend: str
    sampling: Sampling
    claims: tuple[Claim, ...]
    report: ReportSpec
    axes: tuple[str, ...]
    computed: tuple[str, ...]
    document: dict[str, Any] = field(repr=False)
    combinations: Callable[[Sequence[str]], list[tuple[Scalar, ...]]] = field(repr=False)
    compose: Callable[[], tuple[Cell, ...]] = field(repr=False)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell once, the first axis changing slowest."""
        return self.compose()

    def trials(self, counts: Mapping[str, int] | None = None) -> Iterator[Trial]:
        """Every trial, cell by cell; of one in rounds, those of the first round, or as many as `counts` says.

        counts: id of a cell -> its trials, where they are more than `replicates`.
        """
        more = counts if counts and not isinstance(self.sampling, Even) else {}
        for cell in self.cells:
            yield from cell.trials(range(max(self.replicates, more.get(cell.id, 0)) if more else self.replicates))

    @cached_property
    def columns(self) -> Columns:
        """The columns that its methods measure."""
        methods = {id(cell.method): cell.method for cell in self.cells}
        return union(map(columns_of, methods.values()))

    @property
    def size(self) -> int:
        """The number of trials; of a sweep in rounds, the most that there will be."""
        if isinstance(self.sampling, Boundary):
            return self.sampling.budget
        return len(self.cells) * self.replicates * (self.sampling.ceiling if isinstance(self.sampling, Until) else 1)

    @cached_property
    def digest(self) -> str:
        """A hash of the document."""
        return blake2b(canonical_json(self.document).encode(), digest_size=ID_BYTES).hexdigest()
