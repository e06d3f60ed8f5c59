"""Events on their way out, as lines of JSON and as Parquet, and back in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from belated.errors import ApiError, BelatedError, ConfigurationError, DuplicateError
from belated.service.core.errors import unknown_experiment
from belated.service.core.event_rules import LifecycleChecker
from belated.service.core.experiment import Experiment
from belated.service.core.spec import check_name, checked_spec, read_spec
from belated.service.core.timestamps import EARLIEST, LATEST, shown
from belated.service.storage.events import COLUMNS, KINDS, Event, row_of
from belated.service.storage.journal import Journal, Stored

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


def as_parquet(journal: Journal, name: str) -> IO[bytes]:
    """A file with all events of an experiment, and with what it is; it is gone when it is closed."""
    stored = journal.experiment(name)
    if stored is None:
        raise unknown_experiment(name)
    about = {
        b"belated.format": FORMAT,
        b"belated.name": name.encode(),
        b"belated.specs": stored.spec.encode(),
        b"belated.created_at": str(stored.created_at).encode(),
    }
    file = tempfile.TemporaryFile(prefix="belated-", suffix=".parquet")  # noqa: SIM115 (the caller closes it)
    try:
        with pq.ParquetWriter(file, SCHEMA.with_metadata(about), compression="zstd") as writer:
            for group in _groups(journal.events(stored.id)):
                columns = zip(*map(row_of, group), strict=True)
                arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
                writer.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA.with_metadata(about)))
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _groups(events: Iterator[Event]) -> Iterator[list[Event]]:
    while group := list(islice(events, GROUP)):
        yield group


def take_in(journal: Journal, path: Path) -> tuple[str, int]:
    """Restore an export: (name, how many events were new). What is there already must be the same."""
    name, spec, created_at, file = _opened(path)
    with journal.database.transaction():
        journal.database.lock_experiments([name])
        stored = journal.experiment(name)
        if stored is None:
            stored = journal.create(name, spec, created_at)
        elif stored.spec != spec:
            raise ConfigurationError(f"{path}: there is an experiment {name!r} already, and it is another one.")
        there = journal.last(stored.id)
        experiment, lives, new = Experiment(stored), LifecycleChecker(), 0
        for group in _groups(_read(file, path)):
            here = journal.events(stored.id, group[0].seq - 1, len(group)) if group[0].seq <= there else iter(())
            for event, known in zip_longest(group, islice(here, len(group))):
                if known is not None and known != event:
                    raise ConfigurationError(
                        f"{path}: event {event.seq} of {name!r} is another one here; nothing was taken in."
                    )
                _live(experiment, lives, event, path)
            fresh = [event for event in group if event.seq > there]
            _append(journal, stored, fresh, path)
            new += len(fresh)
    return name, new


def _live(experiment: Experiment, lives: LifecycleChecker, event: Event, path: Path) -> None:
    try:
        lives.check(event, experiment)
        experiment.take_in(event)
    except (BelatedError, AssertionError, LookupError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"{path}: event {event.seq} cannot be taken in: {error} Nothing was taken in."
        ) from error


def _append(journal: Journal, stored: Stored, events: list[Event], path: Path) -> None:
    try:
        journal.append([(stored.id, event) for event in events])
    except DuplicateError as error:
        raise ConfigurationError(
            f"{path}: an id of {stored.name!r} is in use here, by another experiment; nothing was taken in."
        ) from error


def _opened(path: Path) -> tuple[str, str, int, Any]:
    try:
        file = pq.ParquetFile(path)
        about = file.schema_arrow.metadata or {}
        if about.get(b"belated.format") != FORMAT:
            raise ConfigurationError(f"{path} is no export of belated's, or of another version.")
        if file.schema_arrow.remove_metadata() != SCHEMA:
            raise ConfigurationError(f"{path} has other columns than an export of belated's.")
        name = check_name(about[b"belated.name"].decode())
        spec = about[b"belated.specs"].decode()
        asked = read_spec(spec)
        if checked_spec(asked.arms, asked.policy, asked.seed, asked.silence).text() != spec:
            raise ConfigurationError(f"{path}: the experiment {name!r} is not written as belated writes it.")
        created_at = int(about[b"belated.created_at"])
        if not EARLIEST <= created_at <= LATEST:
            raise ConfigurationError(f"{path}: {name!r} was made at {created_at}, which is no time.")
        return name, spec, created_at, file
    except FileNotFoundError:
        raise ConfigurationError(f"there is no file {str(path)!r}.") from None
    except ConfigurationError:
        raise
    except (pa.ArrowException, OSError, KeyError, ValueError, ApiError) as error:
        raise ConfigurationError(f"{path} is no export of belated's, or is damaged: {error}") from error


def _read(file: Any, path: Path) -> Iterator[Event]:
    whole = pa.schema(
        [(field.name, pa.int64() if field.name in ("at", "deadline") else field.type) for field in SCHEMA]
    )
    batches = file.iter_batches(GROUP)
    while True:
        try:
            table = pa.Table.from_batches([next(batches)]).replace_schema_metadata(None).cast(whole)
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            raise ConfigurationError(f"{path} is no export of belated's, or is damaged: {error}") from error
        for row in zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True):
            event = Event(*row)
            if event.kind not in KINDS or event.seq is None or event.at is None:
                raise ConfigurationError(f"{path}: there is an event {event.seq!r} that is {event.kind!r}; it is none.")
            yield event
