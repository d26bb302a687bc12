"""The witness: a small file beside the ledger that says how far the ledger has come.

It is written after each commit, in place and without waiting for the disk, so it can be behind
the ledger after a crash but never ahead of it. A ledger that is behind its witness, or tells
another story, is an older copy put back: it would give the same records a fresh budget.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from holdfast.errors import LedgerCorrupt, StorageFailed
from holdfast.ledger.entries import Entry

_SIZE = 128  # within one disk sector, so that a write is never torn
_WHAT = "the witness"


class Witness:
    """The file, kept open for writing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            raise LedgerCorrupt(_WHAT, f"the file {path.name!r} is missing") from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageFailed("opening the witness", reason, "nothing was changed") from error

    @classmethod
    def create(cls, path: Path, entry: Entry) -> None:
        """Write the file for the first time, durably."""
        with path.open("xb") as file:
            file.write(_line(entry))
            file.flush()
            os.fsync(file.fileno())

    def write(self, entry: Entry) -> None:
        """Say that the ledger has come to this entry.

        The entry is durable by now, so a failure here must not tell its writer otherwise: a witness
        that is behind does no harm, a caller who appends the same records again does.
        """
        with contextlib.suppress(OSError):
            os.pwrite(self._file, _line(entry), 0)

    def read(self) -> tuple[int, bytes]:
        """The number and the hash of the entry that was last seen."""
        text = os.pread(self._file, _SIZE, 0)
        try:
            seq, digest = text.decode("ascii").split()
            return int(seq), bytes.fromhex(digest)
        except ValueError:
            raise LedgerCorrupt(_WHAT, f"the file {self._path.name!r} can't be read") from None

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _line(entry: Entry) -> bytes:
    return f"{entry.seq} {entry.hash.hex()}".ljust(_SIZE - 1).encode() + b"\n"
