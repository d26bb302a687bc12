"""Files and folders that survive a power loss: the one place that creates and replaces them.

A file's bytes are durable once the file is synced, its name once the folder is. So each function
here syncs both, in that order, before it returns; an exception says what is known by then.
"""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from surehold.errors import StorageFailed

try:
    import fcntl
except ImportError:
    raise ImportError("Surehold keeps data on Linux and macOS; on Windows, run it in WSL") from None

PASSING = ".writing-"
"""How the names of files begin that are not whole yet."""
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_NOT_SUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY)  # by some file systems of macOS
_MAY_BE_KEPT = "it is unknown whether it was kept; repeat the request, which is safe"


def write_file(path: Path, content: bytes, doing: str) -> None:
    """Write the whole content under a name, or leave what was there; durable on return.

    Only the owner may read it.
    """
    passing = passing_name(path.parent)
    try:
        with stored(doing, kept=False):
            file = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
            with os.fdopen(file, "wb") as opened:
                opened.write(content)
                opened.flush()
                _sync(opened.fileno())
            passing.replace(path)
        sync_names(path.parent, doing)
    finally:
        with contextlib.suppress(OSError):
            passing.unlink()


def name_files(names: Mapping[Path, Path], doing: str) -> None:
    """Rename synced files or folders, then sync the folders that contain them."""
    with stored(doing, kept=False):
        for passing, path in names.items():
            passing.rename(path)
    for folder in {path.parent for path in names.values()}:
        sync_names(folder, doing)


def make_folder(path: Path, mode: int = PRIVATE_FOLDER) -> None:
    """Create a folder for its owner alone, with missing parents; it may exist already.

    Its name is synced in any case: the process that created it may have been killed before that.
    """
    if not path.parent.is_dir():
        make_folder(path.parent, mode=0o777)  # as the user has folders made
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=mode)
    sync_folder(path.parent)


def exposure(folder: Path) -> str | None:
    """Return a warning about a folder that others on this machine may use, or None."""
    others = folder.stat().st_mode & 0o077
    if not others:
        return None
    return (
        f"other users of this machine may read {folder}, and reading records voids the promise: "
        f"chmod 700 {folder}"
    )


def check_writable(folder: Path) -> None:
    """Raise StorageFailed unless files can be written there now."""
    path = passing_name(folder)
    with stored(f"writing to {folder.name}", kept=False):
        try:
            path.write_bytes(bytes(4096))
        finally:
            path.unlink(missing_ok=True)


def passing_name(folder: Path) -> Path:
    """Return a unique temporary name for an incomplete file."""
    return folder / f"{PASSING}{uuid.uuid4().hex}"


def sync_names(folder: Path, doing: str) -> None:
    """Make names durable that a folder already shows; on failure the outcome is unknown."""
    with stored(doing, kept=None):
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    _sync_path(folder)


def sync_file(path: Path) -> None:
    """Make the bytes of a file durable, no matter which process wrote them."""
    _sync_path(path)


@contextmanager
def stored(doing: str, kept: bool | None) -> Iterator[None]:
    """Turn errors of the disk into ours, which say what is known."""
    try:
        yield
    except StorageFailed:
        raise
    except OSError as error:
        hint = _MAY_BE_KEPT if kept is None else "nothing was changed"
        raise StorageFailed(doing, error.strerror or str(error), hint, kept) from error


def _sync_path(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _sync(file)
    finally:
        os.close(file)


def _sync(file: int) -> None:
    full: int | None = getattr(fcntl, "F_FULLFSYNC", None)  # macOS: fsync stops at the drive
    if full is not None:
        try:
            fcntl.fcntl(file, full)
            return
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise
    os.fsync(file)
