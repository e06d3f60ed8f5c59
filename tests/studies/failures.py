"""Loops that list all failures instead of hundreds of parametrised copies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Failures:
    """Collects what goes wrong in a loop; at the end of the context all of it is shown."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    @contextmanager
    def case(self, name: object) -> Iterator[None]:
        """One case of the loop: an error in it does not stop the others."""
        try:
            yield
        except Exception as error:
            self.messages.append(f"{name}: {type(error).__name__}: {error}")

    def __enter__(self) -> Failures:
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            assert not self.messages, "\n" + "\n".join(self.messages)
