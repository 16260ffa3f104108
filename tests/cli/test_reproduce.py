"""`recover reproduce`: figures of the papers, run in turn, and their gallery."""

from pathlib import Path

import pytest

from recovery.cli.reproduce import chosen
from recovery.config import load
from recovery.extras.gallery import OURS, PAPERS, Extent, Shown, figure_plan, gallery_pages
from recovery.report.claims.result import ClaimResult
from recovery.store import read
from tests.invoke import recover, refused, said

ROOT = Path(__file__).parents[2]
SMALL = "p1-fig03"
TRIALS = load(SMALL).size
"""The figure with the fewest trials that are cheap: eight, two cells of four."""
OTHER = "p2-fig01"
"""A figure with few trials: ten draws of two cells."""


def size(folder: Path) -> str:
    return Extent.of(figure_plan(SMALL, folder), load(SMALL).replicates).words


@pytest.mark.deep
def test_a_figure_is_run_and_shown_with_what_was_stored(tmp_path: Path) -> None:
    said("reproduce", SMALL, "--replicates", 1, "--out", tmp_path, "-q", "--jobs", 1)
    page = (tmp_path / "P1.md").read_text()
    assert "1 figures: 1 reduced." in page
    assert f"Size: reduced: 1 of {load(SMALL).replicates} replicates." in page
    assert f"`recover sweep {SMALL} --set replicates=1`: 2 trials" in page
    first = read(tmp_path / SMALL).frame.set_index("trial_id")["seconds"]
    again = said("reproduce", SMALL, "--out", tmp_path, "-q", "--jobs", 1)
    stored = read(tmp_path / SMALL).frame.set_index("trial_id")["seconds"]
    assert stored.loc[first.index].equals(first)
    page = (tmp_path / "P1.md").read_text()
    assert "1 figures: 1 full." in page
    assert "](P1.md)" in (tmp_path / "README.md").read_text()
    assert f"| [{SMALL}](#{SMALL})" in page
    assert f"`recover sweep {SMALL}`: {TRIALS} trials" in page
    assert "full" in again
    pictures = [picture.name for picture in (tmp_path / "pictures").glob("*.png")]
    assert f"{SMALL}.png" in pictures
    assert all(f"](pictures/{picture})" in page for picture in pictures)
    assert f'[<img src="pictures/{SMALL}.png" width="200" alt=' in page
    assert len(list((tmp_path / SMALL / "trials").iterdir())) == 1
    assert f"{TRIALS} of {TRIALS} rows replayed" in said("verify", tmp_path / SMALL, "--sample", TRIALS)


def test_bars_of_a_claim_do_not_end_a_cell(tmp_path: Path) -> None:
    claim = ClaimResult("||w|| falls", "it does", "supported", "P2")
    one = Shown("x", "X", "|P2|", tmp_path / "x", Extent(2, 2, 2, "full"), 1.0, "", (("x.png", "|x|"),), (claim,))
    page = gallery_pages([one], tmp_path)["ours.md"]
    assert r"| [x](#x) | \|P2\| " in " ".join(page.split())
    image = r'<img src="x.png" width="200" alt="\|x\|">'
    assert rf"| [{image}](#x)<br>[x](#x)<br>1 supported |" in " ".join(page.split())
    assert "- **supported**: ||w|| falls (P2). Measured: it does." in page
    assert "1 of 1 claims agree with the measurement (0 contradicted, 0 inconclusive, 0 not tested)." in page


@pytest.mark.deep
def test_the_size_counts_the_trials_of_the_figure_alone(tmp_path: Path) -> None:
    said("sweep", SMALL, "--out", tmp_path / "a", "--shard", "1/8", "-q", "-j", 1)
    stored = len(read(tmp_path / "a").frame)
    assert size(tmp_path / "a").startswith(f"unfinished: {100 * stored // TRIALS} % of its trials, ")
    said("sweep", SMALL, "--out", tmp_path / "b", "--set", "replicates=25", "-q", "-j", 1)
    assert size(tmp_path / "b") == "full"
    assert size(tmp_path / "c") == "not run"


@pytest.mark.deep
def test_a_figure_that_cannot_run_stops_no_other_and_is_an_entry_that_says_why(tmp_path: Path) -> None:
    said("sweep", SMALL, "--set", "seed=4", "--out", tmp_path / SMALL, "-q", "-j", 1)
    (tmp_path / "p2-fig05").mkdir()
    (tmp_path / "p2-fig05" / "sweep.json").write_text("{")
    result = recover("reproduce", SMALL, OTHER, "--out", tmp_path, "-q", "-j", 1)
    assert result.exit_code == 1, result.output
    assert f"{SMALL}: " in result.stderr
    assert "holds another sweep" in result.stderr
    assert "3 figures: 2 not run, 1 full." in (tmp_path / "README.md").read_text()
    assert "holds another sweep" in (tmp_path / "P1.md").read_text()
    assert f"## {OTHER}" in (tmp_path / "P2.md").read_text()


@pytest.mark.deep
def test_the_gallery_in_the_repository_says_what_is_stored() -> None:
    """Each stored grid is shown with its size, by the ids of its trials."""
    papers = ROOT / "results" / "papers"
    page = "".join((papers / f"{paper}.md").read_text() for paper in (*PAPERS, OURS))
    stored = sorted(folder.parent.name for folder in papers.glob("*/sweep.json"))
    assert stored
    for name in stored:
        found = Extent.of(figure_plan(name, papers / name), load(name).replicates)
        (row,) = [line for line in page.splitlines() if line.startswith(f"| [{name}]")]
        assert [cell.strip() for cell in row.split("|")][3:5] == [found.words, f"{found.stored} of {found.full}"]


def test_a_paper_is_all_of_its_figures() -> None:
    of_p2 = chosen(("p2",))
    assert OTHER in of_p2
    assert all(name.startswith("p2-") for name in of_p2)
    assert set(of_p2) < set(chosen(("all",)))
    assert chosen(("P2", OTHER, SMALL)) == [*of_p2, SMALL]


def test_a_stop_before_the_first_trial_writes_nothing(tmp_path: Path) -> None:
    result = recover("reproduce", "p2", "--max-time", "0.001", "--out", tmp_path / "papers")
    assert result.exit_code == 75, result.output
    assert "before the first trial" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("asked", "said"), [("P5", "P1, P2, P3, P4"), ("p3-suport", "p3-support")])
def test_another_name_is_refused_with_those_that_there_are(tmp_path: Path, asked: str, said: str) -> None:
    assert said in refused("reproduce", asked, "--out", tmp_path / "papers")
    assert not list(tmp_path.iterdir())
