"""A service that is killed again and again while callers use it, who try again each time."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from end_to_end.crowd import Crowd, Log, token, transcript
from support.service import send, serving

ASKING = {"keyed": 6, "many": 2, "again": 1, "quote": 1}
APPENDING = {"append_few": 4, "append_many": 1}


@dataclass(frozen=True)
class Killed:
    """What was seen: seconds from each start to the first response, and what callers were told."""

    restarts: list[float]
    logs: list[Log]
    kept: dict[int, dict[str, object]]

    @property
    def lost(self) -> int:
        """Requests that were under way at a kill."""
        return sum(log.lost for log in self.logs)

    @property
    def found(self) -> int:
        """Questions among them that had been answered: the answer was there when asked again."""
        return sum(log.found for log in self.logs)

    @property
    def acknowledged(self) -> int:
        return sum(len(log.keys) + len(log.appended) for log in self.logs)


def killed(path: Path, kills: int, seed: int, analysts: int = 3) -> Killed:
    """Kill a service so many times at random moments, then let everybody finish."""
    [seen] = killed_together([path], kills, seed, analysts)
    return seen


def killed_together(
    paths: Sequence[Path], kills: int, seed: int, analysts: int = 3
) -> list[Killed]:
    """The same with callers of several datasets on one service; what was seen of each."""
    moments = random.Random(seed)
    bases = {path: "" if len(paths) == 1 else f"/d/{path.name}" for path in paths}
    viewers = {path: token(path, "viewer", "eve") for path in paths}
    orders = []
    for path, base in bases.items():
        orders.append({"token": token(path, "custodian", "ward"), "does": APPENDING, "base": base})
        for i in range(analysts):
            analyst = token(path, "analyst", f"analyst {i}")
            orders.append({"token": analyst, "does": ASKING, "base": base})
    restarts = []
    with Crowd(paths[0].parent) as crowd:
        for life in range(kills + 1):
            began = time.monotonic()
            with serving(*paths, "--rate", "100000") as (url, process):
                for path, base in bases.items():
                    got = send(url, "GET", f"{base}/v1/status", token=viewers[path])
                    assert got.status == 200
                restarts.append(time.monotonic() - began)
                answered = crowd.progress
                crowd.tell(url)
                if life == 0:
                    crowd.go(*({**order, "patient": True} for order in orders))
                if life == kills:
                    logs = crowd.end()
                    kept = [transcript(url + bases[path], viewers[path]) for path in paths]
                    break
                if life % 3:  # the others are killed while they wake up
                    crowd.wait_for_progress(answered)
                time.sleep(moments.uniform(0.0, 0.1))
                crowd.check_going()
                crowd.tell(None)  # the port may be another's soon
                assert process.poll() is None, "the service ended by itself"
                process.kill()
    each = len(logs) // len(paths)
    return [Killed(restarts, logs[i * each : (i + 1) * each], kept[i]) for i in range(len(paths))]
