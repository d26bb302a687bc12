"""The children of one model: started when needed, loaded, probed, and kept for reuse.

Starting a process and importing what a model needs takes a second, so idle children get the next
model of their kind, if neither runs code outside well-known libraries: a process keeps the modules
it has imported, whatever has become of their files.
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

_MOST_IDLE = 2
START_SECONDS = 120.0
_WORTH_ANOTHER = 1.0
"""Seconds of waiting after which a second child, which takes about that long to start, pays."""


@dataclass(frozen=True)
class Loaded:
    """What a child reports about the model: its columns in order, and numbers per record."""

    form: Form
    width: int
    columns: Columns


@dataclass(frozen=True)
class Order:
    """The task of a crew."""

    payload: ModelPayload
    columns: Columns
    want: Want
    memory_bytes: int

    @property
    def key(self) -> tuple[object, ...]:
        """Return a key; the same children can serve two orders with the same key."""
        return (self.payload.digest, *self.message.values())

    @property
    def message(self) -> Message:
        """Return the message that makes a child load the model."""
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
    """One or two children with the same model; owned by the process that made it."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.probes: dict[tuple[int | None, float], Any] = {}
        self.loaded: Loaded | None = None
        self.waited = 0.0
        self.load_seconds = 0.0
        self.alone = False
        self._content = content = SharedBytes()
        self._write_content()
        self.children = [Child(content) for _ in range(most_children())]
        self.close = weakref.finalize(self, _close, self.children, content, os.getpid())
        _ALL.add(self)

    def can_serve(self, order: Order) -> bool:
        """Whether its present children can serve another order."""
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

    def ready(self) -> Child:
        """Return the first child, running and loaded; InvalidInput if the model fails to load."""
        child = self.children[0]
        if not child.is_running:
            self.begin(child)
        while child.loading_since is not None:
            try:
                message = child.wait(START_SECONDS - (time.monotonic() - child.loading_since))
            except Gone:
                child.kill()
                raise unfit("it ends the process that loads it") from None
            if message is None:
                child.kill()
                raise unfit(f"it is not loaded after {START_SECONDS:g} seconds")
            self.hear(child, message)
        return child

    def begin(self, child: Child) -> None:
        """Start a child and ask it to load, without waiting."""
        try:
            child.start()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            hint = "free some memory, or end other processes"
            raise StorageFailed("starting a process for the model", reason, hint) from error
        child.load(self.order.message)

    def hear(self, child: Child, message: Message) -> None:
        """Receive what a child sends while it is loading."""
        if "hello" in message or child.loading_since is None:
            return
        self.load_seconds = max(self.load_seconds, time.monotonic() - child.loading_since)
        child.loading_since = None
        if "unfit" in message:
            child.kill()
            raise unfit(str(message["unfit"]))
        try:
            columns = tuple((str(name), str(kind)) for name, kind in message["columns"])
            self.loaded = Loaded(message["form"], int(message["width"]), columns)
        except (KeyError, TypeError, ValueError):
            child.kill()
            raise unfit("it disturbs the process that loads it") from None

    def start_another(self, waited: float) -> None:
        """Start one more child, if we have waited long enough for the present ones."""
        idle = next((child for child in self.children if not child.is_running), None)
        if idle is not None and not self.alone and self.waited + waited > _WORTH_ANOTHER:
            self.begin(idle)

    def rest(self) -> None:
        """Release the memory of unusually large blocks."""
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


def most_children() -> int:
    """Return how many children a model may have: two, if there is a core for each."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return min(2, cores)


def _close(children: Sequence[Child], content: SharedBytes, owner: int) -> None:
    if os.getpid() == owner:
        for child in children:
            child.close()
        content.close()


def unfit(reason: str) -> InvalidInput:
    """Return the error for a model that cannot be used, whatever the records."""
    return InvalidInput("the model", "one that can be used here", reason)


# ------------------------------------------------------------------------- the idle ones

_ALL: weakref.WeakSet[Crew] = weakref.WeakSet()
_IDLE: OrderedDict[tuple[object, ...], Crew] = OrderedDict()
_LOCK = threading.Lock()


def hire(order: Order) -> Crew:
    """Return a crew for an order: an idle one for the same, another of its kind, or a new one.

    Among others, the one that has been idle longest is taken.
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
    """Keep a crew for the next order; close those that have been idle longest."""
    crew.rest()
    closed = []
    with _LOCK:
        if crew.order.key in _IDLE:
            closed.append(_IDLE.pop(crew.order.key))
        _IDLE[crew.order.key] = crew
        while len(_IDLE) > _MOST_IDLE:
            closed.append(_IDLE.popitem(last=False)[1])
    for old in closed:
        old.close()


def close_idle() -> None:
    """Close all idle crews."""
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
