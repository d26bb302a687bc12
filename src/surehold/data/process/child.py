"""One child process, as its parent sees it: start it, talk to it, kill it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from surehold.data.process.channel import Channel, Gone, Message, SharedBytes

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from surehold.data.process.worker import main; main(sys.argv[2:])"
)
# One thread each, so that sums are always taken in the same order, and no child has more cores
# than its share. A fixed seed for hashes: a model that uses them gives every child the same.
_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
}
_SLOTS = 2


@dataclass
class Slot:
    """Memory for one block: the parent writes the input, the child the output."""

    given: SharedBytes = field(default_factory=SharedBytes)
    found: SharedBytes = field(default_factory=SharedBytes)


class Child:
    """A process that evaluates one model; its memory outlives it.

    It ends when this process does, however that ends: its lifeline is a pipe whose other end only
    this process holds.
    """

    def __init__(self, content: SharedBytes) -> None:
        self._content = content
        self.slots = [Slot() for _ in range(_SLOTS)]
        self.loading_since: float | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._lifeline = -1

    @property
    def is_running(self) -> bool:
        """Whether there is a process to talk to."""
        return self._process is not None

    @property
    def handle(self) -> int:
        """Return what to poll to learn that the child sent something, or ended."""
        assert self._channel is not None
        return self._channel.end.fileno()

    def start(self) -> None:
        """Start the process; it says hello when it is ready."""
        assert self._process is None
        memory = [
            self._content,
            *(part for slot in self.slots for part in (slot.given, slot.found)),
        ]
        ours, theirs = socket.socketpair()
        watched, lifeline = os.pipe()
        handles = [theirs.fileno(), watched, *(part.handle for part in memory)]
        # Not -m, which would search the folder it is started in; and by way of this process's own
        # path, so that it finds this package, and the modules of functions, where we found them.
        paths = json.dumps([str(Path(place).absolute()) for place in sys.path])
        command = [sys.executable, "-P", "-W", "ignore", "-c", _BOOT, paths]
        environment = {name: value for name, value in os.environ.items() if not _is_dropped(name)}
        try:
            self._process = subprocess.Popen(
                [*command, *map(str, handles)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=handles,
                env=environment | _ENVIRONMENT,
                start_new_session=True,  # an interrupt from the keyboard is ours to handle
            )
        except BaseException:
            ours.close()
            os.close(lifeline)
            raise
        finally:
            theirs.close()
            os.close(watched)
        self._channel, self._lifeline = Channel(ours), lifeline

    def load(self, message: Message) -> None:
        """Ask it to load a model, without waiting."""
        self.loading_since = time.monotonic()
        with contextlib.suppress(Gone):  # found out when its answer is waited for
            self.send(message)

    def send(self, message: Message) -> None:
        """Send a message; raise Gone if the child has ended."""
        if self._channel is None:
            raise Gone
        self._channel.send(message)

    def receive(self, seconds: float) -> Message | None:
        """Return what the child sends within some seconds; raise Gone if it has ended."""
        if self._channel is None:
            raise Gone
        return self._channel.receive(seconds)

    def wait(self, seconds: float) -> Message | None:
        """Do the same, also if a message arrives in parts."""
        deadline = time.monotonic() + seconds
        while (message := self.receive(max(deadline - time.monotonic(), 0.0))) is None:
            if time.monotonic() >= deadline:
                return None
        return message

    def kill(self) -> None:
        """Kill the process immediately, and anything it may have started."""
        process, self.loading_since = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        self._hang_up()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        self._process = None

    def abandon(self) -> None:
        """After a fork, in the new process: close the descriptors, but leave the child alone."""
        if self._process is not None:
            self._process.returncode = 0  # so that nobody waits for it
            self._process = None
            self._hang_up()

    def close(self) -> None:
        """End it, and release its memory."""
        self.kill()
        for slot in self.slots:
            slot.given.close()
            slot.found.close()

    def _hang_up(self) -> None:
        assert self._channel is not None
        self._channel.end.close()
        self._channel = None
        os.close(self._lifeline)


def _is_dropped(name: str) -> bool:
    """Whether a variable may change a model's results: Python's and onnxruntime's."""
    return name.startswith(("PYTHON", "ORT_")) and name != "PYTHONHOME"
