"""A sweep: the validated form of a config, composed from its tree."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from recovery.config.axes import parse, report_user_axes
from recovery.config.claims import Claim, build_claims
from recovery.config.components import ABSENT, COMPONENTS, DEFAULTS, NO_DATA, UNDRAWN, Context, fields_of, is_left_out
from recovery.config.compose import Composer
from recovery.config.header import HEADER, Header, PointsCurve, ReportSpec
from recovery.config.names import claim_uses, columns_of_uses, report_undecidable, report_unknown_names, report_uses
from recovery.config.points import Block, axes_of, computed_axes
from recovery.config.sampling import SAMPLINGS, Even, Sections, Until, report_endless
from recovery.config.slicing import Slicing, slicing
from recovery.config.tree import ConfigError, Path as TreePath, Tree, canonical_json
from recovery.config.trials import ID_BYTES, Cell, Trials
from recovery.config.user_curves import kept_curves
from recovery.config.validate import build, build_kind, names_of
from recovery.errors import ParameterError
from recovery.instances.files import File
from recovery.methods.columns import COLUMNS, Columns, columns_of, union
from recovery.text import did_you_mean, printable
from recovery.types import Index, Scalar
from recovery.user import add_folders, folders_of

STORED = ("folder", "files")
"""Keys of a document that no config has: the folder where relative paths start, and the digests of data files."""


@dataclass(frozen=True)
class Sweep(Sections):
    """A validated config. `document` is the config as plain data, from which `from_document` builds the sweep again.

    axes: the dotted paths of its axes; each is a column of the rows. computed: the axes given by expressions. slicing:
    the slices in which adaptive sampling looks for the threshold. backend: where trials run by default; it is not
    stored in the document. also: columns that trials measure beside those that the report, claims and the rule need.
    """

    axes: tuple[str, ...] = field(kw_only=True)
    computed: tuple[str, ...] = field(kw_only=True)
    slicing: Slicing = field(kw_only=True)
    document: dict[str, Any] = field(repr=False, kw_only=True)
    compose: Callable[[], Sequence[Cell]] = field(repr=False, kw_only=True)
    also: frozenset[str] = field(default=frozenset(), kw_only=True)

    @cached_property
    def cells(self) -> Sequence[Cell]:
        """Every grid cell once; the first axis changes slowest."""
        cells = self.compose()
        return [replace(cell, measures=cell.measures | self.also) for cell in cells] if self.also else cells

    def combinations(self, names: Sequence[str]) -> list[tuple[Scalar, ...]]:
        """Return the tuples of values that cells have in the coordinates of these names, each once, in the order of the
        config; none if the cells of a stored config cannot be composed."""
        try:
            known = [cell.coordinates for cell in self.cells if cell.coordinates.keys() >= set(names)]
        except ConfigError:
            return []
        return list(dict.fromkeys(tuple(one[name] for name in names) for one in known))

    def trials(self, counts: Mapping[str, int] | None = None) -> Trials:
        """Return every trial, cell by cell. An adaptive sweep has the trials of its first round and those of `counts`.

        counts: id of a cell -> its number of trials, if there are more than `replicates`.
        """
        return Trials.first(self.cells, self.requested(counts or {}, self.cells))

    def requested(self, counts: Mapping[str, int], cells: Sequence[Cell]) -> Index:
        """Return the number of trials of each cell: `replicates`, or the number in `counts` if it is larger."""
        if not counts or isinstance(self.sampling, Even):
            return np.full(len(cells), self.replicates)
        return np.array([max(counts.get(cell.id, 0), self.replicates) for cell in cells], np.intp)

    @cached_property
    def columns(self) -> Columns:
        """The columns that the methods of the sweep measure."""
        return union(columns_of(method) for method in dict.fromkeys(cell.method for cell in self.cells))

    @property
    def size(self) -> int:
        """The number of trials; for an adaptive sweep, the largest number possible."""
        return len(self.cells) * self.replicates * (self.sampling.ceiling if isinstance(self.sampling, Until) else 1)

    @cached_property
    def digest(self) -> str:
        """A hash of the document."""
        return blake2b(canonical_json(self.document).encode(), digest_size=ID_BYTES).hexdigest()


def measuring(sweep: Sweep, columns: Sequence[str]) -> Sweep:
    """Return the sweep with these columns, too, measured in every trial. The ids of trials stay the same.

    Raises `ParameterError` for a column that no method of the sweep measures on demand.
    """
    known = sorted({name for cell in sweep.cells for name in getattr(cell.method, "on_demand", {})})
    for column in columns:
        if column not in known:
            allowed = f"allowed: {', '.join(known)}" if known else "no method of this sweep does"
            raise ParameterError(f"{column!r} is not measured on demand; {allowed}{did_you_mean(column, known)}")
    return replace(sweep, also=sweep.also.union(columns))


def composed(tree: Tree, context: Context) -> Sweep:
    """Return the sweep of a tree, all of its cells composed and checked; user code is imported here.

    Raises `ConfigError` with all problems, also those that were found when the tree was read.
    """
    add_folders([context.folder, Path.cwd()])
    sections, claims = _sections(tree)
    blocks = parse(tree)
    axes = axes_of(blocks)
    uses = [*claim_uses(claims), *report_uses(sections.report)]
    composer = Composer(tree, sections.seed, replace(context, imports=True), columns_of_uses(uses))
    cells = composer.cells(blocks)
    columns: Columns = COLUMNS
    try:
        columns = union(columns_of(part.value) for part in composer.made("method")) or COLUMNS
    except ParameterError as error:
        tree.report(("method",), str(error))
    report_user_axes(tree, blocks, columns)
    report_unknown_names(tree, uses, axes, columns)
    if not tree.problems:
        report = sections.report
        if report.curves:
            report = replace(report, curves=kept_curves(tree, report, cells))
            sections = replace(sections, report=report)
        report_undecidable(tree, uses, sections.claims, axes, cells, columns)
        report_endless(tree, sections, slicing(report, blocks), cells, columns)
    tree.refuse()
    if isinstance(until := sections.sampling, Until):
        most = until.ceiling_for(cells, slicing(sections.report, blocks), sections.replicates)
        sections = replace(sections, sampling=replace(until, ceiling=most))
    return _assembled(sections, blocks, _document(tree, sections, composer, axes), lambda: cells)


def from_document(document: dict[str, Any], *, checked: bool = False) -> Sweep:
    """Return the sweep that a document was stored from, whose cells are composed when first needed.

    checked: check the cells and estimate their costs, as `composed` does; if not, no user code is imported and no
    data file is read. Raises `ConfigError`.
    """
    tree = Tree(plain_document(document), "sweep.json")
    context = Context(Path(document.get("folder", ".")), document.get("files", {}), checked)
    sections, claims = _sections(tree)
    blocks = parse(tree)
    tree.refuse()
    measures = columns_of_uses([*claim_uses(claims), *report_uses(sections.report)])

    def compose() -> list[Cell]:
        if checked:
            add_folders(folders_of(document))
        cells = Composer(tree, sections.seed, context, measures).cells(blocks)
        tree.refuse()
        return cells

    return _assembled(sections, blocks, document, compose)


def plain_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a document, as `load` reads it from a file."""
    return {key: value for key, value in document.items() if key not in STORED}


