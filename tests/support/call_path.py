"""Which functions of one room of the package are called from another, in order."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import surehold

_SOURCE = str(Path(surehold.__file__).parent)
DETAILED = frozenset({"agents", "cli", "server", "session"})
"""Rooms in which a call from one module into another is a hop as well."""
QUIET = frozenset({"checks", "display", "errors", "files", "formatting", "locks", "spans"})
"""Rooms that all others use, for words and files: calls into them are no hops."""


class Recorder:
    """The hops that were made while it was switched on, as ``room.module.function``."""

    def __init__(self) -> None:
        self.is_on = False
        self.hops: list[str] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """As :func:`sys.setprofile` wants it."""
        if not self.is_on or event != "call" or not _is_ours(frame):
            return
        module, name = _module(frame), frame.f_code.co_qualname.replace(".<locals>", "")
        if _room(module) in QUIET or "<" in name:
            return
        if threading.current_thread().name.startswith("surehold"):
            return  # beside the path: noise that is drawn ahead, files that are synced
        caller = frame.f_back
        while caller is not None and not _is_ours(caller):
            caller = caller.f_back
        if caller is None or _side(_module(caller)) != _side(module):
            self.hops.append(f"{module}.{name}")


@contextmanager
def recorder() -> Iterator[Recorder]:
    """Watches this thread, and all that are started from now on."""
    made = Recorder()
    threading.setprofile(made)
    sys.setprofile(made)
    try:
        yield made
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_SOURCE)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals["__name__"]).removeprefix("surehold").lstrip(".")


def _room(module: str) -> str:
    return module.partition(".")[0]


def _side(module: str) -> str:
    """What a hop leads out of, and into."""
    return module if _room(module) in DETAILED else _room(module)
