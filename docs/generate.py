"""The pages of docs/reference that the program's own tables make: `python -m docs.generate` writes them."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields as fields_of
from functools import cache, partial
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from docs import api
from docs.markdown import described, plain, table
from docs.measured import filled
from docs.statements import BASES, PAPERS, VERDICT_MEANINGS, VERSIONS, coverage
from recovery.config import load_shipped
from recovery.config.claims import CLAIMS
from recovery.config.validate import model_of
from recovery.instances.ensembles import ENSEMBLES
from recovery.instances.planted import PLANTED
from recovery.methods.columns import COLUMNS, Column, columns_of
from recovery.methods.method import METHODS
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
CONFIGS = DOCS.parent / "configs"
MEANINGS: dict[str, str] = YAML(typ="safe").load(DOCS / "parameters.yaml")
FIRST: dict[str, str] = YAML(typ="safe").load(DOCS / "components.yaml")
"""Introduction of each component's page: its purpose, and an example in Python."""
MADE_OF_GRIDS = "<!-- made by docs/generate.py of its template and of what is in results/papers -->\n"
MADE_OF_DATA = "<!-- made by docs/generate.py of the entries in docs/coverage; a test checks them -->\n"
FINDINGS = ("findings", *(f"findings/{page}" for page in ("over-all-patterns", "training", *PAPERS)))
TEMPLATES = (*FINDINGS, "tables")
MADE = "<!-- made by docs/generate.py from the program's tables; a test keeps it true -->\n"


def allowed(schema: Mapping[str, Any]) -> str:
    """Describe the allowed values of a property."""
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


def parameters(section: str, name: str, cls: type, tag: str) -> Iterator[tuple[str, ...]]:
    """Each field of a component's class: what it is, in which unit, what it may be, its default."""
    said = described(cls, names_of(cls))[1]
    for field, schema in model_of(cls).model_json_schema()["properties"].items():
        if field != tag:
            keys = (f"{name}.{field}", f"{section}.{field}", field)
            meaning = said.get(field) or next((MEANINGS[key] for key in keys if key in MEANINGS), "")
            if not meaning:
                raise ValueError(f"docs/parameters.yaml says nothing of {keys[0]}")
            default = f"`{json.dumps(schema['default'])}`" if "default" in schema else "none: must be given"
            yield f"`{field}`", plain(meaning), allowed(schema), default


@cache
def configs() -> dict[str, dict[str, Any]]:
    """The content of each shipped config."""
    return {path.stem: YAML(typ="safe").load(path) for path in sorted(CONFIGS.glob("*.yaml"))}


def example(tag: str, name: str, section: str) -> str:
    """The first config that ships with the component, and how it names it there; '' where none has it."""
    for config, content in configs().items():
        for part in parts_of(content.get(section), tag):
            if part.get(tag) == name and not any(isinstance(value, dict) for value in part.values()):
                text = json.dumps(part, ensure_ascii=False).replace('"', "")
                text = f"[{text}]" if section == "claims" else text
                return f"`{section}: {text}`, in `recover sweep {config}`"
    return ""


def parts_of(value: Any, tag: str) -> Iterator[dict[str, Any]]:
    """The mappings in a part of a config that name a component, on axes too."""
    if isinstance(value, dict):
        kinds = value.get(tag)
        for kind in kinds if isinstance(kinds, list) else [kinds]:
            if isinstance(kind, str):
                yield value | {tag: kind}
    for one in value if isinstance(value, list) else []:
        yield from parts_of(one, tag)


def names_of(cls: type) -> list[str]:
    return [field.name for field in fields_of(cls)]


def component(page: str, section: str, tag: str, classes: Mapping[str, type], title: str) -> str:
    text = f"# {title}\n\n{MADE}\n{FIRST[page]}\n\n"
    for name, cls in classes.items():
        rows = list(parameters(section, name, cls, tag))
        text += f"## `{name}`\n\n{described(cls, names_of(cls))[0]}\n\n"
        text += table(("parameter", "what it is", "allowed", "default"), iter(rows)) + "\n" if rows else ""
        if shown := example(tag, name, section):
            text += f"Example: {shown}.\n\n"
    return text.rstrip() + "\n"


