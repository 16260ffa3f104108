"""The project's words are plain English: no docstring, comment, message or page has a phrase of the former dialect.

`python -m tests.language PATH...` prints each place that is counted here; `tests/language.py` has the phrases.
"""

from collections import Counter

import pytest

from .language import DIALECT, ROOT, in_help, in_text, search

LEFT = {"recovery/programs": 2, "recovery/tensors": 3, "tests": 2}
"""Package -> phrases that stay: in claims and reasons that stored folders repeat, and in the test below."""


def package(parts: tuple[str, ...]) -> str:
    return "/".join(parts[:2] if len(parts) > 2 and parts[0] in ("recovery", "tests") else parts[:1])


def test_no_docstring_begins_oddly_and_only_stored_texts_have_phrases_of_the_dialect() -> None:
    findings = [
        finding for top in ("recovery", "cli", "configs", "benchmarks", "tests") for finding in search(ROOT / top)
    ]
    assert [str(finding) for finding in findings if finding.opening] == []
    counts = Counter(package(finding.path.relative_to(ROOT).parts) for finding in findings)
    assert counts == LEFT, f"`python -m tests.language {' '.join(counts)}` prints the places"


@pytest.mark.parametrize("place", ["README.md", "CONTRIBUTING.md", "docs"])
def test_pages_have_no_dialect(place: str) -> None:
    assert list(map(str, search(ROOT / place))) == []


def test_help_has_no_dialect() -> None:
    assert list(map(str, in_help())) == []


def test_phrases_are_found_across_lines_and_words_that_contain_them_are_not() -> None:
    (found,) = in_text("A weight.\nThe tolerance asked\n  for is reached.", ROOT / "x.py")
    assert (found.line, found.phrase) == (2, "asked for")
    assert not DIALECT.search("that often, of latent variables, a masked format, the household")
