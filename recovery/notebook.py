"""Functions and classes of a notebook or script, converted to the source of a module that is stored with a sweep.

The source includes everything that they refer to: imports, numbers, text, functions and classes. The name of the
module contains a hash of its source, so an edited function is another module, and its trials have other ids.
"""

import ast
import inspect
import linecache
import re
import symtable
import sys
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType, ModuleType
from typing import Any

from recovery.errors import ParameterError
from recovery.text import is_plain

MODULE = r"notebook_[0-9a-f]{16}"
PLAIN = (bool, int, float, complex, str, bytes, type(None))
INSTEAD = "put it into a file beside the notebook and name it as module:NAME"

_folder: TemporaryDirectory[str] | None = None
"""Folder where this process writes modules for the processes that it starts."""


def name_of(text: str) -> str:
    """Return the name of the module with this source: `notebook_` and a hash of the source."""
    return f"notebook_{blake2b(text.encode(), digest_size=8).hexdigest()}"


def module_text(targets: Sequence[Any]) -> str:
    """Return the source of a module with these functions and classes of `__main__`, and everything that they refer to.

    Raises `ParameterError` for what cannot be stored as text: closures, lambdas, values other than numbers and text.
    """
    imports, values, definitions = dict[str, None](), dict[str, str](), dict[str, str]()
    for target in targets:
        _collect(target, imports, values, definitions)
    parts = ["\n".join(sorted(imports)), "\n".join(values.values()), *definitions.values()]
    text = "\n\n\n".join(part for part in parts if part) + "\n"
    if not is_plain(text):
        raise ParameterError(f"the source of {targets[0].__name__} has control characters; write them as escapes")
    return text


def files(code: Mapping[str, str]) -> dict[str, bytes]:
    """Return file name -> content of stored modules. Raises `ParameterError` if a name does not match the source."""
    for module, text in code.items():
        if not (re.fullmatch(MODULE, module) and module == name_of(str(text))):
            raise ParameterError(f"the code {module!a:.60} is not what its name says; it was edited or damaged")
    return {f"{module}.py": text.encode() for module, text in code.items()}


def provide(code: Mapping[str, str]) -> None:
    """Make these modules importable in this process and in those that it starts. Raises `ParameterError` as `files`."""
    global _folder
    for name, data in files(code).items():
        if any((file := Path(place, name)).is_file() and file.read_bytes() == data for place in sys.path):
            continue
        if _folder is None:
            _folder = TemporaryDirectory(prefix="recover-", ignore_cleanup_errors=True)
            sys.path.insert(0, _folder.name)
        Path(_folder.name, name).write_bytes(data)


def _collect(target: Any, imports: dict[str, None], values: dict[str, str], definitions: dict[str, str]) -> None:
    """Add the source of a function or class, and of everything that it refers to."""
    name = target.__name__
    if name in definitions:
        return
    definitions[name] = ""  # the name is entered first, because the function or class may refer to itself
    text = _source(target)
    main = vars(sys.modules["__main__"])
    for used in _globals(text):
        # skip a builtin, or an undefined name: a call then raises NameError, as it does in the notebook
        if used == name or used not in main:
            continue
        value, where = main[used], f"{name} uses {used}"
        if isinstance(value, ModuleType):
            imports[f"import {value.__name__}" + (f" as {used}" if used != value.__name__ else "")] = None
            inner = {f"{value.__name__}.{one}" for one in re.findall(rf"\b{used}\.(\w+)", text)}
            imports |= dict.fromkeys(f"import {one}" for one in sorted(inner & sys.modules.keys()))
        elif getattr(value, "__module__", None) == "__main__" and isinstance(value, FunctionType | type):
            if value.__name__ != used:
                raise ParameterError(f"{where}, another name of {value.__name__}; use that name")
            _collect(value, imports, values, definitions)
        elif (origin := _origin(used, value)) is not None:
            imports[origin] = None
        elif _is_plain(value):
            values[used] = f"{used} = {value!r}"
        else:
            kind = type(value).__name__
            raise ParameterError(
                f"{where}, of type {kind}, which cannot be stored as text; make it inside {name}, or {INSTEAD}"
            )
    del definitions[name]
    definitions[name] = text  # move the text behind everything that it refers to, because a class needs its bases


def _source(target: Any) -> str:
    """Return the source of a function or class, with decorators. Raises `ParameterError` if it is unknown."""
    name = target.__qualname__
    if "<lambda>" in name:
        raise ParameterError("a lambda has no name that could be stored; write it with def")
    if "<locals>" in name:
        raise ParameterError(
            f"{target.__name__} is defined inside another function, whose values no text holds (a closure); "
            "define it at the top of the notebook, and give its values as parameters"
        )
    for place in _places(target):
        lines = linecache.getlines(place)
        try:
            nodes = ast.parse("".join(lines)).body
        except SyntaxError:
            continue
        for node in reversed(nodes):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == target.__name__:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                return "".join(lines[first - 1 : node.end_lineno]).rstrip("\n")
    raise ParameterError(f"the source of {target.__name__} is not known here; {INSTEAD}")


def _places(target: Any) -> Iterator[str]:
    """Yield the files or notebook cells that may define a function, or the methods of a class."""
    inside = list(vars(target).values()) if isinstance(target, type) else [target]
    for one in inside:
        code = getattr(inspect.unwrap(getattr(one, "__func__", one)), "__code__", None)
        if code is not None and code.co_filename != "<string>":
            yield code.co_filename
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is not None:
        yield file


def _globals(text: str) -> list[str]:
    """Return the global names that a definition reads."""
    names = dict[str, None]()

    def visit(table: symtable.SymbolTable) -> None:
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or top):
                names[symbol.get_name()] = None
        for child in table.get_children():
            visit(child)

    visit(symtable.symtable(text, "<notebook>", "exec"))
    return list(names)


def _origin(used: str, value: Any) -> str | None:
    """Return the import statement for a value of a module; None if there is none."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module in ("__main__", "builtins"):
        module, name = _listed_in(used, value), used
    if not module or getattr(sys.modules.get(module), name, None) is not value:
        return None
    return f"from {module} import {name}" + (f" as {used}" if used != name else "")


def _listed_in(used: str, value: Any) -> str | None:
    """Return the module that has a value without a `__module__`, such as `ClassVar`, under this name, or None."""
    if isinstance(value, PLAIN):
        return None
    found = [name for name, module in list(sys.modules.items()) if getattr(module, "__dict__", {}).get(used) is value]
    return min((name for name in found if name != "__main__"), key=lambda name: (name.count("."), name), default=None)


def _is_plain(value: Any) -> bool:
    """Return whether the `repr` of a value is an expression for it."""
    if type(value) in (list, tuple, set, frozenset):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(map(_is_plain, [*value, *value.values()]))
    return type(value) in PLAIN and (not isinstance(value, float | complex) or abs(value) < float("inf"))
