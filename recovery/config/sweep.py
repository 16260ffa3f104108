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

from recovery.config.axes import parse
from recovery.config.claims import build_claims, claim_faults
from recovery.config.components import ABSENT, COMPONENTS, DEFAULTS, Context, is_left_out
from recovery.config.compose import Composer
from recovery.config.coordinates import combinations
from recovery.config.header import HEADER, Header, PointsCurve, ReportSpec, curve_names, report_faults
from recovery.config.points import Block, axes_of, computed_axes
from recovery.config.sampling import SAMPLINGS, Boundary, Even, Sections, Until, judgeable_faults, sampling_faults
from recovery.config.slicing import Slicing, slicing
from recovery.config.tree import ConfigError, Invalid, MissingFileError, Problem, Tree, canonical_json, refusal
from recovery.config.trials import ID_BYTES, SweepCells, Trials
from recovery.config.user_axes import add_rounding, parameters_of, user_axis_problems, user_code_in
from recovery.config.user_curves import kept_curves
from recovery.config.validate import build, build_kind, keys_of, names_of
from recovery.errors import ParameterError
from recovery.instances.files import File
from recovery.methods.columns import COLUMNS, Columns, columns_of, union
from recovery.notebook import provide
from recovery.text import did_you_mean, printable
from recovery.types import Index, Scalar
from recovery.user import add_folders, is_user_name

STORED = ("folder", "files", "code")
"""Keys of a document that no config has: the folder where relative paths start, the digests of data files, and the
source of functions that were defined in a notebook."""


@dataclass(frozen=True)
class Sweep(Sections):
    """A validated config. `document` is the config as plain data, from which `from_document` builds the sweep again.

    axes: the dotted paths of its axes; each is a column of the rows. computed: the axes given by expressions. slicing:
    the slices in which adaptive sampling looks for the threshold. backend:
    where trials run by default; it is not stored in the document. combinations: the values that the coordinates of
    these names take together, in the order of the config, without composing any cell.
    """

    axes: tuple[str, ...] = field(kw_only=True)
    computed: tuple[str, ...] = field(kw_only=True)
    slicing: Slicing = field(kw_only=True)
    document: dict[str, Any] = field(repr=False, kw_only=True)
    combinations: Callable[[Sequence[str]], list[tuple[Scalar, ...]]] = field(repr=False, kw_only=True)
    compose: Callable[[], SweepCells] = field(repr=False, kw_only=True)

    @cached_property
    def cells(self) -> SweepCells:
        """Every grid cell once; the first axis changes slowest."""
        return self.compose()

    def trials(self, counts: Mapping[str, int] | None = None) -> Trials:
        """Return every trial, cell by cell. An adaptive sweep has the trials of its first round and those of `counts`.

        counts: id of a cell -> its number of trials, if there are more than `replicates`.
        """
        return self.cells.trials(self.asked(counts, self.cells) if counts else self.replicates)

    def asked(self, counts: Mapping[str, int], cells: SweepCells) -> Index:
        """Return the number of trials of each cell: `replicates`, or the number in `counts` if it is larger."""
        asked = np.full(len(cells), self.replicates)
        if counts and not isinstance(self.sampling, Even):
            known = dict(zip(cells.keys.tolist(), range(len(cells)), strict=True))
            for cell, count in counts.items():
                if (at := known.get(int(cell, 16))) is not None:
                    asked[at] = max(asked[at], count)
        return asked

    @cached_property
    def columns(self) -> Columns:
        """The columns that the methods of the sweep measure."""
        return union(map(columns_of, self.cells.methods))

    @property
    def size(self) -> int:
        """The number of trials; for an adaptive sweep, the largest number possible."""
        if isinstance(self.sampling, Boundary):
            return self.sampling.budget
        return len(self.cells) * self.replicates * (self.sampling.ceiling if isinstance(self.sampling, Until) else 1)

    @cached_property
    def digest(self) -> str:
        """A hash of the document."""
        return blake2b(canonical_json(self.document).encode(), digest_size=ID_BYTES).hexdigest()


