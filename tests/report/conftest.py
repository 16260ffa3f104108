"""A real browser without a network, for the pages."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.needs import lacking


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    program = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    driver_path = shutil.which("chromedriver")
    if program is None or driver_path is None:
        lacking("Chromium")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    flags = "headless no-sandbox disable-gpu no-first-run disable-background-networking disable-component-update"
    flags += " disable-sync disable-dev-shm-usage window-size=1300,1000"
    own = ("host-resolver-rules=MAP * ~NOTFOUND", f"user-data-dir={tmp_path_factory.mktemp('profile')}")
    for flag in (*flags.split(), *own):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver_path)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


def wait_for(browser: Any, condition: Callable[[Any], object], seconds: float = 20) -> None:
    from selenium.webdriver.support.ui import WebDriverWait  # only the deep suite needs it, and it takes long to import

    WebDriverWait(browser, seconds).until(condition)


def visit(browser: Any, text: str, place: Path) -> Iterator[Any]:
    """Open a page's text; when the test is done, no error may be in the console, and nothing have run that must not."""
    place.write_text(text, encoding="utf-8")
    browser.get(place.as_uri())
    wait_for(browser, lambda d: d.execute_script("return document.body.dataset.ready") == "yes", 60)
    yield browser
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    assert browser.execute_script("return window.harmed === undefined")
