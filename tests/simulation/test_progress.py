"""The progress bar: on a terminal, in a notebook, and as a callback."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
import notebook  # type: ignore[import-not-found]
import pytest
from nbclient import NotebookClient

from belated import Problem, simulate, sweep
from belated.cli.console import error_messages, progress_bar
from belated.delays import Fixed, Geometric
from belated.engine import compile_pool
from belated.engine.compile_status import CompileStatus
from belated.errors import BelatedWarning
from belated.policies import UCB, IndexPolicy, SuccessiveElimination, policy
from belated.rewards import Bernoulli
from belated.simulation import progress as module
from belated.simulation.progress import Progress, ProgressBar, progress_reporter
from belated.validation import MAX_HORIZON

PROBLEM = Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(10))
needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="a test cannot make a terminal there")


class Seen(Exception):
    """The test has seen what it waited for, and ends a simulation that would take long."""


class Clock:
    """Tells the time that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal:
    """In its context, a terminal takes the place of the standard error output; ``text`` is what was written to it,
    without colours and moves of the cursor."""

    def __enter__(self) -> Terminal:
        self._master, worker = os.openpty()
        self._stream = os.fdopen(worker, "w")
        self._written = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(sys, "stderr", self._stream)  # not in a fixture: pytest takes it back before the test
        self._patch.setenv("TERM", "xterm")
        self._patch.setenv("COLUMNS", "100")
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()
        self._stream.close()
        self._reader.join()
        os.close(self._master)
        self.text = plain(self._written)

    def _read(self) -> None:
        self._written = read_all(self._master)


def read_all(master: int) -> bytes:
    """What is written to a terminal until its other end is closed."""
    written = b""
    with suppress(OSError):
        while piece := os.read(master, 4096):
            written += piece
    return written


def plain(written: bytes) -> str:
    return re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", written.decode())


@pytest.mark.parametrize(
    ("columns", "status"), [("100", "300 rounds/s, 3 s left"), ("40", " 3 s left"), ("24", "25%")], ids=str
)
def test_a_narrow_terminal_drops_the_speed_first(columns: str, status: str) -> None:
    with Terminal() as terminal:
        os.environ["COLUMNS"] = columns
        view = module._TerminalView("simulating")
        view.draw(Progress(300, 1200, 1.0), "simulating")
        view.close(Progress(300, 1200, 1.0))
    drawn = [line for line in terminal.text.splitlines() if "25%" in line]
    assert drawn[-1].rstrip().endswith(status)
    assert "…" not in drawn[-1]
    assert "━" in drawn[-1]
    assert ("rounds/s" in drawn[-1]) == (columns == "100")


# ---- what is reported ----


def test_speed_and_time_left_leave_out_the_compiler() -> None:
    progress = Progress(300, 1200, 5.0, runs=4, waited=2.0)
    assert progress.rounds_per_second == 100.0
    assert progress.seconds_left == 9.0
    assert progress.runs_left == 3
    assert progress.phase == "simulating"
    before = Progress(0, 1200, 1.0, "compiling UCB (2 of 5)", runs=4, waited=1.0)
    assert (before.rounds_per_second, before.seconds_left, before.runs_left) == (0.0, math.inf, 4)
    assert before.phase == "compiling UCB (2 of 5)"


def test_a_callback_hears_of_every_change() -> None:
    clock, seen = Clock(), list[Progress]()
    with progress_reporter(seen.append, 100, 2, clock) as report:
        for now, done, compiling in [(1, 0, "a"), (4, 0, "a"), (5, 0, ""), (6, 40, ""), (6, 40, ""), (7, 30, "b")]:
            clock.now = now
            report(done, compiling, 0)
    assert [(step.done, step.compiling, step.seconds, step.waited) for step in seen] == [
        (0, "a", 1, 0.0),
        (0, "", 5, 3.0),
        (40, "", 6, 3.0),
        (40, "b", 7, 3.0),  # a run that was begun again does not move it back
    ]


