"""Parts shared by all HTML pages: the document without external resources, tables, and embedded pictures."""

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from recovery.report.page.template import templates

SCRIPTS = ("view.js", "choices.js", "cells.js", "page.js")
MOST_PICTURES = 1_500_000
"""Bytes of pictures that a page embeds, so that it stays below 3 MB."""


def document(
    title: str, body: Sequence[str], content: dict[str, Any] | None = None, scripts: Sequence[str] = SCRIPTS
) -> str:
    """Return a complete page. body: escaped markup; content: the data of its maps, or None; scripts: files of modules.

    Text from configs and errors enters as escaped text or as compressed data, never as markup. The content security
    policy allows only the scripts, the style and the pictures inside the file. Vega interprets its expressions, so no
    text is executed.
    """
    style, script = _asset("page.css"), _script(scripts)
    admitted, data = [_digest(script)], list[str]()
    if content is not None:
        # Vega and Vega-Lite as one compressed script, which `make vega` generates
        library = files("recovery.report.page").joinpath("vega.js.gz").read_bytes()
        admitted.append(_digest(gzip.decompress(library).decode()))
        data = [
            f'<script type="text/plain" id="library">{base64.b64encode(library).decode()}</script>',
            f'<script type="text/plain" id="data">{_packed({"templates": templates(), **content})}</script>',
        ]
    sources = " ".join(f"'{digest}'" for digest in admitted)
    policy = f"default-src 'none'; img-src data:; script-src {sources}; style-src '{_digest(style)}'"
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>",
            *body,
            *data,
            f"<script>{script}</script>",
            "</body>\n</html>\n",
        ]
    )


def _asset(name: str) -> str:
    return files("recovery.report.page").joinpath(name).read_text(encoding="utf-8")


def _script(names: Sequence[str]) -> str:
    """Return the modules of a page as one script, because a local page cannot import modules."""
    parts = [re.sub(r"^(import .*;\n|export )", "", _asset(name), flags=re.MULTILINE) for name in names]
    return '"use strict";\n' + "".join(parts)


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _packed(content: dict[str, Any]) -> str:
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def table(head: list[str], rows: list[list[str]], numbers: tuple[int, ...] = ()) -> str:
    """Return an HTML table of cells that are escaped markup; the columns with indices `numbers` are right-aligned."""
    mark = [' class="number"' if i in numbers else "" for i in range(len(head))]
    top = "".join(f'<th scope="col"{mark[i]}>{escape(name)}</th>' for i, name in enumerate(head))
    # on phones the page shows a row as a list, where each value has the name of its column
    named = [f'data-name="{escape(name)}"' for name in head]
    body = "\n".join(
        "<tr>"
        + "".join(f"<td {named[i]}{c[3:] if c.startswith('<td') else f'{mark[i]}>{c}</td>'}" for i, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    whole = f"<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>"
    return f'<div class="scroll"><table class="rows">{whole}</table></div>'


def pictures(drawn: Sequence[tuple[str, bytes]]) -> str:
    """Return PNG pictures with captions as HTML; pictures beyond `MOST_PICTURES` bytes are replaced by a note."""
    shown, room = [], MOST_PICTURES
    for words, data in drawn:
        room -= len(data)
        inner = f'<img alt="{escape(words)}" src="data:image/png;base64,{base64.b64encode(data).decode()}">'
        left_out = '<p class="soft">Too large for this page; `recover report --format png` draws it.</p>'
        caption = f"<figcaption>{escape(words)}</figcaption>"
        shown.append(f'<figure class="picture">{inner if room >= 0 else left_out}{caption}</figure>')
    return f'<div class="pictures">{"".join(shown)}</div>'
