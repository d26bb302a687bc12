"""Segments: immutable Arrow files of records, named by the hash of their bytes.

A file is complete and on disk before the ledger names it: written under a temporary name, synced,
renamed, and its folder synced.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa

from surehold import files
from surehold.data.content_hash import ContentHash
from surehold.data.frames import compact
from surehold.errors import LedgerCorrupt, StorageFailed
from surehold.ledger.tables import Segment

FOLDER = "segments"
RECORDS = 1 << 20
"""Records in a full segment."""
_BATCH = 1 << 17
_INLINE_BUFFERS = 2  # of a column of texts without a long one
_FINISHERS = 4
_DATASET = b"surehold.dataset"
# Before the product had its name, segments said another one: any word will do.
_FINGERPRINTED = re.compile(rb"[a-z]+\.dataset=[0-9a-f]{32}")
_WRITING = "writing a segment"


class SegmentWriter:
    """Writes the segments of one append; all of them are named at the end, or none is kept."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder
        self._fingerprint = fingerprint
        self._written: list[Future[Segment]] = []
        self._paths: list[Path] = []
        self.count = 0
        """Records written so far."""
        # Hashing and syncing files while the next is written: both leave Python's lock.
        self._finisher = ThreadPoolExecutor(_FINISHERS, thread_name_prefix="surehold-segment")

    def write(self, frame: pl.DataFrame, content: ContentHash | None = None) -> None:
        """Write one more segment."""
        path = files.passing_name(self._folder)
        self._paths.append(path)
        self.count += frame.height
        jobs = [] if content is None else content.jobs(frame)
        hashed = [self._finisher.submit(job) for job in jobs]
        with _report_failures():
            write_file(path, frame, self._fingerprint)
        for column in hashed:
            column.result()
        self._written.append(self._finisher.submit(_finish, path, frame.height))

    def frames(self) -> list[pl.DataFrame]:
        """Return what was written, mapped into memory."""
        return [_map_file(*one) for one in zip(self._paths, self.finish(), strict=True)]

    def finish(self) -> list[Segment]:
        """Wait until all are on disk; where their records begin is open."""
        with _report_failures():
            return [future.result() for future in self._written]

    def publish(self, start: int) -> list[Segment]:
        """Give the files their names, in the order of their records, which begin at ``start``."""
        segments, names = [], {}
        for path, written in zip(self._paths, self.finish(), strict=True):
            names[path] = path_of(self._folder, written.digest)
            segments.append(replace(written, start=start))
            start += written.count
        with _report_failures():
            files.name_files(names, _WRITING)
        return segments

    def close(self) -> None:
        """Remove what was not published."""
        self._finisher.shutdown()
        for path in self._paths:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def path_of(folder: Path, digest: str) -> Path:
    """Return the path of a segment."""
    return folder / f"{digest}.arrow"


def write_file(path: Path, frame: pl.DataFrame, fingerprint: str) -> None:
    """Write a frame as an Arrow IPC file, marked with its dataset."""
    schema = _to_table(frame.head(0)).schema.with_metadata({_DATASET: fingerprint})
    path.touch(mode=files.PRIVATE_FILE, exist_ok=False)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in frame.iter_slices(_BATCH):
            writer.write_table(_to_table(batch).cast(schema), max_chunksize=_BATCH)


def _to_table(frame: pl.DataFrame) -> pa.Table:
    """Return a table that shares no long text with other records, which Arrow would write too."""
    newest = pl.CompatLevel.newest()
    table = frame.to_arrow(compat_level=newest)
    is_shared = any(
        len(chunk.buffers()) > _INLINE_BUFFERS
        for column in table.columns
        if pa.types.is_string_view(column.type)
        for chunk in column.chunks
    )
    return compact(frame).to_arrow(compat_level=newest) if is_shared else table


def read_segments(folder: Path, segments: Sequence[Segment]) -> list[pl.DataFrame]:
    """Return the records of segments, mapped into memory, not copied.

    Each is hashed before anything in it counts: otherwise a byte changed by the disk, or by hand,
    would affect every answer until the dataset is verified.
    """
    if segments:
        with ThreadPoolExecutor(_FINISHERS, thread_name_prefix="surehold-segment") as pool:
            list(pool.map(partial(check_bytes, folder), segments))
    return [_map_file(path_of(folder, segment.digest), segment) for segment in segments]


def _map_file(path: Path, segment: Segment) -> pl.DataFrame:
    try:
        with pa.memory_map(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
            table.validate()
    except (pa.ArrowException, OSError) as error:
        raise _lost(segment, "it can't be read") from error
    frame = pl.from_arrow(table, rechunk=False)
    if not isinstance(frame, pl.DataFrame) or frame.height != segment.count:
        raise _lost(segment, "it does not hold the records it should")
    return frame


def check_there(folder: Path, segment: Segment) -> None:
    """Check that the file exists and has its size, without reading it."""
    try:
        size = path_of(folder, segment.digest).stat().st_size
    except OSError:
        raise _lost(segment, "its file is missing") from None
    if size != segment.bytes:
        raise _lost(segment, f"its file has {size:,} bytes instead of {segment.bytes:,}")


def check_bytes(folder: Path, segment: Segment) -> None:
    """Check that the file holds what its name says."""
    check_there(folder, segment)
    if digest_of(path_of(folder, segment.digest)) != segment.digest:
        raise _lost(segment, "its bytes are not those it was named for")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def dataset_of(schema: pa.Schema) -> str | None:
    """Return the fingerprint of the dataset that a file is a segment of, if it is one."""
    for key, value in (schema.metadata or {}).items():
        if _FINGERPRINTED.fullmatch(key + b"=" + value):
            return str(value.decode())
    return None


def sweep(folder: Path) -> None:
    """Remove temporary files of appends that were interrupted a day ago or more."""
    with contextlib.suppress(OSError):
        newest = max((path.stat().st_mtime for path in folder.iterdir()), default=0.0)
        for path in folder.glob(f"{files.PASSING}*"):
            if path.stat().st_mtime < newest - 86_400:
                path.unlink()


def _finish(path: Path, count: int) -> Segment:
    digest = digest_of(path)
    files.sync_file(path)
    return Segment(0, count, digest, path.stat().st_size)


def _lost(segment: Segment, reason: str) -> LedgerCorrupt:
    first, last = segment.start + 1, segment.start + segment.count
    return LedgerCorrupt(f"segment {segment.digest[:12]} (records {first:,} to {last:,})", reason)


@contextlib.contextmanager
def _report_failures() -> Iterator[None]:
    """Report any failure with a file: data without an entry does not count."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        hint = "nothing of this append was stored; check the disk, then append again"
        raise StorageFailed(_WRITING, reason, hint) from error
