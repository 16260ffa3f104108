"""Sweeps that run the user's code, composed without importing it: another process says what has to be known of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from recovery.config import ConfigError, MissingFileError, Sweep, from_document, own_code
from recovery.config import load as load_here
from recovery.config.mapping import as_overrides, as_text
from recovery.config.own import OwnCode, UntoldError
from recovery.config.problems import Place, Problem
from recovery.errors import ParameterError, RecoverError
from recovery.notebook import provide
from recovery.runner.fork_server import FORK_SERVER
from recovery.types import Array


class _Compose(Protocol):
    def __call__(self, *, own: OwnCode) -> Sweep: ...


def load(
    config: str | Path | Mapping[str, Any],
    overrides: Sequence[str] | Mapping[str, Any] = (),
    until: str | None = None,
) -> Sweep:
    """As `recovery.config.load`. Raises `ConfigError`; `ParameterError` where own code ends the process that imports
    it."""
    code = dict[str, str]()
    if isinstance(config, Mapping):
        text, code = as_text(config)
        provide(code)
        config = f"{text}\n"
    return _composed(partial(load_here, config, as_overrides(overrides), until, code=code))


def sweep_of(document: dict[str, Any], *, trust: bool) -> Sweep:
    """As `recovery.config.from_document`, its cells composed now if they run code that is trusted."""
    if not (trust and own_code(document)):
        return from_document(document)
    provide(document.get("code", {}))
    return _composed(partial(_with_cells, document))


def _with_cells(document: dict[str, Any], *, own: OwnCode) -> Sweep:
    sweep = from_document(document, trust=True, own=own)
    assert len(sweep.cells)
    return sweep


def _composed(compose: _Compose) -> Sweep:
    try:
        return compose(own=OwnCode(imports=False))
    except UntoldError:
        FORK_SERVER.begin()  # loads its modules while this process loads its own
        from recovery.runner.pool import ask  # Arrow and the solvers, which few configs need

        told, costs = ask(tell, compose)
    if "problems" in told:
        problems = [Problem(**{**problem, "place": Place(**problem["place"])}) for problem in told["problems"]]
        raise MissingFileError(problems, *told["of"]) if told["of"] else ConfigError(problems)
    if "error" in told:
        raise ParameterError(told["error"])
    try:
        return compose(own=OwnCode.of(told, costs))
    except UntoldError as error:
        raise ParameterError("the config or its own code has changed while it was read; call again") from error


def tell(compose: _Compose) -> tuple[dict[str, Any], dict[str, Array]]:
    """What composing the sweep asks of its own code, or what is wrong with it; for the process that imports it."""
    own = OwnCode()
    try:
        compose(own=own)
    except ConfigError as error:
        of = [error.name, error.title, error.source] if isinstance(error, MissingFileError) else []
        return {"problems": [asdict(problem) for problem in error.problems], "of": of}, {}
    except RecoverError as error:
        return {"error": str(error)}, {}
    return own.document()
