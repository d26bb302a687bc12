"""Succession: a new dataset takes over records, and what was spent; the old one is closed for good.

So a record can be erased, a column added, a type mended, though a dataset itself never changes.
The new one is built beside its place while nobody else can write to the old one. Then one entry
closes the old one and names the new one, which only then gets its name. If that is interrupted,
the same call finishes it, and until then neither of them answers.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surehold import files
from surehold.checks import check_text
from surehold.data import segments, table_store
from surehold.data.frames import cast_frame, compact
from surehold.data.ids import count_repeated
from surehold.data.json_lines import json_schema
from surehold.data.sources import as_frame, batches, sampled_schema
from surehold.display import Shown
from surehold.errors import InvalidInput, StorageFailed, WrongGuard
from surehold.formatting import Finding, bits, several
from surehold.ledger.draft import Draft
from surehold.queries import ColumnType, Schema
from surehold.session.dataset import Dataset, build, check_vacant
from surehold.session.inheritance import inherit, names_of

_LONGEST_REASON = 1_000
_NOISE = (
    "the noise of earlier answers was planned for the records as they are. Under the noise guard, "
    "create a dataset with a new plan for records that arrive from now on, which no answer is "
    "about, and remove the folder of this one when nobody needs to verify it any more"
)


@dataclass(frozen=True, repr=False)
class Succession(Shown):
    """What a successor took over: its records, and the bits that stay spent."""

    name: str
    predecessor: str
    n: int
    erased: int
    added: tuple[str, ...]
    spent: float
    tables: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    reservations: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Names of tables and questions that no longer fit, or that have no rows left."""

    def __str__(self) -> str:
        erased = f", erased {several(self.erased, 'record')}" if self.erased else ""
        added = f", added {', '.join(self.added)}" if self.added else ""
        kinds = ("table", "model", "question", "reservation")
        taken = [
            several(len(names), kind) for kind in kinds if (names := getattr(self, f"{kind}s"))
        ]
        more = f", with {', '.join(taken)}" if taken else ""
        gone = f"; left out, as they no longer fit: {', '.join(self.left_out)}"
        return (
            f"{self.name} took over {several(self.n, 'record')} of "
            f"{self.predecessor}{more}{erased}{added}{gone if self.left_out else ''}; "
            f"{bits(self.spent)} stay spent; {self.predecessor} is closed for good"
        )


