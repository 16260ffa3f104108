"""The pages of docs/reference that the program's own tables make: `python -m docs.generate` writes them."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.measured import filled
from recovery.config import load_shipped
from recovery.config.claims import CLAIMS
from recovery.config.schema import json_schema
from recovery.instances.ensembles import ENSEMBLES
from recovery.instances.planted import PLANTED
from recovery.methods.columns import COLUMNS, Column, columns_of
from recovery.methods.table import METHODS
from recovery.programs.architecture import ARCHITECTURES

WORDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "array": "list",
    "null": "null",
    "object": "mapping",
}
DOCS = Path(__file__).parent
HERE = DOCS / "reference"
MADE_OF_GRIDS = "<!-- made by docs/generate.py of its template and of what is in results/papers -->\n"
MADE = "<!-- made by docs/generate.py from the program's tables; a test keeps it true -->\n"


def plain(text: str) -> str:
    """Text whose stars, brackets and underscores stay what they are; code in backticks is left alone."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*<_\[\]~$])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def allowed(schema: Mapping[str, Any]) -> str:
    """What a property may be, in words."""
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(allowed(one) for one in schema["anyOf"])
    if "$ref" in schema:
        return f"a mapping ({schema['$ref'].rsplit('/')[-1]})"
    text = WORDS.get(schema.get("type", ""), "value")
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    limits = " and ".join(f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema)
    return f"{text} {limits}".strip()


def parameters(cls: type, tag: str) -> Iterator[tuple[str, ...]]:
    """Each field of a component's class: what it may be, its default."""
    for name, schema in DEFINITIONS[cls.__name__]["properties"].items():
        if name != tag:
            default = f"`{json.dumps(schema['default'])}`" if "default" in schema else "none: must be given"
            yield f"`{name}`", allowed(schema), default


def described(cls: type) -> str:
    """What its docstring says."""
    return plain(inspect.cleandoc(cls.__doc__ or ""))


def component(title: str, tag: str, classes: Mapping[str, type]) -> str:
    text = f"## `{title}`\n\n"
    for name, cls in classes.items():
        rows = list(parameters(cls, tag))
        text += f"### `{name}`\n\n{described(cls)}\n\n"
        text += table(("parameter", "allowed", "default"), iter(rows)) + "\n" if rows else ""
    return text


def fields() -> str:
    text = f"# Fields of a config\n\n{MADE}\n`recover schema` prints the same as a JSON schema, for editors.\n\n"
    text += "## `architecture`\n\n" + table(
        ("name", "skip connection", "normalisation", "can be used for"),
        (
            (f"`{name}`", "yes" if a.skip else "no", a.normalization, ", ".join(sorted(a.uses)))
            for name, a in ARCHITECTURES.items()
        ),
    )
    text += "\n" + component("data.ensemble", "ensemble", ENSEMBLES)
    text += component("planted.kind", "kind", PLANTED) + component("method.kind", "kind", METHODS)
    text += component("claims", "kind", CLAIMS)
    return text.rstrip() + "\n"


def columns() -> str:
    def rows(found: Mapping[str, Column]) -> Iterator[tuple[str, ...]]:
        for name, column in found.items():
            yield f"`{name}`", column.kind.__name__, plain(column.meaning), column.unit

    head = ("column", "type", "meaning", "unit")
    text = f"# Columns that methods measure\n\n{MADE}\n" + table(head, rows(COLUMNS))
    text += "\n## By method\n\n"
    for name, method in METHODS.items():
        found = columns_of(method)
        shared = ", ".join(f"`{column}`" for column in found if column in COLUMNS)
        text += f"### `{name}` measures\n\n{shared}\n\n"
        own = {column: meaning for column, meaning in found.items() if column not in COLUMNS}
        text += "and columns of its own:\n\n" + table(head, rows(own)) + "\n" if own else ""
    return text.rstrip() + "\n"


def figures() -> str:
    def rows() -> Iterator[tuple[str, ...]]:
        sweeps, missing = load_shipped()
        for sweep in sweeps:
            claims = "; ".join(claim.source for claim in sweep.claims)
            yield f"`{sweep.name}`", plain(sweep.title), plain(sweep.source), str(sweep.size), plain(claims)
        for one in missing:
            yield f"`{one.name}`", plain(one.title), plain(one.source), "needs a file", "see `recover check`"

    text = f"# Figures that ship with the program\n\n{MADE}\n"
    text += "Each is run by `recover sweep NAME`, and shown by `recover report results/NAME`.\n\n"
    return text + table(("config", "shows", "source", "trials", "claims that it checks"), rows())


DEFINITIONS = json_schema()["$defs"]
PAGES = {"fields.md": fields, "columns.md": columns, "figures.md": figures}


def measured(page: str) -> str:
    """A page with a template, `findings` or `claims`: every number in its place."""
    head, _, rest = (DOCS / f"{page}.template").read_text().partition("\n")
    return f"{head}\n\n{MADE_OF_GRIDS}{filled(rest)}"


if __name__ == "__main__":
    for page, make in PAGES.items():
        (HERE / page).write_text(make())
    for page in ("findings", "claims"):
        (DOCS / f"{page}.md").write_text(measured(page))
