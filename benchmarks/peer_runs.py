"""The peers: an environment for each, its script run there, its rows read back."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

from task import HERE

SCRIPTS = HERE / "peers"
VENVS = HERE / ".venvs"
PEERS = ("obp", "banditlab", "river", "pymab", "mabwiser", "smpybandits")
LOCAL = ("plain", "numpy")
"""Scripts that need nothing but this interpreter and its NumPy."""

Row = dict[str, Any]


class PeerError(Exception):
    """A peer that did not install or did not run; the message is printed in its row."""


def works(python: str) -> bool:
    """Tell whether a Python starts (a version manager's shim may not)."""
    return subprocess.run([python, "-V"], check=False, capture_output=True).returncode == 0


def interpreter(requirements: str) -> str:
    """Return a Python for a requirements file; a line ``# python: 3.10`` names the release."""
    named = re.search(r"^# python: (\S+)$", requirements, re.MULTILINE)
    if named is None:
        return sys.executable
    release = named[1]
    variable = "PEER_PYTHON_" + release.replace(".", "_")
    for candidate in (os.environ.get(variable), shutil.which(f"python{release}")):
        if candidate and works(candidate):
            return candidate
    raise PeerError(f"needs Python {release}: put it on PATH or name it in {variable}")


def environment(peer: str) -> str:
    """Return the Python of a peer's environment, made if missing or if its pins changed."""
    requirements = (SCRIPTS / f"requirements-{peer}.txt").read_text()
    folder = VENVS / peer
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    if stamp.exists() and stamp.read_text() == requirements:
        return str(python)
    if not python.exists():
        execute([interpreter(requirements), "-m", "venv", str(folder)])
    pins = str(SCRIPTS / f"requirements-{peer}.txt")
    execute([str(python), "-m", "pip", "install", "--quiet", "-r", pins])
    stamp.write_text(requirements)
    return str(python)


def execute(command: list[str], limit: float = 1200.0) -> str:
    """Run a command and return what it printed; PeerError has the last line it complained of."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=limit, env=clean)
    except subprocess.TimeoutExpired:
        raise PeerError(f"took longer than {limit:.0f} s") from None
    if done.returncode != 0:
        raise PeerError((done.stderr.strip() or "failed without a word").splitlines()[-1])
    return done.stdout


def play(peer: str, *, horizon: int, runs: int) -> list[Row]:
    """Run one peer's script and return its rows; one row with ``error`` where that fails."""
    script = SCRIPTS / f"play_{peer}.py"
    try:
        python = sys.executable if peer in LOCAL else environment(peer)
        command = [python, str(script), "--horizon", str(horizon), "--runs", str(runs)]
        rows: list[Row] = json.loads(execute(command).splitlines()[-1])
    except PeerError as error:
        return [{"name": peer, "error": str(error)}]
    return rows


def fastest_delay_aware(rows: list[Row]) -> Row | None:
    """Return the fastest row of a peer that itself knows delays."""
    aware = [row for row in rows if row.get("delay_support") == "native"]
    return min(aware, key=lambda row: float(row["ns_per_round"]), default=None)
