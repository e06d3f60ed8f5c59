"""Plays experiments: each study until its claims are decided, or its most runs are reached."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self, TypeVar

from belated.errors import InvalidParameter, ReproductionInterrupted
from belated.kernel.rng import check_seed
from belated.simulation.manifest import Manifest
from belated.simulation.progress import Progress
from belated.simulation.result import Result
from belated.simulation.simulate import check_device, rounds_of, simulate
from belated.studies.claims import Claim, ClaimVerdict, Evidence, Status
from belated.studies.experiments import PaperExperiment
from belated.studies.result_cache import ResultCache
from belated.studies.study import Cell, Study

T = TypeVar("T")

EXPERIMENTS_ON_DEVICE, CELLS_ON_DEVICE, LONGEST_ON_DEVICE = 3, 16, 300_000
"""Experiments and cells that a device plays at a time, and the longest horizon of these."""


@dataclass(frozen=True)
class ReproductionStep:
    """Where a reproduction is: which study, with how many runs of each cell, and how far."""

    experiment: str
    study: str
    runs: int
    progress: Progress


@dataclass(frozen=True)
class ExperimentOutcome:
    """An experiment that was played: results, and what they say about the claims."""

    experiment: PaperExperiment
    evidence: Mapping[str, Evidence]
    judgements: tuple[ClaimVerdict, ...]
    seconds: float
    """That it took now."""
    spent: float
    """That its results took when they were played, also where they are used again."""
    rounds: int
    """That were played, in all results and by all policies."""
    reused: int
    """Results that were there already."""
    results: int
    """All results."""

    def counted(self, status: Status) -> int:
        """The number of claims with this status."""
        return sum(judgement.status is status for judgement in self.judgements)


@dataclass
class _Tally:
    spent: float = 0.0
    rounds: int = 0
    reused: int = 0
    results: int = 0


def reproduce(
    experiments: Iterable[PaperExperiment],
    *,
    out: Path,
    fraction: float = 1.0,
    seed: int = 0,
    workers: int | None = None,
    device: str = "cpu",
    fresh: bool = False,
    watch: Callable[[ReproductionStep], None] | None = None,
    done: Callable[[ExperimentOutcome], None] | None = None,
) -> list[ExperimentOutcome]:
    """Play experiments and judge their claims.

    A study's cells are played with as many runs as it declares; while one of its claims is undecided, with four times
    as many, up to its most. Results go to ``out``/results and are used again by the next call (``fresh``: not). With
    ``device="cuda"`` the device and the processor share the cells among them: the bits are the same. ``fraction`` is
    that of all numbers of runs. ``watch`` is called on the way (with a device from several threads, one after the
    other), ``done`` when an experiment is finished. Ctrl-C raises :class:`~belated.errors.ReproductionInterrupted`
    with the outcomes so far; what is finished stays on disk."""
    if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0.0 < fraction <= 1.0:
        raise InvalidParameter(f"fraction is {fraction!r}; give a number above 0 and at most 1.")
    check_device(device)
    start = check_seed(seed)
    _make_folder(out)
    player = _Player(ResultCache(out / "results", fresh), start, workers, device, watch)
    wanted: list[PaperExperiment] = []

    def asked() -> Iterator[PaperExperiment]:
        for experiment in experiments:  # the next is read while the last is played
            wanted.append(experiment)
            yield experiment

    try:
        with player:
            for outcome in player.play_all(asked(), float(fraction)):
                if done is not None:
                    done(outcome)
    except KeyboardInterrupt as error:
        count = len(player.finished)
        raise ReproductionInterrupted(
            f"interrupted after {count} finished experiment{'' if count == 1 else 's'}; results so far are in "
            f"{out / 'results'}, and the next call goes on from them.",
            _as_asked(player.finished, wanted),
        ) from error
    return _as_asked(player.finished, wanted)


def _as_asked(outcomes: Sequence[ExperimentOutcome], wanted: Sequence[PaperExperiment]) -> list[ExperimentOutcome]:
    """Outcomes in the order in which they were asked for, not that in which they were finished."""
    place = {id(experiment): number for number, experiment in enumerate(wanted)}
    return sorted(outcomes, key=lambda outcome: place[id(outcome.experiment)])


class _Player:
    def __init__(
        self,
        store: ResultCache,
        seed: int,
        workers: int | None,
        device: str,
        watch: Callable[[ReproductionStep], None] | None,
    ) -> None:
        self._store = store
        self._seed = seed
        self._workers = workers
        self._device = device
        self._watch = watch
        self._pool = ThreadPoolExecutor(CELLS_ON_DEVICE)
        self._cores = Lock()
        self._watching = Lock()
        self._stopped = False
        self.finished: list[ExperimentOutcome] = []
        """In the order in which they were finished."""

    def __enter__(self) -> Self:
        if self._device != "cpu":
            gc.freeze()  # what a compiler left in memory, a million objects, is not searched for garbage meanwhile
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        self._pool.shutdown(cancel_futures=True)
        if self._device != "cpu":
            gc.unfreeze()

    def play_all(self, experiments: Iterable[PaperExperiment], fraction: float) -> Iterator[ExperimentOutcome]:
        """The outcome of each experiment, as they are finished; a device plays some of them at a time."""
        if self._device == "cpu":
            yield from (self.play(experiment, fraction) for experiment in experiments)
            return
        with ThreadPoolExecutor(EXPERIMENTS_ON_DEVICE) as pool:
            try:
                playing = [pool.submit(self.play, experiment, fraction) for experiment in experiments]
                for future in as_completed(playing):
                    yield future.result()
            except BaseException:
                self._stopped = True
                pool.shutdown(cancel_futures=True)
                raise

    def play(self, experiment: PaperExperiment, fraction: float) -> ExperimentOutcome:
        started = time.perf_counter()
        tally = _Tally()
        evidence: dict[str, Evidence] = {}
        judged: dict[int, ClaimVerdict] = {}
        for name, declared in experiment.studies.items():
            mine = {number: claim for number, claim in enumerate(experiment.claims) if claim.study == name}
            evidence[name], found = self._decide(experiment.name, declared.scaled(fraction), mine, tally)
            judged |= found
        judgements = tuple(judged[number] for number in range(len(experiment.claims)))
        seconds = time.perf_counter() - started
        outcome = ExperimentOutcome(
            experiment, evidence, judgements, seconds, tally.spent, tally.rounds, tally.reused, tally.results
        )
        self.finished.append(outcome)
        return outcome

    def _decide(
        self, experiment: str, study: Study, claims: Mapping[int, Claim], tally: _Tally
    ) -> tuple[Evidence, dict[int, ClaimVerdict]]:
        """Play a study until its claims are decided: more runs for the cells of undecided ones, those first that need
        the fewest."""
        results = self._results(experiment, study, range(len(study.cells)), study.runs, tally)
        judged: dict[int, ClaimVerdict] = {}
        runs = study.looks()[0]
        cells = {cell for claim in claims.values() for cell in study.where(claim.where)}
        while True:
            results |= self._results(
                experiment, study, [cell for cell in sorted(cells) if results[cell].runs < runs], runs, tally
            )
            evidence = Evidence(study, tuple(results[cell] for cell in range(len(study.cells))))
            for number, claim in claims.items():
                if number not in judged or judged[number].undecided:
                    judged[number] = claim.judge(evidence, judged.get(number))
            runs, cells = _next_look(study, judged.values())
            if not cells:
                return evidence, judged

    def _results(
        self, experiment: str, study: Study, cells: Sequence[int], runs: int, tally: _Tally
    ) -> dict[int, Result]:
        each = {number: runs * study.cells[number].horizon * len(study.labels) for number in cells}
        left = sum(each.values())  # what is found is not played, and says nothing about the pace
        done = dict.fromkeys(cells, 0)
        started = time.perf_counter()

        def play(number: int, device: str) -> tuple[Result, bool]:
            if self._stopped:
                raise KeyboardInterrupt

            def report(progress: Progress) -> None:
                if self._stopped:
                    raise KeyboardInterrupt
                done[number] = progress.done
                if self._watch is not None:
                    so_far = Progress(sum(done.values()), left, time.perf_counter() - started)
                    with self._watching:
                        self._watch(ReproductionStep(experiment, study.name, runs, so_far))

            return self._result(study, study.cells[number], runs, device, report)

        results = {}
        for number, (result, found) in self._side_by_side(play, study, cells):
            results[number] = result
            left -= each[number] if found else 0
            tally.rounds += each[number]
            tally.spent += result.manifest.seconds if self._device == "cpu" or found else 0.0
            tally.reused += found
            tally.results += 1
        if self._device != "cpu":  # cells are played at the same time
            tally.spent += time.perf_counter() - started
        return results

    def _side_by_side(
        self, play: Callable[[int, str], T], study: Study, cells: Sequence[int]
    ) -> Iterator[tuple[int, T]]:
        """What is found for each cell. A device plays several at a time, as one cell does not fill it; the processor
        one after the other, each with all cores."""
        device = [number for number in cells if self._suits_device(study.cells[number])]
        playing = [(number, self._pool.submit(play, number, self._device)) for number in device]
        for number in cells:
            if number not in device:
                with self._cores:
                    yield number, play(number, "cpu")
        for number, future in playing:
            yield number, future.result()

    def _suits_device(self, cell: Cell) -> bool:
        """A device plays as many runs as there are, but each one slowly: no long ones."""
        return self._device != "cpu" and cell.horizon <= LONGEST_ON_DEVICE

    def _result(
        self, study: Study, cell: Cell, runs: int, device: str, report: Callable[[Progress], None]
    ) -> tuple[Result, bool]:
        """The result of a cell, and whether it was there already."""
        rounds = rounds_of(
            study.checkpoints if isinstance(study.checkpoints, int) else list(study.checkpoints), cell.horizon
        )
        wanted = Manifest.of(cell.problem, cell.policies, cell.horizon, runs, self._seed, rounds, 0.0)
        with self._store.held(wanted):
            return self._found_or_played(wanted, cell, runs, rounds, device, report)

    def _found_or_played(
        self,
        wanted: Manifest,
        cell: Cell,
        runs: int,
        rounds: Any,
        device: str,
        report: Callable[[Progress], None],
    ) -> tuple[Result, bool]:
        found = self._store.find(wanted)
        if found is not None:
            return found, True
        result = simulate(
            cell.problem,
            cell.policies,
            horizon=cell.horizon,
            runs=runs,
            seed=self._seed,
            checkpoints=rounds,
            workers=self._workers,
            device=device,
            progress=report,
        )
        self._store.keep(result)
        return result, False


def _next_look(study: Study, judgements: Iterable[ClaimVerdict]) -> tuple[int, set[int]]:
    """With how many runs to go on, and in which cells; no cells if all is decided or no more runs are allowed.

    Going by its interval now, each undecided case has a look at which it should be decided. The nearest of these is
    next."""
    wanted: dict[int, set[int]] = {}
    for judgement in judgements:
        for case in judgement.undecided:
            later = [look for look in study.looks() if look > case.runs]
            if later:
                look = next((look for look in later if look >= case.needed), later[-1])
                wanted.setdefault(look, set()).update(study.where({**judgement.claim.where, **case.place}))
    if not wanted:
        return 0, set()
    look = min(wanted)
    return look, wanted[look]


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InvalidParameter(f"out is {str(out)!r}, which is a file; give a folder.") from None
    except OSError as error:
        raise InvalidParameter(
            f"out is {str(out)!r}, which cannot be written: {error.strerror}. Give another folder."
        ) from None
