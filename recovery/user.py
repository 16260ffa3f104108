"""User code (an ensemble, architecture, planted model, method or solver), named as `module:NAME`: import and hashes."""

import ast
import importlib
import itertools
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from recovery.errors import ParameterError
from recovery.text import did_you_mean, syntax_tree

PROGRAM = __name__.partition(".")[0]
INSTALLED = ("site-packages", "dist-packages")

USER_NAME = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"


def is_user_name(name: object) -> bool:
    """Return whether a name has the form `module:NAME`."""
    return isinstance(name, str) and re.fullmatch(USER_NAME, name) is not None


def texts(value: object) -> Iterator[str]:
    """Yield the texts in plain data, keys excepted."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from texts(item)


def user_names(value: object) -> Iterator[str]:
    """Yield the names `module:NAME` in plain data."""
    return filter(is_user_name, texts(value))


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
            f"'__main__' is another module in each process; give the function {attribute} itself in a mapping, from "
            f"Python, or put it into a file beside the config and name it as module:{attribute}"
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


def fingerprint(names: Iterable[str]) -> tuple[str, str]:
    """Return two hashes of the sources of the modules that these `module:NAME` name, which must be imported already.

    They include the modules that they import from the same folder or below it. The first hash, which rows store, leaves
    definitions out that no NAME depends on; the second, which rows of version 0.2.0 store, is of whole modules.
    """
    names = list(names)
    return _hashes(names, {module: getattr(sys.modules.get(module), "__file__", None) for module in _modules(names)})


def fingerprints(choices: Iterable[Collection[str]], folders: Iterable[Path]) -> set[str]:
    """Return the hashes of each set of `module:NAME`, from the files that an import would read now; none is imported.

    Modules are found on the path and in these folders. Raises `ParameterError` if one is not found.
    """
    places = [*sys.path, *map(str, folders)]
    return {
        code
        for names in choices
        for code in _hashes(names, {module: _file(module, places) for module in _modules(names)})
    }


def _modules(names: Iterable[str]) -> set[str]:
    return {name.partition(":")[0] for name in names}


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


def _hashes(names: Collection[str], files: Mapping[str, str | None]) -> tuple[str, str]:
    """Return the two hashes as in `fingerprint`. files: module -> its file."""
    sources, reached = dict[str, bytes](), dict[str, bytes]()
    for module_name, file in files.items():
        if file is not None:
            path = Path(file)
            root = path.parents[module_name.count(".") + (path.name == "__init__.py")]
            _collect(path, root, sources)
            place = path.relative_to(root).as_posix()
            known = path.suffix == ".py" and place in sources  # the file may have been deleted after it was imported
            if known and not any(_is_imported(path, root, root / other) for other in sources):
                attributes = [name.partition(":")[2] for name in names if name.startswith(f"{module_name}:")]
                # the file may have been edited, to invalid code, after it was imported
                with suppress(SyntaxError, ValueError):
                    reached[place] = reachable_source(sources[place], attributes)
    return _hash({**sources, **reached}), _hash(sources)


def _hash(sources: Mapping[str, bytes]) -> str:
    digest = blake2b(digest_size=8)
    for place in sorted(sources):
        digest.update(f"{place} {len(sources[place])}\n".encode() + sources[place])
    return digest.hexdigest()


def _is_imported(path: Path, root: Path, other: Path) -> bool:
    """Return whether a file below `root` imports the module at `path`, of which it may use anything."""
    if other.suffix != ".py" or not other.is_file():
        return False
    modules = {start.joinpath(*name.split(".")) for name, start in _imports(other.read_bytes(), other, root)}
    return not modules.isdisjoint(
        [path.with_suffix(""), path.parent] if path.name == "__init__.py" else [path.with_suffix("")]
    )


def user_sources(names: Iterable[str], folder: Path) -> dict[str, bytes]:
    """Return relative path -> source of the modules in `folder` that `module:NAME` name, or that those import from it.

    Nothing is imported; modules that are installed or missing are left out.
    """
    sources: dict[str, bytes] = {}
    for module_name in _modules(names):
        place = Path(*module_name.split("."))
        for file in (folder / f"{place}.py", folder / place / "__init__.py"):
            _collect(file, folder, sources)
    return sources


def _collect(path: Path, root: Path, sources: dict[str, bytes]) -> None:
    """Add the source of a file below `root`, and of the modules below `root` that it imports."""
    place = path.relative_to(root).as_posix()
    if place in sources or not path.is_file():
        return
    sources[place] = path.read_bytes()
    if path.suffix != ".py" or not set(INSTALLED).isdisjoint(root.parts):
        return
    for folder in path.relative_to(root).parents[:-1]:
        _collect(root / folder / "__init__.py", root, sources)
    for name, start in _imports(sources[place], path, root):
        *folders, last = name.split(".")
        if name.partition(".")[0] != PROGRAM:
            for file in (f"{last}.py", f"{last}/__init__.py"):
                _collect(start.joinpath(*folders, file), root, sources)


def _imports(source: bytes, path: Path, root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the dotted names that may be imported modules, each with the folder where it starts."""
    try:
        nodes = list(ast.walk(syntax_tree(source)))
    except (SyntaxError, ValueError):  # the file may have been edited, to invalid code, after it was imported
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, root) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = path.parents[node.level - 1] if node.level else root
            if start.is_relative_to(root):
                head = [node.module] if node.module else []
                names = [*head, *(".".join([*head, alias.name]) for alias in node.names if alias.name != "*")]
                yield from ((name, start) for name in names)


