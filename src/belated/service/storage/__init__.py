"""The journal: an append-only log of events on SQLite or PostgreSQL."""
