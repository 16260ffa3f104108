"""Foreign text made safe to store and show, expressions parsed, and formatting of counts, choices and durations."""

import ast
import difflib
import re
import shlex
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

FOLDER_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
"""Names of sweeps, which are names of folders: none can lead out of the results folder."""
PARSING_ATTEMPTS = 100
FORMULA = ("=", "+", "-", "@", "\t", "\r")
_HIDDEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def syntax_tree(source: str) -> Any:
    """Return the `ast` tree of a Python expression. Raises `SyntaxError`, `ValueError`.

    In Python 3.11 a thread that parses, or formats a traceback, at the same time can make this fail: it is tried again.
    """
    for _ in range(PARSING_ATTEMPTS):
        with suppress(SystemError):
            return ast.parse(source, mode="eval")
    return ast.parse(source, mode="eval")


def is_plain(text: str) -> bool:
    """Return whether text has no control characters except line breaks and tabs, and no lone surrogate."""
    return _CONTROL.search(text) is None


def printable(text: str) -> str:
    """Return text as one line of printable characters: white space collapsed, other unprintable characters as `?`.

    Terminals execute escape sequences; Parquet and JSON reject lone surrogates.
    """
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))


def path_text(path: object) -> str:
    """Return a path as one line that shows each of its characters: control characters, those that change the direction
    of text, and bytes that are not UTF-8 as escapes, because a terminal executes them."""
    return _HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), str(path))


def command_text(*words: object) -> str:
    """Return a command of the program as a shell reads it, for a message from which it is pasted."""
    return shlex.join(["recover", *map(str, words)])


def spreadsheet_text(text: str) -> str:
    """Return text for a CSV field: an apostrophe comes before text that a spreadsheet would run as a formula."""
    if text.startswith(FORMULA):
        try:
            float(text)
        except ValueError:
            return f"'{text}"
    return text


SYNONYMS = {"normal": "gaussian", "end": "stop", "num": "count", "X_test": "test", "y_test": "test_labels"}
"""Word of other programs -> our word, which no similarity of spelling would suggest."""


def did_you_mean(word: object, allowed: Iterable[str]) -> str:
    """Return `; did you mean 'gaussian'?`, or an empty text if no allowed word is similar."""
    words = list(allowed)
    synonym = SYNONYMS.get(str(word))
    near = [synonym] if synonym in words else difflib.get_close_matches(str(word), words, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def choices(values: Iterable[object]) -> str:
    """Return the values in words: `a, b or c`; `none` for no values."""
    words = [str(value) for value in values]
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else "".join(words) or "none"


def many(count: int, thing: str) -> str:
    """Return a count with its noun: `1 trial`, `2 trials`."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return seconds as text: 12 s, 3 min 20 s, 2 h 05 min, 3 d 4 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
