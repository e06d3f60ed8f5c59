"""Make the mistakes of mutants.json in a copy of the source, one at a time, and see whether the tests notice them.

    python tests/golden/apply_mutants.py                 all of them; exit status 1 if one survives
    python tests/golden/apply_mutants.py C01 S03         these
    python tests/golden/apply_mutants.py --unchanged     all their tests on the source as it is: they must pass
    python tests/golden/apply_mutants.py --record        write what noticed each into mutants.json

A mutant replaces the text ``now_old``, which occurs once in src, by ``now_new``; ``now_tests`` are to notice it.
``--warm FOLDER`` begins with the compiled code of a folder, as ``BELATED_CACHE_DIR`` names one: of what a mutant
changes, the key is another one. The environment of this Python has to have what the tests need."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_name("mutants.json")
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "out", "site", "build", "dist")
OPTIONS = ("-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "apply_mutants")
TESTED = "the tested package is "
CAUGHT, SURVIVED = "caught", "survived"


class Outcome(NamedTuple):
    """What became of a mutant."""

    status: str
    caught_by: str | None = None


def pytest_sessionfinish() -> None:
    """As a plugin of pytest: say which package was tested."""
    spec = find_spec("belated")
    print(f"\n{TESTED}{spec.origin if spec else None}")


def mutate(tree: Path, old: str, new: str) -> None:
    """Replace a text that occurs once in all of src."""
    texts = {path: path.read_text(encoding="utf-8") for path in (tree / "src").rglob("*.py")}
    found = [path for path, text in texts.items() for _ in range(text.count(old))]
    if len(found) != 1:
        raise LookupError(f"its old text occurs {len(found)} times in src")
    found[0].write_text(texts[found[0]].replace(old, new), encoding="utf-8")


def run_tests(tree: Path, cache: Path, tests: list[str], limit: float, log: Path) -> Outcome:
    """Run tests of a copy in a process group of its own."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("BELATED_", "NUMBA_", "PYT"))}
    environment |= {"BELATED_CACHE_DIR": str(cache), "BELATED_COMPILERS": "0", "HYPOTHESIS_PROFILE": "hasty"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tree / "src"), str(tree / "tests" / "golden")])
    command = [sys.executable, "-m", "pytest", *OPTIONS, *tests]
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=tree, env=environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return Outcome(f"broken: not finished after {limit:.0f} s")
    text = log.read_text(encoding="utf-8", errors="replace")
    if f"{TESTED}{tree / 'src' / 'belated'}" not in text:
        return Outcome("broken: another package was tested")
    failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", text, re.MULTILINE)
    if status == 1 and failed:
        return Outcome(CAUGHT, failed[0])
    return Outcome(SURVIVED if status == 0 else f"broken: pytest ended with status {status}")


def try_out(mutant: dict[str, Any] | None, tests: list[str], options: argparse.Namespace) -> Outcome:
    """Copy the source, make the mistake if there is one, and run the tests."""
    with tempfile.TemporaryDirectory(prefix="belated-mutant-") as folder:
        tree, cache, log = (Path(folder).resolve() / name for name in ("tree", "cache", "log"))
        shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
        if options.warm:
            shutil.copytree(options.warm, cache)
        if mutant is not None:
            try:
                mutate(tree, mutant["now_old"], mutant["now_new"])
            except LookupError as error:
                return Outcome(f"broken: {error}")
        outcome = run_tests(tree, cache, tests, options.limit, log)
        if options.verbose:
            print(log.read_text(encoding="utf-8", errors="replace"))
        return outcome


def record(id: str, outcome: Outcome) -> None:
    """Write what noticed a mutant into the list, which may have been edited meanwhile."""
    mutants = json.loads(LIST.read_text(encoding="utf-8"))
    for mutant in mutants:
        if mutant["id"] == id:
            mutant["now_caught_by"] = outcome.caught_by
    LIST.write_text(json.dumps(mutants, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> int:
    """Try the mutants that are asked for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--unchanged", action="store_true", help="run their tests on the source as it is")
    parser.add_argument("--record", action="store_true", help="write what noticed each into mutants.json")
    parser.add_argument("--warm", metavar="FOLDER", help="compiled code to begin with")
    parser.add_argument("--limit", type=float, default=900.0, metavar="SECONDS", help="for the tests of a mutant")
    parser.add_argument("--verbose", action="store_true", help="show what pytest says")
    options = parser.parse_args()
    mutants = json.loads(LIST.read_text(encoding="utf-8"))
    if unknown := set(options.ids) - {mutant["id"] for mutant in mutants}:
        parser.error(f"there is no mutant {', '.join(sorted(unknown))}")
    chosen = [mutant for mutant in mutants if not options.ids or mutant["id"] in options.ids]
    if options.unchanged:
        tests = list(dict.fromkeys(each for mutant in chosen for each in mutant["now_tests"]))
        outcome = try_out(None, tests, options)
        print("all pass" if outcome.status == SURVIVED else f"{outcome.status} {outcome.caught_by or ''}")
        return int(outcome.status != SURVIVED)
    noticed = 0
    for mutant in chosen:
        begin = time.monotonic()
        outcome = try_out(mutant, mutant["now_tests"], options)
        seconds = time.monotonic() - begin
        print(f"{mutant['id']}  {outcome.status:8} {seconds:4.0f} s  {outcome.caught_by or ''}", flush=True)
        noticed += outcome.status == CAUGHT
        if options.record:
            record(mutant["id"], outcome)
    print(f"{noticed} of {len(chosen)} were noticed")
    return int(noticed < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
