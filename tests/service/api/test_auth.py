"""Who may do what: every route of the document with every kind of key; and that no key is ever written down."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from commands import belated
from postgres import fresh
from serving import PATIENCE, LocalServer, hosting, serving, start

from belated.errors import ConfigurationError
from belated.service.api.openapi import document
from belated.service.auth import ROLES, hash_key, make_key, revoke_key
from belated.service.serve import check_keys, listen
from belated.service.settings import Settings
from belated.service.storage.journal import open_journal

SECRETS = ("reader", "writer", "admin", "revoked")


@dataclass
class Guarded:
    """A server with keys."""

    server: LocalServer
    keys: dict[str, str]
    db: str


def with_keys(db: str) -> dict[str, str]:
    """A key of each role, and one that is revoked."""
    journal = open_journal(db)
    keys = {role: make_key(journal, role, role) for role in ROLES}
    keys["revoked"] = make_key(journal, "admin", "revoked")
    revoke_key(journal, "revoked")
    journal.close()
    return keys


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """A server with keys on each database."""
    if request.param == "sqlite":
        db = str(tmp_path_factory.mktemp("auth") / "bandits.db")
    else:
        db = fresh(request.getfixturevalue("postgres"))
    keys = with_keys(db)
    with hosting(db) as server:
        with server.client(headers={"Authorization": f"Bearer {keys['admin']}"}) as http:
            asked = {"name": "e", "arms": ["a"], "policy": {"name": "UCB"}}
            assert http.post("/v1/experiments", json=asked).status_code == 201
            assert http.post("/v1/experiments/e/decisions", json={"id": "d", "count": 9}).status_code == 201
        yield Guarded(server, keys, db)


WHO = {
    "GET /livez": None,
    "GET /metrics": "reader",
    "GET /readyz": None,
    "GET /v1/decisions/{id}": "reader",
    "GET /v1/experiments": "reader",
    "GET /v1/experiments/{name}": "reader",
    "GET /v1/experiments/{name}/delays": "reader",
    "GET /v1/experiments/{name}/events": "reader",
    "GET /v1/experiments/{name}/export.parquet": "reader",
    "POST /v1/decisions/{id}/cancel": "writer",
    "POST /v1/decisions/{id}/feedback": "writer",
    "POST /v1/experiments": "writer",
    "POST /v1/experiments/{name}/arms": "admin",
    "POST /v1/experiments/{name}/decisions": "writer",
    "POST /v1/experiments/{name}/history": "writer",
    "POST /v1/experiments/{name}/resume": "admin",
    "POST /v1/experiments/{name}/stop": "admin",
    "POST /v1/feedback": "writer",
}
"""The least role that may; None: everybody. Written down here once more, since the table of the routes makes both the
document and the door, and what is wrong in it is wrong in both."""

OPERATIONS = [
    (method, path, operation) for path, methods in document()["paths"].items() for method, operation in methods.items()
]


def ask(http: httpx2.Client, method: str, path: str, operation: dict[str, Any], key: str | None) -> httpx2.Response:
    """A request of the right form; what it says need not make sense."""
    headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
    body = {"json": {}} if "requestBody" in operation else {}
    return http.request(method.upper(), path.format(name="e", id="d.0"), headers=headers, **body)


def test_every_route_with_every_key(guarded: Guarded) -> None:
    wrong = []
    with guarded.server.client() as http:
        for method, path, operation in OPERATIONS:
            for given in (None, "unknown", "revoked", *ROLES):
                key = None if given is None else guarded.keys.get(given, "bel_" + "x" * 43)
                answer = ask(http, method, path, operation, key)
                if not as_it_should_be(answer, WHO[f"{method.upper()} {path}"], given):
                    wrong.append((method, path, given, answer.status_code, answer.text))
    assert wrong == []


def as_it_should_be(answer: httpx2.Response, role: str | None, given: str | None) -> bool:
    """Whether a request with this key was let in, or refused with the right problem."""
    if role is None:
        return answer.status_code == 200
    if given in ROLES and ROLES.index(given) >= ROLES.index(role):
        return answer.status_code not in (401, 403)
    status, kind = (
        (403, "not-allowed") if given in ROLES else (401, "no-key") if given is None else (401, "unknown-key")
    )
    return (
        answer.status_code == status
        and (status == 403 or answer.headers["www-authenticate"] == "Bearer")
        and answer.headers["content-type"] == "application/problem+json"
        and answer.json()["type"] == f"urn:belated:problem:{kind}"
    )


def test_the_document_says_who_may_what() -> None:
    assert {f"{method.upper()} {path}": operation.get("x-role") for method, path, operation in OPERATIONS} == WHO
    assert all(("security" in operation) == ("x-role" in operation) for _, _, operation in OPERATIONS)


def test_keys_come_in_one_way(guarded: Guarded) -> None:
    with guarded.server.client() as http:
        for header in ("", "Basic {}", "Bearer", "{}", "Bearer {} x", "Token {}"):
            headers = {"Authorization": header.format(guarded.keys["admin"])}
            assert http.get("/v1/experiments", headers=headers).status_code == 401, header
            params = {"key": guarded.keys["admin"]}
            assert http.get("/v1/experiments", params=params, headers=headers).status_code == 401, header


def test_bearer_is_written_in_any_case(guarded: Guarded) -> None:
    with guarded.server.client(headers={"Authorization": f"bEARER  {guarded.keys['reader']}"}) as http:
        assert http.get("/v1/experiments").status_code == 200


def test_refused_writes_change_nothing(guarded: Guarded) -> None:
    with guarded.server.client(headers={"Authorization": f"Bearer {guarded.keys['reader']}"}) as http:
        before = http.get("/v1/experiments/e").json()
        assert http.post("/v1/experiments/e/decisions").status_code == 403
        assert http.post("/v1/decisions/d.1/feedback", json={"reward": 1}).status_code == 403
        assert http.get("/v1/experiments/e").json() == before


def tables(db: str) -> dict[str, str]:
    """All rows of all tables, by the table's name."""
    journal = open_journal(db)
    database = journal.database
    names = (
        "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_catalog.pg_tables "
        "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        if db.startswith("postgresql://")
        else "SELECT name FROM sqlite_master WHERE type = 'table'"
    )
    found = {name: repr(database.execute(f"SELECT * FROM {name}")) for (name,) in database.execute(names)}
    journal.close()
    return found


