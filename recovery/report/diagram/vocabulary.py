"""Names of coordinates, values, measured columns, thresholds and marks in reports.

Pictures, pages, notebooks, tables and the terminal share these words. Only the script differs: `PLAIN` is Unicode, and
matplotlib sets the same text as mathematics.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from unicodedata import lookup

import numpy as np

from recovery.config import is_user_axis
from recovery.interval import interval_words
from recovery.methods.columns import FIXED
from recovery.report.diagram.layout import ThresholdAxis

LETTERS = {
    "n": "$n$",
    "d": "$d$",
    "n/d": "$n/d$",
    "k": "$k$",
    "noise": r"noise $\sigma$",
    "learning_rate": r"learning rate $\eta$",
}
"""Last part of a coordinate's path -> its name on an axis; its letter alone precedes a value, as in `n = 50`."""
VALUES = {
    "gd": "gradient descent",
    "scaled_gd": "scaled gradient descent",
    "sgd": "stochastic gradient descent",
    "adam": "Adam",
    "adamw": "AdamW",
    "lbfgs": "L-BFGS",
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
    "lm": "LM",
    **{f"patterns.kind={kind}": f"{kind} patterns" for kind in ("sampled", "searched", "all")},
    "patterns.kind=exhaustive": "all patterns",
    **{f"geometry={kind}": f"{kind} weights" for kind in ("opposite", "random")},
    "geometry=basis": "orthonormal weights",
}
"""Value, or `coordinate=value`, that a config writes unreadably -> its words."""
COLUMNS = {
    "holds": "condition holds",
    "all_ones": "all-ones pattern exists",
    "max_deviation": "largest deviation",
    "test_mse": "test MSE",
    "excess_high": "proved excess",
}
"""Measured columns whose words differ from their names."""
BARE = ("ensemble", "planted", "architecture", "method", "optimizer", "kind", "program", "means", "selector", "event")
"""Coordinates whose values need no name."""
PRINTED = "number printed in the source"

_OF_PARTS = re.compile(r"(\w+)((?: \w+=\S+)*)")
_PATH = re.compile(r"(?:[A-Za-z_]\w*\.)+([A-Za-z_]\w*)")
_MATHEMATICS = re.compile(r"\$([^$]*)\$")
_NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "mu", "nu", "xi", "rho")
GREEK = {name: lookup(f"GREEK SMALL LETTER {name}") for name in (*_NAMES, "sigma", "tau", "phi", "chi", "psi", "omega")}
"""Name of a Greek letter, which a coordinate may have -> the letter."""
_GREEK_WORD = re.compile(rf"(?<![A-Za-z.])({'|'.join(GREEK)})(?![A-Za-z(])")
LETTERS |= {name: rf"$\{name}$" for name in GREEK}
_SIGNS = {rf"\{name}": letter for name, letter in GREEK.items()} | {r"\times": "×", "^": ""}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def greek(text: str) -> str:
    """Return text with the names of Greek letters as letters: `rho = 2 * delta` becomes `ρ = 2 * δ`."""
    return _GREEK_WORD.sub(lambda name: GREEK[name[1]], text)


def unmarked(text: str) -> str:
    """Return text without mathematics markup: `$\\sigma$` becomes `σ`, `$10^{-5}$` becomes `10⁻⁵`."""
    return _MATHEMATICS.sub(lambda formula: _plain(formula[1]), text)


def _plain(mathematics: str) -> str:
    raised = re.sub(r"\^\{([^}]*)\}", lambda power: power[1].translate(_RAISED), mathematics)
    for markup, sign in _SIGNS.items():
        raised = raised.replace(markup, sign)
    return raised


