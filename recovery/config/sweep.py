"""A sweep: what a config comes to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from recovery.config.cells import ID_BYTES, SweepCells, Trials
from recovery.config.claims import Claim
from recovery.config.header import ReportSpec
from recovery.config.sampling import Boundary, Even, Sampling, Until
from recovery.config.tree import canonical_json
from recovery.methods.columns import Columns, columns_of, union
from recovery.types import Index, Scalar


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
    compose: Callable[[], SweepCells] = field(repr=False)

    @cached_property
    def cells(self) -> SweepCells:
        """Every cell once, the first axis changing slowest."""
        return self.compose()

    def trials(self, counts: Mapping[str, int] | None = None) -> Trials:
        """Every trial, cell by cell; of one in rounds, those of the first round, or as many as `counts` says.

        counts: id of a cell -> its trials, where they are more than `replicates`.
        """
        return self.cells.trials(self.asked(counts) if counts else self.replicates)

    def asked(self, counts: Mapping[str, int]) -> Index:
        """The trials of each cell, where `counts` says more than the first round."""
        asked = np.full(len(self.cells), self.replicates)
        if counts and not isinstance(self.sampling, Even):
            known = dict(zip(self.cells.keys.tolist(), range(len(self.cells)), strict=True))
            for cell, count in counts.items():
                if (at := known.get(int(cell, 16))) is not None:
                    asked[at] = max(asked[at], count)
        return asked

    @cached_property
    def columns(self) -> Columns:
        """The columns that its methods measure."""
        return union(map(columns_of, self.cells.methods))

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
