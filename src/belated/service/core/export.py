"""Export events as JSON lines and Parquet, and import Parquet."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from belated.errors import ApiError, BelatedError, ConfigurationError
from belated.service.core.experiment import Experiment
from belated.service.core.spec import check_name, is_well_formed
from belated.service.core.verify import LifecycleChecker
from belated.service.problem_types import unknown_experiment
from belated.service.storage.events import COLUMNS, KINDS, Event, event_row
from belated.service.storage.journal import Journal
from belated.service.timestamps import EARLIEST, LATEST, isoformat
from belated.specs.tables import STANDARD_INPUT, source_name

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
ROW_GROUP = 50_000
"""Events in memory at a time."""
FORMAT = b"1"


def event_line(event: Event, names: list[str]) -> dict[str, Any]:
    """An event as a line of JSON."""
    extras = event.extras()
    if "observed_at" in extras:
        extras["observed_at"] = isoformat(extras["observed_at"])
    line = {
        "seq": event.seq,
        "kind": event.kind,
        "at": isoformat(event.at),
        "id": event.id,
        "arm": names[event.arm] if event.arm is not None else None,
        "reward": event.reward,
        "deadline": isoformat(event.deadline) if event.deadline is not None else None,
        **extras,
    }
    return {key: value for key, value in line.items() if value is not None}


def write_parquet(journal: Journal, name: str) -> IO[bytes]:
    """A temporary file with the spec and all events of an experiment; closing it deletes it."""
    stored = journal.experiment(name)
    if stored is None:
        raise unknown_experiment(name)
    metadata = {
        b"belated.format": FORMAT,
        b"belated.name": name.encode(),
        b"belated.spec": stored.spec.encode(),
        b"belated.created_at": str(stored.created_at).encode(),
    }
    file = tempfile.TemporaryFile(prefix="belated-", suffix=".parquet")  # noqa: SIM115 (the caller closes it)
    try:
        with pq.ParquetWriter(file, SCHEMA.with_metadata(metadata), compression="zstd") as writer:
            for group in _row_groups(journal.events(stored.id)):
                columns = zip(*map(event_row, group), strict=True)
                arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
                writer.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA.with_metadata(metadata)))
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _row_groups(events: Iterator[Event]) -> Iterator[list[Event]]:
    while group := list(islice(events, ROW_GROUP)):
        yield group


def import_parquet(journal: Journal, path: Path) -> tuple[str, int]:
    """Import an export, or standard input for ``-``: (name, number of new events). Existing events must be the same."""
    source = source_name(path)
    name, spec, created_at, file = _open(path, source)
    with journal.database.transaction():
        journal.database.lock_experiments([name])
        stored = journal.experiment(name)
        if stored is None:
            stored = journal.create(name, spec, created_at)
        elif stored.spec != spec:
            raise ConfigurationError(f"{source}: there is already a different experiment {name!r}.")
        last = journal.last(stored.id)
        experiment, checker, new = Experiment(stored), LifecycleChecker(), 0
        for group in _row_groups(_events(file, source)):
            existing = journal.events(stored.id, group[0].seq - 1, len(group)) if group[0].seq <= last else iter(())
            for event, same in zip_longest(group, islice(existing, len(group))):
                if same is not None and same != event:
                    raise ConfigurationError(
                        f"{source}: event {event.seq} of {name!r} is different here; nothing was imported."
                    )
                try:
                    checker.apply(event, experiment)
                except (BelatedError, AssertionError, LookupError, ValueError, TypeError) as error:
                    raise ConfigurationError(
                        f"{source}: event {event.seq} is invalid: {error} Nothing was imported."
                    ) from error
            fresh = [(stored.id, event) for event in group if event.seq > last]
            journal.append(fresh)
            new += len(fresh)
    return name, new


def _open(path: Path, source: str) -> tuple[str, str, int, Any]:
    try:
        file = pq.ParquetFile(pa.BufferReader(sys.stdin.buffer.read()) if path == STANDARD_INPUT else path)
        metadata = file.schema_arrow.metadata or {}
        if metadata.get(b"belated.format") != FORMAT:
            raise ConfigurationError(f"{source} is not an export of belated, or of another version.")
        if file.schema_arrow.remove_metadata() != SCHEMA:
            raise ConfigurationError(f"{source} does not have the columns of an export of belated.")
        name = check_name(metadata[b"belated.name"].decode())
        spec = metadata[b"belated.spec"].decode()
        if not is_well_formed(spec):
            raise ConfigurationError(f"{source}: the spec of {name!r} is not in the form that belated writes.")
        created_at = int(metadata[b"belated.created_at"])
        if not EARLIEST <= created_at <= LATEST:
            raise ConfigurationError(f"{source}: {name!r} was created at {created_at}, which is not a valid time.")
        return name, spec, created_at, file
    except FileNotFoundError:
        raise ConfigurationError(f"there is no file {str(path)!r}.") from None
    except ConfigurationError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError, ApiError) as error:
        raise ConfigurationError(f"{source} is not an export of belated, or is damaged: {error}") from error


def _events(file: Any, source: str) -> Iterator[Event]:
    integers = pa.schema(
        [(field.name, pa.int64() if field.name in ("at", "deadline") else field.type) for field in SCHEMA]
    )
    batches = file.iter_batches(ROW_GROUP)
    while True:
        try:
            table = pa.Table.from_batches([next(batches)]).replace_schema_metadata(None).cast(integers)
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            raise ConfigurationError(f"{source} is not an export of belated, or is damaged: {error}") from error
        for row in zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True):
            event = Event(*row)
            if event.kind not in KINDS or event.seq is None or event.at is None:
                raise ConfigurationError(f"{source}: event {event.seq!r} has the unknown kind {event.kind!r}.")
            yield event
