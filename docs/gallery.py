"""Configs in the gallery: each figure on the site ends with the config that made it."""

from docutils import nodes
from sphinx.application import Sphinx

from docs.generate import CONFIGS


def show_configs(app: Sphinx, doctree: nodes.document) -> None:
    """Append its config, folded, to each section of the gallery that is named like a shipped config."""
    if not app.env.docname.startswith("papers/"):
        return
    for section in list(doctree.findall(nodes.section)):
        file = CONFIGS / f"{section.children[0].astext()}.yaml"
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            section += nodes.raw("", "<details><summary>Config</summary>", format="html")
            section += nodes.literal_block(text, text, language="yaml")
            section += nodes.raw("", "</details>", format="html")
