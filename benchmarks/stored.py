"""Which commit each stored table was written at, and on which machine, as git and the table itself say.

    python -m benchmarks.stored

Writes benchmarks/README.md. A table was measured at or before the commit that stored it. Tables that are written from
now on say their own commit, where their script names the machine.
"""

import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
MACHINE = re.compile(r"x86_64[^|\n]*?NumPy [\d.]+\d|aarch64[^|\n]*?NumPy [\d.]+\d")
HEAD = """# Benchmarks

Made by `python -m benchmarks.stored`. Each table is written by its script, and is not of one commit with the others.

| table | command | stored by commit | on | machine, as the table says |
|---|---|---|---|---|
"""


def row(path: Path) -> str:
    asked = ["git", "log", "-1", "--format=%h | %as", "--", path.name]
    stored = subprocess.run(asked, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
    found = MACHINE.search(path.read_text(encoding="utf-8"))
    command = f"python -m benchmarks.{path.stem}" if path.with_suffix(".py").exists() else "make soak"
    said = found[0] if found else "not said"
    return f"| [{path.stem}]({path.name}) | `{command}` | {stored or 'not stored | '} | {said} |"


if __name__ == "__main__":
    tables = [path for path in sorted(HERE.glob("*.md")) if path.name != "README.md"]
    (HERE / "README.md").write_text(HEAD + "\n".join(map(row, tables)) + "\n", encoding="utf-8")
