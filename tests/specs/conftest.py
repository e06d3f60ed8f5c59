from __future__ import annotations

from pathlib import Path

import pytest

from parts import TEXT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.toml"
    path.write_text(TEXT)
    return path
