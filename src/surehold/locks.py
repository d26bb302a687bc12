"""Locks between processes, which end with the process that holds them, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surehold.errors import StorageFailed

_SHORTEST, _LONGEST = 0.0002, 0.01  # seconds between tries


@contextmanager
def waiting_lock(path: Path, seconds: float | None = None) -> Iterator[None]:
    """Hold a lock between processes; wait at most ``seconds``, then raise TimeoutError.

    The file is opened each time, so that a process forked in the meantime does not keep it.
    """
    file = _opened(path)
    try:
        if seconds is None:
            fcntl.flock(file, fcntl.LOCK_EX)
        else:
            _take_within(file, seconds)
        yield
    finally:
        os.close(file)


def _take_within(file: int, seconds: float) -> None:
    """Try again and again, because the system waits either forever or not at all."""
    give_up, pause = time.monotonic() + seconds, _SHORTEST
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up:
                raise TimeoutError from None
        time.sleep(pause)
        pause = min(2.0 * pause, _LONGEST)


@contextmanager
def only_one(path: Path, what: str) -> Iterator[None]:
    """Hold a lock; refuse a second process with the process ID of the holder."""
    file = _opened(path)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            reason = f"another process is doing it already (process {holder})"
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
