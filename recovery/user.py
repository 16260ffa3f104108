"""A user's own ensemble, architecture, planted model, method or solver, named as `module:NAME`."""

import importlib
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recovery.errors import ParameterError
from recovery.text import did_you_mean

USER_NAME = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"


def is_user_name(name: object) -> bool:
    """Whether a name is of the form `module:NAME`."""
    return isinstance(name, str) and re.match(USER_NAME, name) is not None


def add_folders(folders: Iterable[Path]) -> None:
    """Let modules in these folders be imported, after all others; worker processes inherit it."""
    for folder in folders:
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


def resolve(name: str) -> Any:
    """The object that `module:attribute` names; importing it runs the module. Raises `ParameterError`."""
    module_name, _, attribute = name.partition(":")
    folder = os.open(".", os.O_RDONLY)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.split(".")[0] == error.name.split(".")[0]:
            raise ParameterError(
                f"no module {module_name!r}; put {module_name.split('.')[0]}.py beside the config or into the "
                "current folder"
            ) from error
        raise ParameterError(f"module {module_name!r} imports {error.name!r}, which is not installed") from error
    except (Exception, SystemExit) as error:  # whatever the user's module raises
        raise ParameterError(f"module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        os.fchdir(folder)  # a module that moves away must not move the results
        os.close(folder)
    if not hasattr(module, attribute):
        public = [key for key in vars(module) if not key.startswith("_")]
        raise ParameterError(f"module {module_name!r} has no {attribute!r}{did_you_mean(attribute, public)}")
    return getattr(module, attribute)
