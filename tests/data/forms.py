"""The same records in every form in which they can be appended."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from surehold.data.frames import stored_schema
from surehold.queries import Schema

Record = Mapping[str, Any]
Form = Callable[[Sequence[Record], Schema, Path], Any]

_ARROW = {
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "str": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "America/New_York"),
}
_PANDAS = {
    "int": "Int64",
    "float": "float64",
    "bool": "boolean",
    "str": "str",
    "date": "datetime64[s]",
    "timestamp": "datetime64[us, Europe/Oslo]",
}


def arrow(records: Sequence[Record], schema: Schema) -> pa.Table:
    fields = [(name, _ARROW[kind.value]) for name, kind in schema]
    return pa.Table.from_pylist([dict(record) for record in records], pa.schema(fields))


def polars(records: Sequence[Record], schema: Schema) -> pl.DataFrame:
    rows = [[_in_utc(record.get(name)) for name in schema.names] for record in records]
    return pl.DataFrame(rows, schema=stored_schema(schema), orient="row")


def _in_utc(value: Any) -> Any:
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


def pandas(records: Sequence[Record], schema: Schema) -> pd.DataFrame:
    columns = {
        name: pd.Series([record.get(name) for record in records], dtype=_PANDAS[kind.value])
        for name, kind in schema
    }
    return pd.DataFrame(columns)


def pandas_objects(records: Sequence[Record], schema: Schema) -> pd.DataFrame:
    """As pandas often has them: objects, whole numbers with gaps as floats, another index."""
    columns = {
        name: pd.Series(
            [record.get(name) for record in records],
            dtype="float64" if kind.value in ("int", "float") else object,
        )
        for name, kind in schema
    }
    frame = pd.DataFrame(columns)
    frame.index = pd.Index([f"row {i}" for i in range(len(frame))], name="index")
    return frame


def csv(records: Sequence[Record], schema: Schema, path: Path, separator: str = ",") -> Path:
    text = polars(records, schema).write_csv(separator=separator, quote_style="non_numeric")
    path.write_bytes(text.encode())
    return path


def csv_crlf(records: Sequence[Record], schema: Schema, path: Path) -> Path:
    """With what Windows adds: a byte order mark and another line end."""
    text = polars(records, schema).write_csv(line_terminator="\r\n", quote_style="non_numeric")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    return path


def parquet(records: Sequence[Record], schema: Schema, path: Path) -> Path:
    pq.write_table(arrow(records, schema), path, row_group_size=3)
    return path


def ipc_file(records: Sequence[Record], schema: Schema, path: Path) -> Path:
    table = arrow(records, schema)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    return path


def ipc_stream(records: Sequence[Record], schema: Schema, path: Path) -> Path:
    table = arrow(records, schema)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    return path


def ndjson(records: Sequence[Record], schema: Schema, path: Path) -> Path:
    lines = (json.dumps(dict(r), default=str) + "\n" for r in records)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _lines(records: Sequence[Record]) -> str:
    lines = (json.dumps(dict(r), ensure_ascii=False, default=dt.date.isoformat) for r in records)
    return "\n".join(lines) + "\n\n"


def _batch(records: Sequence[Record], schema: Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(r) for r in records], arrow(records, schema).schema)


FORMS: dict[str, Form] = {
    "dicts": lambda records, schema, folder: [dict(r) for r in records],
    "generator": lambda records, schema, folder: (dict(r) for r in records),
    "csv": lambda records, schema, folder: str(csv(records, schema, folder / "a.csv")),
    "tsv": lambda records, schema, folder: csv(records, schema, folder / "a.tsv", "\t"),
    "csv from Windows": lambda records, schema, folder: csv_crlf(records, schema, folder / "w.CSV"),
    "parquet": lambda records, schema, folder: parquet(records, schema, folder / "a.parquet"),
    "arrow file": lambda records, schema, folder: ipc_file(records, schema, folder / "a.arrow"),
    "arrow stream": lambda records, schema, folder: ipc_stream(records, schema, folder / "s.arrow"),
    "ndjson": lambda records, schema, folder: ndjson(records, schema, folder / "a.ndjson"),
    "lines of text": lambda records, schema, folder: io.StringIO(_lines(records)),
    "lines of bytes": lambda records, schema, folder: io.BytesIO(_lines(records).encode()),
    "arrow table": lambda records, schema, folder: arrow(records, schema),
    "arrow batch": lambda records, schema, folder: _batch(records, schema),
    "arrow reader": lambda records, schema, folder: arrow(records, schema).to_reader(4),
    "polars": lambda records, schema, folder: polars(records, schema),
    "polars lazy": lambda records, schema, folder: polars(records, schema).lazy(),
    "pandas": lambda records, schema, folder: pandas(records, schema),
    "pandas objects": lambda records, schema, folder: pandas_objects(records, schema),
}
