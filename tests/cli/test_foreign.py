"""A results folder is data: what it says is checked, and none of the code that it names runs unless it is trusted."""

import csv
import io
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recovery.config import ConfigError, load
from recovery.extras.rigorous import Checked, Verified, write
from recovery.report.texts import csv_text
from recovery.store import read
from recovery.store.compaction import compact
from recovery.store.files import document_checksum
from recovery.store.folder import Folder
from recovery.store.grid import StoredRows
from recovery.store.parts import list_parts, write_part
from tests.cli.test_commands import RUNS, in_place
from tests.invoke import recover, refused, said
from tests.runner.sweeps import rows, sweep, write_config
from tests.suites import first

PROGRAM: dict[str, Any] = {"method": {"kind": "isometry"}, "architecture": "relu_skip"}
CLAIMED = {**PROGRAM, "title": "Title", "claims": [{"kind": "statement", "text": "A claim of 2.0"}]}
PWN = "open({flag!r}, 'w').close()\ndef f(rng, n, d):\n    return rng.standard_normal((n, d))\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the program's own methods."""
    path = tmp_path_factory.mktemp("made")
    assert sweep(write_config(path, **CLAIMED), path / "out").stored == {"ok": 24}
    compact(Folder(path / "out"))
    return path / "out"


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "out"))


def edit(out: Path, **config: Any) -> None:
    """Change the stored config as someone who knows the format would, checksum and all."""
    content = Folder(out).load()
    Folder(out).update({**content, "config": {**content["config"], **config}})


def test_no_code_that_a_folder_names_runs(out: Path, tmp_path: Path) -> None:
    evil, flag = tmp_path / "evil", tmp_path / "flag"
    evil.mkdir()
    (evil / "pwn_things.py").write_text(PWN.format(flag=str(flag)))
    edit(out, data={"ensemble": "pwn_things:f"}, folder=str(evil))
    trial = rows(out).index[0]
    for command in (("status",), ("verify",), ("replay", trial), ("report",)):
        recover(command[0], out, *command[1:])
        assert not flag.exists(), command
    for command in (("verify", out), ("replay", out, trial)):
        assert f"runs code of {evil}: pwn_things:f; --trust allows it" in refused(*command)
    config = write_config(tmp_path, **PROGRAM)
    assert "holds another sweep" in recover("sweep", config, "--out", out).stderr
    assert not flag.exists()
    recover("verify", out, "--trust")
    assert flag.exists()


def test_verify_fails_where_the_config_was_edited(out: Path) -> None:
    assert recover("verify", out).exit_code == 0
    edit(out, seed=8)
    result = recover("verify", out)
    assert result.exit_code == 1
    assert "24 stored rows belong to no trial of the sweep" in result.stdout


def test_verify_fails_where_nothing_is_stored(out: Path) -> None:
    shutil.rmtree(out / "trials")
    result = recover("verify", out)
    assert result.exit_code == 1
    assert "nothing to verify" in result.stdout


@pytest.mark.parametrize("name", ["../../x", 3])
def test_a_name_that_leads_elsewhere_is_refused(out: Path, name: Any) -> None:
    for part in list_parts(out / "trials"):
        part.unlink()
    content = Folder(out).load()
    Folder(out).update({**content, "name": name, "config": {**content["config"], "name": name}})
    assert recover("report", out).exit_code == 2


def test_what_is_no_part_is_named(out: Path) -> None:
    before = rows(out)
    trials = out / "trials"
    shutil.copy(list_parts(trials)[0], trials / "copy.parquet")
    os.mkfifo(trials / "pipe.parquet")
    os.mkfifo(trials / f"part-{'0' * 32}.parquet")
    (trials / "folder.parquet").mkdir()
    write_part(trials, pa.table({"x": [1]}))
    for command in ("status", "report", "verify"):
        result = refused(command, out)
        assert "pipe.parquet" in result
        assert "has no column 'trial_id'" in result
    (trials / "folder.parquet").rmdir()
    Folder(out).prepare(StoredRows(trials).damaged)
    assert rows(out).equals(before)


CRAFTED: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "two columns of one name": (lambda rows: rows.append_column("n", rows["n"]), "has two columns 'n'"),
    "a column of two lines": (lambda rows: rows.append_column("a\nb", rows["n"]), r"columns 'a\nb'"),
    "no n": (lambda rows: rows.drop_columns(["n"]), "has no column 'n'"),
    "no version": (lambda rows: _filled(rows, "made_by", None), "its column 'made_by' has empty rows"),
    "no JSON": (lambda rows: _filled(rows, "unmeasured", "\x1b[2J"), "1 of 24 rows replayed"),
    "text of two lines": (lambda rows: _filled(rows, "error_message", "\u202e\nOWNED"), "? OWNED"),
}


