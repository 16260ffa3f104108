"""Count the modules and the distinct functions that one trial enters, from the YAML file to its stored row.

    python -m benchmarks.entered [--list]

Everything is in one process, on a thread. Imports, class bodies, lambdas and comprehensions are not counted.
"""

import sys
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType

CONFIG = """\
name: one
data: {ensemble: gaussian}
planted: {kind: linear}
architecture: relu_skip
method: {kind: min_norm}
n: 20
d: 5
"""
ROOT = Path(__file__).parents[1]


def entered() -> dict[CodeType, None]:
    """Return the code of every function of the program that a sweep of one trial enters, in the order of entry."""
    from recovery.cli.main import main

    found = dict[CodeType, None]()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found.setdefault(frame.f_code)

    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "one.yaml"
        config.write_text(CONFIG)
        command = ["sweep", str(config), "--out", f"{folder}/out", "--jobs", "1", "--backend", "threading", "--quiet"]
        threading.setprofile(note)
        sys.setprofile(note)
        with suppress(SystemExit):
            main(command)
        sys.setprofile(None)
        threading.setprofile(None)
    places = (f"{ROOT}/recovery/", f"{ROOT}/cli/")
    return {code: None for code in found if code.co_filename.startswith(places) and not is_nameless(code)}


def is_nameless(code: CodeType) -> bool:
    """Return whether code is a module, a class body, a lambda or a comprehension."""
    return code.co_name.startswith("<") or "__qualname__" in code.co_names


def main() -> None:
    """Print the counts by package, or with `--list` every function."""
    codes = list(entered())
    names = [str(Path(code.co_filename).relative_to(ROOT)) for code in codes]
    print(f"{len(set(names))} modules, {len(codes)} functions")
    if "--list" in sys.argv:
        for name, code in sorted(zip(names, codes, strict=True), key=lambda one: (one[0], one[1].co_firstlineno)):
            print(f"{name}:{code.co_firstlineno} {code.co_qualname}")
        return
    for package, count in Counter(name.rpartition("/")[0] for name in names).most_common():
        modules = len({name for name in names if name.rpartition("/")[0] == package})
        print(f"{package}: {modules} modules, {count} functions")


if __name__ == "__main__":
    main()
