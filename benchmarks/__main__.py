"""python -m benchmarks: one benchmark after another (some hours), but for those that need more than this machine.

`contact` makes pictures, `newcomer` installs the program, `opening` and `screens` need a browser, `stored` measures
nothing, `peers` needs the extra of that name, and `tensors` the stored sweeps of P4.
"""

import subprocess
import sys
from pathlib import Path

APART = ("contact", "newcomer", "opening", "peers", "screens", "stored", "tensors")

for script in sorted(Path(__file__).parent.glob("[a-z]*.py")):
    if script.stem not in APART:
        print(f"== {script.stem}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{script.stem}"], check=True)