def _filled(rows: pa.Table, column: str, text: str | None) -> pa.Table:
    index = rows.schema.get_field_index(column)
    return rows.set_column(index, column, pa.array([text] * len(rows), pa.string()))


@pytest.mark.parametrize("craft", CRAFTED)
def test_values_of_a_crafted_part_are_no_traceback(out: Path, craft: str) -> None:
    change, words = CRAFTED[craft]
    (part,) = list_parts(out / "trials")
    write_part(out / "trials", change(pq.read_table(part)))
    part.unlink()
    said = [recover(*command).output for command in (["verify", out, "--sample", 1], ["trials", out], ["status", out])]
    assert words in "".join(said)
    assert all(map(str.isprintable, "".join(said).split("\n")))


def test_the_grid_in_the_repository_verifies() -> None:
    """Its rows are older than some columns, which is no difference.

    A row may be not comparable where another version of NumPy stored it: the signs of singular vectors, which draws of
    `haar` and `whitened_cubic` have, are those of its OpenBLAS.
    """
    grid = Path(__file__).parents[2] / "results" / "papers" / "p1-fig06"
    result = recover("verify", grid, "--sample", 40, "--seed", 1)
    assert "0 different" in result.stdout
    counted = re.search(r"(\d+) not comparable", result.stdout)
    assert result.exit_code == int(counted is not None), result.output
    assert counted is None or int(counted[1]) <= 4  # of about 20 rows of such draws


def test_a_title_is_one_line_of_printable_characters(tmp_path: Path) -> None:
    title = "a\n\\input{{/etc/passwd}}\u202e"
    config = write_config(tmp_path, **{**CLAIMED, "title": title, "source": "P1\nFigure 6"})
    sweep_of = load(config)
    assert sweep_of.title == "a \\input{{/etc/passwd}}?"
    assert sweep_of.source == "P1 Figure 6"
    assert sweep_of.document["title"] == title


FORMULAS = ["=HYPERLINK(1)", "+cmd", "-cmd", "@sum", "plain", "-1", "1e3"]


def test_text_of_a_table_is_no_formula(out: Path, tmp_path: Path) -> None:
    table = pd.DataFrame({"text": FORMULAS, "=number": [-1.5, 2, 3, 4, 5, 6, float("nan")]})
    read_back = list(csv.reader(io.StringIO(csv_text(table))))
    assert [row[0] for row in read_back] == ["text", *(f"'{text}" for text in FORMULAS[:4]), *FORMULAS[4:]]
    assert [row[1] for row in read_back] == ["'=number", "-1.5", "2", "3", "4", "5", "6", ""]
    assert recover("compare", out, out, "--out", tmp_path / "x.csv").exit_code == 0
    checked = Checked("a", "recovered", Verified(False, "=1+1"), 1.0)
    write(tmp_path / "y.csv", [checked])
    assert "'=1+1" in (tmp_path / "y.csv").read_text()


def test_a_proof_of_rows_without_verdicts_fails(out: Path) -> None:
    result = recover("verify", out, "--rigorous", "--sample", 2)
    assert result.exit_code == 1
    assert "0 of 0 verdicts proved" in result.output
    assert "none of these rows has a verdict that --rigorous can prove" in result.output


HOSTILE = f"\x1b]0;owned\x07\nOWNED; touch OWNED \u202e\u200f{os.fsdecode(bytes([255]))}"
"""The name of a file: it sets a terminal's title, is two lines, a command, from right to left, and is not UTF-8."""
CALLS = {name: words for name, (words, _) in RUNS.items() if words} | {
    "check": ["GRID/NAME"],
    "reproduce": ["p2-fig01", "--gallery-only", "--out", "GRID"],
    "submit": ["CONFIG", "--array", "1", "--out", "GRID"],
    "sweep": ["CONFIG", "--out", "GRID"],
}


PLACES = [f"trials/{HOSTILE}.parquet", f"rounds/0{HOSTILE}.json", "itself", "below"]


