"""Restarts on a long journal, in small: it is made once, a replay gives its state, and notices a change."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import restart

from belated.service.core.verify import verify
from belated.service.storage.journal import open_journal

EVENTS = 3_000


def test_a_journal_is_made_once_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "out" / "restart.db"
    restart.make(path, EVENTS, 1)
    made = path.stat().st_mtime_ns
    restart.make(path, EVENTS, 1)
    assert path.stat().st_mtime_ns == made
    with closing(open_journal(str(path))) as journal:
        experiment, _ = restart.replayed(journal)
        assert experiment.seq == EVENTS
        assert experiment.differs_at is None
        assert [(each.events, each.error) for each in verify(journal)] == [(EVENTS, None)]
        observed = int(experiment.learner.counts().observed.sum())
        assert observed + experiment.learner.decisions == EVENTS
    assert restart.ready_after(str(path)) > 0.0
    with closing(open_journal(str(path))) as journal:
        assert journal.snapshot(1) is not None
    restart.forget_snapshots(str(path))
    assert restart.control(path), "a replay notices a changed event"
