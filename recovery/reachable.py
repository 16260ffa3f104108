"""The part of a module's source that some of its names depend on, so that other edits do not change its hash.

Definitions of functions and classes that no kept statement names are left out. A module with a statement that acts when
it is imported, or that looks names up as text, is kept whole: nothing can be excluded there.
"""

import ast
import itertools
from collections.abc import Collection, Iterable, Iterator

from recovery.text import syntax_tree

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

    Raises `SyntaxError`, `ValueError`.
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