def test_rounds_are_counted_within_a_run() -> None:
    """One chunk of one run: it is reported before it is finished."""
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        if 0 < progress.done < progress.total:
            raise Seen

    with pytest.raises(Seen):
        simulate(PROBLEM, UCB(), horizon=MAX_HORIZON, runs=1, checkpoints=1, progress=watch)
    assert seen[-1].runs_left == 1


def test_the_last_report_is_of_all_rounds() -> None:
    seen: list[Progress] = []
    simulate(PROBLEM, UCB(), horizon=1000, runs=3, progress=seen.append)
    assert seen[-1].done == seen[-1].total == 3000
    assert seen[-1].runs_left == 0


def test_errors_of_a_callback_pass_through() -> None:
    class Mine(Exception):
        pass

    def refuse(progress: Progress) -> None:
        raise Mine

    for play in (
        lambda: simulate(PROBLEM, UCB(), horizon=100, runs=3, progress=refuse),
        lambda: sweep(lambda _: PROBLEM, [1, 2], UCB(), horizon=100, runs=3, progress=refuse),
    ):
        with pytest.raises(Mine):
            play()


# ---- what is being compiled ----


def test_what_is_compiled_and_how_much_is_left() -> None:
    now: list[Any] = [None]
    ready: set[str] = set()
    status = CompileStatus(lambda: now[0])

    def add(key: str, cached: bool = False) -> None:
        status.add(key, key.upper(), lambda: key in ready, cached)

    for key in "abc":
        add(key)
    for key in "xy":
        add(key, cached=True)
    assert (status.text(), status.missing()) == ("", 3)
    now[0] = "a"
    assert status.text() == "compiling A (1 of 3)"
    ready.add("c")  # by another process
    now[0] = "b"
    assert (status.text(), status.missing()) == ("compiling B (2 of 3)", 2)
    now[0] = "y"
    assert status.text() == "loading Y (1 of 2)"
    add("c")
    now[0] = None
    assert status.text() == ""


def test_what_other_processes_compile() -> None:
    status = CompileStatus(lambda: None)
    ready: set[str] = {"a"}
    for key in "ab":
        status.add(key, key, lambda key=key: key in ready and key != "a")  # type: ignore[misc]
    with compile_pool._pool_lock:
        assert status.text() == "compiling a (1 of 2)"
    assert status.text() == ""


@policy
class NeverPlayed(IndexPolicy):
    """Not compiled before, and not here: the policy before it takes too long."""

    label = "never played"
    formula = "argmax n"

    @staticmethod
    def index(policy: Any, arm: Any) -> Any:
        return arm.observed


@pytest.mark.parametrize("play", [simulate, lambda *given, **named: sweep(lambda _: given[0], [1], given[1], **named)])
def test_the_time_left_is_at_least_that_of_playing_while_a_policy_is_not_compiled(play: Any) -> None:
    seen: list[str] = []

    def watch(progress: Progress) -> None:
        if 0 < progress.done < progress.total and not progress.compiling:
            seen.append(progress.describe())
            raise Seen

    with pytest.raises(Seen):
        play(PROBLEM, [UCB(), NeverPlayed()], horizon=MAX_HORIZON, runs=1, progress=watch)
    assert re.fullmatch(r".+ rounds/s, at least .+ left", seen[0])


SCRIPT = """
import sys
from belated import Problem, simulate
from belated.delays import Fixed
from belated.policies import SuccessiveElimination, UniformChoice
from belated.rewards import Bernoulli

policies = [SuccessiveElimination(confidence=1.0), UniformChoice()]
simulate(Problem([Bernoulli(0.5)] * 2, Fixed(3)), policies, horizon=100, runs=2, progress={})
"""


