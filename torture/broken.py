"""The controls of the generated requests: a server with a defect that schemathesis must find.

python torture/broken.py status serve --db ...
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

FOUND = {
    "status": "Undocumented status code",
    "body": "Response violates schema",
    "failure": "Server error",
}
"""What the report says of each."""


def fail(*_: Any) -> NoReturn:
    """What a handler calls."""
    raise RuntimeError("broken on purpose")


def break_it(defect: str) -> None:
    """Answer with a status, or a body, that the document does not know; or not at all."""
    from belated.service.api import handlers

    replaced: dict[str, tuple[str, Any]] = {
        "status": ("_status", lambda *_: 202),
        "body": ("StateAnswer", lambda *_: {"status": 7}),
        "failure": ("status_view", fail),
    }
    name, by = replaced[defect]
    getattr(handlers, name)  # it is there
    setattr(handlers, name, by)


if __name__ == "__main__":
    from belated.cli import main

    break_it(sys.argv.pop(1))
    main()