def succeed(
    old: str | Path,
    new: str | Path,
    *,
    reason: str,
    erase: str | Path | Iterable[int | str] | None = None,
    add: Mapping[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
    id: str | None = None,
) -> Succession:
    """Create a dataset that takes over the records of another one, which is closed for good.

    ``erase`` are ids of records to leave out, or a file with one on each line. ``add`` has sources
    (files, tables, mappings) of new columns by their names, each with the id and that column.
    ``columns`` gives columns another type, ``id`` makes one the id. Both ledgers keep the
    ``reason``, so name nobody in it.

    It needs the surprise guard: all that was spent stays spent, shares of beta that were used stay
    used, and claims made before stay as they are in the old ledger. Which records are erased must
    not depend on what they hold, nor on answers.
    """
    target = Path(new).absolute()
    check_text("reason", reason, _LONGEST_REASON)
    with Dataset(Path(old)) as dataset:
        if dataset.guard != "surprise":
            raise WrongGuard("a successor", "surprise", _NOISE)
        past = dataset._ledger.successor
        if past is None:
            wish = _Wish(dataset, erase, dict(add or {}), dict(columns or {}), id, reason)
            past = wish.fulfil(target)
        elif past["successor"] != target.name:
            dataset._ledger.check_open()
        _finish(dataset, target, past)
        return _describe(dataset, target, int(past["erased"]))


def _describe(dataset: Dataset, target: Path, erased: int) -> Succession:
    spent = dataset._spent(dataset._ledger.state.spent)
    with Dataset(target) as made:
        added = tuple(name for name in made.columns if name not in dataset.columns)
        before, taken = names_of(dataset), names_of(made)
        left_out = tuple(
            name for kind, names in before.items() for name in names if name not in taken[kind]
        )
        return Succession(
            target.name, dataset.path.name, made.n, erased, added, spent, **taken, left_out=left_out
        )


@dataclass(frozen=True)
class _Wish:
    """What a custodian wants of a successor."""

    dataset: Dataset
    erase: Any
    add: dict[str, Any]
    columns: dict[str, str]
    id: str | None
    reason: str

    def fulfil(self, target: Path) -> Mapping[str, Any]:
        """Build the successor beside its place, then close the old dataset."""
        is_none = self.erase is None or (isinstance(self.erase, Sequence) and not self.erase)
        if is_none and not self.add and not self.columns and self.id is None:
            required = (
                "given something to change: ids to erase, a column to add or to mend, or an id"
            )
            raise InvalidInput("a successor", required, Finding("nothing is"))
        check_vacant(target)
        making = _making(target)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(making)  # of one that was interrupted before the old one was closed
        try:
            with self.dataset._ledger.writing() as draft:  # nobody else asks or appends meanwhile
                entry = self._build(draft, making, target)
                draft.succeed(entry)
        except BaseException as error:
            if not isinstance(error, StorageFailed) or error.kept is not None:
                shutil.rmtree(making, ignore_errors=True)  # the old one goes on
            raise
        return entry

    def _build(self, draft: Draft, making: Path, target: Path) -> dict[str, Any]:
        """Build the successor; the result is what the old dataset keeps of it."""
        kept = self.dataset._data.load_frame(draft.state.records)
        frame, schema = self._changed(kept)
        erased = kept.height - frame.height
        past = self._past(draft, erased)
        build(making, self.dataset._ledger.rules, schema, f"creating {target}", past)
        with Dataset(making) as made:
            if frame.height:
                made.append(frame)
            inherit(self.dataset, made, self._erased_ids(kept, frame))
            fingerprint = made._ledger.fingerprint
        files.sync_names(making.parent, f"creating {target}")
        return {
            "successor": target.name,
            "dataset": fingerprint,
            "erased": erased,
            "reason": self.reason,
        }

    def _erased_ids(self, kept: pl.DataFrame, rest: pl.DataFrame) -> pl.Series | None:
        """The ids of records that are left out, as side tables have them."""
        id = self.dataset._ledger.schema.id
        if id is None or kept.height == rest.height or kept[id].dtype != rest[id].dtype:
            return None  # of another type, no side table is taken over
        return kept[id].filter(~kept[id].is_in(rest[id].implode()))

    def _past(self, draft: Draft, erased: int) -> dict[str, Any]:
        """What the first entry of the successor keeps of the dataset before it."""
        spending = self.dataset._ledger.store.spending()
        return {
            "name": self.dataset.path.name,
            "dataset": self.dataset._ledger.fingerprint,
            "head": draft.head.hash.hex(),
            "records": draft.state.records,
            "erased": erased,
            "spent": str(draft.state.spent),
            "book": draft.state.book,
            "spending": {analyst: str(one.units) for analyst, one in spending.items()},
            "reason": self.reason,
        }

    def _changed(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, Schema]:
        """The records as the successor has them, and its columns."""
        before = self.dataset._ledger.schema
        unknown = [name for name in self.columns if name not in before and name not in self.add]
        if unknown:
            required = f"those of the dataset ({', '.join(before.names)}), or columns to add"
            raise InvalidInput("the columns to mend", required, ", ".join(unknown))
        id = before.id if self.id is None else self.id
        if id is not None and id not in before:
            raise InvalidInput("the id", f"one of {', '.join(before.names)}", id)
        kinds = {**before.to_dict(), **self.columns}
        if self.id is not None and before.id is not None:
            kinds[before.id] = self.columns.get(before.id, before[before.id].value)
        frame = self._without_erased(frame, id)
        for name, source in self.add.items():
            if name in before:
                raise InvalidInput("a column to add", "new", name, "--column mends its type")
            frame, kinds[name] = self._with_column(frame, id, name, source)
        schema = Schema.of(kinds, id)
        to_text = [name for name, kind in schema if kind is ColumnType.STR and name in frame]
        frame = cast_frame(frame.cast(dict.fromkeys(to_text, pl.String)), schema)
        if schema.id is not None and count_repeated(frame[schema.id]):
            repeated = (
                f"{count_repeated(frame[schema.id]):,} records with an id that is there before"
            )
            raise InvalidInput(f"the id {schema.id!r}", "unique", repeated)
        return frame, schema

    def _without_erased(self, frame: pl.DataFrame, id: str | None) -> pl.DataFrame:
        if self.erase is None:
            return frame
        known = frame[_needed(id, "records to erase")]
        if known.dtype not in (pl.Int64, pl.String):
            raise InvalidInput(f"the id {id!r}", "a column of int or str", str(known.dtype))
        ids = pl.Series(_ids(self.erase, known.dtype == pl.Int64), dtype=known.dtype).unique()
        missing = int((~ids.is_in(known.implode())).sum())
        if missing:
            got = Finding(f"include {several(missing, 'id')} of no record")
            raise InvalidInput("the ids to erase", "those of records", got, "nothing was changed")
        return compact(frame.filter(~known.is_in(ids.implode())))

    def _with_column(
        self, frame: pl.DataFrame, id: str | None, name: str, source: Any
    ) -> tuple[pl.DataFrame, str]:
        """The records with one more column, missing where the source lacks an id; and its type."""
        key = _needed(id, "columns to add")
        kind = self.columns.get(name)
        if kind is None:
            is_listed = isinstance(source, Sequence) and not isinstance(source, str | bytes)
            seen = (json_schema(source) if is_listed else sampled_schema(source)).to_dict()
            if name not in seen:
                required = f"in its source, beside {key!r}"
                raise InvalidInput(f"the column {name!r}", required, Finding("is missing"))
            kind = seen[name]
        keyed = "int" if frame[key].dtype == pl.Int64 else "str"
        schema = Schema.of({key: keyed, name: kind}, key)
        parts = [as_frame(batch, schema) for batch in batches(source, schema)]
        more = pl.concat(parts) if parts else as_frame([], schema)
        if count_repeated(more[key]):
            got = f"{count_repeated(more[key]):,} ids that are there twice"
            raise InvalidInput(f"the source of {name!r}", "one row for each id", got)
        return frame.join(more, on=key, how="left", maintain_order="left"), kind


def _finish(dataset: Dataset, target: Path, past: Mapping[str, Any]) -> None:
    """Give the successor its name, then remove the files of erased records."""
    making = _making(target)
    if making.is_dir() and not target.exists():
        files.name_files({making: target}, f"creating {target}")
    try:
        with Dataset(target) as made:
            found = made._ledger.fingerprint
    except InvalidInput as error:
        raise StorageFailed(f"opening {target}", str(error), "look for its folder") from error
    if found != past["dataset"]:
        required = f"the dataset that took over from {dataset.path.name!r}"
        raise InvalidInput("the successor", required, f"another one in {target}")
    if past["erased"]:
        with files.stored("removing records", kept=True):
            for folder in (dataset.path / segments.FOLDER, dataset.path / table_store.FOLDER):
                if folder.is_dir():
                    for path in folder.iterdir():
                        path.unlink()
                    files.sync_folder(folder)
        dataset._ledger.erase()


def _making(target: Path) -> Path:
    """Where a successor is until the old dataset is closed."""
    return target.parent / f".{target.name}.succeeding"


def _needed(id: str | None, what: str) -> str:
    if id is None:
        hint = "if a column identifies a record, name it: id=, or --id"
        raise InvalidInput(what, "known by an id", Finding("this dataset has none"), hint)
    return id


def _ids(given: Any, are_whole: bool) -> list[int | str]:
    """The ids of records to erase, from a file or a list; blank lines do not count."""
    if isinstance(given, str | Path):
        try:
            lines = Path(given).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            required = "a file with one id on each line, in UTF-8"
            raise InvalidInput("the ids to erase", required, str(given)) from error
        given = [line.strip() for line in lines if line.strip()]
    found: list[int | str] = []
    for number, one in enumerate(given, start=1):
        try:
            found.append(int(one) if are_whole else str(one))
            if are_whole and not -(2**63) <= int(one) < 2**63:
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            got = f"something else as number {number:,}"
            raise InvalidInput("the ids to erase", "whole numbers", got) from None
    return found
