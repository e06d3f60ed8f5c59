"""The curl lines of the page on the service, run in their order against a real server."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import httpx2
from serving import PATIENCE, LocalServer, hosting

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "serve.md"


def commands() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("curl ")]


def sent(command: str, server: LocalServer) -> httpx2.Response:
    """What curl would send."""
    words = shlex.split(command)[1:]
    options = dict(pairwise(words))
    headers = [tuple(options["-H"].split(": ", 1))] if "-H" in options else []
    url = next(word for word in words if word.startswith("http://")).replace("http://127.0.0.1:8000", server.url)
    method = options.get("-X", "POST" if "-d" in options else "GET")
    return httpx2.request(method, url, headers=headers, content=options.get("-d"), timeout=PATIENCE)


def test_every_request_of_the_page_is_taken(tmp_path: Path) -> None:
    found = commands()
    assert len(found) >= 6
    with hosting(str(tmp_path / "bandits.db")) as server:
        for command in found:
            answer = sent(command, server)
            assert answer.status_code in {200, 201}, f"{command}: {answer.text}"


def test_the_page_starts_the_server_as_it_is_started() -> None:
    assert "belated serve --db bandits.db --host 127.0.0.1 --port 8000" in PAGE.read_text()
