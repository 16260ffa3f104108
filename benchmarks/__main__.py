"""python -m benchmarks: every benchmark in turn (an hour or so)."""

import subprocess
import sys
from pathlib import Path

for script in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    print(f"== {script.stem}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{script.stem}"], check=True)
