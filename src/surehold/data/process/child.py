"""One child process, as its parent sees it: started, spoken to, and killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from surehold.data.process.channel import Channel, Gone, Message, SharedBytes, new_bell

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
    """Room for one block: what goes in is the parent's, what comes out the child's to write."""

    given: SharedBytes = field(default_factory=SharedBytes)
    found: SharedBytes = field(default_factory=SharedBytes)

    def close(self) -> None:
        """Let go of both."""
        self.given.close()
        self.found.close()


class Child:
    """A process that evaluates one model; its memory outlives it.

    It ends when this process does, by whatever death: its lifeline is a pipe that only this process
    holds the other end of.
    """

    def __init__(self, content: SharedBytes) -> None:
        self._content = content
        self.slots = [Slot() for _ in range(_SLOTS)]
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._lifeline = -1

    @property
    def is_running(self) -> bool:
        """Whether there is a process to speak to."""
        return self._process is not None

    @property
    def watched(self) -> dict[int, int]:
        """What to poll for, to learn that the child says something, or ends."""
        assert self._channel is not None
        return self._channel.watched

    def start(self) -> None:
        """Start the process; it says hello when it is ready."""
        assert self._process is None
        theirs, ours, kept = os.pipe(), os.pipe(), os.pipe()
        bells = [new_bell(), new_bell()]  # that we ring, and that the child rings
        shared = [self._content.handle]
        for slot in self.slots:
            shared += [slot.given.handle, slot.found.handle]
        handles = [theirs[0], ours[1], *bells, kept[0], *shared]
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
                pass_fds=[handle for handle in handles if handle >= 0],
                env=environment | _ENVIRONMENT,
                start_new_session=True,  # an interrupt from the keyboard is ours to handle
            )
        except BaseException:
            for handle in (theirs[1], ours[0], kept[1], *(bell for bell in bells if bell >= 0)):
                os.close(handle)
            raise
        finally:
            for handle in (theirs[0], ours[1], kept[0]):
                os.close(handle)
        os.set_blocking(theirs[1], False)
        self._channel = Channel(ours[0], theirs[1], bell=bells[1], ring=bells[0])
        self._lifeline = kept[1]

    def send(self, message: Message) -> None:
        """Say something; Gone if nobody is there."""
        if self._channel is None:
            raise Gone
        self._channel.send(message)

    def receive(self, seconds: float) -> Message | None:
        """What the child says within so many seconds; Gone if it is no more."""
        if self._channel is None:
            raise Gone
        return self._channel.receive(seconds)

    def run_on(self, cores: Collection[int]) -> None:
        """Keep to some of the cores, if the system lets us say so."""
        if self._process is not None and cores and hasattr(os, "sched_setaffinity"):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(self._process.pid, cores)

    def kill(self) -> None:
        """End the process at once, and what it may have started."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        self._hang_up()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(10)
        self._process = None

    def abandon(self) -> None:
        """After a fork, in the new process: the child is not ours, but the descriptors are."""
        if self._process is not None:
            self._process.returncode = 0  # so that nobody waits for it
            self._process = None
            self._hang_up()

    def close(self) -> None:
        """End it, and give its memory back."""
        self.kill()
        for slot in self.slots:
            slot.close()

    def _hang_up(self) -> None:
        assert self._channel is not None
        self._channel.close()
        self._channel = None
        os.close(self._lifeline)


def _is_dropped(name: str) -> bool:
    """Whether a variable may change what a model gives: Python's and onnxruntime's."""
    return name.startswith(("PYTHON", "ORT_")) and name != "PYTHONHOME"
