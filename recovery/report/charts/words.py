"""Names as pages print them: the papers' letters without mathematics markup."""

from recovery.report.figures.names import LETTERS

SYMBOLS = {"$": "", r"\sigma": "σ", r"\beta": "β", r"\eta": "η", r"\tau": "τ"}  # noqa: RUF001


def axis_words(name: str) -> str:
    """A coordinate for an axis: the paper's letter, or the last part of its path in words."""
    last = name.split(".")[-1]
    words = LETTERS.get(last, "")
    for markup, letter in SYMBOLS.items():
        words = words.replace(markup, letter)
    return words or last.replace("_", " ")
