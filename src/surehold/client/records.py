"""Records and side tables to send to a service: checked as here, then written to one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from surehold.data.file_formats import FileFormat
from surehold.data.record_store import Progress
from surehold.data.side_tables import digest_of, read_table
from surehold.data.sources import as_frame, batches
from surehold.queries import Schema

PARQUET = "application/vnd.apache.parquet"


@contextmanager
def pack(
    source: Any, columns: Mapping[str, str], format: FileFormat, progress: Progress | None
) -> Iterator[Path]:
    """Write all records to a Parquet file; raise BadRecord if one does not fit the columns.

    The file is on disk while it is sent: an append may be larger than the memory.
    """
    import pyarrow.parquet as pq

    schema = Schema.of(columns)
    with TemporaryDirectory(prefix="surehold-") as folder:
        path, count = Path(folder) / "records.parquet", 0
        shape = as_frame([], schema).to_arrow().schema
        with pq.ParquetWriter(path, shape, compression="zstd") as writer:
            for batch in batches(source, schema, format):
                table = as_frame(batch, schema).to_arrow().cast(shape)
                writer.write_table(table)
                count += table.num_rows
                if progress is not None:
                    progress(count)
        yield path


@contextmanager
def pack_table(source: Any, records: Schema) -> Iterator[tuple[str, Path]]:
    """Write a side table to a Parquet file; its hash by what it holds, and the file."""
    schema, frame = read_table(source, records)
    with TemporaryDirectory(prefix="surehold-") as folder:
        path = Path(folder) / "table.parquet"
        frame.write_parquet(path, compression="zstd")
        yield digest_of(schema, frame), path
