"""Saves figures in a process of its own: matplotlib needs seconds, in which this one should play."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue

from matplotlib.figure import Figure

from belated.errors import FigureNotSaved
from belated.simulation.figures import save_figure


class Press:
    """Processes that save figures, each one after the other; they start at once and import what they need."""

    def __init__(self, processes: int) -> None:
        self._free: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._processes = [_started() for _ in range(processes)]
        for process in self._processes:
            self._free.put(process)

    def save(self, figure: Figure, paths: Sequence[Path]) -> None:
        """Save a figure into files, each of the kind that its name says; return when they are there."""
        process = self._free.get()
        try:
            error = _asked(process, figure, paths)
        finally:
            self._free.put(process)
        if error is not None:
            raise error

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.communicate()


def _started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "belated.studies.report.press"]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}  # whatever finds us here
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=found)


def _asked(process: subprocess.Popen[bytes], figure: Figure, paths: Sequence[Path]) -> Exception | None:
    """The error that it met, if any."""
    assert process.stdin
    assert process.stdout
    assert process.stderr
    try:
        pickle.dump((figure, list(paths)), process.stdin, pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()
        error: Exception | None = pickle.load(process.stdout)  # our own process
    except (BrokenPipeError, EOFError):
        said = process.stderr.read().decode(errors="replace").strip()
        raise FigureNotSaved(
            f"the process that saves figures ended early ({said or 'it was killed, perhaps for want of memory'}); run "
            "the command again: what was played is kept."
        ) from None
    return error


def main() -> None:
    """Save what comes on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked; the end of its pipe for us
    while True:
        try:
            figure, paths = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(_saved(figure, paths), sys.stdout.buffer)
        sys.stdout.buffer.flush()


def _saved(figure: Figure, paths: Sequence[Path]) -> Exception | None:
    try:
        for path in paths:
            save_figure(figure, path)
            figure.set_layout_engine("none")  # it has its place now
    except Exception as error:
        return error
    return None


if __name__ == "__main__":
    main()
