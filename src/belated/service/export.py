"""Events on their way out, as lines of JSON and as Parquet, and back in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from belated.errors import BelatedError, ConfigurationError, Refused
from belated.journal.events import COLUMNS, KINDS, Event, row_of
from belated.journal.journal import Journal, Stored
from belated.service.clock import shown
from belated.service.experiment import Experiment, restored
from belated.service.spec import check_name

SCHEMA = pa.schema(
    [
        ("seq", pa.int64()),
        ("kind", pa.string()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("id", pa.string()),
        ("number", pa.int64()),
        ("arm", pa.int64()),
        ("rank", pa.int64()),
        ("reward", pa.float64()),
        ("deadline", pa.timestamp("us", tz="UTC")),
        ("extra", pa.string()),
    ]
)
GROUP = 50_000
FORMAT = b"1"


def event_line(event: Event, names: list[str]) -> dict[str, Any]:
    """An event for people and programs that read the journal."""
    more = event.more()
    if "observed_at" in more:
        more["observed_at"] = shown(more["observed_at"])
    line = {
        "seq": event.seq,
        "kind": event.kind,
        "at": shown(event.at),
        "id": event.id,
        "arm": names[event.arm] if event.arm is not None else None,
        "reward": event.reward,
        "deadline": shown(event.deadline) if event.deadline is not None else None,
        **more,
    }
    return {key: value for key, value in line.items() if value is not None}


def as_parquet(journal: Journal, name: str) -> Path:
    """A new file with all events of an experiment, and with what it is."""
    stored = journal.experiment(name)
    if stored is None:
        raise Refused(404, "unknown-experiment", f"there is no experiment {name!r}.")
    about = {
        b"belated.format": FORMAT,
        b"belated.name": name.encode(),
        b"belated.spec": stored.spec.encode(),
        b"belated.created_at": str(stored.created_at).encode(),
    }
    with tempfile.NamedTemporaryFile(prefix="belated-", suffix=".parquet", delete=False) as file:
        path = Path(file.name)
    try:
        with pq.ParquetWriter(path, SCHEMA.with_metadata(about), compression="zstd") as writer:
            for group in _groups(journal.events(stored.id)):
                columns = zip(*map(row_of, group), strict=True)
                arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
                writer.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA.with_metadata(about)))
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _groups(events: Iterator[Event]) -> Iterator[list[Event]]:
    while group := list(islice(events, GROUP)):
        yield group


def take_in(journal: Journal, path: Path) -> tuple[str, int]:
    """Restore an export: (name, how many events were new). What is there already must be the same."""
    name, spec, created_at, file = _opened(path)
    with journal.database.transaction():
        journal.database.lock_experiment(name)
        stored = journal.experiment(name)
        if stored is None:
            stored = journal.create(name, spec, created_at)
        elif stored.spec != spec:
            raise ConfigurationError(f"{path}: there is an experiment {name!r} already, and it is another one.")
        experiment = restored(journal, stored)
        here = journal.events(stored.id) if experiment.seq else iter(())
        new = 0
        for event in _read(file, path):
            if event.seq <= experiment.seq and not new:
                if next(here) != event:
                    raise ConfigurationError(
                        f"{path}: event {event.seq} of {name!r} is another one here; nothing was taken in."
                    )
                continue
            _add(journal, stored, experiment, event, path)
            new += 1
    return name, new


def _add(journal: Journal, stored: Stored, experiment: Experiment, event: Event, path: Path) -> None:
    try:
        experiment.take_in(event)
        journal.append([(stored.id, event)])
    except (BelatedError, AssertionError, IndexError, KeyError) as error:
        raise ConfigurationError(f"{path}: event {event.seq} cannot be taken in: {error}. Nothing was.") from error


def _opened(path: Path) -> tuple[str, str, int, Any]:
    try:
        file = pq.ParquetFile(path)
        about = file.schema_arrow.metadata or {}
        if about.get(b"belated.format") != FORMAT:
            raise ConfigurationError(f"{path} is no export of belated's, or of another version.")
        if file.schema_arrow.remove_metadata() != SCHEMA:
            raise ConfigurationError(f"{path} has other columns than an export of belated's.")
        name = check_name(about[b"belated.name"].decode())
        return name, about[b"belated.spec"].decode(), int(about[b"belated.created_at"]), file
    except FileNotFoundError:
        raise ConfigurationError(f"there is no file {str(path)!r}.") from None
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        if isinstance(error, ConfigurationError):
            raise
        raise ConfigurationError(f"{path} is no export of belated's, or is damaged: {error}") from error


def _read(file: Any, path: Path) -> Iterator[Event]:
    whole = pa.schema(
        [(field.name, pa.int64() if field.name in ("at", "deadline") else field.type) for field in SCHEMA]
    )
    for batch in file.iter_batches(GROUP):
        table = pa.Table.from_batches([batch]).replace_schema_metadata(None).cast(whole)
        for row in zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True):
            event = Event(*row)
            if event.kind not in KINDS:
                raise ConfigurationError(f"{path}: event {event.seq} is {event.kind!r}, which is none.")
            yield event
