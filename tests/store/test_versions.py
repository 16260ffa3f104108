"""The version of the program that made a row: its number, its commit, and whether its code was changed since."""

import subprocess
from pathlib import Path

from recovery.store.provenance import checkout, version_in


def test_a_version_is_named_by_its_commit() -> None:
    assert version_in({"version": "1.2.3"}) == "1.2.3"
    assert version_in({"version": "1.2.3", "commit": "0123456789", "dirty": False}) == "1.2.3+0123456"
    assert version_in({"version": "1.2.3", "commit": "0123456789", "dirty": True}) == "1.2.3+0123456.changed"


def test_only_changed_code_makes_a_changed_version(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    for name in ("recovery", "cli", "results"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("1")
    assert checkout(tmp_path) == {}
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "results" / "file").write_text("2")
    assert checkout(tmp_path)["dirty"] is False
    (tmp_path / "recovery" / "file").write_text("2")
    assert checkout(tmp_path)["dirty"] is True
