"""How parent and child communicate: short messages through a socket, and shared memory."""

from __future__ import annotations

import json
import mmap
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Message: TypeAlias = dict[str, Any]

_LONGEST = 1 << 24
_PATIENCE = 30.0
"""Seconds that a message may wait for the other side to read it."""
_SHARED = Path("/dev/shm")


class Gone(Exception):
    """The other side has ended, or sent something unreadable."""


class Channel:
    """Messages in both directions: one line of JSON each.

    JSON and not pickle, because the child runs other people's code. A deadline limits how long we
    trust the rest of a message to arrive.
    """

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._came = b""

    def send(self, message: Message) -> None:
        """Send a message to the other side."""
        line = json.dumps(message).encode() + b"\n"
        try:
            self.end.settimeout(_PATIENCE)
            self.end.sendall(line)
        except OSError:
            raise Gone from None

    def receive(self, seconds: float | None = None) -> Message | None:
        """Return the next message, or None if none is complete by then."""
        while (message := self._next()) is None:
            try:
                self.end.settimeout(seconds)
                came = self.end.recv(1 << 16)
            except (BlockingIOError, TimeoutError):
                return None
            except OSError:
                raise Gone from None
            if not came:
                raise Gone
            self._came += came
            if seconds is not None:
                seconds = 0.0
        return message

    def _next(self) -> Message | None:
        line, ended, rest = self._came.partition(b"\n")
        if len(line) > _LONGEST:
            raise Gone
        if not ended:
            return None
        self._came = rest
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise Gone from None
        if not isinstance(message, dict):
            raise Gone
        return message


class SharedBytes:
    """Anonymous shared memory, of which nothing is left behind; it grows as needed.

    Each process maps it by its descriptor, which a child inherits.
    """

    def __init__(self, handle: int | None = None, readable_only: bool = False) -> None:
        self.handle = _anonymous() if handle is None else handle
        self._protection = mmap.PROT_READ | (0 if readable_only else mmap.PROT_WRITE)
        self._map: mmap.mmap | None = None

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        return os.fstat(self.handle).st_size

    def reserve(self, size: int) -> None:
        """Ensure that there is enough memory. Only the parent calls this."""
        if self.size < size:
            size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
            if hasattr(os, "posix_fallocate"):
                # Allocate its blocks too: writing where there are none kills the process.
                os.posix_fallocate(self.handle, 0, size)
            else:
                os.ftruncate(self.handle, size)

    def view(self, size: int) -> memoryview:
        """Return the first bytes."""
        if self._map is None or len(self._map) < size:
            length = self.size
            # An older map lives as long as there are arrays on it.
            self._map = mmap.mmap(self.handle, length, mmap.MAP_SHARED, self._protection)
        return memoryview(self._map)[:size]

    def shrink(self, size: int) -> None:
        """Give back memory beyond a size."""
        if self.size > size:
            self._map = None
            os.ftruncate(self.handle, size)

    def close(self) -> None:
        """Release it."""
        self._map = None
        os.close(self.handle)


def _anonymous() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("surehold", os.MFD_CLOEXEC)
    folder = str(_SHARED) if _SHARED.is_dir() else None
    handle, name = tempfile.mkstemp(prefix="surehold-", dir=folder)
    Path(name).unlink()
    return handle


# ------------------------------------------------------------------------------ notes

SOUND, GOOD, BAD, BARRED = 1, 2, 3, 4
"""Verdicts on a record: the model does not fail on it but its value is yet to be found, it has a
value, the model fails on it, or it is not even tried; 0 is none of them yet."""
FULL, GROUP, SINGLE, MENDED, COPIES = 1, 2, 3, 4, 5
"""Calls of the model: on a whole cell, on a part of one that failed, on one record, on a cell
without its bad records, and on a cell of copies of one record."""
_HEADER = 8


class Notes:
    """What the child finds out about a block, stored where its death cannot erase it.

    ``call`` is the model call in progress: when it began (nanoseconds of the monotonic clock; 0 for
    none), its kind, the first record of its cell, its range in the search, and the number of calls
    so far.
    """

    def __init__(self, memory: memoryview, rows: int, width: int | None) -> None:
        self.call: NDArray[np.int64] = np.frombuffer(memory, np.int64, _HEADER)
        at = _HEADER * 8
        self.values: NDArray[Any]
        if width is None:
            self.values = np.frombuffer(memory, np.int32, rows, at)
        else:
            self.values = np.frombuffer(memory, np.float64, rows * width, at).reshape(rows, width)
        at += self.values.nbytes
        self.verdicts: NDArray[np.uint8] = np.frombuffer(memory, np.uint8, rows, at)

    def clear(self) -> None:
        """Reset to before the first call. (Values count only where there is a verdict.)"""
        self.call[:] = 0
        self.verdicts[:] = 0

    def remaining(self, cell: int) -> Iterator[tuple[int, int]]:
        """Yield the range of every cell with a record that is yet to be decided."""
        starts = np.arange(0, len(self.verdicts), cell)
        is_open = np.logical_or.reduceat(self.verdicts < GOOD, starts)
        for start in starts[is_open].tolist():
            yield start, min(start + cell, len(self.verdicts))

    @staticmethod
    def size(rows: int, width: int | None) -> int:
        """Return the bytes they take; ``width`` is None for labels."""
        return _HEADER * 8 + rows * (4 if width is None else 8 * width) + rows
