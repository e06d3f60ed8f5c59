"""What can follow what: events from a file, or from a database that may be damaged, are looked at before they are
lived again."""

from __future__ import annotations

from belated.errors import StateError
from belated.journal.events import ARM_ADDED, CANCELLED, DECIDED, IMPUTED, OBSERVED, REPLACED, RESUMED, STOPPED, Event
from belated.service.experiment import Experiment

_AFTER: dict[str | None, set[str]] = {
    None: {DECIDED},
    DECIDED: {OBSERVED, IMPUTED, CANCELLED},
    IMPUTED: {REPLACED, CANCELLED},
}
"""What may follow what, in the life of a decision."""
_OF_AN_EXPERIMENT = {ARM_ADDED, STOPPED, RESUMED}
Pull = tuple[int | None, int | None, int | None]
"""Number, arm and rank."""


class Lives:
    """The decisions of an experiment, as far as its events were looked at."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._pulls: dict[str, Pull] = {}

    def check(self, event: Event, experiment: Experiment) -> None:
        """An error unless the event can be the next one of the experiment, which knows all those before."""
        if event.at < experiment.at:
            raise StateError(f"event {event.seq} is older than the one before it.")
        if event.id is None:
            if event.kind not in _OF_AN_EXPERIMENT:
                raise StateError(f"event {event.seq} is {event.kind}, of no decision.")
            return
        before = self._kinds.get(event.id)
        if event.kind not in _AFTER.get(before, set()):
            raise StateError(f"event {event.seq}: decision {event.id!r} was {before}, and is {event.kind} then.")
        pull = (event.number, event.arm, event.rank)
        if pull != self._pulls.setdefault(event.id, pull):
            raise StateError(f"event {event.seq}: decision {event.id!r} was another arm, or in another place.")
        self._check_reward(event, experiment, before)
        self._kinds[event.id] = event.kind

    def _check_reward(self, event: Event, experiment: Experiment, before: str | None) -> None:
        silence = experiment.spec.silence
        silent = silence.reward if silence is not None else None
        if event.kind in (OBSERVED, REPLACED):
            good = event.reward is not None and 0.0 <= event.reward <= 1.0
        elif IMPUTED in (event.kind, before):  # cancelled: what silence had given is taken back
            good = silent is not None and event.reward == silent
        else:
            good = event.reward is None
        if not good:
            raise StateError(f"event {event.seq}: the reward of decision {event.id!r} is {event.reward!r} here.")
