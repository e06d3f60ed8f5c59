"""What a simulation waits for while its code is compiled or loaded, for its progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from belated.engine import compile_pool
from belated.kernel.cache import is_on_disk
from belated.kernel.jit import is_compiled, now_compiling
from belated.policies._base.entry_points import entry_for


class _Code(NamedTuple):
    """Code that is needed: of which policy, whether it was on disk at first, and whether it is ready now."""

    label: str
    cached: bool
    is_ready: Callable[[], bool]


@dataclass
class CompileStatus:
    """The code that a simulation needs and did not have at first. Threads that play add to it, another one reads."""

    now: Callable[[], Any] = now_compiling
    """What is being compiled at the moment: the key of some code, or None."""
    _codes: dict[Any, _Code] = field(default_factory=dict)

    def add(self, key: Any, label: str, is_ready: Callable[[], bool], cached: bool = False) -> None:
        """Add code that is needed, unless it is there or was added before."""
        if key not in self._codes and not is_ready():
            self._codes[key] = _Code(label, cached, is_ready)

    def add_entries(self, tasks: Iterable[compile_pool.Task]) -> None:
        """Add the entries of loops and policies."""
        for loop, policy in tasks:
            entry = entry_for(loop, type(policy))
            if entry not in self._codes and not is_compiled(entry):
                cached = is_on_disk(entry)  # by another process, if it was not at first
                ready = (lambda entry=entry: is_compiled(entry)) if cached else (lambda entry=entry: _is_made(entry))
                self.add(entry, policy.label, ready, cached)

    def missing(self) -> int:
        """How many of the policies have code that is still to be compiled."""
        return len({code.label for code in dict(self._codes).values() if not code.cached and not code.is_ready()})

    def text(self) -> str:
        """What is being compiled or loaded, and how far that is: "compiling UCB (2 of 5)"; empty if nothing is."""
        codes = dict(self._codes)
        now = self.now()
        if now is None and compile_pool.is_waiting():
            now = next((key for key, code in codes.items() if not code.cached and not code.is_ready()), None)
        if now is None:
            return ""
        if now not in codes:
            return "compiling the draws" if "draw" in getattr(now, "__name__", "") else "compiling"
        label, cached, _ = codes[now]
        group = {key: code for key, code in codes.items() if code.cached == cached}
        ready = sum(code.is_ready() for key, code in group.items() if key != now)
        return f"{'loading' if cached else 'compiling'} {label} ({ready + 1} of {len(group)})"


def _is_made(entry: Callable[..., Any]) -> bool:
    return is_compiled(entry) or is_on_disk(entry)
