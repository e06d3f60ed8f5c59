"""The client is optional: it is imported on first use, never loads numba, and says what is missing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from generate_sync import CLIENT, generated

MISSING = """
import sys
import belated
assert not {"httpx2", "belated.client"} & set(sys.modules)
sys.modules["httpx2"] = None
from belated import Client, AsyncClient
for cls in (Client, AsyncClient):
    try:
        cls("http://127.0.0.1:8000")
    except ImportError as error:
        print(type(error).__name__, error)
"""

WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = sys.modules["scipy"] = None  # importing them fails
from belated import ArmSummary, AsyncClient, Client, Decision
client = Client("http://127.0.0.1:9", "colours", retries=0)
try:
    client.create("colours", ["red", "green"], {"name": "UCB"})
except ConnectionError as error:
    print(type(error).__name__)
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_httpx_is_needed_only_to_make_a_client() -> None:
    assert run(MISSING).count("MissingComponent the client needs httpx2: pip install 'belated[client]'") == 2


def test_the_client_works_without_numba_and_scipy() -> None:
    assert run(WITHOUT_NUMBA).strip() == "ServiceUnavailable"


def test_the_blocking_client_is_generated_from_the_asyncio_client() -> None:
    assert (CLIENT / "sync.py").read_text(encoding="utf-8") == generated(), "run python tests/client/generate_sync.py"


def test_the_generator_is_named_in_the_file() -> None:
    docstring = ast.get_docstring(ast.parse((CLIENT / "sync.py").read_text(encoding="utf-8"))) or ""
    name = docstring.split()[-1].rstrip(".")
    assert (Path(__file__).parents[2] / name).is_file()