@needs_terminal
@pytest.mark.slow
def test_the_bar_names_what_it_compiles(tmp_path: Path) -> None:
    """With an empty cache, in a process of its own: what is compiled, and when it is loaded from the disk."""
    environment = {**os.environ, "BELATED_CACHE_DIR": str(tmp_path), "TERM": "xterm", "COLUMNS": "100"}

    def play(progress: str) -> str:
        master, worker = os.openpty()
        done = subprocess.Popen(
            [sys.executable, "-c", SCRIPT.format(progress)], stderr=worker, stdout=subprocess.PIPE, env=environment
        )
        os.close(worker)
        written = read_all(master)
        os.close(master)
        output, _ = done.communicate()
        assert done.returncode == 0, output
        return plain(written)

    written = play("None")  # it is opened by itself, on a terminal
    assert "simulating" in written
    assert re.search(r"compiling SE \(1 of 2\)", written)
    assert re.search(r"compiling Uniform \(2 of 2\)", written)
    assert "compiling SE" not in play("True")


# ---- a terminal ----


@needs_terminal
def test_the_bar_opens_within_two_seconds() -> None:
    """Whether or not anything is reported by then; what is over before needs none."""
    clock = Clock()
    with Terminal() as terminal, progress_reporter(None, 1000, 10, clock):
        clock.now = 0.5
    assert terminal.text == ""
    drawn = threading.Event()
    with Terminal() as terminal, pytest.MonkeyPatch.context() as patch:
        draw = module._TerminalView.draw
        patch.setattr(module._TerminalView, "draw", lambda *given: (draw(*given), drawn.set()))
        with progress_reporter(None, 1000, 10, clock):
            clock.now += 2.0
            assert drawn.wait(600.0), "no bar"
    assert terminal.text.startswith("simulating")


@needs_terminal
@pytest.mark.parametrize("description", ["simulating", "1/9 figure1"])
def test_frames_of_the_bar(description: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "INTERVAL", 3600.0)
    with Terminal() as terminal, ProgressBar(module.DELAY, description, clock) as bar:
        bar.tick()
        clock.now = 2.0
        bar.tick()
        bar.show(Progress(0, 1000, 2.0, "compiling UCB (2 of 5)"), description)
        bar.tick()
        bar.show(Progress(100, 1000, 3.0, waited=2.0, uncompiled=1), description)
        bar.tick()
        bar.show(Progress(250, 1000, 4.0, waited=2.0), description)
        bar.tick()
        with bar.hidden():
            sys.stderr.write("something else\n")
    frames = [line for line in re.split(r"[\r\n]+", terminal.text) if line.strip()]
    assert frames.pop() == "something else"
    assert all(frame.startswith(description) for frame in frames)
    assert any("compiling UCB (2 of 5)" in frame for frame in frames)
    assert any("10% 100 rounds/s, at least 9 s left" in frame for frame in frames)
    assert "25%" in frames[-1]
    assert "125 rounds/s, 6 s left" in frames[-1]


@needs_terminal
def test_the_bar_moves_within_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = threading.Event()
    draw, show = module._TerminalView.draw, ProgressBar.show

    def watched_draw(view: Any, progress: Progress, description: str) -> None:
        draw(view, progress, description)
        if progress.done > progress.total // 50:
            drawn.set()

    def show_until_drawn(bar: ProgressBar, *given: Any) -> None:
        show(bar, *given)
        if drawn.is_set():
            raise Seen

    monkeypatch.setattr(module._TerminalView, "draw", watched_draw)
    monkeypatch.setattr(ProgressBar, "show", show_until_drawn)
    with Terminal() as terminal, pytest.raises(Seen):
        simulate(PROBLEM, UCB(), horizon=MAX_HORIZON, runs=1, checkpoints=1, progress=True)
    shares = {int(percent) for percent in re.findall(r"(\d+)%", terminal.text)}
    assert any(0 < share < 100 for share in shares), terminal.text


