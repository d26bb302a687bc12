"""The children of one model: started when needed, loaded, probed, and kept for the next time.

Starting a process and importing what a model needs takes a second, so children that are idle are
given the next model of their kind, if neither runs code but that of well-known libraries: a process
goes on with the modules that it has, whatever became of their files.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from surehold.data.process.blocks import Form
from surehold.data.process.channel import Gone, Message, SharedBytes
from surehold.data.process.child import Child
from surehold.data.process.evaluators import Want
from surehold.errors import InvalidInput, StorageFailed
from surehold.models.payload import ModelPayload

Columns: TypeAlias = tuple[tuple[str, str], ...]

MOST_CHILDREN = 2
_MOST_IDLE = 2
START_SECONDS = 120.0
_WORTH_ANOTHER = 1.0
"""Seconds of waiting after which a second child, which takes about that long to start, pays."""


@dataclass(frozen=True)
class Loaded:
    """What a child says about the model: columns in the order it wants, and numbers per record."""

    form: Form
    width: int
    columns: Columns


@dataclass(frozen=True)
class Order:
    """What a crew is for."""

    payload: ModelPayload
    columns: Columns
    want: Want
    memory_bytes: int

    @property
    def key(self) -> tuple[object, ...]:
        """Two orders with the same key can be served by the same children."""
        payload = self.payload
        model = (payload.kind, payload.digest, payload.takes, payload.classes)
        return (*model, self.columns, self.want, self.memory_bytes)

    @property
    def message(self) -> Message:
        """What a child is told, to load the model."""
        return {
            "do": "load",
            "kind": self.payload.kind,
            "takes": self.payload.takes,
            "classes": self.payload.classes,
            "size": len(self.payload.content),
            "memory": self.memory_bytes,
            "columns": self.columns,
            "want": self.want,
        }


class Crew:
    """One or two children that have the same model; owned by the process that made it."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.probes: dict[tuple[int | None, float], Any] = {}
        self.loaded: Loaded | None = None
        self.waited = 0.0
        self.load_seconds = 0.0
        self.alone = False
        self._owner = os.getpid()
        self._content = content = SharedBytes()
        self._write_content()
        self.children = [Child(content) for _ in range(_most())]
        self.close = weakref.finalize(self, _close, self.children, content, self._owner)
        _ALL.add(self)

    def can_serve(self, order: Order) -> bool:
        """Whether its children, as they are, can do what another order asks for."""
        ours, theirs = self.order.payload, order.payload
        return ours.kind == theirs.kind and ours.is_plain and theirs.is_plain

    def serve(self, order: Order) -> None:
        """Take another order."""
        self.order, self.probes, self.loaded, self.waited = order, {}, None, 0.0
        self._write_content()
        for child in self.children:
            if child.is_running:
                child.load(order.message)

    def _write_content(self) -> None:
        content = self.order.payload.content
        self._content.reserve(max(len(content), 1))
        self._content.view(len(content))[:] = content

    @property
    def is_ours(self) -> bool:
        """Whether this is the process that the children belong to."""
        return os.getpid() == self._owner

    def ready(self, seconds: float = START_SECONDS) -> Child:
        """The first child, running and loaded; InvalidInput if the model can't be loaded."""
        child = self.children[0]
        if not child.is_running:
            self.begin(child)
        deadline = time.monotonic() + seconds
        while child.is_loading:
            try:
                message = child.receive(max(deadline - time.monotonic(), 0.0))
            except Gone:
                child.kill()
                raise _unfit("it ends the process that loads it") from None
            if message is None:
                child.kill()
                raise _unfit(f"it is not loaded after {seconds:g} seconds")
            self.hear(child, message)
        return child

    def begin(self, child: Child) -> None:
        """Start a child and tell it to load, without waiting until it has."""
        try:
            child.start()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            hint = "free some memory, or end other processes"
            raise StorageFailed("starting a process for the model", reason, hint) from error
        child.load(self.order.message)

    def hear(self, child: Child, message: Message) -> None:
        """Take what a child says while it is loading."""
        if "hello" in message:
            return
        self.load_seconds = max(self.load_seconds, child.finish_loading())
        if "unfit" in message:
            child.kill()
            raise _unfit(str(message["unfit"]))
        try:
            columns = tuple((str(name), str(kind)) for name, kind in message["columns"])
            self.loaded = Loaded(message["form"], int(message["width"]), columns)
        except (KeyError, TypeError, ValueError):
            child.kill()
            raise _unfit("it disturbs the process that loads it") from None

    def start_another(self, waited: float) -> None:
        """Start one more child, if we have waited long enough for those there are."""
        idle = next((child for child in self.children if not child.is_running), None)
        if idle is not None and not self.alone and self.waited + waited > _WORTH_ANOTHER:
            self.begin(idle)

    def rest(self) -> None:
        """Give the memory of unusually large blocks back."""
        for child in self.children:
            for slot in child.slots:
                slot.given.shrink(_KEPT)
                slot.found.shrink(_KEPT)

    def abandon(self) -> None:
        """In a process that was forked from ours: leave the children alone."""
        self.close.detach()
        for child in self.children:
            child.abandon()


_KEPT = 64 << 20


def _most() -> int:
    """How many children a model may have: two, if there is a core for each."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return min(MOST_CHILDREN, cores)


def _close(children: Sequence[Child], content: SharedBytes, owner: int) -> None:
    if os.getpid() == owner:
        for child in children:
            child.close()
        content.close()


def _unfit(reason: str) -> InvalidInput:
    return InvalidInput("the model", "one that can be used here", reason)


# ------------------------------------------------------------------------- the idle ones

_ALL: weakref.WeakSet[Crew] = weakref.WeakSet()
_IDLE: OrderedDict[tuple[object, ...], Crew] = OrderedDict()
_LOCK = threading.Lock()


def hire(order: Order) -> Crew:
    """A crew for an order: one that served the same and is idle, another of its kind, or a new one.

    Of others the one that has waited longest is taken.
    """
    with _LOCK:
        crew = _IDLE.pop(order.key, None)
        if crew is not None:
            return crew
        like = next((key for key, one in _IDLE.items() if one.can_serve(order)), None)
        other = None if like is None or len(_IDLE) < _MOST_IDLE else _IDLE.pop(like)
    if other is None:
        return Crew(order)
    other.serve(order)
    return other


def dismiss(crew: Crew) -> None:
    """Keep a crew for the next order; those that have waited longest are closed."""
    crew.rest()
    closed = []
    with _LOCK:
        other = _IDLE.pop(crew.order.key, None)
        _IDLE[crew.order.key] = crew
        closed += [] if other is None else [other]
        while len(_IDLE) > _MOST_IDLE:
            closed.append(_IDLE.popitem(last=False)[1])
    for old in closed:
        old.close()


def close_idle() -> None:
    """Close all that nobody uses."""
    with _LOCK:
        crews = list(_IDLE.values())
        _IDLE.clear()
    for crew in crews:
        crew.close()


def _forget() -> None:
    """In a process that was just forked."""
    global _LOCK
    _LOCK = threading.Lock()
    _IDLE.clear()
    for crew in list(_ALL):
        crew.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
