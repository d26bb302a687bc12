"""Locks between processes, which end with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.errors import StorageFailed


@contextmanager
def waiting_lock(path: Path) -> Iterator[None]:
    """Held by one process at a time; others wait."""
    file = _opened(path)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


@contextmanager
def only_one(path: Path, what: str) -> Iterator[None]:
    """Held by one process; any other is refused, and told which one has it."""
    file = _opened(path)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            reason = f"another process does it already (its number is {holder})"
            raise StorageFailed(what, reason, "stop that one first, or use it") from None
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(file)


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageFailed(f"locking {path.name}", reason, "nothing was changed") from error
