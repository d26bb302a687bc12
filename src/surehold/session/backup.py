"""Backups: copies of one moment, of datasets that may be in use; restored by a new witness."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from surehold import files
from surehold.errors import InvalidInput, LedgerCorrupt
from surehold.ledger.ledger import FILE, WITNESS
from surehold.ledger.witness import Witness
from surehold.session.custody import Verification
from surehold.session.dataset import Dataset, check_vacant

_LEFT_OUT = (f"{FILE}*", WITNESS, "*.lock", "incoming", f"{files.PASSING}*")
_DOING = "making a backup"


def backup(
    source: str | Path, target: str | Path, progress: Callable[[int], None] | None = None
) -> Verification:
    """Copy a dataset into a new folder and verify the copy; others may go on using the dataset.

    The copy has no witness, so it cannot be opened for asking: two copies that answer would void
    the promise. To restore it, rebuild its witness with the newest head that anyone noted.
    """
    source, target = Path(source).absolute(), Path(target).absolute()
    check_vacant(target)
    files.make_folder(target.parent)
    passing = files.passing_name(target.parent)
    files.make_folder(passing)
    try:
        with Dataset(source) as dataset:
            # Files are there before the ledger names them, so they come after it.
            dataset._ledger.store.copy_to(passing / FILE)
        with files.stored(_DOING, kept=False):
            _copy_files(source, passing)
            with suppress(FileNotFoundError):
                target.rmdir()  # an empty folder is vacant
        with Dataset(passing, is_witnessed=False) as copy:
            verified = replace(copy.verify(progress), name=target.name)
        for left in (*passing.glob("*.lock"), *passing.glob(f"{FILE}-*")):
            left.unlink()
        files.name_files({passing: target}, _DOING)
    finally:
        shutil.rmtree(passing, ignore_errors=True)
    return verified


def repair_witness(
    path: str | Path, head: str | None, progress: Callable[[int], None] | None = None
) -> Verification:
    """Verify a dataset whose witness is missing or unreadable, and rebuild the witness.

    Without its witness nothing in a folder can tell an older copy of the ledger from the newest.
    So ``head`` is one that was noted elsewhere, which has to be in the ledger; None if there is
    none, and then the caller vouches for that.
    """
    folder = Path(path).absolute()
    if head is not None and not (len(head) >= 12 and set(head) <= set("0123456789abcdef")):
        required = "12 digits of a head or more, as surehold status prints them"
        raise InvalidInput("the head", required, head)
    with suppress(LedgerCorrupt):
        Witness(folder / WITNESS).read()
        hint = "if the ledger is not the one it saw, restore the whole folder from one backup"
        raise InvalidInput("the witness", "missing or damaged", "as it was written", hint)
    with Dataset(folder, is_witnessed=False) as dataset:
        entries = dataset._ledger.store.entries()
        if head is not None and not any(one.hash.hex().startswith(head) for one in entries):
            reason = f"it does not have the head {head}: it is an older copy, or another's"
            raise LedgerCorrupt("the ledger", reason)
        verified = dataset.verify(progress)
        dataset._ledger.repair_witness()
    return verified


def _copy_files(source: Path, target: Path) -> None:
    """Copy all files but those that belong to a running process, durably."""
    ignored = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    for path in sorted(target.rglob("*"), reverse=True):
        files.sync_file(path) if path.is_file() else files.sync_folder(path)
    files.sync_folder(target)
