"""Debian's Chromium, driven for tests of pages."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import axe_core_python
from selenium import webdriver

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--disable-dev-shm-usage",
)  # fmt: skip
AXE = Path(axe_core_python.__file__).parent / "axe.min.js"


class Page:
    """One page in the browser."""

    def __init__(self, driver: webdriver.Chrome, downloads: Path) -> None:
        self.driver = driver
        self.downloads = downloads

    def open(self, path: Path) -> None:
        self.driver.get(path.resolve().as_uri())

    def script(self, text: str, *arguments: Any) -> Any:
        return self.driver.execute_script(text, *arguments)

    def look(self, width: int, scheme: str) -> None:
        """Take a screen's width and a colour scheme."""
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"media": "screen", "features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )

    def messages(self) -> list[str]:
        """What the console said: errors and warnings, requests that failed among them."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """What the page requested besides itself."""
        events = [json.loads(entry["message"])["message"] for entry in
                  self.driver.get_log("performance")]  # fmt: skip
        urls = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        # The browser's own first page is a chrome: one and loads chrome-untrusted: ones.
        own = ("file:", "data:", "blob:", "chrome:", "chrome-untrusted:")
        return [url for url in urls if not url.startswith(own)]

    def pdf(self) -> bytes:
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        answer = self.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
        return base64.b64decode(answer["data"])

    def violations(self, *rules: str) -> list[str]:
        """What axe-core finds that is serious or critical, of some rules or of all."""
        self.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
        self.driver.refresh()
        self.script(AXE.read_text())
        options = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
        found = self.driver.execute_async_script(
            "const done = arguments[1]; axe.run(arguments[0]).then(done);", options
        )
        self.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
        return [
            f"{rule['id']} at {node['target']}: {node['failureSummary']}"
            for rule in found["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """Start a browser with nothing from before; its downloads go to folder/downloads."""
    downloads = folder / "downloads"
    downloads.mkdir(parents=True)
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*_FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.add_experimental_option(
        "prefs",
        {"download.default_directory": str(downloads), "download.prompt_for_download": False},
    )
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(
        options=options, service=webdriver.ChromeService("/usr/bin/chromedriver")
    )
    driver.set_script_timeout(300)
    driver.set_page_load_timeout(300)
    driver.command_executor.client_config.timeout = 360  # else selenium gives up before these
    try:
        yield Page(driver, downloads)
    finally:
        driver.quit()