@dataclass(frozen=True)
class Script:
    """A way of writing text. own: converts text of a config, which has no markup. marked: converts text with
    mathematics between dollar signs. labels: the names that the config gives coordinates and values. shared:
    coordinate -> parts that all of its values have, such as `success=0.2`, which titles omit."""

    own: Callable[[str], str]
    marked: Callable[[str], str]
    labels: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def labelled(self, labels: Mapping[str, str], shared: Mapping[str, frozenset[str]]) -> "Script":
        """Return this way of writing text with other `labels` and `shared`."""
        return replace(self, labels=labels, shared=shared)

    def axis(self, name: str | None) -> str:
        """Return the name of a coordinate on an axis: the config's label, or that of the last part of its path."""
        if name is not None and name in self.labels:
            return self.marked(self.labels[name])
        last = _PATH.sub(r"\1", name or "")
        return self.marked(LETTERS[last]) if last in LETTERS else self.own(last.replace("_", " "))

    def value(self, value: Any, shared: frozenset[str] = frozenset(), name: str | None = None) -> str:
        """Return one value of a coordinate: `0.05`, `yes`, `Gaussian`, `normalised ReLU, k = 2`, `none`.

        shared: parts that are left out; a value that has no other part is `default`. name: the coordinate; the words of
        a user's axis stay as they are.
        """
        if label := self.labels.get(f"{name}={value}"):
            return self.marked(label)
        if value is None:
            return "none"
        if isinstance(value, bool | np.bool_):
            return "yes" if value else "no"
        if isinstance(value, int | float | np.number):
            return self.number(float(value))
        text = str(value)
        if text in self.labels:
            return self.marked(self.labels[text])
        if _is_own(name):
            return self.own(text)
        if _OF_PARTS.fullmatch(text) is None:
            return self.own(text.replace("_", " "))
        parts = [VALUES.get(part, part.replace("=", " = ")) for part in text.split() if part not in shared]
        return self.own(", ".join(parts).replace("_", " ")) or "default"

    def number(self, value: float, plain: tuple[float, float] = (1e-3, 1e5)) -> str:
        """Return a number for a tick or title: 0.05, 400, or, if |value| is outside `plain`, with a power of ten."""
        if value == 0 or plain[0] <= abs(value) < plain[1] or not np.isfinite(value):
            return self.marked(f"${value:g}$") if value < 0 else f"{value:g}"
        mantissa, exponent = f"{value:.3e}".split("e")
        if value.is_integer() and float(f"{value:.3e}") != value:
            return f"{value:.0f}"  # integers that four digits do not show exactly are written in full
        power = f"10^{{{int(exponent)}}}"
        factor = f"{float(mantissa):g}"
        return self.marked(f"${power}$" if factor == "1" else rf"${factor} \times {power}$")

    def pair(self, name: str, value: Any) -> str:
        """Return a coordinate with its value, `n = 50`; values that need no name stand alone: `Gaussian`."""
        last = name.split(".")[-1]
        if label := self.labels.get(f"{name}={value}"):
            return self.marked(label)
        if not _is_own(name) and (words := VALUES.get(f"{name}={value}", VALUES.get(f"{last}={value}"))):
            return self.own(words)
        if last in BARE and isinstance(value, str):
            return self.value(value, self.shared.get(name, frozenset()), name)
        letter = _MATHEMATICS.search(LETTERS.get(last, ""))
        text = self.marked(letter[0]) if letter and name not in self.labels else self.axis(name)
        return f"{text} = {self.value(value, name=name)}"

    def where(self, where: Mapping[str, Any]) -> str:
        """Return coordinate -> value, such as those of a panel, as text: `σ = 0.1, Gaussian, all patterns`."""
        return ", ".join(self.pair(name, value) for name, value in where.items())


def _is_own(name: str | None) -> bool:
    """Return whether a coordinate is a user's axis."""
    return name is not None and name not in FIXED and is_user_axis(name)


def shared_parts(values: Iterable[Any]) -> frozenset[str]:
    """Return the parts that all values in words have, such as `tensor` and `success=0.2`; none for one value."""
    parts = [frozenset(value.split()) for value in values if isinstance(value, str) and _OF_PARTS.fullmatch(value)]
    return frozenset.intersection(*parts) if len(parts) > 1 else frozenset()


PLAIN = Script(own=str, marked=unmarked)
"""The script of pages, notebooks, tables and terminals."""


def letters(i: int) -> str:
    """Return the letter of a panel: a, b, ..., z, aa, ab, ...."""
    return ("" if i < 26 else letters(i // 26 - 1)) + chr(ord("a") + i % 26)


def lettered(i: int, count: int, title: str) -> str:
    """Return the title of a panel, with its letter if there are several panels: `(a) Gaussian`."""
    return f"({letters(i)}) {title}".rstrip() if count > 1 else title


def pooled_words(along: ThresholdAxis, levels: Iterable[float]) -> str:
    """Return the legend text of the band that is a pooled threshold's interval, at these confidence levels."""
    return f"{along.percent} over all $d$, {interval_words(levels)}"


def fraction_words(yes: int, decided: int, undecided: int) -> str:
    """Return `16 of 40`, or, with undecided trials, the range that they leave: `16 to 26 of 40 (40 % to 65 %)`."""
    total = decided + undecided
    if not undecided:
        return f"{yes} of {total}"
    least, most = (f"{100 * count / total:.0f} %" for count in (yes, yes + undecided))
    return f"{yes} to {yes + undecided} of {total}" + (f" ({least} to {most})" if least != most else "")


def mark_words(totals: Mapping[str, int], *names: str) -> str:
    """Return the legend text of a mark, from the totals with these names: `trials failed (7) and missing (2)`."""
    return "trials " + " and ".join(f"{name} ({totals[name]})" for name in names if totals[name])


def unknown_words(counts: Mapping[str, int]) -> str:
    """Return how many trials have no known value, by reason: `3 undecided and 88 unmeasured`."""
    return " and ".join(f"{count} {name}" for name, count in counts.items())
