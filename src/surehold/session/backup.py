"""Backups: a copy of a dataset of one moment, which may be in use, and which nobody can ask."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from surehold import files
from surehold.ledger.ledger import FILE, WITNESS
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


def _copy_files(source: Path, target: Path) -> None:
    """Copy all files but those that belong to a running process, durably."""
    ignored = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
    for path in sorted(target.rglob("*"), reverse=True):
        files.sync_file(path) if path.is_file() else files.sync_folder(path)
    files.sync_folder(target)
