"""How a file of records is written: its format, its compression and, for CSV, its dialect."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from surehold.errors import InvalidInput

_KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
}
FORMATS = tuple(dict.fromkeys(_KINDS.values()))
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_SEPARATORS = {"csv": ",", "tsv": "\t"}
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
_MAGIC = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
_SPREADSHEETS = (".xlsx", ".xls", ".ods", ".numbers")


@dataclass(frozen=True)
class Dialect:
    """How a CSV file separates fields and writes numbers."""

    separator: str = ","
    decimal: str = "."


@dataclass(frozen=True)
class FileFormat:
    """What is known about how a file is written; its name decides the rest."""

    kind: str | None = None
    delimiter: str | None = None
    decimal: str | None = None

    @classmethod
    def of(
        cls, kind: FileFormat | str | None, delimiter: str | None = None, decimal: str | None = None
    ) -> FileFormat:
        """Check what a caller gave; ``tab`` is a delimiter too, as shells make tabs hard to type.

        >>> FileFormat.of("csv", "tab", ",")
        FileFormat(kind='csv', delimiter='\\t', decimal=',')
        """
        if isinstance(kind, FileFormat):
            return kind
        if kind is not None and kind not in FORMATS:
            raise InvalidInput("format", f"one of {', '.join(FORMATS)}", kind)
        if delimiter in ("tab", "\\t"):
            delimiter = "\t"
        if delimiter is not None and delimiter not in DELIMITERS:
            required = "one of , ; | and tab"
            raise InvalidInput("delimiter", required, delimiter)
        if decimal is not None and decimal not in (".", ","):
            raise InvalidInput("decimal", "a point or a comma", decimal)
        return cls(kind, delimiter, decimal)

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of a CSV file; None for a file of another kind."""
        if self.kind not in _SEPARATORS:
            return None
        return Dialect(self.delimiter or _SEPARATORS[self.kind], self.decimal or ".")

    def of_file(self, path: Path) -> FileFormat:
        """Return the format of this file, whose name decides what nobody said."""
        if not path.is_file():
            raise InvalidInput("the records", "an existing file", str(path))
        found = replace(self, kind=self.kind or _kind_of(path))
        if found.dialect is None:
            found.check_no_dialect()
        if path.suffix.lower() in _COMPRESSED:
            if found.kind in ("parquet", "arrow"):
                required = "a file that is not compressed again"
                raise InvalidInput("the records", required, str(path), "decompress it first")
        else:
            _refuse_compressed(path)
        return found

    def check_no_dialect(self) -> None:
        """Refuse a delimiter or a decimal mark for records that do not come from a CSV file."""
        for name in ("delimiter", "decimal"):
            if getattr(self, name) is not None:
                raise InvalidInput(name, "left out: it is for CSV files", getattr(self, name))


def _kind_of(path: Path) -> str:
    inner = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    kind = _KINDS.get(inner.suffix.lower())
    if kind is None:
        required = f"a file named {', '.join(f'*{suffix}' for suffix in _KINDS)}"
        hint = "or give its format"
        if inner.suffix.lower() in _SPREADSHEETS:
            hint = "save the sheet as CSV UTF-8"
        raise InvalidInput("the records", f"{required}, or *.csv.gz", str(path), hint)
    return kind


def _refuse_compressed(path: Path) -> None:
    """Refuse a compressed file whose name does not say so, instead of reading noise."""
    try:
        with path.open("rb") as file:
            first = file.read(4)
    except OSError as error:
        reason = f"{path}: {error.strerror}"
        raise InvalidInput("the records", "a readable file", reason) from None
    for magic, suffix in _MAGIC.items():
        if first.startswith(magic):
            hint = f"it is compressed with {_COMPRESSED[suffix]}: give its name the suffix {suffix}"
            raise InvalidInput("the records", "a file named for what it is", str(path), hint)


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[Any]]:
    """Open a file for reading; the suffixes .gz and .zst decompress it.

    Arrow's streams notice what is cut off, and take several members in one file.
    """
    with open_stream(path) as stream:
        yield io.BufferedReader(stream)


def open_stream(path: Path) -> pa.NativeFile:
    """Return Arrow's own stream of a file, which needs no Python when it is read."""
    compression = _COMPRESSED.get(path.suffix.lower())
    return pa.input_stream(str(path), compression=compression)
