"""Ten pages of the site as a browser shows them, at 1300 and 375 px, light and dark: pictures to look at.

    make docs; python -m docs.screens [PAGE ...]

Pictures go to results/contact/screens. A page that is wider than its window is said, and the exit status is then 1.
"""

import base64
import shutil
import sys
import tempfile
from pathlib import Path

from selenium import webdriver

SITE = Path(__file__).parent / "_build" / "html"
OUT = Path(__file__).parents[1] / "results" / "contact" / "screens"
PAGES = (
    *("index", "install", "introduction", "tutorials/first-diagram", "findings", "papers/README", "papers/P4"),
    *("reference/methods", "reference/python", "developers"),
)
WIDTHS = (1300, 375)
TALLEST = 2600


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    options = webdriver.ChromeOptions()
    with tempfile.TemporaryDirectory() as profile:
        for flag in ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars", f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        driver = webdriver.Chrome(options, webdriver.ChromeService(executable_path=shutil.which("chromedriver")))
        wide = []
        for page in sys.argv[1:] or PAGES:
            for width in WIDTHS:
                for theme in ("light", "dark"):
                    over = picture(driver, page, width, theme)
                    if over > 0:
                        wide.append(f"{page} at {width} px: {over} px too wide")
        driver.quit()
    print("\n".join(dict.fromkeys(wide)) or f"no page is wider than its window; pictures in {OUT}")
    sys.exit(bool(wide))


def picture(driver: webdriver.Chrome, page: str, width: int, theme: str) -> int:
    """Save a page's top, and say by how many pixels the page is too wide."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get((SITE / f"{page}.html").as_uri())
    driver.execute_script(f"document.documentElement.dataset.theme = document.documentElement.dataset.mode = '{theme}'")
    height = min(driver.execute_script("return document.documentElement.scrollHeight"), TALLEST)
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size | {"height": height})
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
    (OUT / f"{page.replace('/', '-')}-{width}-{theme}.png").write_bytes(base64.b64decode(shot["data"]))
    return int(driver.execute_script("return document.documentElement.scrollWidth")) - width


if __name__ == "__main__":
    main()
