"""Restarts: a server with a long journal is ready soon, without snapshots and with them.

    python torture/restart.py --events 50000000

A journal of one experiment is made once and kept in out/: half of its events are decisions, the others their feedback,
each some hundred decisions later. Then real servers are started on it (`belated serve`) and asked for a decision, at
first without a snapshot, which means a replay of all events, then with the one that the server left. The control
changes one event, which the replay must notice.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "service"))

from serving import start

from belated.errors import StateError
from belated.service.core.experiment import Experiment, restore
from belated.service.core.spec import checked_spec
from belated.service.storage.events import Event, Kind
from belated.service.storage.journal import Journal, open_journal

NAME, ARMS = "long", ["a", "b", "c", "d", "e"]
BATCH = 100_000
LONGEST_DELAY = 500
"""Decisions between a decision and its feedback, at most."""
WITHOUT, WITH = 60.0, 5.0
"""Seconds for 50 million events, without and with a snapshot; fewer events have less, but never less than WITH."""
MOST = 50_000_000


def events_of(experiment: Experiment, count: int, seed: int) -> Iterator[Event]:
    """The events of an experiment."""
    rng = random.Random(seed)
    waiting: dict[int, list[Event]] = {}
    while experiment.seq < count:
        number, arm, rank = experiment.decide()
        at = experiment.at + 1_000
        decided = Event(experiment.seq + 1, Kind.DECIDED, at, f"{number:08x}-visitor", number, arm, rank)
        experiment.record(decided)
        yield decided
        waiting.setdefault(number + rng.randrange(1, LONGEST_DELAY), []).append(decided)
        for earlier in waiting.pop(number, ()):
            if experiment.seq < count:
                reward = float(rng.random() < 0.05 + 0.01 * (earlier.arm or 0))
                pull = (earlier.id, earlier.number, earlier.arm, earlier.rank)
                observed = Event(experiment.seq + 1, Kind.OBSERVED, at, *pull, reward)
                experiment.apply(observed)
                yield observed


def make(path: Path, count: int, seed: int) -> None:
    """Write the journal, unless it is there."""
    if path.exists():
        return
    path.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        journal = open_journal(f"{folder}/journal.db")
        with journal.database.transaction():
            stored = journal.create(NAME, checked_spec(ARMS, None, seed, None).text(), 1_700_000_000_000_000)
        source = events_of(Experiment(stored), count, seed)
        for first in range(0, count, BATCH):
            with journal.database.transaction():
                journal.append([(stored.id, next(source)) for _ in range(min(BATCH, count - first))])
        journal.close()
        Path(f"{folder}/journal.db").rename(path)


def forget_snapshots(db: str) -> None:
    """Leave only the events."""
    journal = open_journal(db)
    with journal.database.transaction():
        journal.database.execute("DELETE FROM belated_snapshots")
    journal.close()


def ready_after(db: str) -> float:
    """Seconds until a new server has made a decision; it ends in order, and leaves a snapshot."""
    begin = time.perf_counter()
    server = start(db)
    try:
        with httpx2.Client(base_url=server.url, timeout=600.0) as client:
            client.post(f"/v1/experiments/{NAME}/decisions", json={}).raise_for_status()
            return time.perf_counter() - begin
    finally:
        server.end()


def replayed(journal: Journal) -> tuple[Experiment, float]:
    """The experiment without its snapshot, and the seconds that it took."""
    (stored,) = journal.experiments()
    begin = time.perf_counter()
    return restore(journal, stored, snapshot=False), time.perf_counter() - begin


def control(path: Path) -> bool:
    """Whether a replay notices that the pull of an event is another one."""
    journal = open_journal(str(path))
    try:
        with journal.database.transaction():
            last = journal.last(1)
            journal.database.execute(
                "UPDATE belated_events SET rank = rank + 1 WHERE experiment = 1 AND seq = (SELECT MAX(seq) FROM "
                "belated_events WHERE experiment = 1 AND kind = 'decided' AND seq <= ?)",
                (last // 2,),
            )
            replayed(journal)
            raise AssertionError("the control passed")
    except StateError:
        return True
    except AssertionError:
        return False
    finally:
        journal.close()


def main() -> int:
    """Make the journal, start the servers, run the control; 1 if one is late or the control passes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--events", type=int, default=MOST)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=Path("out"))
    arguments = parser.parse_args()
    path = arguments.folder / f"restart-{arguments.events}-{arguments.seed}.db"
    begin = time.perf_counter()
    make(path, arguments.events, arguments.seed)
    print(f"{arguments.events:,} events, {path.stat().st_size / 1e9:.1f} GB: {time.perf_counter() - begin:.0f} s")
    db = str(path)
    forget_snapshots(db)
    journal = open_journal(db)
    _, seconds = replayed(journal)
    journal.close()
    print(f"replay: {seconds:.1f} s, {arguments.events / seconds:,.0f} events/s")
    without = max(WITHOUT * arguments.events / MOST, WITH)
    late = False
    for what, limit in (("without a snapshot", without), ("with a snapshot", WITH)):
        seconds = ready_after(db)
        late |= seconds > limit
        print(f"ready {what}: {seconds:.1f} s, at most {limit:.0f}{'' if seconds <= limit else ': TOO LATE'}")
    forget_snapshots(db)
    noticed = control(path)
    print(f"control: a changed event is {'noticed' if noticed else 'NOT noticed'}")
    return int(late or not noticed)


if __name__ == "__main__":
    sys.exit(main())
