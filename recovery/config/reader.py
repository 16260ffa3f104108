"""YAML 1.2 text, or a mapping from Python, to a `Tree`.

No object is ever constructed from YAML, and every key and value keeps its line and column.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from recovery.config.tree import ConfigError, Path as TreePath, Place, Problem, Tree, as_shown, refusal
from recovery.methods.columns import LARGEST_INTEGER
from recovery.text import is_plain

MOST_BYTES = 1_000_000
MOST_NODES = 50_000
"""Most values of a config, counted after aliases are expanded."""
DEEPEST = 40
"""Most levels of nesting."""
LONGEST_NUMBER = 100
"""Most characters of a number; an integer of 64 bits has 19 digits."""

OPENED = {"while parsing a flow mapping": "this {", "while parsing a flow sequence": "this ["}
"""Context of a parser error -> the bracket that was opened, for messages."""

_PREFIX = "tag:yaml.org,2002:"
_SCALARS = {_PREFIX + name for name in ("null", "bool", "int", "float", "str")}
# types of YAML 1.1 whose values are text in YAML 1.2
_TEXT = {_PREFIX + "timestamp", _PREFIX + "merge", _PREFIX + "value"}


def read(path: Path) -> Tree:
    """Read the tree of a YAML file, with the problems in its keys and tags. Raises `ConfigError` if it has none."""
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        text = f"cannot be read: {error.strerror}; give a YAML file or a name that `recover configs` lists"
        raise refusal(str(path), text, 1, 1) from error
    if len(content) > MOST_BYTES:
        text = f"is larger than {MOST_BYTES // 1_000_000} MB: a config holds choices, not data; "
        raise refusal(str(path), text + "name a data file by `data: {ensemble: file, path: ...}`", 1, 1)
    try:
        return read_text(content.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        text = f"found byte 0x{content[error.start]:02x}, which is not UTF-8; save the file as UTF-8"
        raise refusal(str(path), text, line, column) from error


def read_text(text: str, source: str) -> Tree:
    """Read YAML text, as `read` does a file; `source` names the text in messages."""
    # refuse long text at once, because parsing it would take long
    if text.count(",") + text.count("\n") > 2 * MOST_NODES:
        raise refusal(source, f"has more than {MOST_NODES} values; write fewer, or a range {{start, stop, step}}", 1, 1)
    tree = _converted(text, source)
    if tree.value is None:
        raise refusal(source, "is empty; `recover configs` lists configs to start from", 1, 1)
    if not isinstance(tree.value, dict):
        text = "found no `key: value` lines at the top; a config is a mapping that begins with `name:`"
        raise refusal(source, text, 1, 1)
    return tree


def read_value(text: str) -> Any:
    """Read one YAML value, as in `--set PATH=VALUE`. Raises `ConfigError`."""
    tree = _converted(text, "VALUE")
    tree.refuse()
    return tree.value


def _converted(text: str, source: str) -> Tree:
    """Return the tree of YAML text, whose value is None for an empty text."""
    yaml, tree = YAML(typ="safe", pure=True), Tree({}, source)
    # YAML 1.2 allows an anchor to be set again; an alias refers to the last one
    yaml.composer.warn_double_anchors = False
    try:
        node = yaml.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        if error.context in OPENED and error.context_mark is not None:
            mark = error.context_mark
            what = f"{OPENED[error.context]} is not closed; what follows is read as a part of it"
        elif error.problem == "mapping values are not allowed here":
            what = "a second colon; put text with a colon in quotes, as in title: 'first: second'"
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise refusal(source, f"is not YAML here: {what}", line, column) from error
    except YAMLError as error:
        raise refusal(source, f"is not YAML: {str(error).splitlines()[0]}", 1, 1) from error
    except RecursionError as error:
        raise refusal(source, f"is nested deeper than {DEEPEST} levels", 1, 1) from error
    tree.value = None if node is None else _Walk(yaml, tree).convert(node, ())  # type: ignore[assignment]
    return tree


class _Walk:
    """Converts nodes to plain data; their places and problems go into `tree`."""

    def __init__(self, yaml: YAML, tree: Tree) -> None:
        self.yaml, self.tree, self.count = yaml, tree, 0

    def convert(self, node: Node, path: TreePath) -> Any:
        self.count += 1
        if self.count > MOST_NODES:
            raise self._fatal(node, f"more than {MOST_NODES} values once aliases are expanded; write fewer aliases")
        if len(path) > DEEPEST:
            raise self._fatal(node, f"nested deeper than {DEEPEST} levels, or an alias to something around itself")
        self.tree.values[path], tag = self._place(node), str(node.tag)
        kind = "map" if isinstance(node, MappingNode) else "seq" if isinstance(node, SequenceNode) else None
        if tag not in ({_PREFIX + kind} if kind else _SCALARS | _TEXT):
            text = f"found the tag {tag.replace(_PREFIX, '!!')}; tags are never followed: write plain values"
            self._problem(node, path, text)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.convert(item, (*path, i)) for i, item in enumerate(node.value)]
        if tag in _TEXT:
            return str(node.value)
        return self._scalar(node, path, tag.removeprefix(_PREFIX)) if tag in _SCALARS else None

    def _mapping(self, node: MappingNode, path: TreePath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, item in node.value:
            if isinstance(key, ScalarNode) and self._text(key, path) is None:
                continue
            if not isinstance(key, ScalarNode):
                self._problem(key, path, "found a list or mapping as a key; keys are words")
                continue
            here = (*path, str(key.value))
            if key.value in result:
                first = self.tree.keys[here]
                self._problem(key, here, f"found a second time; the first is on line {first.line}; keep one")
                continue
            self.tree.keys[here] = self._place(key)
            result[str(key.value)] = self.convert(item, here)
        return result

    def _scalar(self, node: Node, path: TreePath, kind: str) -> Any:
        if kind == "str":
            return self._text(node, path)
        try:
            value = None if len(node.value) > LONGEST_NUMBER else self.yaml.constructor.construct_object(node)
        except Exception:  # the conversion in ruamel may raise exceptions of any type
            self._problem(node, path, f"found {as_shown(node.value)} tagged as {kind}, which it is not")
            return None
        if len(node.value) > LONGEST_NUMBER or (isinstance(value, int) and abs(value) > LARGEST_INTEGER):
            self._problem(node, path, f"found {as_shown(node.value)}; integers have up to 64 bits")
            return None
        return value

    def _text(self, node: Node, path: TreePath) -> str | None:
        if is_plain(node.value):
            return str(node.value)
        self._problem(node, path, f"found {as_shown(node.value)}, which has control characters or half a character")
        return None

    def _place(self, node: Node) -> Place:
        return Place(0, node.start_mark.line + 1, node.start_mark.column + 1, self.tree.source)

    def _problem(self, node: Node, path: TreePath, text: str) -> None:
        self.tree.problems.append(Problem(path, text, place=self._place(node)))

    def _fatal(self, node: Node, text: str) -> ConfigError:
        self._problem(node, (), text)
        return ConfigError(self.tree.problems)


def as_text(value: object, indent: int | None = None) -> str:
    """Return plain data from Python as JSON, which is YAML. Raises `ConfigError` for values that are not plain data."""
    try:
        return json.dumps(value, default=_plain, indent=indent, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise refusal("config", f"cannot be a config: {error}; use plain text, numbers, lists and mappings") from error


def _plain(value: Any) -> Any:
    """Return a value that `json` does not take as one that it takes. Raises `TypeError`."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    for kind, convert in {Mapping: dict, range: list, Path: str}.items():
        if isinstance(value, kind):
            return convert(value)
    name = getattr(value, "__qualname__", "")
    hint = f"; name it as text, as in my_module:{name}" if name else ""
    raise TypeError(f"found {type(value).__name__} {name}".rstrip() + hint)
