"""Thousands of damaged configs: each loads or is refused with its place, soon; no code runs and no file appears."""

import contextlib
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recovery.config import ConfigError, load, shipped

LONGEST_SECONDS = 10
WORDS = (
    *("0", "-1", "1e308", ".nan", ".inf", "0x7f", "9" * 40, "1_000", "true", "~", "''", "null"),
    *('"\\ud800"', '"\\e[2J"', "{", "}", "[", "]", ":", "- ", "? ", "*a", "&a ", "<<: ", "|", ">", "%", "@", "`", "#"),
    *("\t", "\r", "\x00", "é", "\ufeff", "!!binary aGk=", "!!set", "!!int ''", "!!bool maybe", "!x", "---"),
    *("!!python/object/apply:os.system [touch flag]", "{ensemble: file, path: /etc/passwd}", "../../x"),
    *("{start: 1, stop: 9}", "{logspace: {start: 1, stop: 9, count: 3}}", "{times: d, values: [1, 2]}", "relu_norm"),
    *("{kind: min_norm}", "{kind: train}", "n", "d", "data.ensemble", "zip: [{}]", "axes:", "claims:", "name"),
    *("report: {x: n, y: n}", "sampling: {kind: until, rule: decided}"),
)


def mutated(text: str, rng: random.Random) -> bytes:
    """The text with one to four faults: of a byte, a word, a line, or a number."""
    data = text
    for _ in range(rng.randint(1, 4)):
        a, b = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        b = min(b, a + rng.choice([1, 5, 40]))
        lines = data.splitlines(keepends=True) or [""]
        i = rng.randrange(len(lines))
        data = rng.choice(
            [
                data[:a] + rng.choice(WORDS) + data[a:],
                data[:a] + rng.choice(WORDS) + data[b:],
                data[:a] + data[b:],
                data[:a] + chr(rng.randrange(0x2500)) + data[a + 1 :],
                data[:b] + data[a:],
                "".join([*lines[:i], lines[i], *lines[i:]]),
                "".join([*lines[:i], *lines[i + 1 :], lines[i]]),
                "".join([*lines[:i], "  ", *lines[i:]]),
                data[: len(data) - rng.randrange(len(data) // 2 + 1)],
                "".join(rng.choice("0123456789") if c.isdigit() and rng.random() < 0.2 else c for c in data),
            ]
        )
    damaged = bytearray(data.encode("utf-8", "surrogatepass"))
    if damaged and rng.random() < 0.1:
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


@contextlib.contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_any_damaged_config_loads_or_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    texts = [text for path in shipped().values() if len(text := path.read_text()) < 4000]
    path, faults, refused, count = tmp_path / "config.yaml", dict[int, str](), 0, 150
    for seed in range(count):
        rng = random.Random(seed)
        path.write_bytes(mutated(rng.choice(texts), rng))
        try:
            with no_longer_than(LONGEST_SECONDS):
                load(path)
        except ConfigError as error:
            refused += 1
            if not all(str(problem.place).startswith(str(path)) for problem in error.problems):
                faults[seed] = f"no place: {error}"
        except (Exception, SystemExit) as error:
            faults[seed] = f"{type(error).__name__}: {error}"
        if left := {found.name for found in tmp_path.iterdir()} - {path.name}:
            faults[seed] = f"left {left}"
    assert faults == {}
    assert count / 2 < refused < count
