"""A config that is given from Python, as text: plain data, and the source of functions that a notebook defines."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from recovery.config.problems import ConfigError, Place, Problem
from recovery.errors import RecoverError
from recovery.notebook import module_text, name_of


def as_text(config: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """A mapping as JSON, which is YAML, and the modules of functions and classes of `__main__` in it: name -> source.

    Raises `ConfigError` for what is no plain data, and `ParameterError` for a function that no text holds.
    """
    try:
        own = _of_main(config)
        code = {name_of(text): text for text in [module_text(own)]} if own else {}
        return json.dumps(_plain(config, "", next(iter(code), "")), indent=1, allow_nan=False), code
    except RecoverError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        text = f"cannot be a config: {error}; use plain text, numbers, lists and mappings"
        raise ConfigError([Problem(Place(0, 0, 0, "config"), "", text)]) from error


def as_overrides(overrides: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """`PATH=VALUE` each. Raises `ConfigError`."""
    if isinstance(overrides, Mapping):
        if _of_main(overrides):
            text = "a function of the notebook stands in the config itself, not in an override"
            raise ConfigError([Problem(Place(0, 0, 0, "overrides"), "", text)])
        return [f"{path}={json.dumps(_plain(value, str(path), ''))}" for path, value in overrides.items()]
    return [overrides] if isinstance(overrides, str) else list(overrides)


def _of_main(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [one for inner in value for one in _of_main(inner)]
    return [value] if isinstance(value, FunctionType | type) and value.__module__ == "__main__" else []


def _plain(value: Any, path: str, module: str) -> Any:
    """JSON of a value; `module` is the name under which the functions of `__main__` are stored."""
    if isinstance(value, Mapping):
        return {key: _plain(inner, f"{path}.{key}" if path else str(key), module) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist(), path, module) if value.dtype != object else _refuse(value, path)
    if isinstance(value, list | tuple | range):
        return [_plain(inner, f"{path}[{i}]", module) for i, inner in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, FunctionType | type):
        place = module if value.__module__ == "__main__" else value.__module__
        if place != module and getattr(sys.modules.get(place), value.__name__, None) is not value:
            return _refuse(value, path)
        return f"{place}:{value.__name__}"
    return value if isinstance(value, str | int | float | type(None)) else _refuse(value, path)


def _refuse(value: Any, path: str) -> Any:
    what = f"{type(value).__name__} {getattr(value, '__qualname__', '')}".strip()
    text = f"found {what}, which no config holds; allowed: text, numbers, true, false, lists, mappings and functions"
    raise ConfigError([Problem(Place(0, 0, 0, "config"), path, text)])
