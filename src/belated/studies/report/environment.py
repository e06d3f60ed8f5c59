"""What a reproduction ran on."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from belated._version import __version__
from belated.simulation.simulate import available_cores


def machine() -> dict[str, str]:
    """Processor, cores and versions, in words."""
    return {
        "belated": __version__,
        "processor": _processor(),
        "cores": str(available_cores()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "scipy")},
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
