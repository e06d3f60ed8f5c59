"""kill -9 under load: what was acknowledged is there, once.

    python torture/kills.py --kills 500 --seed 1

A real server, on SQLite and on PostgreSQL, is kept busy by several clients with ids of their own, killed at a random
moment, and started again on the same database. Everything acknowledged must be there with the same arm and reward,
and nothing that no client asked for; the state must be what the events make of it; requests without an answer are sent
again, and the experiment goes on. The control acknowledges before it commits, and must be seen to lose.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "service"))

import postgres  # noqa: E402
from clients import EXPERIMENT, Client, ask  # noqa: E402
from ledger import Found, Ledger, compare  # noqa: E402
from serving import Server, start  # noqa: E402

from belated.service.storage.journal import open_journal  # noqa: E402

CLIENTS = 6
MOST = 400
"""Acknowledgements before a kill, at the most; counted, so that a slow machine proves as much as a fast one."""
MOMENT = 0.02
"""Seconds that pass then, at the most."""
PATIENCE = 600.0
"""Seconds that clients wait for their answers."""
LIVES = 10
"""Kills that a database lives through."""
EARLY = (str(ROOT / "torture" / "early.py"),)
RIGHT = ("-m", "belated")


@dataclass
class Outcome:
    """What came of many kills."""

    kills: int = 0
    acknowledged: int = 0
    """Acknowledged requests, of all kills together."""
    idle: int = 0
    """Kills before anything was acknowledged."""
    lost: int = 0
    """Kills after which something acknowledged was missing."""
    wrong: int = 0
    """Kills after which something was there that nobody asked for, or otherwise than it was told."""
    examples: list[str] = field(default_factory=list)

    def add(self, found: Found, acknowledged: int) -> None:
        """One more kill."""
        self.kills += 1
        self.acknowledged += acknowledged
        self.idle += acknowledged == 0
        self.lost += bool(found.lost)
        self.wrong += bool(found.wrong)
        if not found.fine and len(self.examples) < 5:
            self.examples.append(f"kill {self.kills}: {found}")

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.acknowledged} acknowledgements before them ({self.idle} kills came before "
            f"any): {self.lost} kills lost some, {self.wrong} left something wrong"
        )


def torture(db: str, kills: int, seed: str, program: tuple[str, ...] = RIGHT) -> Outcome:
    """Kill a server on this database so many times, or until something was lost."""
    outcome = Outcome()
    rng = random.Random(seed)
    ledger = Ledger()
    clients = [Client(number, random.Random(f"{seed} {number}"), ledger) for number in range(CLIENTS)]
    server = start(db, program=program)
    try:
        _expect(server, ledger)
        while outcome.kills < kills:
            clients = [client.copy(server.url) for client in clients]
            _load_and_kill(server, clients, rng.randrange(MOST), rng.uniform(0.0, MOMENT))
            server = start(db, program=program)
            found = _examine(db, server, ledger)
            outcome.add(found, sum(client.acknowledged for client in clients))
            if not found.fine:
                break  # what is lost once is not counted again
    finally:
        server.kill()
    return outcome


def _expect(server: Server, ledger: Ledger) -> None:
    status, told = ask(server.url, "POST", "/v1/experiments", EXPERIMENT)
    assert status == 201, told
    ledger.experiments.add(str(EXPERIMENT["name"]))


def _load_and_kill(server: Server, clients: list[Client], acknowledged: int, moment: float) -> None:
    """Kill the server a moment after so many acknowledgements."""
    for client in clients:
        client.start()
    end = time.monotonic() + PATIENCE
    while sum(client.acknowledged for client in clients) < acknowledged and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(moment)
    server.kill()
    for client in clients:
        client.join()


def _examine(db: str, server: Server, ledger: Ledger) -> Found:
    """What the database has, and what the new server tells of it."""
    journal = open_journal(db, create=False)
    try:
        with journal.database.snapshot_read():  # a commit that was on its way may still arrive
            found = compare(journal, ledger)
    finally:
        journal.close()
    status, told = ask(server.url, "GET", f"/v1/experiments/{EXPERIMENT['name']}")
    if status != 200:
        found.lost.append(f"experiment {EXPERIMENT['name']}: {told}")
    elif found.fine:
        found.wrong += found.tallies[str(EXPERIMENT["name"])].differences(told)
    return found


def many(url: str | None, kills: int, seed: int, program: tuple[str, ...] = RIGHT) -> Outcome:
    """Kills on one new database after another: files, or databases on a PostgreSQL server at a URL."""
    whole = Outcome()
    with tempfile.TemporaryDirectory(prefix="belated-kills-") as folder:
        while whole.kills < kills:
            db = postgres.fresh(url) if url else f"{folder}/{whole.kills}.db"
            lives = min(LIVES, kills - whole.kills)
            found = torture(db, lives, f"{seed} {whole.kills}", program)
            for name in ("kills", "acknowledged", "idle", "lost", "wrong"):
                setattr(whole, name, getattr(whole, name) + getattr(found, name))
            whole.examples += found.examples
            print(f"    so far {'PostgreSQL' if url else 'SQLite'}: {whole}", file=sys.stderr, flush=True)
    return whole


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = 0
    with postgres.server() as url, ThreadPoolExecutor(2) as pool:
        for program, part in ((RIGHT, options.kills), (EARLY, max(options.kills // 10, 10))):
            begin = time.perf_counter()
            shares = {"SQLite": (None, part - part * 2 // 5), "PostgreSQL": (url, part * 2 // 5)}
            running = {name: pool.submit(many, *share, options.seed, program) for name, share in shares.items()}
            for name, future in running.items():
                outcome = future.result()
                control = "" if program is RIGHT else ", control"
                print(f"{name}{control}: {outcome} ({time.perf_counter() - begin:.0f} s)", flush=True)
                for example in outcome.examples[:5]:
                    print(f"    {example}")
                seen = outcome.lost + outcome.wrong > 0
                failed += seen if program is RIGHT else outcome.lost == 0
                failed += outcome.idle > outcome.kills // 4  # clients that are told nothing can lose nothing
    print("FAILED" if failed else "passed: nothing acknowledged was lost; the control lost")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
