"""Pages about functions, classes and commands, in plain Markdown from docstrings and help.

In a template of docs/reference, `{{api NAME}}` becomes signature, docstring and tables of parameters and members;
`{{result NAME}}` the docstring and a table of fields and members; `{{members NAME}}` that table; `{{commands}}` all.
"""

import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import click

from docs.markdown import described, plain, table
from recovery.cli.main import SECTIONS, main
from recovery.types import Array, Mask

REFERENCE = Path(__file__).parent / "reference"
PLACE = re.compile(r"\{\{(\w+) ?([\w.]*)\}\}")
ALIASES = {inspect.formatannotation(Array): "Array", inspect.formatannotation(Mask): "Mask"}

SET = re.compile(r"frozenset\(\{(.*?)\}\)")


def filled(page: str) -> str:
    """The text of a page, from its template. Raises `ValueError` for a parameter that no docstring explains."""
    made = {"api": _api, "result": _result, "members": _members, "commands": _commands}
    return PLACE.sub(lambda match: made[match[1]](match[2]).strip(), (REFERENCE / f"{page}.template").read_text())


def _known(name: str, meanings: dict[str, str], parameter: str) -> str:
    if parameter not in meanings:
        raise ValueError(f"the docstring of {name} does not say `{parameter}: what it is.`")
    return plain(meanings[parameter])


def _api(name: str) -> str:
    thing = resolve_name(name)
    parameters = inspect.signature(thing).parameters
    text, meanings = described(thing, parameters)
    rows = ((f"`{key}`", _known(name, meanings, key), _default(one)) for key, one in parameters.items())
    parts = [f"```py\n{_call(name, thing)}\n```", text, table(("parameter", "what it is", "default"), rows)]
    return "\n\n".join([*parts, _members(name)] if inspect.isclass(thing) else parts)


def _result(name: str) -> str:
    thing = resolve_name(name)
    names = [one.name for one in fields(thing)] if is_dataclass(thing) else []
    text, meanings = described(thing, names)
    return f"{text}\n\n{_members(name, {one: _known(name, meanings, one) for one in names})}"


def _members(name: str, own: dict[str, str] | None = None) -> str:
    """Return a table of fields with their meanings, then of documented properties and methods; '' without any."""
    thing, rows = resolve_name(name), [(f"`{key}`", meaning) for key, meaning in (own or {}).items()]
    for key, member in inspect.getmembers_static(thing):
        call = inspect.isfunction(member) and (inspect.isclass(thing) or member.__module__ == name)
        if (call or isinstance(member, property | cached_property)) and member.__doc__ and key[0] != "_":
            shown = _call(key, member, types=False) if call else key
            rows.append((f"`{shown}`", " ".join(described(member, ())[0].split())))
    return table(("member", "what it is"), iter(rows)) if rows else ""


def _call(name: str, thing: Any, types: bool = True) -> str:
    """Return a call with defaults, on several lines if it is long; types without the modules that define them."""
    signature = inspect.signature(thing)
    kept = [one for one in signature.parameters.values() if one.name != "self"]
    kept = kept if types else [one.replace(annotation=one.empty) for one in kept]
    text = str(signature.replace(parameters=kept, return_annotation=signature.empty))
    for long, short in ALIASES.items():
        text = text.replace(long, short)
    text = SET.sub(_in_order, text)
    text = re.sub(r"\b(?:[a-zA-Z_]\w*\.)+(?=[a-zA-Z_])", "", text)
    lines = re.sub(r"^\(|, (?=\*, |\w+: )", lambda match: match[0].rstrip() + "\n    ", text)
    return name + (text if len(text) <= 80 else lines)


def _in_order(match: re.Match[str]) -> str:
    return f"frozenset({{{', '.join(sorted(match[1].split(', ')))}}})"


def _default(one: inspect.Parameter) -> str:
    """Return the default: sets in order, values by their own name or without their fields."""
    value = one.default
    if value is one.empty:
        return "none: must be given"
    if is_dataclass(value) and type(value).__str__ is object.__str__:
        return f"`{type(value).__name__}()`"
    return f"`{str(value)!r}`" if is_dataclass(value) else f"`{SET.sub(_in_order, repr(value))}`"


def _paragraph(text: str) -> str:
    """Return a paragraph of a help in Markdown; Click keeps the lines of one that begins with \\b."""
    return f"```text\n{text[2:]}\n```" if text.startswith("\b\n") else plain(text.replace("\n", " "))


def _commands(_: str) -> str:
    parts = list[str]()
    for section, names in SECTIONS.items():
        parts.append(f"## {section}")
        for name in names:
            command = main.get_command(click.Context(main), name)
            assert command is not None
            context = click.Context(command)
            usage = " ".join(["recover", name, *command.collect_usage_pieces(context)])
            records = [one.get_help_record(context) or ("", "") for one in command.params]
            paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
            parts += [f"### `recover {name}`", f"```text\n{usage}\n```", *map(_paragraph, paragraphs)]
            rows = ((f"`{option}`", plain(said)) for option, said in records if said)
            parts.append(table(("option", "what it does"), rows).strip())
    return "\n\n".join(parts)
