"""Drawing figures into files, several processes at a time: most of what a report takes.

``python -m belated.report.drawing`` reads pickled figures and where they go from its standard input. It is a program of
its own so that nothing of the caller's is run again, as a pool of processes would do."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from belated.errors import BelatedError
from belated.figures import save_figure
from belated.simulate import available_cores

KINDS = ("svg", "pdf", "png")


def save_figures(figures: Mapping[str, Figure], folder: Path) -> None:
    """Draw each figure as SVG, PDF and PNG."""
    parts = [list(figures.items())[start :: available_cores()] for start in range(available_cores())]
    running = []
    for part in filter(None, parts[1:]):
        command = [sys.executable, "-m", "belated.report.drawing"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        assert child.stdin is not None
        child.stdin.write(pickle.dumps((part, folder)))
        child.stdin.close()
        child.stdin = None
        running.append(child)
    try:
        _save(parts[0], folder)
    finally:
        said = [child.communicate()[1] for child in running]
    for child, text in zip(running, said, strict=True):
        if child.returncode != 0:
            raise BelatedError(f"figures could not be drawn: {text.decode(errors='replace').strip()}")


def _save(figures: list[tuple[str, Figure]], folder: Path) -> None:
    for name, figure in figures:
        for kind in KINDS:
            save_figure(figure, folder / f"{name}.{kind}")


if __name__ == "__main__":
    _save(*pickle.load(sys.stdin.buffer))
