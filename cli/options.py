"""Options, types of values and warnings that several commands share."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recovery.text import path_text

if TYPE_CHECKING:
    from recovery.store import Grid

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
LONGEST = 366 * 86_400.0
"""Longest time in seconds; the system's timers have a limit too."""


def warn_rows(grid: "Grid", *, stale: bool = False) -> None:
    """Warn on stderr of rows of other sweeps or of other versions of the program, and, if `stale`, of stale rows."""
    texts = [grid.left_out, grid.version_words()]
    if stale:
        from recovery.runner.sweep_status import stale_rows

        texts.append(stale_rows(grid))
    for text in filter(None, texts):
        click.echo(text, err=True)


class FolderPath(click.Path):
    """A path that can be printed and written into a script: UTF-8, no control characters. ending: required of it."""

    def __init__(self, ending: str = "", **options: bool) -> None:
        super().__init__(path_type=Path, **options)
        self.ending = ending

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if (text := path_text(value)) != str(value):
            self.fail(f"'{text}' has control characters, or is not UTF-8; give another path", param, ctx)
        path: Path = super().convert(value, param, ctx)  # type: ignore[arg-type, assignment]
        if not path.name.endswith(self.ending):
            self.fail(f"{path}: the name of the file ends in {self.ending}", param, ctx)
        return path


class Seconds(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    """A time in seconds, or with a unit, such as 90, 30m, 2h or 1d."""

    name = "TIME"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+)\s*([a-z]*)", str(value).strip().lower())
        if not match or match[2] not in UNITS:
            self.fail(f"{value!r} is not a time such as 90, 30m, 2h or 1d", param, ctx)
        seconds = float(match[1]) * UNITS[match[2]]
        if not 0 < seconds <= LONGEST:
            self.fail(f"{value!r} is not between 0 and 366 days", param, ctx)
        return seconds


def complete_config(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete names of shipped configs, and YAML files."""
    from recovery.config import shipped

    files = [str(path) for path in Path().glob(f"{incomplete}*") if path.is_dir() or path.suffix in (".yaml", ".yml")]
    return [name for name in [*shipped(), *files] if name.startswith(incomplete)]


instance_file = FolderPath(".npz", dir_okay=False)
config = click.argument("config", shell_complete=complete_config)
results = click.argument("results", type=FolderPath())
out = click.option("--out", type=FolderPath(), help="Results folder.  [default: results/NAME]")
overrides = click.option(
    "--set",
    "overrides",
    metavar="PATH=VALUE",
    multiple=True,
    help="Override a field of the config; repeatable.",
)
until = click.option(
    "--until",
    metavar="RULE",
    help="Sample at the boundary until 'threshold +-0.05' or 'width +-0.05', or until claims of thresholds are "
    "'decided'.",
)
trust = click.option(
    "--trust", is_flag=True, help="Run the user code that RESULTS names. Use it only if you trust the author."
)
