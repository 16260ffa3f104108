"""User code (an ensemble, architecture, planted model, method or solver), named as `module:NAME`: import and hashes."""

import importlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from recovery.errors import ParameterError
from recovery.text import did_you_mean

PROGRAM = __name__.partition(".")[0]
INSTALLED = frozenset({"site-packages", "dist-packages"})
IMPORTS = re.compile(rb"\b(?:from|import)\b(?:[^\n(]*\([^)]*\)|(?:\\\r?\n|[^\n])*)")
"""Import statements, also over several lines; other text with these words does no harm."""

USER_NAME = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"


def is_user_name(name: object) -> bool:
    """Return whether a name has the form `module:NAME`."""
    return isinstance(name, str) and re.fullmatch(USER_NAME, name) is not None


def leaves(value: object) -> Iterator[object]:
    """Yield the texts, numbers and nulls in plain data, keys included."""
    if isinstance(value, Mapping | list):
        for item in (*value, *value.values()) if isinstance(value, Mapping) else value:
            yield from leaves(item)
    else:
        yield value


def user_names(value: object) -> Iterator[str]:
    """Yield the names `module:NAME` in plain data."""
    return (leaf for leaf in leaves(value) if isinstance(leaf, str) and is_user_name(leaf))


def add_folders(folders: Iterable[Path]) -> None:
    """Let modules in these folders be imported, with the lowest priority; worker processes inherit the path."""
    for folder in folders:
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


def resolve(name: str) -> Any:
    """Return the object that `module:attribute` names; importing it runs the module. Raises `ParameterError`."""
    module_name, _, attribute = name.partition(":")
    if module_name == "__main__":
        raise ParameterError(
            f"'__main__' is another module in each process; write {attribute} to a file, in a notebook by a cell that "
            f"begins with `%%writefile my.py`, and name it my:{attribute}"
        )
    folder = os.open(".", os.O_RDONLY)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        top = module_name.split(".")[0]
        if error.name is not None and top == error.name.split(".")[0]:
            raise ParameterError(
                f"no module {module_name!r}; put {top}.py beside the config or into the current folder"
            ) from error
        raise ParameterError(f"module {module_name!r} imports {error.name!r}, which is not installed") from error
    except (Exception, SystemExit) as error:  # the user's module may raise anything when it is imported
        raise ParameterError(f"module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        # go back to the folder: a module that changes the current folder must not change where results are stored
        os.fchdir(folder)
        os.close(folder)
    if not hasattr(module, attribute):
        public = [key for key in vars(module) if not key.startswith("_")]
        raise ParameterError(f"module {module_name!r} has no {attribute!r}{did_you_mean(attribute, public)}")
    return getattr(module, attribute)


def fingerprint(names: Iterable[str], folders: Iterable[Path] | None = None) -> str:
    """Return a hash of the sources of the modules that these `module:NAME` name, and of the modules beside or below
    them that their import statements name.

    folders: find the modules on the path and in these folders, and import none; by default they are imported already.
    Raises `ParameterError` if a file is not found.
    """
    sources = dict[str, bytes]()
    for module in {name.partition(":")[0] for name in names}:
        found = getattr(sys.modules.get(module), "__file__", None)
        if folders is not None:
            found = _file(module, [*sys.path, *map(str, folders)])
        if found is not None:
            path = Path(found)
            _collect(path, path.parents[module.count(".") + (path.name == "__init__.py")], sources)
    digest = blake2b(digest_size=8)
    for place in sorted(sources):
        digest.update(f"{place} {len(sources[place])}\n".encode() + sources[place])
    return digest.hexdigest()


def folders_of(document: Mapping[str, Any]) -> list[Path]:
    """Return the folders where the user code of a stored config is looked for."""
    return [Path(document.get("folder", ".")), Path.cwd()]


def _file(module: str, places: Sequence[str] | None) -> str:
    """Return the file of a module. Raises `ParameterError` if there is none."""
    name, found = "", None
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        found = None if places is None else PathFinder.find_spec(name, places)
        places = found.submodule_search_locations if found else None
    if found is None or found.origin is None:
        raise ParameterError(f"no file of the module {module!r}")
    return found.origin


def _collect(path: Path, root: Path, sources: dict[str, bytes]) -> None:
    """Add the source of a file below `root`, and of the modules below `root` that its import statements name."""
    place = path.relative_to(root).as_posix()
    if place in sources or not path.is_file():
        return
    sources[place] = path.read_bytes()
    if path.suffix != ".py" or not INSTALLED.isdisjoint(root.parts):
        return
    words = {word.decode() for line in IMPORTS.findall(sources[place]) for word in re.findall(rb"[A-Za-z_]\w*", line)}
    pending = [folder for folder in path.parents if folder.is_relative_to(root)]
    while pending:
        folder = pending.pop()
        if folder != root:
            _collect(folder / "__init__.py", root, sources)
        for near in folder.iterdir():
            if near.stem not in words - {PROGRAM}:
                continue
            if near.suffix == ".py":
                _collect(near, root, sources)
            elif near.is_dir() and not near.is_symlink():
                pending.append(near)
