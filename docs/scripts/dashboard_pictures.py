"""Screenshots of the dashboard, light and dark: ``python docs/scripts/dashboard_pictures.py`` starts the demo, opens
the page of its experiment with reward-dependent delays and the default policy in Chromium, and writes its charts to
``docs/images``."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent.parent / "images"
PICTURES = {"dashboard": "light", "dashboard-dark": "dark"}
EXPERIMENT = "checkout"
WIDTH, MARGIN = 1400, 16
LAST = "#ages"
"""The last section in the pictures."""


def main() -> None:
    """Take both screenshots."""
    command = [sys.executable, "-m", "belated", "demo", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as demo:
        try:
            assert demo.stderr is not None
            found = next(match for line in demo.stderr if (match := re.search(r"at (http://\S+);", line)))
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                for name, scheme in PICTURES.items():
                    page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
                    page.set_viewport_size({"width": WIDTH, "height": WIDTH})
                    page.goto(f"{found[1]}/experiments/{EXPERIMENT}", wait_until="load")
                    page.wait_for_timeout(3000)
                    box = page.locator(LAST).bounding_box()
                    assert box is not None
                    page.set_viewport_size({"width": WIDTH, "height": round(box["y"] + box["height"]) + MARGIN})
                    page.wait_for_timeout(500)
                    page.screenshot(path=IMAGES / f"{name}.png")
                    page.close()
                browser.close()
        finally:
            demo.terminate()


if __name__ == "__main__":
    main()
