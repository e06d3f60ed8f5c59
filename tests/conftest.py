"""Settings of the whole suite: hypothesis without chance. ``BELATED_EXAMPLES=20`` gives many more examples (see
``strategies.examples``), ``HYPOTHESIS_PROFILE=hasty`` does not shrink what it finds. Where several
workers share the tests, no further processes compile: no core would be idle for them."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from hypothesis import HealthCheck, Phase, settings

_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}

settings.register_profile("ci", derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("hasty", derandomize=True, phases=(Phase.explicit, Phase.generate), **_COMMON)  # no shrinking
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("BELATED_COMPILERS", "0")  # test_compile_pool has its own environment

with suppress(ValueError):  # not in the main thread
    # A process started in the background ignores SIGINT, and so would the children that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
