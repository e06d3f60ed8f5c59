"""Generate the blocking client from the asyncio client: ``python tests/client/generate_sync.py``."""

from __future__ import annotations

import re
from pathlib import Path

CLIENT = Path(__file__).parents[2] / "src/belated/client"
REPLACEMENTS = (
    (
        '"""The client for asyncio."""',
        '"""The blocking client, generated from aio.py by tests/client/generate_sync.py."""',
    ),
    (
        "The asyncio variant of :class:`belated.Client`: every operation is awaited, also ``await client.arms``.",
        "A bandit kept on a server, with the operations of :class:`belated.Bandit`; thread-safe.",
    ),
    ("import asyncio\n", "import time\n"),
    ("asyncio.sleep", "time.sleep"),
    ("import Awaitable, ", "import "),
    ("async def ", "def "),
    ("await ", ""),
    ("AsyncClient", "Client"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("aclose", "close"),
)


def generated() -> str:
    """The text of sync.py."""
    text = (CLIENT / "aio.py").read_text(encoding="utf-8")
    for old, new in REPLACEMENTS:
        assert old in text, f"aio.py no longer contains {old!r}"
        text = text.replace(old, new)
    return re.sub(r"Awaitable\[(.*)\]:", r"\1:", text)


if __name__ == "__main__":
    (CLIENT / "sync.py").write_text(generated(), encoding="utf-8")