@pytest.mark.parametrize("place", first(1, PLACES), ids=ascii)
def test_names_of_files_reach_no_terminal_as_they_are(out: Path, tmp_path: Path, place: str) -> None:
    trial, grid = rows(out).index[0], out
    if place == "itself":
        grid = out.rename(tmp_path / HOSTILE)
    elif place == "below":
        grid = tmp_path / "grid"
        shutil.copytree(out, grid / HOSTILE)
        shutil.rmtree(grid / HOSTILE / "trials")
    else:
        (out / place).parent.mkdir(exist_ok=True)
        (out / place).write_text("no part")
    places = {"GRID": str(grid), "CONFIG": str(write_config(tmp_path, **CLAIMED)), "OUT": str(tmp_path / "x")}
    named = set()
    for name in sorted(CALLS, key={"sweep", "submit"}.__contains__):  # these move such files away
        said = recover(name, *in_place(CALLS[name], {**places, "TRIAL": trial, "NAME": HOSTILE})).output
        assert all(map(str.isprintable, said.split("\n"))), said
        assert "\nOWNED" not in said
        if r"\x1b]0;owned\x07\nOWNED" in said:
            named.add(name)
    assert named >= {"status", "verify", "compare", "merge"}, (place, named)


def test_commands_to_be_pasted_are_quoted(made: Path, tmp_path: Path) -> None:
    """Each names the folder as one word, whatever its name is."""
    out = tmp_path / "a; touch OWNED"
    config = write_config(tmp_path, method={"act": "raise"})
    said = recover("sweep", config, "--out", out).stderr + recover("status", out).stdout
    said += refused("report", shutil.copytree(made, out / "b", ignore=shutil.ignore_patterns("*.parquet")))
    (out / "slurm").mkdir()
    (out / "slurm" / "1; touch OWNED").mkdir()
    said += recover("status", out).stdout + recover("submit", config, "--array", 1, "--out", out).stdout
    pasted = [shlex.split(line) for line in re.findall(r"(?:: |`)((?:recover|sbatch) [^`\n]+)", said)]
    assert {"status", "report", "replay", "sweep", f"{out}/slurm/array.sbatch"} == {words[1] for words in pasted}
    assert all(sum(word.startswith(str(out)) for word in words) == 1 for words in pasted)


@pytest.mark.parametrize("link", ["file", "folder"])
@pytest.mark.parametrize("kind", ["png", "html"])
def test_no_link_in_a_folder_is_followed(out: Path, tmp_path: Path, kind: str, link: str) -> None:
    """A folder may be somebody else's: its links must not make a report overwrite other files."""
    victim, place = tmp_path / "victim", out / "report" / f"fake-holds.{kind}"
    victim.mkdir()
    (victim / place.name).write_text("mine")
    if link == "file":
        place.parent.mkdir()
        place.symlink_to(victim / place.name)
    else:
        place.parent.symlink_to(victim)
    assert "symbolic link" in refused("report", out, "--format", kind)
    assert [path.read_text() for path in victim.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["trials", "rounds", "damaged", "slurm"])
def test_no_link_in_a_folder_is_written_through(out: Path, tmp_path: Path, name: str) -> None:
    """A sweep moved a file of somebody's out of the folder that `trials` pointed to."""
    config = write_config(tmp_path, **CLAIMED)
    victim = Path(shutil.move(out / name, tmp_path / "victim")) if name == "trials" else tmp_path / "victim"
    victim.mkdir(exist_ok=True)
    for file in ("part-mine.parquet", "array.sbatch", "02.json"):
        (victim / file).write_text("mine")
    (out / name).symlink_to(victim)
    before = {path.name: path.read_bytes() for path in victim.iterdir()}
    said = recover("submit", config, "--array", 1, "--out", out).output
    for command in (["sweep", config, "--out", out], ["merge", out, "--out", out]) if name != "slurm" else ():
        said += recover(*command).output
    assert "symbolic link" in said
    assert {path.name: path.read_bytes() for path in victim.iterdir()} == before


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """The results of a sweep of 24 trials, and 24 rows of the same with another seed among them."""
    out = tmp_path / "out"
    sweep(write_config(tmp_path, **PROGRAM), out)
    sweep(write_config(tmp_path, **PROGRAM, seed=8), tmp_path / "other")
    for part in list_parts(tmp_path / "other" / "trials"):
        shutil.copy(part, out / "trials")
    return out


def counted(folder: Path) -> tuple[int, int]:
    """The numbers of rows that count, and that are left out."""
    grid = read(folder)
    return len(grid.table), grid.left_out.rows if grid.left_out else 0


