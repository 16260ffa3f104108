"""Names as figures print them: coordinates in the papers' letters, titles of panels, text that is no mathematics."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import matplotlib
import numpy as np
from matplotlib.font_manager import FontProperties, findfont, get_font

LETTERS = {
    "n": "$n$",
    "d": "$d$",
    "k": "$k$",
    "noise": r"noise $\sigma$",
    "sigma": r"$\sigma$",
    "beta": r"$\beta$",
    "learning_rate": r"learning rate $\eta$",
    "degrees": "angle (degrees)",
    "tilt": "tilt (degrees)",
    "scale": "scale of the start",
    "center": "centre of the start",
    "ratio": "ratio of the norms",
    "tau": r"$\tau$",
}
"""The last part of a coordinate's path -> how an axis names it."""
SYMBOLS = {"noise": r"$\sigma$", "learning_rate": r"$\eta$", "degrees": "angle", "tilt": "tilt", "scale": "scale"}
"""The short forms, where a value follows."""
WORDS = {
    "gd": "gradient descent",
    "scaled_gd": "scaled gradient descent",
    "adamw": "AdamW",
    "min_norm": "minimal norm",
    "relu": "ReLU",
    "relu_skip": "ReLU with skip connection",
    "relu_norm": "normalised ReLU",
    "relu_norm_skip": "normalised ReLU with skip connection",
    "normalized_relu": "normalised ReLU",
    "haar": "Haar",
    "gaussian": "Gaussian",
    "cubic_gaussian": "cubic Gaussian",
    "whitened_cubic": "whitened cubic Gaussian",
    "rademacher": "Rademacher",
    "lasso": "LASSO",
    "omp": "orthogonal matching pursuit",
    "forest": "random forest",
    "boosting": "gradient boosting",
    "lm": "Levenberg-Marquardt",
}
"""Values whose plain form is a program's word."""
BARE = ("ensemble", "planted", "architecture", "method", "optimizer", "kind", "program", "means", "selector")
"""Coordinates whose values say by themselves what they are."""


def axis_label(name: str | None) -> str:
    """A coordinate for an axis: the paper's letter, or the last part of its path in words."""
    last = (name or "").split(".")[-1]
    return LETTERS.get(last, plain(last.replace("_", " ")))


def value_label(value: Any) -> str:
    """One value of a coordinate."""
    if value is None:
        return "none"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | float | np.number):
        return number(float(value))
    if str(value) in WORDS:
        return WORDS[str(value)]
    first, *rest = str(value).split(" ")
    words = WORDS.get(first, first) + "".join(f"{',' if '=' in part else ''} {part}" for part in rest)
    return plain(words.replace("_", " ").replace("=", " = "))


def number(value: float) -> str:
    """A number for a tick or title: 0.05, 400, or a power of ten as mathematics where it is far from 1."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:g}"
    mantissa, exponent = f"{value:.3e}".split("e")
    factor = f"{float(mantissa):g}"
    power = f"10^{{{int(exponent)}}}"
    return f"${power}$" if factor == "1" else rf"${factor} \times {power}$"


def where_label(where: Mapping[str, Any]) -> str:
    """Coordinates of a panel: `$\\sigma$ = 0.1, Gaussian`."""
    return ", ".join(pair_label(name, value) for name, value in where.items())


def pair_label(name: str, value: Any) -> str:
    """A coordinate with its value; words that say what they are stand alone."""
    last = name.split(".")[-1]
    if last in BARE and isinstance(value, str):
        return value_label(value)
    return f"{SYMBOLS.get(last, LETTERS.get(last, plain(last.replace('_', ' '))))} = {value_label(value)}"


def letters(i: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    return ("" if i < 26 else letters(i // 26 - 1)) + chr(ord("a") + i % 26)


def plain(text: str) -> str:
    """Text that matplotlib shows as it stands: dollars are no mathematics, one line stays one line, and what the
    font lacks becomes U+FFFD."""
    glyphs = _glyphs(str(matplotlib.rcParams["font.family"][0]))
    shown = "".join(c if ord(c) in glyphs else "\ufffd" for c in " ".join(text.split()))
    return shown.replace("$", r"\$")


@lru_cache(maxsize=8)
def _glyphs(family: str) -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family=[family]))).get_charmap())
