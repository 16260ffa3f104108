"""Load sweeps without importing user code in this process: another process composes a sweep that names user code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from recovery.config import ConfigError, MissingFileError, Sweep, from_document, read_config, user_code_in
from recovery.config.sweep import allow_imports, stored_context
from recovery.config.transfer import pack, unpack
from recovery.config.tree import Place, Problem
from recovery.errors import ParameterError, RecoverError
from recovery.runner.fork_server import FORK_SERVER
from recovery.types import Array


def load(
    config: str | Path | Mapping[str, Any],
    overrides: Sequence[str] | Mapping[str, Any] = (),
    until: str | None = None,
    *,
    refine: bool = True,
) -> Sweep:
    """Load a config, with user code in another process. Raises `ConfigError`; `ParameterError` if that process ends."""
    source = read_config(config, overrides, until, refine=refine)
    if not source.names_user_code:
        return source.sweep()
    allow_imports(source.context)
    return _composed_elsewhere(source.sweep)


def sweep_of(document: dict[str, Any], *, trust: bool) -> Sweep:
    """Return the sweep of a stored config; if it has user code that is trusted, another process composes the cells."""
    if not (trust and user_code_in(document)):
        return from_document(document)
    allow_imports(stored_context(document))
    return _composed_elsewhere(partial(from_document, document, trust=True))


def _composed_elsewhere(compose: Callable[[], Sweep]) -> Sweep:
    """Return the sweep that `compose` returns in another process, which then ends."""
    FORK_SERVER.begin()  # the fork server loads its modules while this process loads its own
    # imported here, because this module loads Arrow and the solvers, which few configs need
    from recovery.runner.pool import ask

    answer, arrays = ask(describe, compose)
    if "problems" in answer:
        problems = [Problem(**{**problem, "place": Place(**problem["place"])}) for problem in answer["problems"]]
        raise MissingFileError(problems, *answer["of"]) if answer["of"] else ConfigError(problems)
    if "error" in answer:
        raise ParameterError(answer["error"])
    return unpack(answer, arrays)


def describe(compose: Callable[[], Sweep]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the composed sweep, or its problems, as data; called in the process that imports the user code."""
    try:
        return pack(compose())
    except ConfigError as error:
        of = [error.name, error.title, error.source] if isinstance(error, MissingFileError) else []
        return {"problems": [asdict(problem) for problem in error.problems], "of": of}, {}
    except RecoverError as error:
        return {"error": str(error)}, {}