def test_rows_of_another_seed_do_not_count(mixed: Path) -> None:
    assert counted(mixed) == (24, 24)
    result = recover("status", mixed)
    assert "24 of 24 trials stored, 0 missing" in result.stdout
    assert "24 rows of another sweep" in result.stdout
    counts = json.loads(recover("status", mixed, "--json").stdout)
    assert (counts["stored"], counts["missing"]) == (24, 0)
    assert "24 rows of another sweep" in counts["left_out"]
    result = recover("report", mixed, "--format", "json")
    assert result.exit_code == 0, result.output
    assert "24 rows of another sweep" in result.stderr
    result = recover("verify", mixed, "--sample", 2, "--trust")
    assert result.exit_code == 1
    assert "24 rows of another sweep" in result.stdout
    assert "2 of 24 rows replayed" in result.stdout


Round = dict[str, Any]


@pytest.fixture(scope="module")
def with_rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two rounds, and its config beside it."""
    folder = tmp_path_factory.mktemp("made")
    config = write_config(
        folder,
        method={"kind": "isometry"},
        architecture="relu_skip",
        sampling={"kind": "until", "rule": "threshold +-1.5", "ceiling": 2},
        axes={"n": [4, 6, 8, 10], "d": [3]},
        report={"value": "holds"},
    )
    done = recover("sweep", config, "--out", folder / "out", "--backend", "threading", "-q")
    assert done.exit_code == 1  # the rule is not met at the ceiling
    return folder


@pytest.fixture
def crafted(with_rounds: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(with_rounds / "out", tmp_path / "out"))


def cell(content: Round) -> str:
    return str(next(iter(content["counts"])))


ROUNDS: dict[str, Callable[[Round], Round]] = {
    "nothing": lambda content: {},
    "a count that is text": lambda content: {**content, "counts": {cell(content): "x"}},
    "a huge count": lambda content: {**content, "counts": {cell(content): 10**30}},
    "a huge budget": lambda content: {**content, "budget": 10**30},
    "another number": lambda content: {**content, "round": 3},
}


@pytest.mark.parametrize("craft", ROUNDS)
def test_a_round_that_no_sweep_writes_is_damage(with_rounds: Path, crafted: Path, craft: str) -> None:
    path = crafted / "rounds" / "02.json"
    content = json.loads(path.read_text())
    content.pop("checksum")
    new = ROUNDS[craft](content)
    path.write_text(json.dumps({**new, "checksum": document_checksum(new)}))
    for command in (["status"], ["report", "--format", "json"], ["verify"]):
        assert "02.json: is not a round that this program wrote" in refused(command[0], crafted, *command[1:])
    done = recover("sweep", with_rounds / "fake.yaml", "--out", crafted, "--backend", "threading")
    assert done.exit_code == 1  # the rule is not met
    assert "02.json: moved aside" in done.stderr
    shutil.rmtree(crafted / "rounds")  # then the trials of the first round alone are planned
    assert "trials stored, 0 missing" in said("status", crafted)


@pytest.mark.parametrize("edited", [{"trials": -1}, {"config": {"name": "fake", "axes": {"n": 10**400}}}])
def test_numbers_that_no_sweep_has_are_damage(out: Path, edited: dict[str, Any]) -> None:
    Folder(out).update({**Folder(out).load(), **edited})
    assert (Folder(out).damage() is None, recover("report", out, "--format", "terminal").exit_code) == (False, 0)


def test_a_claim_about_patterns_that_no_sweep_has_is_no_traceback(out: Path) -> None:
    edit(out, patterns={"kind": "x"}, claims=[{"kind": "threshold", "of": "holds", "ratio": "n/d", "at_least": 1.0}])
    assert recover("report", out, "--format", "terminal").exit_code == 0


def test_more_trials_than_a_sweep_can_have_are_refused(crafted: Path) -> None:
    edit(crafted, replicates=10**18)
    for command in (["report", "--format", "json"], ["verify"], ["replay", "0"]):
        assert "10000000" in refused(command[0], crafted, *command[1:])


@pytest.mark.parametrize("field", ["title", "source"])
def test_a_title_has_a_bounded_length(crafted: Path, tmp_path: Path, field: str) -> None:
    """Drawing a title of a megabyte took 25 s."""
    edit(crafted, **{field: "x " * 500_000})
    for command in (["report"], ["report", "--format", "html"]):
        assert len(refused(command[0], crafted, *command[1:])) < 500
    with pytest.raises(ConfigError, match=field):
        load(write_config(tmp_path, **{field: "x" * 1001}))
    load(write_config(tmp_path, **{field: "x" * 1000}))
