"""Links to the glossary: the first use of each of its words on a page shows its definition when you point at it."""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

GLOSSARY = "glossary"
ENTRY = re.compile(r"^(\S.*)\n: ((?:.+\n?)+)", flags=re.MULTILINE)
ORDINARY = {"event", "gap", "group", "level"}
"""Words of the glossary that pages also use in their common meaning."""
OUTSIDE = (nodes.reference, nodes.literal, nodes.title, nodes.math, nodes.term, nodes.image, nodes.raw)


def definitions() -> dict[str, str]:
    """Return the first sentence of each definition in plain text, by word."""
    text = (Path(__file__).parent / f"{GLOSSARY}.md").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for words, meaning in ENTRY.findall(text):
        plain = re.sub(r"\[(.+?)\]\(.*?\)|[`$]", r"\1", " ".join(meaning.split()))
        found |= dict.fromkeys(words.split(", "), re.split(r"(?<=\.)\s", plain)[0])
    return found


def anchor(word: str) -> str:
    """Return the id of a word on the page of the glossary."""
    return "term-" + re.sub(r"\W+", "-", word.lower())


def name_terms(app: Sphinx, doctree: nodes.document) -> None:
    """Give each word of the glossary an id that links can name."""
    if app.env.docname == GLOSSARY:
        for term in doctree.findall(nodes.term):
            term["ids"] += [anchor(word) for word in term.astext().split(", ")]


def link_terms(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link the first use of each word on a page to the glossary, with the definition as its title."""
    builder: Any = app.builder
    if page == GLOSSARY or builder.format != "html":
        return
    left = {word: meaning for word, meaning in definitions().items() if word not in ORDINARY}
    for paragraph in doctree.findall(nodes.paragraph):
        for text in list(paragraph.findall(nodes.Text)):
            if not left or _inside(text, OUTSIDE):
                continue
            words = "|".join(map(re.escape, sorted(left, key=len, reverse=True)))
            match = re.search(rf"(?<![\w-])(?:{words})(?=s?(?![\w-]))", text)
            if match:
                meaning = left.pop(match[0])
                uri = builder.get_relative_uri(page, GLOSSARY) + f"#{anchor(match[0])}"
                link = nodes.reference("", match[0], refuri=uri, reftitle=meaning, internal=True, classes=["term"])
                before, after = nodes.Text(text[: match.start()]), nodes.Text(text[match.end() :])
                text.parent.replace(text, [before, link, after])


def _inside(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False
