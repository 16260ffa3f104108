"""The site: `make docs` builds it into docs/_build/html, with warnings as errors and no outside address."""

from functools import partial
from typing import Any, NoReturn

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.application import Sphinx

from docs.gallery import find_pictures, show_configs
from docs.terms import link_terms, name_terms

project = "recover"
author = "the authors of recover"
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "deflist", "html_image"]
myst_heading_anchors = 3
highlight_language = "text"
html_theme = "pydata_sphinx_theme"
html_title = "recover"
html_static_path = ["_static"]
html_css_files = ["recover.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_center": [],
    "navbar_persistent": ["search-button"],  # the default shows a text that is not in its name for screen readers
}
templates_path = ["_templates"]
html_sidebars = {"**": ["contents.html"]}
html_context = {"default_mode": "auto"}
html_math_renderer = "mathml"


def _formula(writer: Any, node: Any, display: str = "inline") -> NoReturn:
    writer.body.append(convert(node.astext(), display=display))
    raise SkipNode


def setup(app: Sphinx) -> None:
    """Write formulas as MathML, show configs in the gallery, and link words to the glossary."""
    app.add_html_math_renderer("mathml", (_formula, None), (partial(_formula, display="block"), None))
    app.connect("doctree-read", find_pictures, priority=400)  # before Sphinx collects images
    app.connect("doctree-read", show_configs)
    app.connect("doctree-read", name_terms)
    app.connect("doctree-resolved", link_terms)
