"""Odd files, options, folders and streams: each ends in a message, soon, and in no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from recovery.cli.main import main
from recovery.runner.server import SERVER, start_server
from recovery.store import read
from tests.config.sweeps import write
from tests.invoke import recover, refused, said
from tests.own_method import COST, write_method
from tests.runner.sweeps import write_config

BASE = "name: odd\ndata: {ensemble: gaussian}\nplanted: {kind: linear}\narchitecture: relu_skip\n"
METHOD, SIZES = "method: {kind: isometry}\n", "n: 8\nd: 2\n"


def shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`recover` as bash runs it, with streams closed or a folder deleted on the way."""
    text = f'recover() {{ "{sys.executable}" -m recovery.cli "$@"; }}; {command}'
    return subprocess.run(
        ["bash", "-c", text], cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"n: 0x{'f' * 5000}\nd: 2\n{METHOD}", "integers have up to 64 bits"),
        (f"n: 1e20\nd: 2\n{METHOD}", "found 1e+20; allowed: an integer >= 1"),
        (f"{SIZES}{METHOD}noise: !!bool maybe\n", "found 'maybe' tagged as bool"),
        (f"n: !!int ''\nd: 2\n{METHOD}", "found '' tagged as int"),
        (f'{SIZES}{METHOD}title: "\\ud800"\n', "half a character"),
        (f'{SIZES}{METHOD}title: "\\e]0;owned\\a"\n', "control characters"),
        (f"n: 1000000000000\nd: 2\n{METHOD}", "X alone takes 14.6 TiB; at most 1 TiB are allowed"),
        (
            f"{SIZES}{METHOD}replicates: 1000000000\n",
            "replicates: found 1000000000; allowed: an integer >= 1 and <= 10000000",
        ),
        (f"d: 2\naxes: {{n: {list(range(4, 110_000))}}}\n{METHOD}", "more than 50000 values; write fewer"),
        (f'{SIZES}{METHOD}report: {{value: "holds{" " * 16_000}x"}}\n', "allowed: a measured column"),
        (f"{SIZES}method: {{kind: isometry, beta: 1}}\n", "beta belongs to regularized"),
    ],
    ids=lambda text: text[:24],
)
def test_odd_configs(tmp_path: Path, text: str, message: str) -> None:
    config = tmp_path / "odd.yaml"
    config.write_text(BASE + text)
    result = refused("check", config)
    assert message in result
    assert f"{config}:" in result
    assert max(map(len, result.replace(" " * 100, "").splitlines())) < 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "x" * 5000], "File name too long"),
        (["check", "fig06"], "p2-fig06"),
        (["check", "quickstrat"], "did you mean 'quickstart'?"),
        (["check", "."], "is a folder; give a YAML file or the name of a shipped config"),
        (["swep", "p1-fig06"], "did you mean 'sweep'?"),
        (["sweep", "p1-fig06", "--max-time", "inf"], "is not a time"),
        (["sweep", "p1-fig06", "--max-time", "1e300"], "not between 0 and 366 days"),
        (["sweep", "p1-fig06", "--out", "a\nb"], "control characters"),
        (["sweep", "p1-fig06", "--set", "n={start: 8, stop: 4}"], "an empty range: start 8 is beyond stop 4"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_odd_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(*arguments)
    assert not list(tmp_path.iterdir())


def test_more_shards_than_trials_do_not_take_longer(tmp_path: Path) -> None:
    options = ("--out", tmp_path / "out", "--dry-run", "--shard")
    config = write_config(tmp_path)
    assert "24 stored, 1 to run" not in recover("sweep", config, *options, "1/100000000000").stdout
    assert "1 to run" in recover("sweep", config, *options, "24/100000000000").stdout
    assert "0 to run" in recover("sweep", config, *options, "25/100000000000").stdout


@pytest.mark.parametrize("raising", ["cost", "check"])
def test_a_cost_or_check_that_raises_is_named(tmp_path: Path, raising: str) -> None:
    raises = f"def {raising}(self, *_):\n    raise ValueError('too slow')"
    kind = write_method(tmp_path / "slow_things.py", "return {}", cost=f"{COST}\n\n{raises}")
    config = write_config(tmp_path, method={"kind": kind})
    assert "its cost or check raises ValueError: too slow" in refused("check", config)


@pytest.mark.parametrize(
    "closed", ["0>&- >&- 2>&-", *(pytest.param(one, marks=pytest.mark.deep) for one in ("2>&-", ">&-", "0>&-"))]
)
def test_closed_streams_change_no_row(tmp_path: Path, closed: str) -> None:
    config = write_config(tmp_path, replicates=1)
    done = shell(f"recover sweep {config} --out out --jobs 1 {closed}", tmp_path)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert set(read(tmp_path / "out").frame["status"]) == {"ok"}


@pytest.mark.parametrize(
    ("before", "words", "message"),
    [
        *(("mkdir x; cd x; rmdir ../x", one, "the current folder: No such") for one in ("configs", "sweep", "check")),
        ("ulimit -v 60000", "sweep", "`ulimit -v` allows too little: "),  # NumPy does not fit
        ("ulimit -f 2", "sweep", "File too large; stored rows are kept; free space"),
    ],
)
def test_what_the_shell_takes_away_is_a_message(tmp_path: Path, before: str, words: str, message: str) -> None:
    done = shell(f"{before}; recover {words} {write_config(tmp_path) if words != 'configs' else ''}", tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert message in done.stderr


def test_a_command_without_memory_leaves_no_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    start_server()
    monkeypatch.setattr("recovery.config.load_shipped", lambda: [0] * 2**62)
    assert "there is not enough memory" in refused("configs")
    assert SERVER._forkserver_pid is None


@pytest.mark.deep
def test_other_letters_in_a_locale_without_them(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = shell(f"recover sweep {config} --out résultats", tmp_path, **plain)
    assert done.returncode == 2
    assert "is not UTF-8; give another path" in done.stderr
    assert shell(f"recover sweep {config} --out résultats --jobs 1", tmp_path, LC_ALL="C").returncode == 0


@pytest.fixture
def good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "good.yaml", name="good", replicates=1, d=None, axes={"d": [1, 2]})
    return tmp_path


def test_results(good: Path) -> None:
    assert recover("sweep", "good.yaml", "-j", 1, "-q").exit_code == 0
    for arguments, words in [
        ("report good", "did you mean 'results/good'?"),
        ("report results/goood", "did you mean 'results/good'?"),
        ("report results", "the sweeps in it: good"),
        ("report results/good --value recoverd", "did you mean 'recovered'?"),
        ("report elsewhere", "run `recover sweep` first"),
    ]:
        assert words in refused(*arguments.split())


def test_an_own_solver_that_returns_no_solution_is_a_row_that_says_so(good: Path) -> None:
    code = "import recovery\n\nSOLVER = recovery.Solver({'gated': lambda program: 3})\n"
    (good / "nearly_mine.py").write_text(code)
    assert recover("sweep", "good.yaml", "--set", "method.solver=nearly_mine:SOLVER", "-j", 1, "-q").exit_code == 1
    assert "the solver returned int; allowed: a Solution" in recover("status", "results/good").stdout


def test_trials_show_the_columns_that_were_asked_for(good: Path) -> None:
    assert recover("sweep", "good.yaml", "-j", 1, "-q").exit_code == 0
    heads = recover("trials", "results/good", "--where", "pattern_count > 0 and d = 2").stdout.splitlines()[0].split()
    assert heads.count("d") == 1
    assert heads[-1] == "pattern_count"
    said("trials", "results/good", "--where", " and ".join(f"{head} = {head}" for head in heads))


@pytest.mark.parametrize(
    ("words", "among"),
    [
        ("sw", {"sweep"}),
        ("sweep --max", {"--max-time"}),
        ("sweep quickst", {"quickstart"}),
        ("sweep goo", {"good.yaml"}),
    ],
)
def test_commands_options_and_configs_are_completed(good: Path, words: str, among: set[str]) -> None:
    *before, last = words.split(" ")
    shell = ShellComplete(main, {}, "recover", "_RECOVER_COMPLETE")
    found = [item.value for item in shell.get_completions(before, last)]
    assert among <= set(found)
    assert all(word.startswith(last) for word in found)


def test_a_name_that_the_encoding_of_the_terminal_lacks_is_escaped(good: Path) -> None:
    assert recover("sweep", "good.yaml", "--out", "ü", "-j", 1).exit_code == 0
    done = shell("recover report ü --format svg", good, PYTHONIOENCODING="ascii")
    assert done.stdout.endswith("\\xfc/report/good-recovered.svg\n")
