"""The project's words are plain English: no docstring, comment, message or page has a phrase of the former dialect.

`python -m tests.language PATH...` prints each place that is counted here; `tests/language.py` has the phrases.
"""

from collections import Counter

import pytest

from .language import DIALECT, ROOT, in_help, in_text, search

BUDGETS = {
    "benchmarks": (0, 4),
    "configs": (0, 2),
    "recovery": (4, 2),
    "recovery/extras": (26, 23),
    "recovery/instances": (9, 10),
    "recovery/programs": (0, 4),
    "recovery/report": (16, 23),
    "recovery/runner": (16, 33),
    "recovery/solvers": (8, 12),
    "recovery/tensors": (0, 3),
    "tests": (1, 2),
    "tests/attack": (4, 1),
    "tests/programs": (0, 1),
    "tests/proofs": (0, 4),
    "tests/report": (4, 5),
    "tests/runner": (5, 6),
    "tests/solvers": (1, 2),
}
"""Package -> allowed docstrings with a forbidden opening, and allowed phrases. Lower a budget when its count falls."""


def package(parts: tuple[str, ...]) -> str:
    return "/".join(parts[:2] if len(parts) > 2 and parts[0] in ("recovery", "tests") else parts[:1])


def test_no_package_has_more_of_the_dialect_than_its_budget() -> None:
    openings, phrases = Counter[str](), Counter[str]()
    for top in ("recovery", "cli", "configs", "benchmarks", "tests"):
        for finding in search(ROOT / top):
            (openings if finding.opening else phrases)[package(finding.path.relative_to(ROOT).parts)] += 1
    counts = {name: (openings[name], phrases[name]) for name in sorted(openings.keys() | phrases.keys())}
    over = {
        name: count
        for name, count in counts.items()
        if any(have > allowed for have, allowed in zip(count, BUDGETS.get(name, (0, 0)), strict=True))
    }
    assert over == {}, f"`python -m tests.language {' '.join(over)}` prints the places"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_first_pages_have_no_dialect(page: str) -> None:
    assert list(map(str, search(ROOT / page))) == []


def test_help_has_no_dialect() -> None:
    assert len(list(in_help())) <= 6, "`python -m tests.language help` prints the places"


def test_phrases_are_found_across_lines_and_words_that_contain_them_are_not() -> None:
    (found,) = in_text("A weight.\nThe tolerance asked\n  for is reached.", ROOT / "x.py")
    assert (found.line, found.phrase) == (2, "asked for")
    assert not DIALECT.search("that often, of latent variables, a masked format, the household")
