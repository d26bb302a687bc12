"""Side tables, stored by the hash of what they hold and asked about by name.

Whatever file a table came in, what is kept is one Arrow file: the id and the columns, by our types,
in the order of the ids. So the same predictions are the same table, in any order and format.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
import pyarrow as pa

from surehold import files
from surehold.data.alignment import TableRows
from surehold.data.side_tables import (
    check_name,
    default_name,
    digest_of,
    id_of,
    read_table,
)
from surehold.display import Shown
from surehold.errors import InvalidInput, LedgerCorrupt
from surehold.formatting import several
from surehold.ledger.ledger import Ledger
from surehold.queries import Schema
from surehold.queries.side_tables import SideTable

FOLDER = "tables"
_AT_HAND = 1 << 29  # bytes of tables that are kept in memory
_REFERENCE = re.compile("table:([0-9a-f]{64})", re.ASCII)
_DOING = "storing a table"


@dataclass(frozen=True, repr=False)
class KeptTable(Shown):
    """A stored table: queries refer to it by its ``name``, or by its hash, ``table``."""

    table: str
    name: str
    rows: int
    bytes: int
    columns: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.name}: {several(self.rows, 'row')} of {', '.join(self.columns)}"


class TableStore:
    """The side tables of one dataset, in a folder that is created when needed."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._folder = ledger.folder / FOLDER
        self._at_hand: OrderedDict[str, TableRows] = OrderedDict()
        self._lock = threading.Lock()

    def keep(
        self, source: Any, analyst: str, name: str | None = None, default: str | None = None
    ) -> KeptTable:
        """Check a table and store it durably, then note its name.

        A ``name`` stays for good. Without one it is the ``default``, or that of the file.
        """
        chosen = check_name(default or default_name(source, "table") if name is None else name)
        reference, about = self.write(*read_table(source, self._ledger.schema))
        with self._ledger.writing() as draft:
            noted = draft.keep(reference, chosen, about, analyst, is_chosen=name is not None)
        return _kept(noted)

    def write(self, schema: Schema, frame: pl.DataFrame) -> tuple[str, dict[str, Any]]:
        """Store a table durably; return its hash, and what is noted of it."""
        digest = digest_of(schema, frame)
        path = self._folder / f"{digest}.arrow"
        if not path.exists():
            self._write(frame, path)
        else:
            files.sync_names(self._folder, _DOING)  # its writer may have been cut off before
        reference = f"table:{digest}"
        about = {
            "rows": frame.height,
            "bytes": path.stat().st_size,
            "columns": schema.to_dict(),
        }
        self._remember(reference, TableRows(frame, id_of(self._ledger.schema)))
        return reference, about

    def frame(self, reference: str) -> pl.DataFrame | None:
        """Return a table as it is kept; None if it is not at hand."""
        match = _REFERENCE.fullmatch(reference)
        return None if match is None else self._load(match[1])

    def check_id(self, schema: Schema) -> str:
        """Return the id of a table's columns; InvalidInput unless records have the same one."""
        id, columns = id_of(self._ledger.schema), self._ledger.schema
        if id not in schema or schema[id] is not columns[id]:
            raise InvalidInput("the side table", f"one of rows with the id {id!r}", "another")
        return id

    @property
    def tables(self) -> tuple[KeptTable, ...]:
        """Return all tables that have been named, in order of arrival."""
        return tuple(_kept(one) for one in self._ledger.kept.values() if _is_table(one))

    @property
    def size(self) -> tuple[int, int]:
        """Return the total size in bytes, and the number of tables."""
        with contextlib.suppress(FileNotFoundError):
            sizes = [path.stat().st_size for path in self._folder.iterdir()]
            return sum(sizes), len(sizes)
        return 0, 0

    def describe(self, name: str) -> SideTable:
        """Return what a question needs to know of a table, by its name or its hash."""
        return SideTable.of(self._find(name), self._ledger.schema)

    def find(self, name: str) -> KeptTable:
        """Return a table by its name or its hash."""
        return _kept(self._find(name))

    def _find(self, name: str) -> dict[str, Any]:
        named = self._ledger.kept
        found = named.get(name) or next((t for t in named.values() if t["name"] == name), None)
        if found is None or not _is_table(found):
            known = ", ".join(t["name"] for t in named.values() if _is_table(t))
            hint = f"bring it with --with {name}=FILE (tables= in Python)"
            hint += f"; the tables kept here are {known}" if known else ""
            raise InvalidInput("the side table", "one that is brought or kept", name, hint)
        return found

    def rows(self, reference: str) -> TableRows:
        """Return the rows of a table; InvalidInput if they are not at hand."""
        with self._lock:
            known = self._at_hand.get(reference)
        if known is not None:
            return known
        match = _REFERENCE.fullmatch(reference)
        frame = None if match is None else self._load(match[1])
        if frame is None:
            raise InvalidInput("the side table", "at hand", reference, "bring its file again")
        return self._remember(reference, TableRows(frame, id_of(self._ledger.schema)))

    def check(self, noted: Mapping[str, Any]) -> None:
        """Raise LedgerCorrupt if a file does not hold the table that was noted, if it is one."""
        match = _REFERENCE.fullmatch(str(noted["of"]))
        path = self._folder / ("" if match is None else f"{match[1]}.arrow")
        if match is None or not path.exists():
            return
        frame = self._load(match[1])
        if frame is None or (noted["rows"], noted["bytes"]) != (frame.height, path.stat().st_size):
            reason = "its file does not hold what it was named for"
            raise LedgerCorrupt(f"the side table {noted['name']!r}", reason)

    def _remember(self, reference: str, rows: TableRows) -> TableRows:
        with self._lock:
            self._at_hand[reference] = rows
            self._at_hand.move_to_end(reference)
            while len(self._at_hand) > 1 and (
                sum(one.size for one in self._at_hand.values()) > _AT_HAND
            ):
                self._at_hand.popitem(last=False)
        return rows

    def _write(self, frame: pl.DataFrame, path: Path) -> None:
        with files.stored(_DOING, kept=False):
            files.make_folder(self._folder)
            passing = files.passing_name(self._folder)
            try:
                passing.touch(mode=files.PRIVATE_FILE, exist_ok=False)
                frame.write_ipc(passing, compression="uncompressed")
                files.sync_file(passing)
                files.name_files({passing: path}, _DOING)
            finally:
                passing.unlink(missing_ok=True)

    def _load(self, digest: str) -> pl.DataFrame | None:
        """Return a table; None if its file is missing or does not hold what it should."""
        try:
            with pa.memory_map(str(self._folder / f"{digest}.arrow")) as source:
                table = pa.ipc.open_file(source).read_all()
                table.validate(full=True)
            frame = pl.from_arrow(table, rechunk=True)
            assert isinstance(frame, pl.DataFrame)
            columns = self._ledger.kept[f"table:{digest}"]["columns"]
            is_whole = digest_of(Schema.of(columns), frame) == digest
        except (OSError, KeyError, pa.ArrowException, pl.exceptions.PolarsError):
            return None
        return frame if is_whole else None


def _is_table(noted: Mapping[str, Any]) -> bool:
    return str(noted["of"]).startswith("table:")


def _kept(noted: Mapping[str, Any]) -> KeptTable:
    columns = MappingProxyType(dict(noted["columns"]))
    return KeptTable(noted["of"], noted["name"], noted["rows"], noted["bytes"], columns)
