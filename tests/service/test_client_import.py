"""The client is an optional part: the package does without it, and says what is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import belated
from belated.errors import BelatedError, ServiceUnavailable

LAZY = """
import sys
import belated
assert not {"httpx2", "belated.client"} & set(sys.modules)
sys.modules["httpx2"] = None
from belated import Client, AsyncClient
for kind in (Client, AsyncClient):
    try:
        kind("http://127.0.0.1:8000")
    except ImportError as error:
        print(type(error).__name__, error)
"""


def test_the_package_is_imported_without_the_client() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MissingComponent the client needs one more part: pip install 'belated[client]'") == 2


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Cleint"):
        belated.Cleint  # noqa: B018
    assert issubclass(ServiceUnavailable, BelatedError)
