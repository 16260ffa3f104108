"""Text that others wrote, made fit to be stored and shown."""


def printable(text: str) -> str:
    """One line of printable characters: blanks joined, and each control character or lone surrogate as `?`.

    A terminal obeys escape sequences; Parquet and JSON refuse lone surrogates.
    """
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
