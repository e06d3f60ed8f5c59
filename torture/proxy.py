"""Exactly once, at full size: clients decide and answer through a proxy that cuts, delays and repeats, and retry.

    python torture/proxy.py --operations 100000 --seed 1

Three fifths of it on SQLite, the rest on PostgreSQL with two servers on one database. Afterwards every operation that a
client believes done is in the journal once, nothing else is, all counts agree, and ``belated verify`` is content. The
control sends decisions with the same retries and without ids, and must be seen to make some that no client knows of.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "service"))

import postgres
from bad_proxy import FAULTS, BadProxy, bad_proxy
from once import Believed, anomalies, clients_at_work, miscounts, verified, work_without_ids
from serving import serving

SHOWN = 5
FEWEST = 5
"""Times that each fault must have happened in the test; else it proves nothing."""
CONTROL = 200
"""The control does one operation where the test does so many, and not less than 480."""


@dataclass
class Outcome:
    """What came of many operations."""

    believed: Believed
    proxy: BadProxy
    seconds: float
    wrong: list[str]
    """All in which journal, counts and clients differ."""
    verified: str
    """What ``belated verify`` has against it."""

    def rare(self) -> list[str]:
        """Faults that did not happen often enough."""
        return [name for name in FAULTS if self.proxy.counts[name] < FEWEST]

    def passed(self, control: bool) -> bool:
        """Whether it went as it should; the control should have made decisions that nobody knows of."""
        if self.believed.given_up or self.verified:
            return False
        if control:
            return any("no client knows of it" in each for each in self.wrong)
        return not self.wrong and not self.rare()


def play(db: str, operations: int, clients: int, seed: int, *, control: bool) -> Outcome:
    """So many operations on an empty database."""
    with ExitStack() as stack:
        urls = [stack.enter_context(serving(db)).url for _ in range(2 if "://" in db else 1)]
        begin = time.perf_counter()
        with bad_proxy(*urls, seed=seed, longest=0.6) as proxy:
            work = work_without_ids if control else clients_at_work
            believed = work(proxy.url, operations, clients, seed, timeout=0.5, retries=40)
        seconds = time.perf_counter() - begin
        wrong = [*anomalies(db, believed), *miscounts(urls[-1], believed)]
        done = verified(db)
    return Outcome(believed, proxy, seconds, wrong, done.stderr.strip() or done.stdout if done.returncode else "")


def report(what: str, outcome: Outcome) -> None:
    """Print what was done and what was found."""
    believed, counts = outcome.believed, outcome.proxy.counts
    print(f"{what}: {believed.operations:,} operations in {outcome.seconds:.0f} s, {len(outcome.wrong):,} anomalies")
    print(
        f"    {len(believed.arms):,} decisions, {len(believed.rewards):,} feedbacks, {len(believed.cancelled):,} "
        f"cancelled, {len(believed.given_up)} given up"
    )
    print(f"    {sum(counts.values()):,} requests, {counts['none']:,} of them undisturbed")
    print("    " + ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()) if name != "none"))
    if outcome.rare():
        print(f"    fewer than {FEWEST} times: {', '.join(outcome.rare())}")
    for each in [*filter(None, [outcome.verified]), *outcome.wrong[:SHOWN]]:
        print(f"    {each}", flush=True)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--operations", type=int, default=100_000, help="decisions, feedbacks and cancellations")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=32, help="threads")
    options = parser.parse_args()
    failed = 0
    with postgres.server() as url, tempfile.TemporaryDirectory(prefix="belated-proxy-") as folder:
        for control in (False, True):
            part = max(options.operations // CONTROL, 480) if control else options.operations
            shares = {"SQLite": part - part * 2 // 5, "PostgreSQL": part * 2 // 5}
            for name, share in shares.items():
                db = postgres.fresh(url) if name == "PostgreSQL" else f"{folder}/{control}.db"
                outcome = play(db, share, options.clients, options.seed, control=control)
                report(f"{name}{', control' if control else ''}", outcome)
                failed += not outcome.passed(control)
    print("FAILED" if failed else "passed: everything was done once; the control did some twice")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
