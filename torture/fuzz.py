"""Requests of all kinds, valid and not, made from the server's own /openapi.json by schemathesis, with all its checks.

    python torture/fuzz.py --cases 20000 --seed 1

Three fifths of them on SQLite, the rest on PostgreSQL. No check may fail and no answer may be a 5xx; and every
operation must have been done, not only refused. The controls are three servers with a defect each, which must be found.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "service")]

import postgres  # noqa: E402
from broken import FOUND  # noqa: E402
from serving import Server, serving, start  # noqa: E402

EXPERIMENTS = (
    {"name": "ucb", "arms": ["a", "b"], "policy": {"name": "UCB"}},
    {"name": "opse", "arms": ["a", "b", "c"], "policy": {"name": "OPSE", "confidence": 0.5}},
    {
        "name": "silent",
        "arms": ["red", "gr\u00fcn \U0001f7e2"],
        "policy": {"name": "Thompson"},
        "silence": {"after": 3600, "reward": 0},
    },
)
BATCHES = 4
"""Of a thousand decisions, in each experiment."""
A_RUN = 250
"""Cases of one operation in one run of schemathesis, at the most."""
FEW = 5
"""And in the run of a control."""
MORE_RUNS = 10
"""How many runs there are for an operation that is seldom asked for rightly."""


def key_for(db: str) -> str:
    """An administrator's key."""
    made = subprocess.run(
        [sys.executable, "-m", "belated", "keys", "create", "--role", "admin", "--db", db],
        check=True,
        capture_output=True,
        text=True,
    )
    return made.stdout.strip()


def prepare(server: Server, key: str) -> dict[str, list[str]]:
    """Make experiments and decisions; their names and ids."""
    ids: list[str] = []
    with server.client(headers={"Authorization": f"Bearer {key}"}) as http:
        for asked in EXPERIMENTS:
            assert http.post("/v1/experiments", json=asked).is_success
            for batch in range(BATCHES):
                body = {"count": 1000, "id": f"{asked['name']} {batch} %2F\u00e9"}
                made = http.post(f"/v1/experiments/{asked['name']}/decisions", json=body)
                assert made.is_success, made.text
                ids += [each["id"] for each in made.json()["decisions"]]
    return {"names": [str(asked["name"]) for asked in EXPERIMENTS], "ids": ids}


def run(server: Server, key: str, known: dict[str, list[str]], each: int, seed: int) -> tuple[Counter[str], str | None]:
    """One run of schemathesis, with so many cases of each operation; how often each answer came, and its report if
    something was found."""
    with tempfile.TemporaryDirectory() as folder:
        answers, things = Path(folder) / "answers.json", Path(folder) / "known.json"
        things.write_text(json.dumps(known), encoding="utf-8")
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json", "--checks", "all"]
        command += ["-H", f"Authorization: Bearer {key}", "--seed", str(seed), "-n", str(each), "--continue-on-failure"]
        command += ["--suppress-health-check", "all", "--warnings", "off"]
        environment = {
            **os.environ,
            "SCHEMATHESIS_HOOKS": "fuzz_hooks",
            "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "FUZZ_KNOWN": str(things),
            "FUZZ_ANSWERS": str(answers),
        }
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder, check=False)
        found = Counter(json.loads(answers.read_text(encoding="utf-8"))) if answers.exists() else Counter()
        return Counter(found), f"{ended.stdout}\n{ended.stderr}" if ended.returncode else None


def fuzz(db: str, cases: int, seed: int) -> Counter[str]:
    """At least so many cases, and more until each operation was done once; how often each answer came."""
    key = key_for(db)
    answers: Counter[str] = Counter()
    runs = 0
    with serving(db) as server:
        known = prepare(server, key)
        with server.client() as http:
            paths = http.get("/openapi.json").json()["paths"]
        operations = [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]
        while answers.total() < cases or (undone(operations, answers) and runs < MORE_RUNS):
            runs += 1
            left = max((cases - answers.total()) // len(operations), 20) + 1
            found, failed = run(server, key, known, min(left, A_RUN), seed)
            if failed is not None:
                print(failed, file=sys.stderr)
                raise SystemExit(f"schemathesis found something, or could not run: seed {seed}")
            answers += found
            seed += 1
            print(f"  {answers.total():,} cases", file=sys.stderr)
        assert server.process.poll() is None, "the server is gone"
    broken = [each for each in answers if each.rpartition(" ")[2].startswith("5")]
    assert not undone(operations, answers), f"never done, only refused: {undone(operations, answers)}"
    assert not broken, f"errors of the server: {broken}"
    return answers


def undone(operations: list[str], answers: Counter[str]) -> list[str]:
    """The operations that were refused each time."""
    return [each for each in operations if not any(answers[f"{each} {status}"] for status in (200, 201))]


def control(db: str, defect: str, seed: int) -> bool:
    """Whether a server with a defect is found out, and for this defect."""
    key = key_for(db)
    server = start(db, program=(str(HERE / "broken.py"), defect))
    try:
        _, failed = run(server, key, prepare(server, key), FEW, seed)
    finally:
        server.end()
    return failed is not None and FOUND[defect] in failed


def told(where: str, answers: Counter[str], seed: int, seconds: float) -> str:
    """A line of the report."""
    statuses: Counter[str] = Counter()
    for each, count in answers.items():
        statuses[each.rpartition(" ")[2]] += count
    counts = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
    return f"{where}{answers.total():,} cases from seed {seed} in {seconds:,.0f} s, no check failed; answers {counts}"


def main() -> int:
    """Run, and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--db", help="only on this new SQLite file or empty PostgreSQL database, without the controls")
    asked = parser.parse_args()
    with ExitStack() as stack:
        if asked.db is not None:
            shares = {"": (asked.db, asked.cases)}
        else:
            folder, url = stack.enter_context(tempfile.TemporaryDirectory()), stack.enter_context(postgres.server())
            part = asked.cases * 2 // 5
            shares = {
                "SQLite: ": (f"{folder}/fuzz.db", asked.cases - part),
                "PostgreSQL: ": (postgres.fresh(url), part),
            }
        for where, (db, cases) in shares.items():
            begin = time.perf_counter()
            answers = fuzz(db, cases, asked.seed)
            print(told(where, answers, asked.seed, time.perf_counter() - begin), flush=True)
        if asked.db is not None:
            return 0
        missed = [defect for defect in FOUND if not control(f"{folder}/{defect}.db", defect, asked.seed)]
    print(f"controls: {len(FOUND) - len(missed)} of {len(FOUND)} broken servers were found out")
    print(f"FAILED: not found were {', '.join(missed)}" if missed else "passed: no check failed; the controls' did")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
