"""Plays the cells of studies: until a stopping rule is satisfied, with cached results, on the cores and a GPU."""

from __future__ import annotations

import gc
import hashlib
import json
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

from belated.errors import StateError
from belated.interrupts import DelayedInterrupt
from belated.kernel.rng import check_seed
from belated.policies import Policy
from belated.simulation.progress import Progress
from belated.simulation.result import Manifest, Result
from belated.simulation.simulate import check_device, rounds_of, simulate
from belated.studies.study import Cell, Study

T = TypeVar("T")
R = TypeVar("R")

CELLS_ON_DEVICE, MAX_HORIZON_ON_DEVICE = 16, 300_000
"""Cells of a study that a device plays at a time, and their longest horizon unless told otherwise: a device plays many
runs, each slowly."""
_SEED_STEP = 2**64
"""Between the seeds of two batches of runs: users' own seeds are smaller."""


@dataclass(frozen=True)
class RunBatch:
    """Runs to play: the same number of runs for each of these cells."""

    cells: Sequence[int]
    runs: int
    number: int = 0
    """Batches with different numbers have different seeds, and so different runs."""
    earlier_runs: int = 0
    """Runs of the batches before, which this one adds to."""
    policies: Sequence[int] | None = None
    """Numbers of the policies that play; all if None."""

    def players(self, cell: Cell) -> tuple[Policy, ...]:
        """The policies that play in a cell."""
        return cell.policies if self.policies is None else tuple(cell.policies[number] for number in self.policies)


StoppingRule = Generator[RunBatch, dict[int, Result], T]
"""Yields batches to play, receives the results of each by cell, and returns what they come to."""


@dataclass(frozen=True)
class RunnerStep:
    """How far a runner is: which study of which experiment, with how many runs of each cell."""

    study: str
    runs: int
    progress: Progress
    """Of the batch that is being played."""
    experiment: str = ""
    finished: int = 0
    """Studies that are finished."""


