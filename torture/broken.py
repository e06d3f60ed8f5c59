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
    from belated.service.api import decisions, experiments, monitoring

    def accepted(message: Any, *, created: bool = False) -> Any:
        response = json_response(message, created=created)
        response.status_code = 202
        return response

    json_response = experiments.json_response
    module, name, by = {
        "status": (experiments, "json_response", accepted),
        "body": (monitoring, "StateAnswer", lambda *_: {"status": 7}),
        "failure": (decisions, "status_view", fail),
    }[defect]
    getattr(module, name)  # it is there
    setattr(module, name, by)


if __name__ == "__main__":
    from belated.cli import main

    break_it(sys.argv.pop(1))
    main()
