"""Load sweeps without importing user code in this process: another process composes the sweeps that name some."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from recovery.backends import Backend
from recovery.config import Cell, load as load_config, user_code_in
from recovery.config.sweep import Sweep, from_document
from recovery.config.tree import refusal
from recovery.user import add_folders, folders_of


def load(
    config: str | Path | Mapping[str, Any],
    overrides: Sequence[str] | Mapping[str, Any] = (),
    until: str | None = None,
) -> Sweep:
    """Load a config, with user code in another process.

    config: a YAML file, the name of a shipped config, YAML text, or a mapping. overrides: a list of `PATH=VALUE`, or a
    mapping of paths to values. until: the rule that ends the sweep, such as `threshold +-0.05`.

    Raises `ConfigError`; `ParameterError` if that process ends.
    """
    return load_config(config, overrides, until, elsewhere=_composed_elsewhere)


def sweep_of(document: dict[str, Any], *, trust: bool) -> Sweep:
    """Return the sweep of a stored config, to run it. Raises `ConfigError` for user code that is not trusted."""
    if not (names := user_code_in(document)):
        return from_document(document, checked=True)
    if not trust:
        text = f"runs code of {document.get('folder', 'its author')}: {', '.join(sorted(names))}"
        raise refusal("the stored sweep", f"{text}; --trust allows it")
    add_folders(folders_of(document))
    return _composed_elsewhere(partial(from_document, document, checked=True))


def _composed_elsewhere(compose: Callable[[], Sweep]) -> Sweep:
    """Return the sweep that `compose` returns in another process, which then ends."""
    # imported here, because this module loads Arrow and the solvers, which few configs need
    from recovery.runner.pool import ask

    document, backend, cells = ask(_parts, compose)
    return replace(from_document(document), backend=backend, compose=lambda: cells)


def _parts(compose: Callable[[], Sweep]) -> tuple[dict[str, Any], Backend, Sequence[Cell]]:
    """Return the document, backend and cells of the sweep that `compose` returns, in the process that imports the code.

    The cells hold placeholders of user code, so that this process can read them without it.
    """
    sweep = compose()
    return sweep.document, sweep.backend, sweep.cells