class BatchProgress:
    """The progress of the cells of a batch together; a device plays several at a time."""

    def __init__(self, runs: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self._runs = runs
        self._clock = clock
        self._started = clock()
        self._cells: dict[int, Progress] = {}
        self._latest = Progress(0, 0, 0.0)

    def update(self, cell: int, progress: Progress, total: int) -> Progress:
        """The progress of the batch, ``total`` rounds long, after that of one of its cells."""
        seconds = self._clock() - self._started
        before = self._cells.get(cell)
        waited = progress.waited - (0.0 if before is None else before.waited)
        waited = min(waited, seconds - self._latest.seconds)  # cells that are compiled at the same time wait once
        self._cells[cell] = progress
        done = sum(one.done for one in self._cells.values())
        waited += self._latest.waited
        uncompiled = progress.uncompiled
        self._latest = Progress(done, total, seconds, progress.compiling, self._runs, waited, uncompiled)
        return self._latest


@dataclass
class Cost:
    """What results took."""

    seconds: float = 0.0
    """When they were played, also where they are cached."""
    rounds: int = 0
    """In all results and by all policies."""
    cached: int = 0
    """Results that were there already."""
    results: int = 0


class ResultCache:
    """A folder of results, each in a file named by a hash of its manifest: problem, policies, horizon, runs, seed,
    checkpoints, shuffle, version and sources. ``fresh`` ignores results of earlier calls."""

    def __init__(self, folder: Path, fresh: bool = False) -> None:
        self._folder = folder
        self._fresh = fresh
        self._saved: set[Path] = set()
        self._locks: dict[Path, Lock] = {}
        self._locking = Lock()

    def get(self, manifest: Manifest, play: Callable[[], Result]) -> tuple[Result, bool]:
        """The result of this manifest, and whether it was cached; else it is played and saved. Concurrent threads
        compute a result once."""
        with self._locking:
            lock = self._locks.setdefault(self._path(manifest), Lock())
        with lock:
            result = self.find(manifest)
            if result is not None:
                return result, True
            result = play()
            self.save(result)
            return result, False

    def find(self, manifest: Manifest) -> Result | None:
        """The cached result of this manifest, if there is one."""
        path = self._path(manifest)
        if not path.exists() or (self._fresh and path not in self._saved) or "unknown" in manifest.problem:
            return None
        try:
            result = Result.load(path)
        except StateError:  # damaged
            return None
        return result if _content(result.manifest) == _content(manifest) else None

    def save(self, result: Result) -> None:
        """Write a result, whole or not at all."""
        self._saved.add(result.save(self._path(result.manifest)))

    def _path(self, manifest: Manifest) -> Path:
        return self._folder / f"{hashlib.sha256(_content(manifest).encode()).hexdigest()[:24]}.npz"


def _content(manifest: Manifest) -> str:
    """All that determines a result, as text; how long it took does not."""
    data = {key: value for key, value in asdict(manifest).items() if key != "seconds"}
    return json.dumps(data, sort_keys=True)


class StudyRunner:
    """Plays studies. Use it as a context: leaving it stops what is still being played.

    ``watch`` is called on the way; with a device from several threads, one after the other."""

    def __init__(
        self,
        *,
        seed: int = 0,
        workers: int | None = None,
        device: str = "cpu",
        cache: ResultCache | None = None,
        watch: Callable[[RunnerStep], None] | None = None,
        max_horizon_on_device: int = MAX_HORIZON_ON_DEVICE,
    ) -> None:
        check_device(device)
        self._seed = check_seed(seed)
        self._workers = workers
        self._device = device
        self._cache = cache
        self._watch = watch
        self._max_horizon_on_device = max_horizon_on_device
        self._pool = ThreadPoolExecutor(CELLS_ON_DEVICE)
        self._cores = Lock()
        self._watching = Lock()
        self._stopped = False
        self._finished = 0

    def __enter__(self) -> Self:
        if self._device != "cpu":
            gc.freeze()  # a compiler leaves a million objects in memory: do not search them for garbage meanwhile
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()
        try:
            with DelayedInterrupt():
                self._pool.shutdown(cancel_futures=True)
        finally:
            if self._device != "cpu":
                gc.unfreeze()

    def run_all(
        self, play: Callable[[T], R], items: Iterable[T], done: Callable[[T, R], None], *, on_device: int
    ) -> None:
        """Call ``play`` for each item, and ``done`` with its result when it is finished. ``on_device`` items are played
        at a time where there is a device."""
        if self._device == "cpu":
            for item in items:
                done(item, play(item))
            return
        with DelayedInterrupt(self._stop), ThreadPoolExecutor(on_device) as pool:
            try:
                playing = {pool.submit(play, item): item for item in items}
                for future in as_completed(playing):
                    done(playing[future], future.result())
            except BaseException:
                self._stop()
                pool.shutdown(cancel_futures=True)
                raise

    def run(self, study: Study, rule: StoppingRule[T], experiment: str = "", cost: Cost | None = None) -> T:
        """Play batches of a study until the rule returns; what it returns."""
        cost = cost or Cost()
        try:
            batch = next(rule)
            while True:
                batch = rule.send(self._play(study, batch, experiment, cost))
        except StopIteration as stop:
            with self._watching:
                self._finished += 1
            outcome: T = stop.value
            return outcome

    def _play(self, study: Study, batch: RunBatch, experiment: str, cost: Cost) -> dict[int, Result]:
        cells = {number: study.cells[number] for number in batch.cells}
        rounds = {number: batch.runs * cell.horizon * len(batch.players(cell)) for number, cell in cells.items()}
        left = sum(rounds.values())  # cached results are not played, and say nothing about the pace
        so_far = BatchProgress(batch.runs * len(batch.cells))
        started = time.perf_counter()

        def play(number: int, device: str) -> tuple[Result, bool]:
            def report(progress: Progress) -> None:
                self._check_stopped()
                if self._watch is not None:
                    runs = batch.earlier_runs + batch.runs
                    with self._watching:
                        together = so_far.update(number, progress, left)
                        self._watch(RunnerStep(study.name, runs, together, experiment, self._finished))

            self._check_stopped()
            return self._result(study, cells[number], batch, device, report)

        results = {}
        for number, (result, cached) in self._side_by_side(play, study, batch.cells):
            results[number] = result
            left -= rounds[number] if cached else 0
            cost.rounds += rounds[number]
            cost.seconds += result.manifest.seconds if cached or self._device == "cpu" else 0.0
            cost.cached += cached
            cost.results += 1
        if self._device != "cpu":  # cells are played at the same time
            cost.seconds += time.perf_counter() - started
        return results

    def _side_by_side(
        self, play: Callable[[int, str], R], study: Study, cells: Sequence[int]
    ) -> Iterator[tuple[int, R]]:
        """The result of each cell. A device plays several at a time, as one does not fill it; the processor one after
        the other, each on all cores."""
        device = self._device != "cpu"
        suited = [number for number in cells if device and study.cells[number].horizon <= self._max_horizon_on_device]
        if suited == list(cells) and len(suited) == 1:
            yield suited[0], play(suited[0], self._device)
            return
        playing = [(number, self._pool.submit(play, number, self._device)) for number in suited]
        for number in cells:
            if number not in suited:
                with self._cores:
                    yield number, play(number, "cpu")
        for number, future in playing:
            yield number, future.result()

    def _result(
        self, study: Study, cell: Cell, batch: RunBatch, device: str, report: Callable[[Progress], None]
    ) -> tuple[Result, bool]:
        """The result of a cell, and whether it was cached."""
        checkpoints = study.checkpoints if isinstance(study.checkpoints, int) else list(study.checkpoints)
        rounds = rounds_of(checkpoints, cell.horizon)
        seed = self._seed + batch.number * _SEED_STEP
        policies = batch.players(cell)

        def play() -> Result:
            return simulate(
                cell.problem,
                policies,
                horizon=cell.horizon,
                runs=batch.runs,
                seed=seed,
                checkpoints=rounds,
                workers=self._workers,
                device=device,
                progress=report,
                shuffle=study.shuffle,
                check=study.check,
            )

        if self._cache is None:
            return play(), False
        manifest = Manifest.of(cell.problem, policies, cell.horizon, batch.runs, seed, rounds, 0.0, study.shuffle)
        return self._cache.get(manifest, play)

    def _stop(self) -> None:
        self._stopped = True

    def _check_stopped(self) -> None:
        if self._stopped:
            raise KeyboardInterrupt
