"""The journal: what happened, appended and never changed, on SQLite or PostgreSQL."""

from belated.journal.events import Event
from belated.journal.journal import Journal, open_journal

__all__ = ["Event", "Journal", "open_journal"]
