"""The gallery on the site: where its small pictures are, and each figure ends with the config that made it."""

from docutils import nodes
from sphinx.application import Sphinx

from docs.generate import CONFIGS


def find_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Give HTML images of the gallery their path: `:relative-images:` of an include does so for those of Markdown."""
    if app.env.docname.startswith("papers/"):
        for image in doctree.findall(nodes.image):
            if image["uri"].startswith("pictures/"):
                image["uri"] = f"../../results/papers/{image['uri']}"


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
