"""A site built once for all tests, and a browser that looks at it.

The browser is Chromium by its driver, which `make test` installs (tools/debian-packages-tests.txt). Where it is missing
the tests that need it fail and say so; with MINIDYNAMO_NO_BROWSER=1 they are skipped.
"""

import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import minidynamo

PACKAGES = str(pathlib.Path(minidynamo.__file__).parents[1])  # where the build under test lies
RUN = ("GB0000", "GB0007", "GB0025", "GB0079", "GB0124", "GB0170")  # whose programs run in most tests
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")


@pytest.fixture(scope="session")
def command():
    """`python -m minidynamo site ARGUMENTS`, with more in its environment."""

    def run(*arguments, program=("-m", "minidynamo"), **environment):
        env = {**os.environ, "PYTHONPATH": PACKAGES, **environment}
        line = [sys.executable, *program, "site", *map(str, arguments)]
        return subprocess.run(line, env=env, capture_output=True, text=True)

    return run


@pytest.fixture(scope="session")
def site(command, tmp_path_factory):
    """A folder with all pages, and the programs of RUN. Workers share it."""
    top = tmp_path_factory.getbasetemp()
    top = top.parent if "PYTEST_XDIST_WORKER" in os.environ else top
    out = top / "site"
    with open(top / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            done = command(out, "--only", ",".join(RUN), "--url", "https://example.org/breaks")
            assert done.returncode == 0, done.stderr
            assert done.stderr == ""
    return out


class Browser:
    """A page at a time, in a window of a given width; what it asks for and complains of is kept."""

    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.driver.set_page_load_timeout(30)
        self.look()

    def look(self, width=1280, dark=False, script=True, contrast=False):
        """How pages are looked at from now on."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-contrast", "value": "more" if contrast else "no-preference"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})

    def open(self, path, fragment=""):
        """A file, at an anchor of it. Always loaded anew."""
        self.driver.get("about:blank")
        self.driver.get(path.as_uri() + fragment)

    def run(self, script, *arguments):
        """What a piece of JavaScript returns."""
        return self.driver.execute_script(script, *arguments)

    def keys(self, *keys):
        """Pressed one after the other, wherever the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def requests(self):
        """Addresses asked for since the last time."""
        import json

        rows = [json.loads(row["message"])["message"] for row in self.driver.get_log("performance")]
        return [row["params"]["request"]["url"] for row in rows if row["method"] == "Network.requestWillBeSent"]

    def complaints(self):
        """What the console was told since the last time."""
        return [row["message"] for row in self.driver.get_log("browser")]


@pytest.fixture(scope="session")
def chromium():
    if os.environ.get("MINIDYNAMO_NO_BROWSER") == "1":
        pytest.skip("MINIDYNAMO_NO_BROWSER=1")
    missing = [name for name, path in (("chromium", CHROMIUM), ("chromium-driver", DRIVER)) if path is None]
    if missing:
        pytest.fail(
            f"not installed: {', '.join(missing)} (Debian's names). `tools/setup tests` installs them where it may; "
            "MINIDYNAMO_NO_BROWSER=1 leaves the tests out that need a browser."
        )
    browser = Browser()
    yield browser
    browser.driver.quit()


@pytest.fixture
def browser(chromium):
    """Looks as a desktop does by day; nothing is left of what other tests did."""
    chromium.look()
    chromium.requests(), chromium.complaints()
    return chromium
