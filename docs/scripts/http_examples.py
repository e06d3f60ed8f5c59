"""The examples of the HTTP reference: requests to a new server, in order, and its responses.

    python docs/scripts/http_examples.py      send them to a server and save its responses in http_examples.json

The tests send them again and compare."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".json")
COLOURS = "/v1/experiments/colours"
REQUESTS: tuple[tuple[str, str, str, Any], ...] = (
    (
        "POST /v1/experiments",
        "POST",
        "/v1/experiments",
        {
            "name": "colours",
            "arms": ["red", "green"],
            "policy": {"name": "PrefixUCB", "spread": True},
            "seed": 0,
            "silence": {"after": 604800, "reward": 0},
        },
    ),
    ("POST /v1/experiments/{name}/arms", "POST", f"{COLOURS}/arms", {"arm": "blue"}),
    (
        "POST /v1/experiments/{name}/decisions",
        "POST",
        f"{COLOURS}/decisions",
        {"id": "visit-1", "unit": "user-7", "metadata": {"page": "start"}},
    ),
    ("POST /v1/experiments/{name}/decisions", "POST", f"{COLOURS}/decisions", {"id": "mail", "count": 2}),
    ("POST /v1/decisions/{id}/feedback", "POST", "/v1/decisions/visit-1/feedback", {"reward": 1}),
    ("POST /v1/decisions/{id}/feedback", "POST", "/v1/decisions/visit-1/feedback", {"reward": 0}),
    (
        "POST /v1/feedback",
        "POST",
        "/v1/feedback",
        {
            "feedback": [
                {"id": "mail.0", "reward": 0.5, "observed_at": "2026-01-31T12:00:00Z"},
                {"id": "visit-1", "reward": 1},
                {"id": "nobody", "reward": 1},
            ]
        },
    ),
    ("POST /v1/decisions/{id}/cancel", "POST", "/v1/decisions/mail.1/cancel", None),
    ("GET /v1/decisions/{id}", "GET", "/v1/decisions/visit-1", None),
    ("GET /v1/experiments/{name}", "GET", COLOURS, None),
    ("GET /v1/experiments/{name}/events", "GET", f"{COLOURS}/events?cursor=1&limit=3", None),
    ("GET /v1/experiments/{name}/export.parquet", "GET", f"{COLOURS}/export.parquet", None),
    ("GET /v1/experiments/{name}/delays", "GET", f"{COLOURS}/delays", None),
    ("GET /experiments/{name}.json", "GET", "/experiments/colours.json", None),
    ("POST /v1/experiments/{name}/stop", "POST", f"{COLOURS}/stop", None),
    ("POST /v1/experiments/{name}/resume", "POST", f"{COLOURS}/resume", None),
    ("GET /v1/experiments", "GET", "/v1/experiments", None),
    ("GET /experiments.json", "GET", "/experiments.json", None),
    (
        "POST /v1/experiments/{name}/history",
        "POST",
        "/v1/experiments/from-a-notebook/history",
        {
            "arms": ["old", "new"],
            "policy": {"name": "UCB", "confidence": 1.0},
            "seed": 0,
            "decisions": [0, 1],
            "answers": [[2, 0, 1.0]],
        },
    ),
    ("POST /v1/experiments", "POST", "/v1/experiments", {"name": "pictures", "arms": ["old", "new"], "seed": 7}),
    ("GET /livez", "GET", "/livez", None),
    ("GET /readyz", "GET", "/readyz", None),
    ("GET /metrics", "GET", "/metrics", None),
)
"""(route, method, address, body)"""
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
VARYING = {"seconds", "oldest", "edges"}
"""Fields that depend on how fast the requests were sent."""
METRICS = 3
"""Lines of the metrics to keep."""


def play(http: Any) -> list[dict[str, Any]]:
    """Send the requests; return the route, request and response of each."""
    found = []
    for route, method, path, body in REQUESTS:
        answer = http.request(method, path, **({} if body is None else {"json": body}))
        medium = answer.headers["content-type"].partition(";")[0]
        given: Any
        if medium.endswith(("/json", "+json")):
            given = answer.json()
        elif medium == "application/x-ndjson":
            given = [json.loads(line) for line in answer.text.splitlines()]
        else:
            given = "\n".join(answer.text.splitlines()[:METRICS]) if medium == "text/plain" else None
        headers = {name: answer.headers[name] for name in ("Belated-Cursor",) if name in answer.headers}
        found.append(
            {
                "route": route,
                "method": method,
                "path": path,
                "body": body,
                "status": answer.status_code,
                "medium": medium,
                "headers": headers,
                "answer": given,
            }
        )
    return found


def masked(value: Any, key: str = "") -> Any:
    """Return the same without what differs each time: times and durations."""
    if key in VARYING:
        return "..."
    if isinstance(value, dict):
        return {name: masked(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [masked(part) for part in value]
    return "..." if isinstance(value, str) and TIME.match(value) else value


def main() -> None:
    """Start a server, send the requests, save the responses."""
    import httpx2

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "belated", "serve", "--db", f"{folder}/bandits.db", "--port", "0"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                told = re.search(r"at (http://\S+);", server.stderr.readline())
                assert told, "the server did not start"
                with httpx2.Client(base_url=told[1], timeout=60.0) as http:
                    FILE.write_text(json.dumps(play(http), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
