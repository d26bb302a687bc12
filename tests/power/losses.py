"""Losses of power, emulated: what a worker was told of is there, whatever the disk had of the rest.

A worker runs with recorder.c loaded into it, which writes down everything that it does to its
files, SQLite's and Arrow's doing included. Then the power fails at random moments of that record:
disk.py builds one of the states that the disk may be in, and kills.py checks it as after a kill.

`python tests/power/losses.py 5000` does it five thousand times and prints what it saw.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as pytest has it
    sys.path.insert(0, str(Path(__file__).parent.parent))

from end_to_end.kills import WORKER, Witnessed, given
from end_to_end.worker import make
from power.disk import Disk, operations

A_RECORD = 100  # losses; then a new worker, on a new dataset
STEPS = 40


def recorder(folder: Path) -> Path:
    """The library that is loaded into a process to record it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "emulating losses of power needs a C compiler"
    library = folder / "recorder.so"
    source = Path(__file__).parent / "recorder.c"
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"],
        check=True,
    )
    return library


def recorded(
    folder: Path, order: dict[str, Any], fail: str = "", script: Path = WORKER
) -> tuple[Path, int]:
    """Let a worker do something below ``folder / root``: the record of it, and how it ended."""
    log = folder / "record"
    environment = {
        **os.environ,
        "LD_PRELOAD": str(recorder(folder)),
        "RECORD_ROOT": str(folder / "root"),
        "RECORD_LOG": str(log),
        "RECORD_FAIL": fail,
    }
    order = {"log": str(folder / "root" / "acks"), **order}
    worker = subprocess.run(
        [sys.executable, str(script)],
        input=json.dumps(order) + "\n",
        text=True,
        env=environment,
        check=False,
    )
    return log, worker.returncode


def worked(folder: Path, seed: int, steps: int = STEPS, guard: str = "noise") -> Path:
    """The record of a dataset being made, and of a worker that uses it."""
    (folder / "root").mkdir()
    how = given(guard)
    order: dict[str, Any] = {"dataset": str(folder / "root" / "data")}
    order["make"] = how if isinstance(how, str) else how.to_dict()
    order |= {"seed": seed, "steps": steps}
    log, ended = recorded(folder, order)
    assert ended == 0, f"the worker failed ({ended})"
    check_whole(folder, log)
    return log


def check_whole(folder: Path, log: Path) -> None:
    """What was recorded, all of it done again, gives the files that are there: none was missed."""
    disk = Disk()
    for one in operations(log):
        disk.do(one)
    disk.lose_power(folder / "again", None)
    found, wanted = _files(folder / "again"), _files(folder / "root")
    assert found == wanted, "the recorder missed something"
    shutil.rmtree(folder / "again")


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "acks" and not path.name.endswith("-shm")
    }


def lose(
    folder: Path, log: Path, losses: int, chance: random.Random, guard: str = "noise"
) -> Counter[str]:
    """Lose power at so many moments of a record, and check what is left each time."""
    length = sum(1 for _ in operations(log))
    moments = Counter(chance.randrange(length + 1) for _ in range(losses))
    seen: Counter[str] = Counter()
    disk, number = Disk(), 0
    for number, one in enumerate([*operations(log), None]):
        for _ in range(moments[number]):
            left = folder / "left"
            disk.lose_power(left, chance)
            seen += checked(left / "data", list(disk.said), guard)
            shutil.rmtree(left)
        if one is not None:
            disk.do(one)
    return seen


def checked(path: Path, said: list[dict[str, Any]], guard: str = "noise") -> Counter[str]:
    """Everything that was said to be done is there."""
    is_made = any(line.get("done") == "make" for line in said)
    if not is_made:
        # It is there as a whole, or not at all, and then it can be made.
        if not path.exists():
            make(path, given(guard))
        return Counter(losses=1)
    witnessed = Witnessed(path, guard)
    witnessed.check_said(said)
    seen = Counter(witnessed.seen)
    seen["losses"] = seen.pop("kills")
    return seen


def run(folder: Path, losses: int, seed: int, guard: str = "noise") -> Counter[str]:
    """So many losses, over as many records as that takes."""
    chance, seen = random.Random(seed), Counter[str]()
    for number in range(0, losses, A_RECORD):
        here = folder / f"{seed}-{number}"
        here.mkdir()
        log = worked(here, seed=1 + number, guard=guard)
        seen += lose(here, log, min(A_RECORD, losses - number), chance, guard)
        shutil.rmtree(here)
    return seen


def main() -> None:
    losses = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 2026
    begin = time.monotonic()
    for guard in ("noise", "surprise"):
        with tempfile.TemporaryDirectory() as folder:
            seen = run(Path(folder), losses, seed, guard)
        took = f"{time.monotonic() - begin:.0f} s"
        sys.stdout.write(f"power lost, {guard}, {took}: {dict(seen)}\n")


if __name__ == "__main__":
    main()
