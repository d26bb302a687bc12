"""The witness: a small file beside the ledger that says how far the ledger has come.

It is written after each commit, in place and without waiting for the disk, so it can be behind
the ledger after a crash but never ahead of it. A ledger that is behind its witness, or tells
another story, is an older copy put back: it would give the same records a fresh budget.

It has two lines, which are written in turn and say by a checksum that they are whole: if writing
one is cut off, the other still says how far the ledger had come before.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from surehold import files
from surehold.errors import LedgerCorrupt, StorageFailed
from surehold.ledger.entries import Entry

_SIZE = 128  # of a line
_DIGITS = 16  # of a checksum
_WHAT = "the witness"
_REPAIR = "if nobody put it there, surehold verify --repair-witness rebuilds it"


class Witness:
    """The file, opened each time, as another process may have replaced it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def create(cls, path: Path, entry: Entry) -> None:
        """Write the file as a whole, durably."""
        files.write_file(path, _line(entry) * 2, "writing the witness")

    def write(self, entry: Entry) -> None:
        """Say that the ledger has come to this entry.

        The entry is durable by now, so a failure here must not tell its writer otherwise: a witness
        that is behind does no harm, a caller who appends the same records again does.
        """
        with contextlib.suppress(OSError):
            file = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            try:
                is_whole = os.fstat(file).st_size == 2 * _SIZE
                if is_whole:
                    os.pwrite(file, _line(entry), entry.seq % 2 * _SIZE)
            finally:
                os.close(file)
            if not is_whole:  # of an earlier version, or damaged
                self.create(self._path, entry)

    def read(self) -> tuple[int, bytes]:
        """The number and the hash of the entry that was last seen."""
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            reason = f"the file {self._path.name!r} is missing, as in a backup; {_REPAIR}"
            raise LedgerCorrupt(_WHAT, reason) from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageFailed("opening the witness", reason, "nothing was changed") from error
        lines = [text[at : at + _SIZE] for at in range(0, len(text), _SIZE)]
        found = [seen for line in lines if (seen := _seen(line, len(lines) == 1)) is not None]
        if not found:
            reason = f"the file {self._path.name!r} can't be read; {_REPAIR}"
            raise LedgerCorrupt(_WHAT, reason)
        return max(found)


def _line(entry: Entry) -> bytes:
    text = f"{entry.seq} {entry.hash.hex()}"
    return f"{text} {_checksum(text)}".ljust(_SIZE - 1).encode() + b"\n"


def _seen(line: bytes, is_lone: bool) -> tuple[int, bytes] | None:
    """What a line says; None if it is not whole. In earlier versions there was one, unchecked."""
    try:
        seq, digest, *checksum = line.decode("ascii").split()
        is_whole = checksum == [_checksum(f"{seq} {digest}")] or (is_lone and not checksum)
        return (int(seq), bytes.fromhex(digest)) if is_whole else None
    except ValueError:
        return None


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
