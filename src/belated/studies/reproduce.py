"""Plays experiments: each study until its claims are decided, or it has reached its maximum of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from belated.atomic_output import make_folder
from belated.errors import ReproductionInterrupted
from belated.formatting import plural
from belated.simulation.result import Result
from belated.studies.claims import Claim, ClaimVerdict, Evidence, SentenceVerdict, by_sentence
from belated.studies.experiments import ExperimentFile
from belated.studies.runner import Cost, ResultCache, RunBatch, RunnerStep, StoppingRule, StudyRunner
from belated.studies.study import Study
from belated.validation import Domain, check_number


@dataclass(frozen=True)
class ExperimentOutcome:
    """An experiment that was played: its results, and what they say about the claims."""

    experiment: ExperimentFile
    evidence: Mapping[str, Evidence]
    verdicts: tuple[ClaimVerdict, ...]
    cost: Cost
    """What its results took, cached ones included."""

    @property
    def sentences(self) -> tuple[SentenceVerdict, ...]:
        """The verdicts, sentence by sentence."""
        return by_sentence(self.verdicts)


def reproduce(
    experiments: Iterable[ExperimentFile],
    *,
    out: Path,
    fraction: float = 1.0,
    seed: int = 0,
    workers: int | None = None,
    device: str = "cpu",
    fresh: bool = False,
    watch: Callable[[RunnerStep], None] | None = None,
    done: Callable[[ExperimentOutcome], None] | None = None,
) -> list[ExperimentOutcome]:
    """Play experiments and judge their claims.

    A study's cells are played with as many runs as it declares; while one of its claims is undecided, with four times
    as many, up to its maximum. Results go to ``out``/results and are used again by the next call (``fresh``: not). With
    ``device="cuda"`` the device and the processor share the cells: the bits are the same. ``fraction`` scales all
    numbers of runs. ``watch`` is called on the way (with a device from several threads, one after the other), ``done``
    when an experiment is finished. Ctrl-C raises :class:`~belated.errors.ReproductionInterrupted` with the outcomes so
    far; what is finished stays on disk."""
    share = check_number("fraction", fraction, Domain(0, 1, open_low=True))
    runner = StudyRunner(
        seed=seed, workers=workers, device=device, cache=ResultCache(out / "results", fresh), watch=watch
    )
    make_folder(out)
    finished: dict[int, ExperimentOutcome] = {}

    def play(request: tuple[int, ExperimentFile]) -> ExperimentOutcome:
        number, experiment = request
        finished[number] = _play(runner, experiment, share)
        return finished[number]

    def finish(_: tuple[int, ExperimentFile], outcome: ExperimentOutcome) -> None:
        if done is not None:
            done(outcome)

    def in_order() -> list[ExperimentOutcome]:
        """Outcomes as requested, not as finished."""
        return [finished[number] for number in sorted(finished)]

    try:
        with runner:  # the next experiment is read while the last one is played
            runner.run_all(play, enumerate(experiments), finish, on_device=3)
    except KeyboardInterrupt as error:
        raise ReproductionInterrupted(
            f"interrupted after {plural(len(finished), 'finished experiment')}; results so far are in "
            f"{out / 'results'}, and the next call goes on from them.",
            in_order(),
        ) from error
    return in_order()


def _play(runner: StudyRunner, experiment: ExperimentFile, fraction: float) -> ExperimentOutcome:
    cost = Cost()
    evidence: dict[str, Evidence] = {}
    verdicts: dict[int, ClaimVerdict] = {}
    for name, declared in experiment.studies.items():
        study = declared.scaled(fraction)
        claims = {number: claim for number, claim in enumerate(experiment.claims) if claim.study == name}
        evidence[name], judged = runner.run(study, _until_decided(study, claims), experiment.name, cost)
        verdicts |= judged
    in_order = tuple(verdicts[number] for number in range(len(experiment.claims)))
    return ExperimentOutcome(experiment, evidence, in_order, cost)


def _until_decided(study: Study, claims: Mapping[int, Claim]) -> StoppingRule[tuple[Evidence, dict[int, ClaimVerdict]]]:
    """Add runs to the cells of undecided claims, those first that need the fewest, until all claims are decided."""
    results: dict[int, Result] = yield RunBatch(range(len(study.cells)), study.runs)
    verdicts: dict[int, ClaimVerdict] = {}
    runs = study.interim_looks()[0]
    cells = {cell for claim in claims.values() for cell in study.where(claim.where)}
    while True:
        short = [cell for cell in sorted(cells) if results[cell].runs < runs]
        if short:
            results |= yield RunBatch(short, runs)
        evidence = Evidence(study, tuple(results[cell] for cell in range(len(study.cells))))
        for number, claim in claims.items():
            if number not in verdicts or verdicts[number].undecided:
                verdicts[number] = claim.judge(evidence, verdicts.get(number))
        runs, cells = _next_look(study, verdicts.values())
        if not cells:
            return evidence, verdicts


def _next_look(study: Study, verdicts: Iterable[ClaimVerdict]) -> tuple[int, set[int]]:
    """With how many runs to go on, and in which cells; no cells if all is decided or no more runs are allowed.

    By its present interval, each undecided case has a look at which it should be decided. The nearest of these is
    next."""
    looks: dict[int, set[int]] = {}
    for verdict in verdicts:
        for case in verdict.undecided:
            later = [look for look in study.interim_looks() if look > case.runs]
            if later:
                look = next((look for look in later if look >= case.needed), later[-1])
                cells = study.where({**verdict.claim.where, **case.coordinates})
                looks.setdefault(look, set()).update(cells)
    if not looks:
        return 0, set()
    look = min(looks)
    return look, looks[look]
