"""Files of the project that a page names exist."""

from __future__ import annotations

import re

from pages import ROOT, name_of, pages

PATH = re.compile(r"`(?:python )?((?:tests|torture|benchmarks|docs/scripts|examples|src)/[\w./-]+\.\w+)[\s`]")


def test_every_path_of_a_page_exists() -> None:
    missing = [
        f"{name_of(page)}: {path}"
        for page in pages()
        if page.name != "CONTRIBUTING.md"
        for path in PATH.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / path).exists()
    ]
    assert not missing, "\n".join(missing)
