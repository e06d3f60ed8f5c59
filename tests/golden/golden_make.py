"""Write the fixtures again, all but ``final.json``, which ``record.py`` writes. They are a record of 0.1.0: with
another version this makes a record of that one.

    python golden_make.py PATH/TO/transcript.py
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import golden_api
import golden_bandits
import golden_files
import golden_service
from golden_postgres import dumped, postgres, restore
from golden_service import as_text
from golden_serving import Server, belated, serving

HERE = Path(__file__).parent
EXPORTED = ("silent-short", "words")
TOLD = ("thompson", "silent-short", "words")
"""Experiments whose events are kept as the server tells them."""


def keys(db: str) -> dict[str, str]:
    """A key of each role, and one that was revoked."""
    roles = {"reader": "reader", "writer": "writer", "admin": "admin", "revoked": "admin"}
    found = {
        name: belated("keys", "create", "--role", role, "--name", name, "--db", db).stdout.strip()
        for name, role in roles.items()
    }
    belated("keys", "revoke", "revoked", "--db", db)
    return found


def lived(db: str) -> dict[str, str]:
    """A journal with a life in it, snapshots in the middle, and a kill at the end. Its keys."""
    found = keys(db)
    with serving(db, found["admin"]) as server:
        golden_service.first_life(server)
    server = Server(db, found["admin"])
    golden_service.second_life(server)
    server.kill()
    return found


def observed(db: str, key: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is seen of a journal, and how it goes on."""
    with serving(db, key) as server:
        return golden_service.seen(server), golden_service.gone_on(server)


def write(path: Path, data: Any) -> None:
    """As JSON."""
    path.write_text(as_text(data), encoding="utf-8")


def service(folder: Path, aside: Path) -> None:
    """``service/``: the journal of SQLite, that of PostgreSQL, and how both go on."""
    for path in folder.iterdir():
        if path.name != "schema1.db":  # a journal with older tables, which nothing here can make
            path.unlink()
    journal = folder / "journal.db"
    sqlite_keys = lived(str(aside / "lived.db"))
    subprocess.run([sys.executable, "-m", "apsw", str(aside / "lived.db"), f"VACUUM INTO '{journal}'"], check=True)
    copy = shutil.copy(journal, aside / "copy.db")
    sqlite_seen, going_on = observed(str(copy), sqlite_keys["admin"])
    copy = shutil.copy(journal, aside / "other.db")
    with serving(str(copy), sqlite_keys["reader"]) as server:
        for name in EXPORTED:
            path = folder / f"{name}.parquet"
            path.write_bytes(server.ask("GET", f"/v1/experiments/{name}/export.parquet")[1])
        for name in TOLD:
            path = folder / f"{name}.ndjson"
            path.write_bytes(server.ask("GET", f"/v1/experiments/{name}/events?limit=1000")[1])
    copy = shutil.copy(folder / "schema1.db", aside / "older.db")
    with serving(str(copy)) as server:
        going_on["schema1.db"] = golden_service.seen_of_an_older_one(server)
    with postgres() as url:
        postgres_keys = lived(url)
        (folder / "journal.sql").write_text(dumped(url), encoding="utf-8")
    with postgres() as url:
        restore(url, folder / "journal.sql")
        postgres_seen, other = observed(url, postgres_keys["admin"])
    assert all(going_on[name] == found for name, found in other.items()), "both databases go on alike"
    write(folder / "keys.json", {"journal.db": sqlite_keys, "journal.sql": postgres_keys})
    write(folder / "seen.json", {"journal.db": sqlite_seen, "journal.sql": postgres_seen})
    write(folder / "continue.json", going_on)


def without_pictures(folder: Path) -> None:
    """Keep the numbers of a folder of results."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in (".png", ".svg", ".pdf", ".html"):
            path.unlink()


def files(folder: Path, aside: Path) -> None:
    """``results/`` and ``toml.json``."""
    shutil.rmtree(folder, ignore_errors=True)
    found: dict[str, Any] = {
        "simulate": {name: golden_files.simulated(name, aside / name) for name in golden_files.SIMULATED},
        "sweep": {name: golden_files.swept(name, aside / f"{name}-swept") for name in golden_files.SWEPT},
        "reproduce": golden_files.reproduced(aside / "question"),
        "arena": golden_files.arena(aside / "arena"),
    }
    write(HERE / "toml.json", found)
    for source, name in (("everything", "simulated"), ("confidences-swept", "swept"), ("question", "reproduced")):
        shutil.copytree(aside / source, folder / name)
    without_pictures(folder)


def outside(aside: Path) -> dict[str, Any]:
    """``api.json``."""
    with serving(str(aside / "api.db")) as server:
        routes, metrics = golden_api.routes(server), golden_api.metrics(server)
    return {
        "python": golden_api.python(),
        "commands": golden_api.commands(),
        "routes": routes,
        "metrics": metrics,
    }


def transcript(script: Path) -> dict[str, Any]:
    """``transcript.json``: a hash of each game, and of the whole."""
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    return transcribed(json.loads(done.stdout))


def transcribed(data: dict[str, Any]) -> dict[str, Any]:
    """The same from what a transcript holds."""

    def short(part: Any) -> str:
        return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()

    games = {name: {game: short(found)[:16] for game, found in data[name].items()} for name in ("told", "untold")}
    return {"sha256": short(data), **games}


if __name__ == "__main__":
    wanted = sys.argv[2:] or ["transcript", "bandits", "api", "files", "service"]
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        here = Path(name)
        if "transcript" in wanted:
            write(HERE / "transcript.json", transcript(Path(sys.argv[1])))
        if "bandits" in wanted:
            (HERE / "bandits.json").write_text(json.dumps(golden_bandits.recorded(), ensure_ascii=False) + "\n")
        if "api" in wanted:
            write(HERE / "api.json", outside(here))
        if "files" in wanted:
            files(HERE / "results", here)
        if "service" in wanted:
            service(HERE / "service", here)
