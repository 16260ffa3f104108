"""The numbers on the pages of findings are read from stored rows when the page is generated."""

import pytest
from scipy.stats import beta

from docs.generate import DOCS, FINDINGS, TEMPLATES, measured
from docs.measured import GRIDS, filled, typed
from recovery.errors import StoreError
from recovery.store import read


@pytest.mark.parametrize("page", [*FINDINGS, "tables"])
def test_no_number_stands_without_its_grid(page: str) -> None:
    assert typed((DOCS / f"{page}.template").read_text()) == []


def test_a_number_follows_its_grid() -> None:
    query = "`method.program` == 'gated' and `patterns.kind` == 'all' and n == 110"
    assert filled("{{share p1-theorem7 all_ones | " + query + "}}") == "40 of 40"
    assert filled("{{share p1-theorem7 recovered | " + query + "}}") == "0 of 40"
    assert filled("{{largest p1-theorem7 n | n < 150}}") == "120"
    assert filled("{{trials p1-theorem5 | d == 240}}") == "30 trials of [p1-theorem5](papers/P1.md#p1-theorem5)"


def test_growth_misses_and_failures_follow_their_grids() -> None:
    grows, control = filled("{{growth all-isometry 3}}"), filled("{{growth all-isometry 1}}")
    assert grows.endswith(": grows")
    assert control.endswith(": a constant is not ruled out")
    rows = read(GRIDS / "all-samples").frame
    true = rows[(rows["patterns.kind"] == "all") & (rows["d"] == 4) & (rows["n"] == 8)].sort_values("replicate")
    few = rows[(rows["patterns.count"].astype(str) == "100") & (rows["d"] == 4) & (rows["n"] == 8)]
    few = few.sort_values("replicate")
    missed = int((few["holds"].to_numpy(bool) & ~true["holds"].to_numpy(bool)).sum())
    queries = "`patterns.count` == '100' and d == 4 and n == 8 | `patterns.kind` == 'all' and d == 4 and n == 8"
    assert filled("{{missed all-samples holds | " + queries + "}}") == f"{missed} of {int((~true['holds']).sum())}"
    failures = int((~true["holds"]).sum())
    assert filled("{{fails all-samples holds | `patterns.kind` == 'all' and d == 4 and n == 8}}") == (
        f"{failures} of 40, at least {beta.ppf(0.025, failures, 41 - failures):.0%}"
    )
    with pytest.raises(ValueError, match="no pairs"):
        filled("{{missed all-samples holds | d == 4 | d == 4}}")


@pytest.mark.parametrize(
    "place",
    [
        "{{mean p1-theorem7 gap | n == 7}}",
        "{{share no-such-grid recovered}}",
        "{{test tests/theory/test_strong.py 0.4321}}",
        "{{mean p1-theorem7 no_such_column}}",
    ],
)
def test_a_place_without_a_source_is_refused(place: str) -> None:
    with pytest.raises((ValueError, KeyError, StoreError), match=r"no trials|no such|does not have|no_such"):
        filled(place)


def test_a_verdict_follows_the_gallery() -> None:
    assert filled("{{verdict p2-fig06 1}}") == "supported"


def test_a_printed_number_stands_beside_ours_with_the_errors_of_both() -> None:
    query = "noise == 5 and `method.selector` == 'forest'"
    rows = read(GRIDS / "p3-table1").frame.query(query)["test_mse"].to_numpy(float)
    own = rows.std(ddof=1) / 10
    for stated, error in (("0.8", 0.8), ("ours", own)):
        z = (rows.mean() - 9.7) / (own**2 + error**2) ** 0.5
        found = filled("{{number p3-table1 test_mse | " + query + " | 9.7 " + stated + "}}")
        assert found == f"{rows.mean():.3g} (z = {z:+.1f})"
    lines = filled("{{numbers p3-table1 3}}").splitlines()
    assert len(lines) == 7
    far, near = lines[5].split(" | ")[-1], lines[5].split(" | ")[1]
    assert far.startswith(f"9.7 / **{rows.mean():.3g} (+3.1)**")
    assert "**" not in near
    printed, sure, unsure = (filled("{{within " + draws + "p3-table1}}") for draws in ("", "1000000 ", "1 "))
    assert printed == "55 of 60"
    assert int(sure.split()[0]) < 55 < int(unsure.split()[0])  # the fewer draws a source has, the less its mean tells
    with pytest.raises(ValueError, match="no table"):
        filled("{{numbers p1-theorem7 1}}")
    with pytest.raises(ValueError, match="no trials"):
        filled("{{number p3-table1 test_mse | noise == 77 | 9.7 0.8}}")


@pytest.mark.deep
@pytest.mark.parametrize("page", TEMPLATES)
def test_pages_are_those_of_the_grids(page: str) -> None:
    assert (DOCS / f"{page}.md").read_text() == measured(page), "run `python -m docs.generate`"
