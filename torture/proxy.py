"""Exactly once, at full size: clients decide and answer through a proxy that cuts, delays and repeats, and retry.

    python torture/proxy.py --operations 100000 --seed 1
    python torture/proxy.py --operations 100000 --seed 1 --db postgresql://postgres@127.0.0.1/test

Afterwards every operation that a client believes done is in the journal once, nothing else is, all counts agree, and
``belated verify`` is content; else the exit status is 1. ``--control`` sends the same without ids, and must fail.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "service"))

from bad_proxy import BadProxy, bad_proxy
from once import Believed, anomalies, clients_at_work, miscounts, verified, work_without_ids
from serving import serving

SHOWN = 10


def options() -> argparse.Namespace:
    """What was asked for on the command line."""
    parser = argparse.ArgumentParser(description="Exactly once through a bad proxy.")
    parser.add_argument("--operations", type=int, default=100_000, help="decisions, feedbacks and cancellations")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=32, help="threads")
    parser.add_argument("--servers", type=int, default=None, help="processes on one database [1; PostgreSQL: 2]")
    parser.add_argument("--db", default=None, help="an empty database [a SQLite file that is deleted]")
    parser.add_argument("--control", action="store_true", help="send the same without ids: must fail")
    return parser.parse_args()


def main() -> int:
    """Run, and say what was found; the exit status."""
    asked = options()
    with ExitStack() as stack:
        db = asked.db or f"{stack.enter_context(tempfile.TemporaryDirectory())}/bandits.db"
        count = asked.servers or (2 if "://" in db else 1)
        urls = [stack.enter_context(serving(db)).url for _ in range(count)]
        begin = time.perf_counter()
        with bad_proxy(*urls, seed=asked.seed, longest=0.6) as proxy:
            play = work_without_ids if asked.control else clients_at_work
            believed = play(proxy.url, asked.operations, asked.clients, asked.seed, timeout=0.5, retries=40)
        seconds = time.perf_counter() - begin
        wrong = [*anomalies(db, believed), *miscounts(urls[-1], believed)]
        done = verified(db)
    report(asked, believed, proxy, seconds, wrong)
    print(done.stdout.strip() or done.stderr.strip())
    return 1 if wrong or believed.given_up or done.returncode else 0


def report(asked: argparse.Namespace, believed: Believed, proxy: BadProxy, seconds: float, wrong: list[str]) -> None:
    """Print what was done and what was found."""
    faults = {name: count for name, count in sorted(proxy.counts.items()) if name != "none"}
    print(f"{believed.operations:,} operations by {asked.clients} clients, seed {asked.seed}, in {seconds:.0f} s:")
    print(
        f"  {len(believed.arms):,} decisions, {len(believed.rewards):,} feedbacks, {len(believed.cancelled):,} "
        f"cancelled, {len(believed.given_up)} given up"
    )
    print(f"  {sum(proxy.counts.values()):,} requests, {proxy.counts['none']:,} of them undisturbed")
    print("  " + ", ".join(f"{name} {count:,}" for name, count in faults.items()))
    print(f"{len(wrong):,} anomalies")
    for each in wrong[:SHOWN]:
        print(f"  {each}")


if __name__ == "__main__":
    sys.exit(main())
