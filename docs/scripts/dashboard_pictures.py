"""Screenshots of the dashboard, light and dark: ``python docs/scripts/dashboard_pictures.py`` starts the demo, opens
the page of its experiment with reward-dependent delays in Chromium, and writes to ``docs/images``."""

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
WIDTH, HEIGHT = 1400, 1378


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
                    size = {"width": WIDTH, "height": HEIGHT}
                    page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
                    page.goto(f"{found[1]}/experiments/{EXPERIMENT}", wait_until="load")
                    page.wait_for_timeout(3000)
                    page.screenshot(path=IMAGES / f"{name}.png")
                    page.close()
                browser.close()
        finally:
            demo.terminate()


if __name__ == "__main__":
    main()