def _sections(tree: Tree) -> tuple[Sections, dict[int, Claim]]:
    """Build the sections, and the claims by their number; errors in them and in the top-level keys go to the tree.

    Where a key has a problem, the sections have its default, so that the other keys can be checked further.
    """
    undrawn = tree.value.get("data") == NO_DATA
    allowed = (*HEADER, *(UNDRAWN if undrawn else COMPONENTS))
    for key in tree.value:
        if key not in allowed:
            where = " with `data: none`" if undrawn else ""
            text = f"unknown key{where}; allowed: {', '.join(allowed)}{did_you_mean(key, allowed)}"
            tree.report((key,), text, key=True)

    def sound(make: Callable[[Any], Any], value: Any, default: Any, at: TreePath) -> Any:
        """Return what `make` returns for a mapping, if need be without the keys that have problems, or the default."""
        try:
            return make(value)
        except ConfigError as error:
            tree.adopt(error, at)
            wrong = {problem.path[0] for problem in error.problems if problem.path}
        try:
            return make({key: item for key, item in value.items() if key not in wrong}) if wrong else default
        except ConfigError:  # the same problems, such as a missing key, or their consequences
            return default

    header = {key: tree.value[key] for key in names_of(Header) if key in tree.value}
    head = sound(partial(build, Header), header, Header("none"), ())
    report = sound(partial(build, ReportSpec), tree.value.get("report", {}), ReportSpec(), ("report",))
    sampling = sound(
        partial(build_kind, SAMPLINGS), tree.value.get("sampling", {"kind": "uniform"}), Even(), ("sampling",)
    )
    claims = build_claims(tree) if "claims" in tree.value else {}
    return Sections(**vars(head), sampling=sampling, claims=tuple(claims.values()), report=report), claims


def _assembled(
    sections: Sections, blocks: list[Block], document: dict[str, Any], compose: Callable[[], Sequence[Cell]]
) -> Sweep:
    report = sections.report
    report = replace(report, labels={name: printable(label) for name, label in report.labels.items()})
    shown = {"title": printable(sections.title), "source": printable(sections.source), "report": report}
    return Sweep(
        **{**vars(sections), **shown},
        axes=axes_of(blocks),
        computed=computed_axes(blocks),
        slicing=slicing(sections.report, blocks),
        document=document,
        compose=compose,
    )


def _document(tree: Tree, sections: Sections, composer: Composer, axes: tuple[str, ...]) -> dict[str, Any]:
    """Return the document: the config as plain data, with defaults for fields that no axis gives, without backend."""
    document = {name: getattr(sections, name) for name in names_of(Header) if name != "backend"}
    if not isinstance(sections.sampling, Even):
        kind = next(name for name, made in SAMPLINGS.items() if isinstance(sections.sampling, made))
        fields = {name: value for name, value in asdict(sections.sampling).items() if value is not False}
        document["sampling"] = {"kind": kind, **fields}
    on_axes = {path.split(".")[0] for path in axes}
    for name in fields_of(tree.value, axes):
        part = composer.built.get((name,))
        if name not in on_axes and part is not None:
            if is_left_out(name, part) or part is ABSENT:
                continue
            document[name] = part.stored
        elif name in tree.value or name in DEFAULTS:
            document[name] = copy.deepcopy(tree.value.get(name, DEFAULTS.get(name)))
    for name in ("axes", "claims", "report"):
        if name in tree.value:
            document[name] = copy.deepcopy(tree.value[name])
    for i, curve in enumerate(sections.report.curves):
        if isinstance(curve, PointsCurve):
            document["report"]["curves"][i] = json.loads(json.dumps(asdict(curve)))
    ensembles = [part.value for part in composer.made("data")]
    files = {ensemble.path: ensemble.digest for ensemble in ensembles if isinstance(ensemble, File)}
    if files:
        document["files"] = files
    if files or any(part.user_code for part in composer.built.values() if part is not None):
        document["folder"] = str(composer.context.folder)
    return document
