"""The child: loads one model and evaluates blocks until its parent is gone.

:mod:`.child` starts it, with separate descriptors for messages; its standard input, output and
error lead nowhere from the start, because what a model prints may contain records.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import socket
import sys
import threading
import time
from collections.abc import Sequence

import numpy as np

from surehold.data.process.blocks import Block, made_up, read_block
from surehold.data.process.channel import FULL, GOOD, Channel, Gone, Message, Notes, SharedBytes
from surehold.data.process.evaluators import (
    CallableEvaluator,
    EstimatorEvaluator,
    Evaluator,
    WrongAnswer,
)
from surehold.data.process.trial import Trial
from surehold.models.base import Unfit

_IMPORTS = 2 << 30
"""Address space that importing what a model needs may take, on top of its memory."""
_GRAINS = 128 << 20
"""Address space that allocators may take at a time, which is more than a quarter of a tight limit:
an ONNX model that fits with made-up rows fits with records, whatever was freed in between."""


def main(arguments: Sequence[str]) -> None:
    """Serve until the parent hangs up."""
    messages, lifeline, content, *slots = map(int, arguments)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    die_with(lifeline)
    np.seterr(all="ignore")
    channel = Channel(socket.socket(fileno=messages))
    try:
        channel.send({"hello": os.getpid()})
        Worker(channel, content, slots).serve()
    except Gone:
        pass
    finally:
        os._exit(0)  # without what the model may have left for the end


class Worker:
    """A model, and the memory that it shares with its parent."""

    _model: Evaluator

    def __init__(self, channel: Channel, content: int, slots: Sequence[int]) -> None:
        self._channel = channel
        self._content = SharedBytes(content, readable_only=True)
        self._inputs = [SharedBytes(handle, readable_only=True) for handle in slots[::2]]
        self._outputs = [SharedBytes(handle) for handle in slots[1::2]]
        self._is_onnx = False
        self._base: int | None = None
        self._memory = 0
        self._filling: tuple[int, Block] | None = None

    def serve(self) -> None:
        """Answer messages, one after another."""
        answers = {"load": self._load, "probe": self._probe, "evaluate": self._evaluate}
        while True:
            message = self._channel.receive()
            assert message is not None
            self._channel.send(answers[message["do"]](message))

    def _load(self, message: Message) -> Message:
        self._is_onnx, self._filling = message["kind"] == "onnx", None
        self._base, self._memory = used_memory(), message["memory"]
        self._allow(self._memory + _IMPORTS)
        try:
            model = self._model = loaded(message, self._content.view(message["size"]))
        except Unfit as error:
            return {"unfit": str(error)}
        except BaseException as error:
            return {"unfit": _described(error, 300)}
        self._base = used_memory()
        self._allow(self._memory)
        return {"form": model.form, "width": model.width, "columns": model.columns}

    def _probe(self, message: Message) -> Message:
        """Try made-up rows; no record is involved, so the outcome may be reported in full."""
        model, rows = self._model, message["rows"]
        block = made_up(model.columns, model.form, rows, message["like"], message["gap"])
        part = block.slice(0, rows)
        begin = time.monotonic()
        if self._is_onnx:
            # What fits into three quarters with made-up rows fits into all of it with records.
            self._allow(self._memory * 3 // 4)
            part = block.filled(0, rows, block)  # as the last cell of all
        try:
            model(part)
            outcome, reason = "fine", ""
        except WrongAnswer as error:
            outcome, reason = "wrong", str(error)
        except BaseException as error:
            outcome, reason = "raised", _described(error, 200)
        finally:
            self._allow(self._memory)
        return {"outcome": outcome, "reason": reason, "seconds": time.monotonic() - begin}

    def _evaluate(self, message: Message) -> Message:
        model = self._model
        slot, rows, size, cell = (message[name] for name in ("slot", "rows", "size", "cell"))
        # The memory left for the model must not depend on how large a block is.
        shared = sum(memory.size for memory in (*self._inputs, *self._outputs))
        slack = _GRAINS if self._is_onnx else 0
        self._allow(self._memory + slack + 2 * shared)
        block = read_block(self._inputs[slot], model.form, rows, size, len(model.columns))
        width = None if model.want == "labels" else model.width
        notes = Notes(self._outputs[slot].view(Notes.size(rows, width)), rows, width)
        if not self._is_onnx:
            lost = [tuple(call) for call in message["lost"]]
            Trial(model, block, notes, cell, lost).run()
            return {"done": message["job"]}
        try:
            self._evaluate_cells(block, notes, cell)
        except BaseException:  # not reported: its message may depend on the load of the machine
            return {"failed": message["job"]}
        return {"done": message["job"]}

    def _evaluate_cells(self, block: Block, notes: Notes, cell: int) -> None:
        """Call an ONNX model on full cells, the last filled up with made-up rows, and nothing else.

        No record decides whether a call fails (:mod:`surehold.models.onnx.graph`), so there is
        nothing to search for: if a call still fails, the machine is the cause, and the whole
        evaluation fails.
        """
        model = self._model
        if self._filling is None or self._filling[0] != cell:
            self._filling = (cell, made_up(model.columns, model.form, cell, 0, None))
        for start, stop in notes.remaining(cell):
            part = block.slice(start, stop)
            if stop - start < cell:
                part = block.filled(start, stop, self._filling[1])
            notes.call[1:6] = FULL, start, 0, stop - start, notes.call[5] + 1
            notes.call[0] = time.monotonic_ns()
            try:
                found = model(part)
            finally:
                notes.call[0] = 0
            notes.values[start:stop] = found[: stop - start]
            notes.verdicts[start:stop] = GOOD

    def _allow(self, more: int) -> None:
        """Allow some address space on top of what was in use when the model was loaded."""
        if self._base is not None:
            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            limit = self._base + more
            limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def loaded(message: Message, content: memoryview) -> Evaluator:
    """Return the evaluator of a payload."""
    columns, want = [(name, kind) for name, kind in message["columns"]], message["want"]
    match message["kind"]:
        case "sklearn":
            return EstimatorEvaluator(content, columns, want)
        case "callable":
            return CallableEvaluator(content, columns, want, message["takes"])
        case _:
            from surehold.data.process.onnx_evaluator import OnnxEvaluator, leave

            leave()
            return OnnxEvaluator(bytes(content), columns, want, message["classes"])


def _described(error: BaseException, most: int) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:most]}"


# ------------------------------------------------------------------------------- limits


def used_memory() -> int | None:
    """Return the address space in use; None if the system neither reports nor limits it."""
    try:
        with open("/proc/self/statm") as file:  # noqa: PTH123
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None


def die_with(lifeline: int) -> None:
    """End this process when the other end of a pipe is closed, as when the parent dies.

    It uses a signal whose default is to end the process: a model may be in a loop of C code, in
    which no Python thread gets to run. (Not PR_SET_PDEATHSIG, which arrives when the *thread* ends
    that started the child.)
    """
    if sys.platform == "linux":
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        flags = fcntl.fcntl(lifeline, fcntl.F_GETFL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, flags | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # too late: it is closed already
            os._exit(0)
    else:
        threading.Thread(target=_wait_for_end, args=(lifeline,), daemon=True).start()


def _wait_for_end(lifeline: int) -> None:
    os.read(lifeline, 1)
    os._exit(0)
