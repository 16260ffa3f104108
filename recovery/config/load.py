"""A config file, or a stored document, to a sweep."""

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from recovery.config.axes import parse
from recovery.config.build import Fault, Invalid, build, build_kind
from recovery.config.cells import SweepCells
from recovery.config.claims import Claim, build_claims, claim_faults
from recovery.config.components import ABSENT, COMPONENTS, DEFAULTS, Context, is_left_out
from recovery.config.compose import Composer
from recovery.config.describe import choices, keys_of
from recovery.config.header import HEADER, Header, PointsCurve, ReportSpec, curve_names, report_faults
from recovery.config.labels import combinations
from recovery.config.mapping import as_overrides, as_text
from recovery.config.overrides import override
from recovery.config.own import OwnCode
from recovery.config.own_axes import has_own_code, own_faults, say_rounding
from recovery.config.own_curves import kept_curves
from recovery.config.points import Block, axes_of, computed_axes
from recovery.config.problems import ConfigError, MissingFileError, Place, Problem, as_shown
from recovery.config.reader import read, read_text
from recovery.config.sampling import SAMPLINGS, Even, Sampling, sampling_faults
from recovery.config.sweep import Sweep
from recovery.config.tree import Tree
from recovery.errors import ParameterError
from recovery.instances.files import File
from recovery.methods.columns import COLUMNS, Columns, columns_of, union
from recovery.notebook import provide
from recovery.text import did_you_mean, printable
from recovery.user import add_folders, is_user_name, user_names

STORED = ("folder", "files", "code")
"""Keys of a document that a config does not have: where its relative paths start, the digests of data files, and the
source of functions that were written in a notebook."""