def composed(tree: Tree, context: Context, problems: Sequence[Problem]) -> Sweep:
    """Return the sweep of a tree, all of its cells composed and validated; user code is imported here.

    problems: those found when the tree was read. Raises `ConfigError` with all problems, as `MissingFileError` if the
    only problem is a missing data file.
    """
    sections, more = _sections(tree)
    problems = [*problems, *more]
    allow_imports(context)
    parameters = parameters_of(tree)
    add_rounding(tree, parameters)
    blocks, more = parse(tree)
    axes = axes_of(blocks)
    composer = Composer(tree, sections.seed if sections else 0, context, parameters)
    cells = composer.cells(blocks)
    problems += more + composer.problems
    columns: Columns = COLUMNS
    try:
        columns = union(columns_of(part.value) for part in composer.made("method")) or COLUMNS
    except ParameterError as error:
        problems.append(tree.problem(("method",), str(error)))
    problems += user_axis_problems(tree, blocks, columns, parameters)
    if sections is not None:
        faults = [
            *claim_faults(sections.claims, axes, columns, curve_names),
            *report_faults(sections.report, axes, columns),
        ]
        if not problems and not faults:
            curves, faults = kept_curves(sections.report, cells, context)
            faults += judgeable_faults(sections.claims, sections.report, axes, cells, columns)
            faults += sampling_faults(sections, slicing(sections.report, blocks), cells, columns)
            sections = replace(sections, report=replace(sections.report, curves=tuple(curves)))
        problems += tree.problems((), faults)
    if problems and all(problem.missing for problem in problems):
        raise MissingFileError(problems, *(tree.value.get(key, "") for key in ("name", "title", "source")))
    if problems or sections is None:
        raise ConfigError(problems)
    return _assembled(sections, blocks, _document(tree, sections, composer, axes), lambda: cells)


def from_document(document: dict[str, Any], *, trust: bool = False) -> Sweep:
    """Return the sweep that a document was stored from; its cells are composed when first needed. Raises `ConfigError`.

    trust: allow composing to import the user code that the document names; otherwise such cells are refused, and
    everything else about the sweep is available.
    """
    tree = Tree(plain_document(document), "document")
    context = stored_context(document)
    sections, problems = _sections(tree)
    blocks, more = parse(tree)
    if problems or more or sections is None:
        raise ConfigError([*problems, *more])

    def compose() -> SweepCells:
        if trust:
            allow_imports(context)
        elif names := user_code_in(document):
            text = f"runs code of {document.get('folder', 'its author')}: {', '.join(sorted(names))}"
            raise refusal("the stored sweep", f"{text}; --trust allows it")
        composer = Composer(tree, sections.seed, context, parameters_of(tree))
        cells = composer.cells(blocks)
        if composer.problems:
            raise ConfigError(composer.problems)
        return cells

    return _assembled(sections, blocks, document, compose)


def stored_context(document: Mapping[str, Any]) -> Context:
    """Return the surroundings of a stored document."""
    return Context(Path(document.get("folder", ".")), document.get("files", {}), code=document.get("code", {}))


def plain_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config of a document, as `load` reads it from a file beside the modules of `code`."""
    return {key: value for key, value in document.items() if key not in STORED}


def allow_imports(context: Context) -> None:
    """Let this process and its children import user code of the config, from its folder or the current folder."""
    provide(context.code)
    add_folders([context.folder, Path.cwd()])


def _sections(tree: Tree) -> tuple[Sections | None, list[Problem]]:
    """Build the sections, None if one has a problem; return them and the problems, also of top-level keys."""
    problems = []
    allowed = (*HEADER, *COMPONENTS)
    for key in tree.value:
        if key not in allowed:
            text = f"unknown key; allowed: {', '.join(allowed)}{did_you_mean(key, allowed)}"
            problems.append(tree.problem((key,), text, key=True))
    sections: dict[str, Any] = {}
    header = {key: tree.value[key] for key in keys_of(Header) if key in tree.value}
    for name, make in (
        ("header", lambda: build(Header, header)),
        ("claims", lambda: build_claims(tree.value.get("claims", []))),
        ("report", lambda: build(ReportSpec, tree.value.get("report", {}))),
        ("sampling", lambda: build_kind(SAMPLINGS, tree.value.get("sampling", {"kind": "uniform"}))),
    ):
        try:
            sections[name] = make()
        except Invalid as error:
            problems += tree.problems(() if name == "header" else (name,), error.faults)
    return Sections(**vars(sections.pop("header")), **sections) if len(sections) == 4 else None, problems


def _assembled(
    sections: Sections, blocks: list[Block], document: dict[str, Any], compose: Callable[[], SweepCells]
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
        combinations=partial(combinations, tuple(blocks), document),
        compose=compose,
    )


def _document(tree: Tree, sections: Sections, composer: Composer, axes: tuple[str, ...]) -> dict[str, Any]:
    """Return the config as plain data, with defaults for the fields that no axis gives; without the backend."""
    document = {name: getattr(sections, name) for name in names_of(Header) if name not in ("backend", "needs")}
    if not isinstance(sections.sampling, Even):
        kind = next(name for name, made in SAMPLINGS.items() if isinstance(sections.sampling, made))
        fields = {name: value for name, value in asdict(sections.sampling).items() if value is not False}
        document["sampling"] = {"kind": kind, **fields}
    on_axes = {path.split(".")[0] for path in axes}
    for name in COMPONENTS:
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
    tags = [part.tag for name in ("data", "planted", "architecture", "method") for part in composer.made(name)]
    if files or any(map(is_user_name, tags)):
        document["folder"] = str(composer.context.folder)
    if composer.context.code:
        document["code"] = dict(composer.context.code)
    return document
