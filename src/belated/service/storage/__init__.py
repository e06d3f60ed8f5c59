"""The journal: an append-only log of events on SQLite or PostgreSQL."""

from belated.service.storage.events import Event
from belated.service.storage.journal import Journal, open_journal

__all__ = ["Event", "Journal", "open_journal"]