def test_keys_are_nowhere_to_be_read(db: str) -> None:
    keys = with_keys(db)
    with serving(db, "--log", "debug") as server, server.client() as http:
        for key in keys.values():
            http.get("/v1/experiments", headers={"Authorization": f"Bearer {key}"})
            http.get(f"/v1/experiments?key={key}")
    log = "".join(server.lines)
    assert '"path": "/v1/experiments"' in log
    kept = tables(db)
    for key in keys.values():
        assert key not in log
        assert [name for name, rows in kept.items() if key in rows] == []
        assert [name for name, rows in kept.items() if hash_key(key) in rows] in (
            ["belated_keys"],
            ["public.belated_keys"],
        ), "the dump has what is kept"
    if db.endswith("bandits.db"):
        files = b"".join(path.read_bytes() for path in Path(db).parent.glob("bandits.db*"))
        assert all(hash_key(key).encode() in files for key in keys.values())
        assert all(key.encode() not in files for key in keys.values())


def test_a_broken_handler_does_not_write_keys_into_the_log(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    keys = with_keys(db)
    with serving(db, "--log", "debug") as server:
        headers = {"Authorization": f"Bearer {keys['admin']}"}
        with server.client(headers=headers) as http:
            http.post("/v1/experiments", json={"name": "e", "arms": ["a"], "policy": {"name": "UCB"}})
            http.post("/v1/experiments/e/decisions", json={"id": "d"})
            with sqlite3.connect(db) as damaged:
                damaged.execute("UPDATE belated_events SET extra = '{'")
            damaged.close()
            answer = http.get("/v1/decisions/d")
        assert (answer.status_code, answer.json()["type"]) == (500, "urn:belated:problem:unforeseen")
        server.end()
    log = "".join(server.lines)
    assert "DecodeError" in log
    assert all(key not in log for key in keys.values())


def test_keys_are_taken_and_forgotten_within_seconds(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    with hosting(db) as server, server.client() as http:
        assert http.get("/v1/experiments").status_code == 200  # there are no keys
        journal = open_journal(db)
        key = make_key(journal, "reader", "mine")
        headers = {"Authorization": f"Bearer {key}"}
        wait(lambda: http.get("/v1/experiments").status_code == 401)
        assert http.get("/v1/experiments", headers=headers).status_code == 200
        revoke_key(journal, "mine")
        journal.close()
        time.sleep(0.2)  # nobody asks in between
        wait(lambda: http.get("/v1/experiments", headers=headers).status_code == 401)
        assert http.get("/v1/experiments").status_code == 401  # a revoked key does not open the door


def wait(condition: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# ---- listening ----


def test_without_keys_nobody_else_is_listened_to(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    for host in ("0.0.0.0", "::", "", "example.com", "192.0.2.1"):
        with pytest.raises(ConfigurationError, match=r"there are no keys; create one with belated keys create"):
            check_keys(Settings(db=db, host=host, port=0))
    ended = belated("serve", "--port", "0", "--db", db, "--host", "0.0.0.0")
    assert ended.returncode == 2
    assert "there are no keys" in ended.stderr
    assert "belated keys create" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_revoked_key_is_no_key(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    journal = open_journal(db)
    make_key(journal, "admin", "gone")
    revoke_key(journal, "gone")
    journal.close()
    with pytest.raises(ConfigurationError, match="there are no keys"):
        check_keys(Settings(db=db, host="0.0.0.0", port=0))


def test_with_keys_it_listens_to_all(tmp_path: Path) -> None:
    db = str(tmp_path / "bandits.db")
    keys = with_keys(db)
    with serving(db, "--host", "0.0.0.0") as server:
        server.url = server.url.replace("0.0.0.0", "127.0.0.1")
        with server.client(headers={"Host": "bandits.example"}) as http:
            assert http.get("/v1/experiments").status_code == 401
            assert http.get("/livez").status_code == 200
            headers = {"Authorization": f"Bearer {keys['reader']}"}
            assert http.get("/v1/experiments", headers=headers).status_code == 200


def test_loopback_needs_no_keys(tmp_path: Path) -> None:
    server = start(str(tmp_path / "bandits.db"), "--host", "[::1]")
    with server.client() as http:
        assert http.get("/v1/experiments").status_code == 200
    assert server.end() == 0


def test_every_loopback_address_is_listened_on(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"):
        settings = Settings(db=str(tmp_path / "bandits.db"), host=host, port=0)
        assert settings.loopback
        listen(settings).close()
