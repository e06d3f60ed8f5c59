"""Running the server: listening, signals, logs."""

from __future__ import annotations

import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable
from types import FrameType

import structlog
import uvicorn

from belated.errors import ConfigurationError
from belated.journal.database import without_password
from belated.journal.journal import open_journal
from belated.service.app import make_app
from belated.service.settings import Settings
from belated.service.state import Service

GRACE_SECONDS = 20

_TRACES = structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False))
"""Tracebacks without the values of variables: a key may be among them."""


def set_up_logs(level: str) -> None:
    """Logs as lines of JSON on standard error."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _TRACES,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def serve(settings: Settings, listening: Callable[[str], None] | None = None) -> None:
    """Serve until a signal says to end; ``listening`` is called with the address once requests are taken."""
    set_up_logs(settings.log)
    journal = open_journal(settings.db)
    keys = journal.all_keys()
    journal.close()
    if not settings.loopback and not any(revoked is None for *_, revoked in keys):
        raise ConfigurationError(
            f"host is {settings.host!r}, which others can reach, and there are no keys; make one with belated keys "
            f"create --role admin --db {without_password(settings.db)!r}, or listen on 127.0.0.1."
        )
    service = Service(lambda: open_journal(settings.db), keys_needed=not settings.loopback)
    app = make_app(service, any_host=not settings.loopback)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        lifespan="on",
    )
    with _socket(settings) as listener:
        host, port = listener.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        server = _Server(config, lambda: listening(address) if listening else None)
        server.run([listener])
    if service.failed is not None:
        raise service.failed


def _socket(settings: Settings) -> socket.socket:
    try:
        host = settings.host.strip("[]")
        family = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}. Give another --port or "
            "--host."
        ) from None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._told = started

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGTERM:
            self.should_exit = True  # as asked, so that the exit status is 0
        else:
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what is there now stays: the collector need not look through it again and again
        if self.started:
            self._told()
