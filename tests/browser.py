"""Headless Chromium for the tests of pages, where Debian's packages are installed."""

import shutil
from contextlib import contextmanager

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
in_a_browser = [
    pytest.mark.extra("browser"),
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason="Debian's packages chromium and chromium-driver are missing",
    ),
]


@contextmanager
def started(size, *arguments):
    """Give a browser with a window of a size, which asks nothing of its makers."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        f"--window-size={size[0]},{size[1]}",
        *arguments,
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def find(browser, selector):
    """Return the elements of a CSS selector."""
    return browser.find_elements("css selector", selector)