@needs_terminal
def test_a_message_of_a_command_does_not_break_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is wrapped at words on a line of its own, also where the bar is hidden already."""
    monkeypatch.setattr(module, "INTERVAL", 3600.0)
    with Terminal() as terminal, error_messages(), progress_bar(quiet=False) as bar:
        assert bar is not None
        BelatedWarning.issue("first " * 30)
        bar.tick()
        with bar.hidden():
            BelatedWarning.issue("second")
    shown = [line.strip() for line in re.split(r"[\r\n]+", terminal.text) if "warning" in line or "first" in line]
    assert shown == ["warning:" + " first" * 15, "first " * 14 + "first", "warning: second"]


def test_no_bar_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    assert not module.shows_bar(None)
    assert not module.shows_bar(False)
    simulate(PROBLEM, UCB(), horizon=100, runs=3)
    assert capfd.readouterr() == ("", "")


@needs_terminal
def test_the_bar_changes_no_result() -> None:
    policies = [UCB(), SuccessiveElimination(confidence=1.0)]
    problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Geometric(10.0))
    with Terminal():
        without, shown = (
            simulate(problem, policies, horizon=500, runs=20, progress=progress) for progress in (False, True)
        )
    assert (without.final == shown.final).all()
    assert (without.pulls == shown.pulls).all()


# ---- a notebook ----

CELL = """
from belated import Problem, simulate
from belated.delays import Fixed
from belated.policies import UCB
from belated.rewards import Bernoulli
from belated.simulation import progress

class Seen(Exception): pass

drawn = []
draw, show = progress._NotebookView.draw, progress.ProgressBar.show

def watched_draw(view, latest, description):
    draw(view, latest, description)
    if latest.done:
        drawn.append(latest)

def show_until_drawn(bar, *given):
    show(bar, *given)
    if drawn:
        raise Seen

progress.DELAY = 0.0
progress._NotebookView.draw, progress.ProgressBar.show = watched_draw, show_until_drawn
problem = Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(10))
try:
    simulate(problem, UCB(), horizon=2**31 - 2, runs=1, checkpoints=1)
except Seen:
    pass
"""
FINISHED = """
progress._NotebookView.draw, progress.ProgressBar.show = draw, show
result = simulate(problem, UCB(), horizon=1000, runs=3)
"""


def test_the_bar_of_a_notebook(tmp_path: Path) -> None:
    """It is displayed once, updated in place, and one line is left."""
    messages: list[tuple[str, Any]] = []

    class Client(NotebookClient):
        def process_message(self, msg: Any, cell: Any, cell_index: int) -> Any:
            messages.append((msg["msg_type"], msg["content"]))
            return super().process_message(msg, cell, cell_index)

    cells = [nbformat.v4.new_code_cell(source) for source in (CELL, FINISHED)]
    notebook.execute_cells(nbformat.v4.new_notebook(cells=cells), tmp_path, Client)
    shown = [content["transient"]["display_id"] for kind, content in messages if kind == "display_data"]
    updates = [content for kind, content in messages if kind == "update_display_data"]
    assert len(shown) == len(set(shown)) == 2, "one for each simulation"
    assert {each["transient"]["display_id"] for each in updates} == set(shown)
    assert any(re.search(r"simulating \d+% .* rounds/s, .* left", each["data"]["text/plain"]) for each in updates)
    lines = [output.data["text/plain"] for cell in cells for output in cell.outputs]
    assert len(lines) == 2
    assert re.fullmatch(r".+ of 2\.15G rounds in .+ rounds/s( in the rest|\))", lines[0]), lines
    assert re.fullmatch(r"3k rounds in .+ rounds/s( in the rest|\))", lines[1]), lines
    assert not any(kind == "stream" for kind, _ in messages), "nothing goes to the standard error output"


def test_the_last_line_says_how_long_compiling_took() -> None:
    assert module._last_line(Progress(60_000, 60_000, 10.0)) == "60k rounds in 10 s (6k rounds/s)"
    line = "60k rounds in 10 s, 9.4 s of it compiling; 100k rounds/s in the rest"
    assert module._last_line(Progress(60_000, 60_000, 10.0, waited=9.4)) == line
    assert module._last_line(Progress(0, 600, 2.0, waited=2.0)) == "0 of 600 rounds in 2 s, 2 s of it compiling"


def test_a_terminal_of_ipython_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        kernel: Any = None

    class IPython:
        get_ipython: Callable[[], Any] = staticmethod(Shell)

    monkeypatch.setitem(sys.modules, "IPython", IPython)  # type: ignore[arg-type]
    assert not module.in_notebook()
    monkeypatch.setattr(Shell, "kernel", object())
    assert module.in_notebook()
