"""Side tables as they come: a file or a table of another library becomes one frame in one order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from surehold.data.content_hash import ContentHash
from surehold.data.json_lines import json_schema
from surehold.data.sources import as_frame, batches, sampled_schema
from surehold.errors import InvalidInput
from surehold.formatting import Finding, several
from surehold.queries import Schema

MOST_ROWS = 100_000_000
"""Rows of a table."""
_WHAT = "the side table"
_LONGEST = 100  # characters of a name


def id_of(records: Schema) -> str:
    """Return the column that identifies the records of a dataset; InvalidInput without one."""
    if records.id is None:
        required = "created with an id column, so that tables can be brought"
        hint = "create it with --id NAME: a table says for each id what it holds"
        raise InvalidInput("the dataset", required, Finding("has none"), hint)
    return records.id


def read_table(source: Any, records: Schema) -> tuple[Schema, pl.DataFrame]:
    """Return the columns and the rows of a table, for a dataset with these columns.

    The id comes first, then the others by name; the rows are in the order of their ids. Whatever is
    refused depends on the table and on the columns of the dataset alone.
    """
    id = id_of(records)
    schema = _schema_of(source, id, records)
    frames = [as_frame(batch, schema) for batch in batches(source, schema)]
    frame = pl.concat(frames, rechunk=True) if frames else pl.DataFrame()
    if not 1 <= frame.height <= MOST_ROWS:
        raise InvalidInput(_WHAT, f"of 1 to {MOST_ROWS:,} rows", frame.height)
    column = f"the column {id!r} of the side table"
    if missing := frame.get_column(id).null_count():
        raise InvalidInput(
            column, "never missing", Finding(f"is missing in {several(missing, 'row')}")
        )
    frame = frame.sort(id).rechunk()
    ids = frame.get_column(id)
    if twice := int((ids.slice(1) == ids.slice(0, len(ids) - 1)).sum()):
        got = Finding(f"repeats an id in {several(twice, 'row')}")
        raise InvalidInput(column, "different in each row", got)
    return schema, frame


def _schema_of(source: Any, id: str, records: Schema) -> Schema:
    is_listed = isinstance(source, Sequence) and not isinstance(source, str | bytes)
    columns = (json_schema(source) if is_listed else sampled_schema(source, whole=True)).to_dict()
    if id not in columns:
        required = f"a table with the column {id!r}, which identifies the records of this dataset"
        raise InvalidInput(_WHAT, required, Finding(f"has only {', '.join(columns)}"))
    if len(columns) < 2:
        raise InvalidInput(_WHAT, "a table with a column besides the id", Finding(f"has only {id}"))
    columns[id] = records[id].value
    return Schema.of({name: columns[name] for name in (id, *sorted({*columns} - {id}))})


def digest_of(schema: Schema, frame: pl.DataFrame) -> str:
    """Return the hash of what a table holds, whatever file it came in."""
    content = ContentHash(schema)
    content.take(frame)
    return content.digest


def check_name(name: object) -> str:
    """Return a name that a table or a model may have."""
    if not isinstance(name, str) or not _is_name(name):
        required = "text of 1 to 100 printable characters without quotes, and no hash"
        raise InvalidInput("the name", required, name)
    return name


def default_name(source: Any, otherwise: str) -> str:
    """Return the name of a file without its endings, or another one."""
    stem = Path(source).name.split(".")[0] if isinstance(source, str | Path) else ""
    return stem if _is_name(stem) else otherwise


def _is_name(text: str) -> bool:
    is_plain = text.isprintable() and not {'"', "'"} & {*text}
    return is_plain and 1 <= len(text) <= _LONGEST and not text.startswith(("table:", "onnx:"))