DYNAMIC = {"getattr", "setattr", "delattr", "globals", "locals", "vars", "dir", "eval", "exec", "compile", "inspect"}
DYNAMIC |= {"__import__", "importlib", "import_module", "modules", "__dict__", "__globals__", "__subclasses__"}
DYNAMIC |= {"__getattr__"}
"""Names in a module with which any of its definitions may be used."""
TRUSTED = ("recovery", "dataclasses", "typing", "functools")
BUILT_IN = ("property", "staticmethod", "classmethod")
"""Modules whose functions, and functions that, called when a definition is made, change nothing elsewhere."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def reachable_source(source: bytes, names: Collection[str]) -> bytes:
    """Return the statements of a module that the definitions of these names depend on; the source if that is unknown.

    Definitions of functions and classes that no kept statement names are left out. A module with a statement that acts
    when it is imported, or that looks names up as text, is kept whole. Raises `SyntaxError`, `ValueError`.
    """
    body = syntax_tree(source).body
    pieces = [(_first_line(node), node.end_lineno) for node in body]
    on_one_line = any(end >= start for (_, end), (start, _) in itertools.pairwise(pieces))
    if on_one_line or not all(map(_is_declaration, body)) or not DYNAMIC.isdisjoint(_words(body)):
        return source
    trusted = {alias.asname or alias.name for node in body if _is_trusted(node) for alias in node.names} | {*BUILT_IN}
    definitions = [node for node in body if isinstance(node, Definition) and _acts_alone(node, trusted)]
    kept = [node for node in body if node not in definitions]
    known, new = set(names), {*names, *_words(kept)}
    while new:
        known |= new
        found = [node for node in definitions if node.name in known]
        new = _words(found) - known
    chosen = {id(node) for node in [*kept, *(node for node in definitions if node.name in known)]}
    lines = source.splitlines(keepends=True)
    return b"".join(
        b"".join(lines[start - 1 : end]) for node, (start, end) in zip(body, pieces, strict=True) if id(node) in chosen
    )


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


def _is_declaration(node: ast.stmt) -> bool:
    """Return whether a statement defines something, and does nothing else when the module is imported."""
    if isinstance(node, ast.ImportFrom):
        return all(alias.name != "*" for alias in node.names)
    if isinstance(node, Definition | ast.Import):
        return True
    return _assigns(node) and not any(_calls([node]))


def _assigns(node: ast.stmt) -> bool:
    """Return whether a statement gives values to names, or is a constant."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(isinstance(target, ast.Name) for target in targets)
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_trusted(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in TRUSTED and not node.level


def _acts_alone(node: Definition, trusted: Collection[str]) -> bool:
    """Return whether making a definition cannot change another: no base class, and it calls trusted functions only."""
    if isinstance(node, ast.ClassDef):
        inner = [part for part in node.body if isinstance(part, Definition)]
        others = [part for part in node.body if not isinstance(part, Definition | ast.Pass)]
        declares = all(map(_assigns, others)) and all(_acts_alone(part, trusted) for part in inner)
        if node.bases or node.keywords or not declares:
            return False
        executed: list[ast.AST] = [*node.decorator_list, *others]
    else:
        executed = [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
    if any(isinstance(part, ast.NamedExpr) for one in executed for part in ast.walk(one)):
        return False
    called = [*node.decorator_list, *(call.func for call in _calls(executed))]
    called = [one.func if isinstance(one, ast.Call) else one for one in called]
    return all(isinstance(one, ast.Name) and one.id in trusted for one in called)


def _calls(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    return (part for node in nodes for part in ast.walk(node) if isinstance(part, ast.Call))


def _words(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names, attributes and texts in statements, and the modules that they import."""
    words = set[str]()
    for part in (part for node in nodes for part in ast.walk(node)):
        if isinstance(part, ast.Name):
            words.add(part.id)
        elif isinstance(part, ast.Attribute):
            words.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            words.add(part.value)
        elif isinstance(part, ast.alias):
            words.update([part.name, part.name.partition(".")[0]])
        elif isinstance(part, Definition):
            words.add(part.name)
    return words
