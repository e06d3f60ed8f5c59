"""The notebook of the examples runs, and shows the pictures that are kept here, each once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import notebook  # type: ignore[import-not-found]
import numpy as np
import pytest


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The executed cells. In a process of its own: warnings of the notebook's packages are not ours."""
    target: Path = tmp_path_factory.mktemp("notebook") / "executed.ipynb"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", notebook.__file__, str(target)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return list(notebook.code_cells(target))


def test_its_pictures_are_those_that_are_kept(cells: list[Any]) -> None:
    own, _, _ = notebook.sections(cells)
    shown = [notebook.small(picture) for cell in own for picture in notebook.pictures_of(cell)]
    kept = notebook.kept()
    assert len(shown) == len(kept) >= 5
    distances = [notebook.distance(a, b) for a, b in zip(shown, kept, strict=True)]
    assert max(distances) < 12.0, distances
    for place, other in enumerate(kept):  # the comparison can fail: every picture is far from every other one
        assert all(notebook.distance(shown[place], one) > 25.0 for one in kept if one is not other)


def test_each_form_of_showing_a_picture_shows_it_once(cells: list[Any]) -> None:
    _, forms, _ = notebook.sections(cells)
    counts = {name: len(notebook.pictures_of(cell)) for name, cell in zip(notebook.FORMS, forms, strict=True)}
    assert counts == dict.fromkeys(notebook.FORMS, 1)


def test_two_pictures_of_a_cell_are_shown_in_the_order_of_its_lines(cells: list[Any]) -> None:
    _, forms, pairs = notebook.sections(cells)
    alone = dict(zip(notebook.FORMS, forms, strict=True))
    regret, pulls = (notebook.pictures_of(alone[name])[0] for name in ("the last line", "of pulls"))
    for name, cell in zip(notebook.PAIRS, pairs, strict=True):
        assert notebook.pictures_of(cell) == [regret, pulls], name


def test_objects_are_tables_and_errors_are_none(cells: list[Any]) -> None:
    tables = [
        output for cell in cells for output in cell.outputs if "<table" in output.get("data", {}).get("text/html", "")
    ]
    assert len(tables) >= 4
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]


def test_a_changed_line_is_noticed() -> None:
    kept = notebook.kept()[0]
    changed = np.array(kept)
    changed[10:14, 20:50] = 0.0
    assert notebook.distance(kept, changed) > 12.0
