"""What a disk may hold after a power failure, from the operations that a recorder wrote down.

The model is POSIX's, and less kind than any file system: bytes are on the disk once their file was
synced, names once their folder was. Of everything else any part may be there and any part not:
each sector of 512 bytes of each write, each name of each folder. Renaming is atomic by name.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypeAlias

_SECTOR = 512
ACKS = "/acks"
"""Where the process that is recorded says what it was told: not a file of the disk's."""


class Operation(NamedTuple):
    """One line of a recorder, and its bytes."""

    process: int
    what: str
    inode: int
    at: int
    path: str
    other: str
    content: bytes


def operations(log: Path) -> Iterator[Operation]:
    """All that was recorded, in order."""
    with log.open("rb") as file:
        while head := file.readline():
            process, what, inode, at, size, path, other = head.decode().rstrip("\n").split("\t")
            content = file.read(int(size)) if what == "write" else b""
            yield Operation(int(process), what, int(inode), int(at), path, other, content)


@dataclass
class File:
    """Bytes that are durable, and what was written since: (offset, bytes), or (size, None)."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        self.durable, self.pending = _applied(self.durable, self.pending), []


@dataclass
class Folder:
    """Names that are durable, and how they were changed since, in order."""

    durable: dict[str, Node] = field(default_factory=dict)
    pending: list[tuple[str, Node | None]] = field(default_factory=list)

    def now(self) -> dict[str, Node]:
        return _named(self.durable, self.pending)

    def sync(self) -> None:
        self.durable, self.pending = self.now(), []


Node: TypeAlias = File | Folder


class Disk:
    """The disk as the operations so far leave it."""

    def __init__(self) -> None:
        self.root = Folder()
        self.said: list[dict[str, Any]] = []
        self._inodes: dict[int, Node] = {}

    def do(self, one: Operation) -> None:
        if one.path == ACKS:
            if one.what == "write":
                self.said += map(json.loads, one.content.decode().splitlines())
            return
        if one.path.endswith("-shm"):
            return  # memory that processes share; none of it is needed after a power failure
        match one.what:
            case "create" | "mkdir":
                made = File() if one.what == "create" else Folder()
                self._inodes[one.inode] = made
                self._rename(one.path, made)
            case "write":
                self._file(one).pending.append((one.at, one.content))
            case "truncate":
                self._file(one).pending.append((one.at, None))
            case "sync":
                self._at(one.path).sync()
            case "rename":
                moved = self._at(one.path)
                self._rename(one.other, moved)
                self._rename(one.path, None)
            case "remove":
                self._rename(one.path, None)
            case "unsynced" | "flock" | "unlock":
                pass
            case _:
                raise NotImplementedError(one.what)

    def _file(self, one: Operation) -> File:
        found = self._inodes[one.inode]
        assert isinstance(found, File)
        return found

    def _at(self, path: str) -> Node:
        node: Node = self.root
        for name in PurePosixPath(path).parts[1:]:
            assert isinstance(node, Folder)
            node = node.now()[name]
        return node

    def _rename(self, path: str, node: Node | None) -> None:
        where = PurePosixPath(path)
        folder = self._at(str(where.parent))
        assert isinstance(folder, Folder)
        folder.pending.append((where.name, node))

    def lose_power(self, to: Path, chance: random.Random | None) -> None:
        """Write one of the possible states to a folder; without chance all that was done."""
        _write(self.root, to, chance)


def _write(folder: Folder, to: Path, chance: random.Random | None) -> None:
    to.mkdir()
    for name, node in _named(folder.durable, _survivors(folder.pending, chance)).items():
        if isinstance(node, Folder):
            _write(node, to / name, chance)
        else:
            pending = _survivors([part for one in node.pending for part in _sectors(one)], chance)
            (to / name).write_bytes(_applied(node.durable, pending))


def _survivors(pending: list[Any], chance: random.Random | None) -> list[Any]:
    """All, none, those up to a moment, or just any."""
    if chance is None or not pending:
        return pending
    match chance.randrange(4):
        case 0:
            return []
        case 1:
            return pending
        case 2:
            return pending[: chance.randrange(len(pending) + 1)]
        case _:
            return [one for one in pending if chance.random() < 0.5]


def _sectors(one: tuple[int, bytes | None]) -> list[tuple[int, bytes | None]]:
    at, content = one
    if content is None:
        return [one]
    ends = [*range(at - at % _SECTOR + _SECTOR, at + len(content), _SECTOR), at + len(content)]
    starts = [at, *ends[:-1]]
    return [(a, content[a - at : b - at]) for a, b in zip(starts, ends, strict=True)]


def _applied(durable: bytearray, pending: list[tuple[int, bytes | None]]) -> bytearray:
    found = bytearray(durable)
    for at, content in pending:
        if content is None:
            found = found[:at].ljust(at, b"\0")
        else:
            found = found.ljust(at + len(content), b"\0")
            found[at : at + len(content)] = content
    return found


def _named(durable: dict[str, Node], pending: list[tuple[str, Node | None]]) -> dict[str, Node]:
    found = dict(durable)
    for name, node in pending:
        if node is None:
            found.pop(name, None)
        else:
            found[name] = node
    return found
