"""Run the server: sockets, signals, logs."""

from __future__ import annotations

import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from types import FrameType

import structlog
import uvicorn

from belated.errors import ConfigurationError
from belated.service.app import make_app
from belated.service.core.service import Service
from belated.service.settings import Settings
from belated.service.storage.database import without_password
from belated.service.storage.journal import open_journal

GRACE_SECONDS = 8
"""How long a shutdown waits for requests in progress."""
LIBRARIES = ("uvicorn", "asyncio", "psycopg")
"""Loggers of libraries."""

_TIME = structlog.processors.TimeStamper(fmt="iso", utc=True)
_TRACEBACKS = structlog.processors.ExceptionRenderer(structlog.tracebacks.ExceptionDictTransformer(show_locals=False))
"""Tracebacks without local variables, which may hold keys."""
_JSON = structlog.processors.JSONRenderer()


def configure_logging(level: str) -> None:
    """Log lines of JSON to standard error."""
    threshold: int = getattr(logging, level.upper())
    structlog.configure(
        processors=[structlog.processors.add_log_level, _TIME, _TRACEBACKS, _JSON],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_log_level, structlog.stdlib.add_logger_name, _TIME],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _TRACEBACKS, _JSON],
        )
    )
    for name in LIBRARIES:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.propagate = False
        logger.setLevel(max(threshold, logging.WARNING))


def serve(
    settings: Settings, on_ready: Callable[[str], None] | None = None, listener: socket.socket | None = None
) -> None:
    """Serve until a signal; ``on_ready`` is called with the address once requests are accepted. ``listener`` is a
    socket from :func:`listen`, if it was already opened."""
    configure_logging(settings.log)
    if not settings.loopback:
        check_keys(settings)
    with listener if listener is not None else listen(settings) as bound:
        open_journal(settings.db).close()  # report errors before anything starts
        service = Service(lambda: open_journal(settings.db), keys_needed=not settings.loopback)
        config = uvicorn.Config(
            make_app(service, any_host=not settings.loopback),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            lifespan="on",
        )
        host, port = bound.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        server = _Server(config, lambda: on_ready(address) if on_ready else None)
        server.run([bound])
    if service.failed is not None:
        raise service.failed
    if server.interrupted:
        raise KeyboardInterrupt


def check_keys(settings: Settings) -> None:
    """Raise unless there is an active key; does not create the database."""
    keys: Sequence[tuple[str, str, str, int, int | None]] = ()
    if "://" in settings.db or Path(settings.db).is_file():
        with closing(open_journal(settings.db)) as journal:
            keys = journal.all_keys()
    if not any(revoked is None for *_, revoked in keys):
        raise ConfigurationError(
            f"host is {settings.host!r}, which other machines can reach, and there are no keys; create one with "
            f"belated keys create --role admin --db {without_password(settings.db)!r}, or listen on 127.0.0.1."
        )


def listen(settings: Settings) -> socket.socket:
    """Bind the address; connections queue until they are served."""
    try:
        host = settings.host.strip("[]")
        family = socket.getaddrinfo(host, settings.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}. Give another --port or "
            "--host."
        ) from None
    listener.setsockopt(
        socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    )  # else responses may wait 40 ms for an acknowledgement
    return listener


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_started = on_started
        self.interrupted = False
        """Whether Ctrl-C stopped it; also where the process was started with SIGINT ignored."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGINT:
            self.force_exit = self.should_exit
            self.interrupted = True
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # long-lived objects: exclude them from garbage collection
        if self.started:
            self._on_started()
