"""`recover report RESULTS --claims FILE`: verdicts on claims of the reader's own, and nothing is written."""

from hashlib import blake2b
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from recovery.cli.main import main

PAPERS = Path(__file__).parents[2] / "results" / "papers"
GRIDS = {
    "p1-fig12": "{kind: value, of: support_recovered, at_least: 0.9, where: {method.beta: 0.5}}",
    "p1-fig02b": "{kind: value, of: pattern_count, at_least: 0, statistic: every}",
    "all-theorems": "{kind: bound, of: recovered, at_least: 0.9, where: {method.program: exact}}",
}
"""Stored grid -> a claim about it that is supported."""


def report(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def checksum(folder: Path) -> str:
    """A hash of the names, times and contents of all files."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    whole = b"".join(f"{path} {path.stat().st_mtime_ns}".encode() + path.read_bytes() for path in files)
    return blake2b(whole).hexdigest()


@pytest.mark.parametrize("name", GRIDS)
def test_claims_of_a_reader_are_judged_and_leave_the_folder_as_it_is(name: str, tmp_path: Path) -> None:
    mine, before = tmp_path / "mine.yaml", checksum(PAPERS / name)
    mine.write_text(f"claims:\n  - {GRIDS[name]}\n")
    result = report(PAPERS / name, "--claims", mine)
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    assert line.startswith("supported: claimed ")
    assert "; measured " in line
    mine.write_text(f"claims:\n  - {GRIDS[name]}\n  - {{kind: value, of: seconds, at_least: 1e6}}\n")
    result = report(PAPERS / name, "--claims", mine)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].startswith("contradicted: claimed ")
    assert checksum(PAPERS / name) == before


def test_faults_of_a_file_of_claims_have_their_place(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("name: x\nclaims:\n  - {kind: value, of: support_recoverd, at_least: 0.9}\n")
    result = report(PAPERS / "p1-fig12", "--claims", mine)
    assert result.exit_code == 2
    assert f"{mine}:1:1: name: unknown key; allowed: claims" in result.stderr
    assert f"{mine}:3:23: claims[0].of: found 'support_recoverd'" in result.stderr
    assert "did you mean 'support_recovered'?" in result.stderr
    mine.write_text("claims: []\n")
    assert "found no claims" in report(PAPERS / "p1-fig12", "--claims", mine).stderr


def test_a_picture_with_claims_is_not_written_into_the_folder(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(f"claims:\n  - {GRIDS['p1-fig12']}\n")
    refused = report(PAPERS / "p1-fig12", "--claims", mine, "--format", "html")
    assert refused.exit_code == 2
    assert "give --out FILE" in refused.stderr
    result = report(PAPERS / "p1-fig12", "--claims", mine, "--out", tmp_path / "page.md")
    assert result.exit_code == 0, result.output
    assert "0.9" in (tmp_path / "page.md").read_text()
