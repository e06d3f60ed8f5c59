"""Every example of the README and of the documentation works as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import ROOT, blocks_of, name_of, page_namespace, pages, run


@pytest.mark.parametrize("page", [page for page in pages() if page.name != "CONTRIBUTING.md"], ids=name_of)
def test_the_examples_of_a_page_work(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with page_namespace(page, tmp_path) as namespace:
        for block in blocks_of(page):
            run(block, namespace, tmp_path)


def test_the_readme_begins_with_the_two_commands() -> None:
    first = next(block for block in blocks_of(ROOT / "README.md") if block.language == "console")
    assert "make paper" in first.text
    assert "make test" in first.text


def test_the_readme_has_a_short_example() -> None:
    example = next(block for block in blocks_of(ROOT / "README.md") if block.language == "python")
    assert len(example.text.splitlines()) <= 15