def architectures() -> str:
    head = ("name", "skip connection", "normalisation", "can be used for")
    rows = (
        (f"`{name}`", "yes" if a.skip else "no", a.normalization, ", ".join(sorted(a.uses)))
        for name, a in ARCHITECTURES.items()
    )
    return f"# Architectures\n\n{MADE}\n{FIRST['architectures']}\n\n" + table(head, rows)


def columns() -> str:
    def rows(found: Mapping[str, Column]) -> Iterator[tuple[str, ...]]:
        for name, column in found.items():
            yield f"`{name}`", column.kind.__name__, plain(column.meaning), column.unit

    head = ("column", "type", "meaning", "unit")
    text = f"# Columns that methods measure\n\n{MADE}\n" + table(head, rows(COLUMNS))
    text += "\n## By method\n\nThe [table above](#columns-that-methods-measure) says what each column means.\n\n"
    for name, method in METHODS.items():
        found = columns_of(method)
        shared = ", ".join(f"`{column}`" for column in found if column in COLUMNS)
        text += f"### `{name}` measures\n\n{shared}\n\n"
        own = {column: meaning for column, meaning in found.items() if column not in COLUMNS}
        text += "and columns of its own:\n\n" + table(head, rows(own)) + "\n" if own else ""
    return text.rstrip() + "\n"


def figures() -> str:
    def rows() -> Iterator[tuple[str, ...]]:
        for sweep in load_shipped():
            claims = "; ".join(dict.fromkeys(claim.source for claim in sweep.claims))
            yield f"`{sweep.name}`", plain(sweep.title), plain(sweep.source), str(sweep.size), plain(claims)

    text = f"# Figures that ship with the program\n\n{MADE}\n"
    text += "Each is run by `recover sweep NAME`, and shown by `recover report results/NAME`.\n\n"
    return text + table(("config", "shows", "source", "trials", "claims that it checks"), rows())


def covered(paper: str) -> str:
    rows = coverage(paper)
    counts = Counter(verdict for *_, verdict, _, _ in rows)
    text = f"# What is covered of {paper}\n\n{MADE_OF_DATA}\n"
    text += "Statements, figures and tables: what each says, the verdict, and what the verdict rests on.\n\n"
    text += f"{VERSIONS[paper]}\n\n" if paper in VERSIONS else ""
    text += f"{len(rows)} entries: {', '.join(f'{n} {verdict}' for verdict, n in counts.most_common())}.\n\n"
    text += table(("statement", "place", "what it says", "verdict", "basis", "run or tested by"), iter(rows))
    used = ((verdict, meaning) for verdict, meaning in VERDICT_MEANINGS.items() if counts[verdict])
    text += "\n" + table(("verdict", "meaning"), used)
    return text + "\n" + table(("basis", "meaning"), iter(BASES.items()))


def notebook() -> str:
    """The tutorial's notebook as a page; the tests run the notebook itself."""
    cells = json.loads((DOCS / "tutorials" / "notebook.ipynb").read_text())["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    parts = [
        f"```py\n{text}\n```" if cell["cell_type"] == "code" else text for cell, text in zip(cells, texts, strict=True)
    ]
    last = "[The notebook itself](notebook.ipynb) runs in Jupyter, where the charts answer the mouse."
    return "\n\n".join([parts[0], MADE.strip(), *parts[1:], last]) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "../tutorials/notebook.md": notebook,
    "architectures.md": architectures,
    "ensembles.md": partial(component, "ensembles", "data", "ensemble", ENSEMBLES, "Data ensembles"),
    "planted.md": partial(component, "planted", "planted", "kind", PLANTED, "Planted models"),
    "methods.md": partial(component, "methods", "method", "kind", METHODS, "Methods"),
    "claims.md": partial(component, "claims", "claims", "kind", CLAIMS, "Kinds of claims"),
    "columns.md": columns,
    "figures.md": figures,
    **{f"{page}.md": partial(api.filled, page) for page in ("commands", "python", "instances", "programs")},
    **{f"../coverage/{paper}.md": partial(covered, paper) for paper in PAPERS},
}


def measured(page: str) -> str:
    """A page with a template, one of `TEMPLATES`: every number in its place."""
    head, _, rest = (DOCS / f"{page}.template").read_text().partition("\n\n")
    return f"{head}\n\n{MADE_OF_GRIDS}\n{filled(rest)}"


if __name__ == "__main__":
    for page, make in PAGES.items():
        (HERE / page).write_text(make())
    for page in TEMPLATES:
        (DOCS / f"{page}.md").write_text(measured(page))