def shipped() -> dict[str, Path]:
    """Name -> file of the configs that come with the program."""
    folder = Path(str(resources.files("recovery.configs")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load(
    config: str | Path | Mapping[str, Any],
    overrides: Sequence[str] | Mapping[str, Any] = (),
    until: str | None = None,
    own: OwnCode | None = None,
    code: Mapping[str, str] | None = None,
) -> Sweep:
    """The sweep of a YAML file, of a shipped config's name, of YAML text (more than one line) or of a mapping.

    overrides: `PATH=VALUE`, one or several, or a mapping of them. until: the rule of `sampling: {kind: until}`, in
    place of the config's `sampling`. Every cell is composed and validated. Raises `ConfigError` with every
    problem of the config and the overrides, as `MissingFileError` where only the data file is missing. Relative paths
    start in the config's folder, or in the current one. The user's code that it names is imported, unless `own` has
    what it says of itself. code: the source of modules that the text of a config names.
    """
    folder = Path.cwd()
    if isinstance(config, Mapping):
        text, code = as_text(config)
        tree, problems = read_text(text, "config")
    elif isinstance(config, str) and "\n" in config:
        tree, problems = read_text(config, "config")
    else:
        path = find(config)
        tree, problems = read(path)
        folder = path.parent.resolve()
    if until is not None:
        there = tree.value.get("sampling")
        kept = there if isinstance(there, dict) and there.get("kind") == "until" else {}
        tree.put(("sampling",), {**kept, "kind": "until", "rule": until}, Place(1, 0, 0, f"--until {until!r}"))
    for rank, text in enumerate(as_overrides(overrides), start=1):
        problems += override(tree, text, rank)
    needs = str(tree.value.get("needs", ""))
    sweep, sweep_problems = _sweep(tree, Context(folder, needs=needs, own=own or OwnCode(), code=code or {}))
    problems += sweep_problems
    if problems and all(problem.missing for problem in problems):
        raise MissingFileError(problems, *(tree.value.get(key, "") for key in ("name", "title", "source")))
    if problems:
        raise ConfigError(problems)
    assert sweep is not None
    return sweep


def load_shipped(names: Iterable[str] | None = None) -> tuple[list[Sweep], list[MissingFileError]]:
    """The shipped sweeps of these names, or all, and those whose data file is not there."""
    sweeps, missing = list[Sweep](), list[MissingFileError]()
    for name in shipped() if names is None else names:
        try:
            sweeps.append(load(name))
        except MissingFileError as error:
            missing.append(error)
    return sweeps, missing


def from_document(document: dict[str, Any], *, trust: bool = False, own: OwnCode | None = None) -> Sweep:
    """The sweep that a document was stored from; its cells are composed when first asked for. Raises `ConfigError`.

    trust: let cells import the user's code that the document names; without it they are refused where there is some,
    while all else about the sweep is known. own: as in `load`.
    """
    tree = Tree(plain_document(document), "document")
    context = Context(
        Path(document.get("folder", ".")),
        document.get("files", {}),
        own=own or OwnCode(),
        code=document.get("code", {}),
    )
    parts, problems = _parts(tree)
    blocks, more = parse(tree)
    if problems or more or parts is None:
        raise ConfigError([*problems, *more])

    def compose() -> SweepCells:
        if not trust and (own := own_code(document)):
            text = f"runs code of {document.get('folder', 'its author')}: {', '.join(sorted(own))}; --trust allows it"
            raise ConfigError([Problem(Place(0, 0, 0, "the stored sweep"), "", text)])
        return _cells(tree, parts.header.seed, blocks, context, trust)

    return _assemble(parts, blocks, document, compose)


def plain_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """The config of a document, as a file that `load` reads; modules of `code` lie beside it."""
    return {key: value for key, value in document.items() if key not in STORED}


def own_code(document: Mapping[str, Any]) -> set[str]:
    """The names `module:attribute` of the user's code in a document."""
    return {name for field in (*COMPONENTS, "axes") for name in user_names(document.get(field))}


def find(path_or_name: str | Path) -> Path:
    """The file of a config given by path or by shipped name. Raises `ConfigError`."""
    path, configs = Path(path_or_name), shipped()
    try:
        if path.is_file():
            return path
    except OSError as error:
        raise ConfigError([Problem(Place(0, 0, 0, as_shown(str(path))), "", str(error.strerror))]) from error
    if str(path_or_name) in configs:
        return configs[str(path_or_name)]
    if path.is_dir():
        raise ConfigError([Problem(Place(0, 0, 0, str(path)), "", "is a folder; give a YAML file")])
    text = "no such file, and no shipped config of that name; `recover configs` lists them"
    beside = [path.with_suffix(ending) for ending in (".yaml", ".yml", ".json") if path.with_suffix(ending) != path]
    if there := [str(other) for other in beside if other.is_file()]:
        raise ConfigError([Problem(Place(0, 0, 0, str(path_or_name)), "", f"no such file; did you mean {there[0]!r}?")])
    word = str(path_or_name).removesuffix(".yaml")
    inside = [name for name in configs if word in name] if word else []
    hint = f"; did you mean {choices(map(repr, inside))}?" if inside else did_you_mean(word, configs)
    raise ConfigError([Problem(Place(0, 0, 0, str(path_or_name)), "", text + hint)])


def _cells(tree: Tree, seed: int, blocks: list[Block], context: Context, trust: bool) -> SweepCells:
    if trust:
        provide(context.code)
        add_folders([context.folder, Path.cwd()])
    composer = Composer(tree, seed, context)
    cells = composer.cells(blocks)
    if composer.problems:
        raise ConfigError(composer.problems)
    return cells


class _Parts(NamedTuple):
    """What a config says beside its science fields and axes."""

    header: Header
    claims: tuple[Claim, ...]
    report: ReportSpec
    sampling: Sampling


def _sweep(tree: Tree, context: Context) -> tuple[Sweep | None, list[Problem]]:
    if has_own_code(tree):
        context.own.expect()
    parts, problems = _parts(tree)
    provide(context.code)
    add_folders([context.folder, Path.cwd()])
    say_rounding(tree, context.own)
    blocks, more = parse(tree)
    axes = axes_of(blocks)
    composer = Composer(tree, parts.header.seed if parts else 0, context)
    cells = composer.cells(blocks)
    problems += more + composer.problems
    columns: Columns = COLUMNS
    try:
        columns = union(columns_of(built.value) for built in composer.made("method")) or COLUMNS
    except ParameterError as error:
        problems.append(tree.problem(("method",), str(error)))
    problems += own_faults(tree, blocks, columns, context.own)
    kept: list[Any] = []
    if parts is not None:
        head, claims, report, sampling = parts
        faults = [*claim_faults(claims, axes, columns, curve_names), *report_faults(report, axes, columns)]
        if not problems and not faults:
            sizes = {name: len(cells.coordinates[name].distinct) for name in ("n", "d")}
            kept, more_faults = kept_curves(report, cells, context)
            faults += more_faults
            faults += sampling_faults(
                sampling, head, claims, report, axes, computed_axes(blocks), len(cells), sizes, columns
            )
        problems += [_placed(tree, (), fault) for fault in faults]
    if problems or parts is None:
        return None, problems
    parts = parts._replace(report=replace(parts.report, curves=tuple(kept)))
    document = _document(tree, parts, composer, axes)
    return _assemble(parts, blocks, document, lambda: cells), []


def _assemble(parts: _Parts, blocks: list[Block], document: dict[str, Any], compose: Callable[[], SweepCells]) -> Sweep:
    head, axes, computed = parts.header, axes_of(blocks), computed_axes(blocks)
    return Sweep(
        name=head.name,
        title=printable(head.title),
        source=printable(head.source),
        seed=head.seed,
        replicates=head.replicates,
        backend=head.backend,
        sampling=parts.sampling,
        claims=parts.claims,
        report=parts.report,
        axes=axes,
        computed=computed,
        document=document,
        combinations=partial(combinations, tuple(blocks), document),
        compose=compose,
    )


def _parts(tree: Tree) -> tuple[_Parts | None, list[Problem]]:
    """The parts, and what is wrong with them or with the top-level keys."""
    problems = []
    allowed = (*HEADER, *COMPONENTS)
    for key in tree.value:
        if key not in allowed:
            text = f"unknown key; allowed: {', '.join(allowed)}{did_you_mean(key, allowed)}"
            problems.append(tree.problem((key,), text, key=True))
    parts: dict[str, Any] = {}
    for name, make in (
        ("header", lambda: build(Header, {key: tree.value[key] for key in keys_of(Header) if key in tree.value})),
        ("claims", lambda: build_claims(tree.value.get("claims", []))),
        ("report", lambda: build(ReportSpec, tree.value.get("report", {}))),
        ("sampling", lambda: build_kind(SAMPLINGS, tree.value.get("sampling", {"kind": "uniform"}))),
    ):
        try:
            parts[name] = make()
        except Invalid as error:
            at = () if name == "header" else (name,)
            problems += [_placed(tree, at, fault) for fault in error.faults]
    return _Parts(**parts) if len(parts) == 4 else None, problems


def _placed(tree: Tree, at: tuple[str, ...], fault: Fault) -> Problem:
    return tree.problem((*at, *fault.path), fault.text, key=fault.key)


def _document(tree: Tree, parts: _Parts, composer: Composer, axes: tuple[str, ...]) -> dict[str, Any]:
    """The config as plain data, with defaults filled in wherever no axis reaches; without where its trials run."""
    document = {name: value for name, value in asdict(parts.header).items() if name not in ("backend", "needs")}
    if not isinstance(parts.sampling, Even):
        kind = next(name for name, made in SAMPLINGS.items() if isinstance(parts.sampling, made))
        document["sampling"] = {"kind": kind, **asdict(parts.sampling)}
    reached = {path.split(".")[0] for path in axes}
    for name in COMPONENTS:
        part = composer.built.get((name,))
        if name not in reached and part is not None:
            if is_left_out(name, part) or part is ABSENT:
                continue
            document[name] = part.stored
        elif name in tree.value or name in DEFAULTS:
            document[name] = copy.deepcopy(tree.value.get(name, DEFAULTS.get(name)))
    for name in ("axes", "claims", "report"):
        if name in tree.value:
            document[name] = copy.deepcopy(tree.value[name])
    for i, curve in enumerate(parts.report.curves):
        if isinstance(curve, PointsCurve):
            document["report"]["curves"][i] = json.loads(json.dumps(asdict(curve)))
    ensembles = [built.value for built in composer.made("data")]
    files = {ensemble.path: ensemble.digest for ensemble in ensembles if isinstance(ensemble, File)}
    if files:
        document["files"] = files
    tags = [built.tag for name in ("data", "planted", "architecture", "method") for built in composer.made(name)]
    if files or any(map(is_user_name, tags)):
        document["folder"] = str(composer.context.folder)
    if composer.context.code:
        document["code"] = dict(composer.context.code)
    return document
