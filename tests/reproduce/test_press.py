"""Figures are saved in a process of their own, and come out as they would here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from belated.errors import FigureNotSaved
from belated.simulation.figures import save_figure
from belated.studies.report.press import Press


def figure() -> Figure:
    made = Figure(layout="constrained")
    axes = made.subplots()
    axes.plot(np.arange(5), np.arange(5) ** 2, label="squares")
    axes.legend()
    return made


def test_the_same_bytes_as_here(tmp_path: Path) -> None:
    press = Press(2)
    try:
        for kind in ("svg", "png", "pdf"):
            press.save(figure(), [tmp_path / f"there.{kind}"])
            save_figure(figure(), tmp_path / f"here.{kind}")
            assert (tmp_path / f"there.{kind}").read_bytes() == (tmp_path / f"here.{kind}").read_bytes()
    finally:
        press.close()


def test_an_error_there_is_an_error_here_and_the_next_figure_is_saved(tmp_path: Path) -> None:
    press = Press(1)
    try:
        with pytest.raises(FileNotFoundError):
            press.save(figure(), [tmp_path / "nowhere" / "a.svg"])
        press.save(figure(), [tmp_path / "a.svg"])
        assert (tmp_path / "a.svg").stat().st_size > 1000
    finally:
        press.close()


def test_a_process_that_dies_says_so(tmp_path: Path) -> None:
    press = Press(1)
    press._processes[0].kill()
    with pytest.raises(FigureNotSaved, match="run the command again"):
        press.save(figure(), [tmp_path / "a.svg"])
    press.close()
