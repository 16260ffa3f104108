"""How long a page takes to open in Chromium: until its figure is drawn, and the processor seconds of everything.

    python -m benchmarks.opening [--quick] [--keep FOLDER] [--against CHECKOUT]

Each opening has a browser of its own. With a checkout of another commit, its pages of the same grids and these take
turns. Needs chromium and chromedriver.
"""

import argparse
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.report import Shape, cost, grids

SHAPES = (Shape("panels", 20, 5, 4), Shape("fine", 500, 2))
QUICK = (Shape("panels", 8, 2, 4), Shape("fine", 150, 1))
ROUNDS = 5
FLAGS = ("headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-dev-shm-usage", "window-size=1300,1000")
NOTE = """new MutationObserver((_, watch) => {
  if (document.body?.dataset.ready !== "yes") return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.drawnAt = performance.now(); }));
}).observe(document, { subtree: true, childList: true, attributes: true });"""
"""Notes when the page says that its figure is there, and it is painted."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small grids, for trying the script")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the grids there once, and keep them")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another commit's files, to compare with")
    arguments = parser.parse_args()
    shapes = QUICK if arguments.quick else SHAPES
    checkouts = {"there": arguments.against, "here": Path(__file__).parents[1]}
    with TemporaryDirectory() as scratch:
        made = grids(shapes, arguments.keep or Path(scratch))
        print("| grid | files of | milliseconds until drawn | processor | size |\n|---|---|---|---|---|")
        for shape, path in zip(shapes, made, strict=True):
            pages = {
                name: page(path, checkout, Path(scratch) / f"{shape.name}-{name}.html")
                for name, checkout in checkouts.items()
                if checkout is not None
            }
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in pages}
            for _ in range(ROUNDS):
                for name, text in pages.items():
                    found[name].append(opened(text))
            for name, times in found.items():
                drawn, busy = (", ".join(f"{one:.0f}" for one in sorted(column)) for column in zip(*times, strict=True))
                print(f"| {shape.name} | {name} | {drawn} | {busy} | {pages[name].stat().st_size / 1e6:.2g} MB |")
    print(f"\n{ROUNDS} openings each, in turns, the fastest first.")


def page(path: Path, checkout: Path, out: Path) -> Path:
    """The page of a stored grid, made by the files of a checkout."""
    call = f"report([Path({str(path.resolve())!r})], 'html', None, Path({str(out)!r}))"
    cost(["-c", f"from pathlib import Path; from recovery.report.command import report; {call}"], checkout)
    return out


def opened(text: Path) -> tuple[float, float]:
    """Milliseconds until the figure is drawn, and of the processor until nothing more comes."""
    driver = browser()
    try:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NOTE})
        driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        driver.get(text.as_uri())
        while (drawn := driver.execute_script("return window.drawnAt")) is None:
            time.sleep(0.2)
        time.sleep(2)
        metrics = driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return drawn, 1000 * next(one["value"] for one in metrics if one["name"] == "TaskDuration")
    finally:
        driver.quit()


def browser() -> Any:
    """A browser that nothing was opened in."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


if __name__ == "__main__":
    main()
