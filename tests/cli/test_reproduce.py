"""`recover reproduce`: figures of the papers, run in turn, and their gallery."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recovery.cli.main import main
from recovery.report.claims.result import ClaimResult
from recovery.report.gallery import Shown, Wanted, gallery_page
from recovery.store import read

SMALL = "p1-fig03"
"""The figure with the fewest trials that are cheap: eight."""


def reproduce(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["reproduce", *map(str, arguments)])


def test_a_figure_is_run_and_shown_with_what_was_stored(tmp_path: Path) -> None:
    result = reproduce(SMALL, "--replicates", 1, "--out", tmp_path, "-q", "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "0 of 1 at full size" in (tmp_path / "README.md").read_text()
    first = read(tmp_path / SMALL).frame.set_index("trial_id")["seconds"]
    again = reproduce(SMALL, "--out", tmp_path, "-q", "--jobs", 1)
    assert again.exit_code == 0, again.output
    stored = read(tmp_path / SMALL).frame.set_index("trial_id")["seconds"]
    assert stored.loc[first.index].equals(first)
    page = (tmp_path / "README.md").read_text()
    assert "1 of 1 at full size" in page
    assert f"| [{SMALL}](#{SMALL})" in page
    pictures = [picture.name for picture in (tmp_path / "pictures").iterdir()]
    assert f"{SMALL}.png" in pictures
    assert all(f"](pictures/{picture})" in page for picture in pictures)
    assert len(list((tmp_path / SMALL / "trials").iterdir())) == 1


def test_bars_of_a_claim_do_not_end_its_cell(tmp_path: Path) -> None:
    claim = ClaimResult("||w|| falls", "it does", "holds", "P2")
    one = Shown(Wanted("x", "X", "P2", 2, tmp_path / "x"), 2, 1.0, (("x.png", "x"),), (claim,))
    assert r"| \|\|w\|\| falls | it does" in gallery_page([one], tmp_path)


def test_what_is_not_run_or_damaged_is_an_entry_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "p2-fig05").mkdir()
    (tmp_path / "p2-fig05" / "sweep.json").write_text("{")
    result = reproduce(SMALL, "p2-fig05", "--gallery-only", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "README.md").read_text()
    assert page.count("not run") == 2
    assert "0 of 2 at full size" in page
    assert str(tmp_path / "p2-fig05") in page


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    result = reproduce("p2", "--dry-run", "--out", tmp_path / "papers")
    assert result.exit_code == 0, result.output
    assert "p2-fig01" in result.stdout
    assert "p1-fig06" not in result.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("asked", "said"), [("P5", "P1, P2, P3, P4"), ("p3-suport", "p3-support")])
def test_another_name_is_refused_with_those_that_there_are(tmp_path: Path, asked: str, said: str) -> None:
    result = reproduce(asked, "--out", tmp_path / "papers")
    assert result.exit_code == 2
    assert said in result.output
    assert not list(tmp_path.iterdir())
