"""Which commit each stored table was measured at, stored by, and on which machine, as the table itself and git say.

    python -m benchmarks.stored

Writes benchmarks/README.md. A table that does not say its commit was measured at or before the one that stored it.
"""

import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
MACHINE = re.compile(r"x86_64[^|\n]*?NumPy [\d.]+\d|aarch64[^|\n]*?NumPy [\d.]+\d")
COMMIT = re.compile(r"commit (\w+(?:-dirty)?)\.")
HEAD = """# Benchmarks

Made by `python -m benchmarks.stored`. `python -m benchmarks` measures all tables that are not of the commit that is
checked out.

| table | command | measured at | stored by | on | machine |
|---|---|---|---|---|---|
"""


def row(path: Path) -> str:
    asked = ["git", "log", "-1", "--format=%h | %as", "--", path.name]
    stored = subprocess.run(asked, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
    text = path.read_text(encoding="utf-8")
    found, commits = MACHINE.search(text), ", ".join(sorted(set(COMMIT.findall(text))))
    command = f"python -m benchmarks.{path.stem}" if path.with_suffix(".py").exists() else "make soak"
    said, at = found[0] if found else "not said", commits or "not said"
    return f"| [{path.stem}]({path.name}) | `{command}` | {at} | {stored or 'not stored | '} | {said} |"


if __name__ == "__main__":
    tables = [path for path in sorted(HERE.glob("*.md")) if path.name != "README.md"]
    (HERE / "README.md").write_text(HEAD + "\n".join(map(row, tables)) + "\n", encoding="utf-8")
