"""Shell completion of configs, fields and columns; nothing if a file cannot be read, because the command reports it."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from click import Context, Parameter

from recovery.errors import RecoverError


def configs(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
    """Complete names of shipped configs, and YAML files."""
    from recovery.config import shipped

    files = [str(path) for path in Path().glob(f"{incomplete}*") if path.is_dir() or path.suffix in (".yaml", ".yml")]
    return [name for name in [*shipped(), *files] if name.startswith(incomplete)]


def _given(ctx: Context) -> str:
    """Return the first argument, which click leaves in `ctx.args` while an option has no value yet."""
    return next(iter(ctx.args), "")


def overrides(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
    """Complete `PATH=` for each field of the given config, without running user code."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    from recovery.config import shipped

    name = _given(ctx)
    try:
        document = YAML(typ="safe").load(shipped().get(name, Path(name)).read_text())
    except (OSError, ValueError, YAMLError):
        return []
    return [f"{path}=" for path in _paths(document) if path.startswith(incomplete)]


def _paths(document: object, before: str = "") -> Iterator[str]:
    for key, value in document.items() if isinstance(document, Mapping) else ():
        yield f"{before}{key}"
        if before.count(".") < 2:
            yield from _paths(value, f"{before}{key}.")


def measured(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
    """Complete the measured columns of the given results folder."""
    from recovery.report.diagram import is_measured
    from recovery.store import read

    try:
        grid = read(Path(_given(ctx)))
    except (RecoverError, OSError):
        return []
    frame = grid.frame
    names = [str(name) for name in frame if str(name).startswith(incomplete)]
    return [name for name in names if is_measured(frame, name, grid.columns)]


def styles(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
    """Complete `KEY=VALUE` of `report.style`."""
    from typing import get_args, get_type_hints

    from recovery.config.header import StyleSpec

    pairs = [
        f"{name}={value}"
        for name, kind in get_type_hints(StyleSpec).items()
        for value in [value for part in (kind, *get_args(kind)) for value in get_args(part) if isinstance(value, str)]
        or (["true", "false"] if bool in get_args(kind) else [""])
    ]
    return [pair for pair in pairs if pair.startswith(incomplete)]


def table_columns(ctx: Context, param: Parameter, incomplete: str) -> list[str]:
    """Complete the columns of the table that is the first argument."""
    from recovery.instances.frames import read_frame

    try:
        table = read_frame(Path(_given(ctx)))[0]
    except (RecoverError, OSError):
        return []
    return [str(name) for name in table if str(name).startswith(incomplete)]
