"""Load sweeps without importing user code in this process.

Another process composes a sweep that names user code, and sends the composed cells as plain data and arrays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from recovery.config import ConfigError, MissingFileError, read_config, user_code_in
from recovery.config.categorical import CategoricalColumn, constant
from recovery.config.components import ABSENT, COMPONENTS, Component, Context
from recovery.config.sweep import Sweep, allow_imports, from_document, stored_context
from recovery.config.tree import Invalid, Place, Problem
from recovery.config.trials import AXES, NO_AXES, SweepCells
from recovery.config.user_code import UserValue
from recovery.errors import ParameterError, RecoverError
from recovery.methods.columns import columns_document, columns_from
from recovery.runner.fork_server import FORK_SERVER
from recovery.types import Array, Scalar


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


CHANGED = "the answer about the config's user code is not valid; the code has changed what the program reports"


def pack(sweep: Sweep) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the document, backend and cells of a sweep as JSON data and arrays."""
    cells: SweepCells = sweep.cells
    arrays: dict[str, Any] = {"costs": cells.costs, "point": cells.point}
    parts = {name: [_packed(part) for part in column.values] for name, column in cells.parts.items()}
    coordinates = {name: list(column.values) for name, column in cells.coordinates.items()}
    columns: dict[str, CategoricalColumn[Any]] = {**cells.parts}
    columns |= {f"at {name}": column for name, column in cells.coordinates.items()}
    arrays |= {name: column.codes for name, column in columns.items() if len(column.values) > 1}
    hashes = [[sorted(names), *codes] for names, codes in cells.hashes.items()]
    packed = {"parts": parts, "coordinates": coordinates, "hashes": hashes}
    return {"document": sweep.document, "backend": sweep.backend, **packed}, arrays


def unpack(packed: Mapping[str, Any], arrays: Mapping[str, Array]) -> Sweep:
    """Return the sweep that `pack` was given, without importing user code. Raises `ParameterError` for other data."""
    try:
        sweep = replace(from_document(packed["document"]), backend=packed["backend"])
        cells = _cells(packed, arrays, sweep)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, Invalid) as error:
        raise ParameterError(CHANGED) from error
    return replace(sweep, compose=lambda: cells)


def _cells(packed: Mapping[str, Any], arrays: Mapping[str, Array], sweep: Sweep) -> SweepCells:
    costs = np.array(arrays["costs"], np.float64)
    if costs.ndim != 1 or not ((costs > 0) & (costs < np.inf)).all():
        raise ValueError("costs")

    def column(name: str, values: list[Any]) -> CategoricalColumn[Any]:
        if len(values) == 1:
            return constant(values[0], len(costs))
        codes: Any = arrays[name]
        if (
            codes.shape != costs.shape
            or codes.dtype.kind not in "iu"
            or not ((codes >= 0) & (codes < len(values))).all()
        ):
            raise ValueError(name)
        return CategoricalColumn(values, codes)

    context = stored_context(sweep.document)
    parts = {
        name: column(name, [_unpacked(name, one, context) for one in packed["parts"][name]])
        for name in (*COMPONENTS, AXES)
    }
    coordinates = {name: column(f"at {name}", values) for name, values in packed["coordinates"].items()}
    if not all(isinstance(value, Scalar) for one in coordinates.values() for value in one.values):
        raise TypeError("coordinates")
    hashes = {frozenset(names): tuple(map(str, codes)) for names, *codes in packed["hashes"]}
    return SweepCells(sweep.seed, parts, coordinates, costs, np.array(arrays["point"], np.intp), hashes)


def _packed(part: Component) -> Any:
    """Return a component of the program as its stored data; a component of user code as what importing it has shown."""
    if isinstance(part.value, UserValue):
        return {"user": [part.value.text, part.tag, part.identity, columns_document(part.value.columns)]}
    return {"stored": part.stored}


def _unpacked(name: str, packed: Mapping[str, Any], context: Context) -> Component:
    if "user" in packed:
        text, tag, identity, columns = packed["user"]
        return Component.of(UserValue(name, str(text), columns_from(columns)), str(tag), identity, identity)
    value = packed["stored"]
    if name == AXES:
        return Component.of(dict(value), None, value, value) if value else NO_AXES
    return ABSENT if value is None else COMPONENTS[name].make(value, context)
