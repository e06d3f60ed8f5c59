"""Requests of all kinds, valid and not, made from the server's own /openapi.json by schemathesis, with all its checks.

    python torture/fuzz.py --cases 20000 --seed 1

No check may fail and no answer may be a 5xx; and every operation must have been done, not only refused."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests" / "service")]

from serving import Server, serving  # noqa: E402

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
            assert http.post("/v1/experiments", json=asked).status_code == 201
            for batch in range(BATCHES):
                body = {"count": 1000, "id": f"{asked['name']} {batch} %2F\u00e9"}
                made = http.post(f"/v1/experiments/{asked['name']}/decisions", json=body)
                assert made.status_code == 201, made.text
                ids += [each["id"] for each in made.json()["decisions"]]
    return {"names": [str(asked["name"]) for asked in EXPERIMENTS], "ids": ids}


def run(server: Server, key: str, known: dict[str, list[str]], each: int, seed: int) -> tuple[Counter[str], str]:
    """One run of schemathesis, with so many cases of each operation; how often each answer came, and its report."""
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
        if ended.returncode:
            print(f"{ended.stdout}\n{ended.stderr}", file=sys.stderr)
            raise SystemExit(f"schemathesis found something, or could not run: seed {seed}, exit {ended.returncode}")
        return Counter(found), ended.stdout


def fuzz(db: str, cases: int, seed: int) -> Counter[str]:
    """At least so many cases; how often each answer came."""
    key = key_for(db)
    answers: Counter[str] = Counter()
    with serving(db) as server:
        known = prepare(server, key)
        with server.client() as http:
            paths = http.get("/openapi.json").json()["paths"]
        operations = [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]
        while answers.total() < cases:
            left = (cases - answers.total()) // len(operations) + 1
            found, _ = run(server, key, known, min(left, A_RUN), seed)
            answers += found
            seed += 1
            print(f"  {answers.total():,} cases", file=sys.stderr)
        assert server.process.poll() is None, "the server is gone"
    undone = [each for each in operations if not any(answers[f"{each} {status}"] for status in (200, 201))]
    broken = [each for each in answers if each.rpartition(" ")[2].startswith("5")]
    assert not undone, f"never done, only refused: {undone}"
    assert not broken, f"errors of the server: {broken}"
    return answers


def main() -> None:
    """Run, and tell."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--db", help="a new SQLite file, or an empty PostgreSQL database")
    asked = parser.parse_args()
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        answers = fuzz(asked.db or f"{folder}/fuzz.db", asked.cases, asked.seed)
    seconds = time.perf_counter() - begin
    statuses: Counter[str] = Counter()
    for each, count in answers.items():
        statuses[each.rpartition(" ")[2]] += count
    told = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
    print(f"{answers.total():,} cases from seed {asked.seed} in {seconds:,.0f} s, no check failed; answers {told}")


if __name__ == "__main__":
    main()
