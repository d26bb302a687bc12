"""A process whose disk breaks in an append, or in an ask: it says what it is told, and dies."""

from __future__ import annotations

import json
import os
import signal
import sys

import surehold as sh


def main() -> None:
    order = json.loads(sys.stdin.readline())
    dataset = sh.open(order["dataset"])
    try:
        if order["does"] == "append":
            dataset.append([{"age": 1, "bmi": 2.0, "city": "Oslo"}] * 3, key=order["key"])
        else:
            dataset.session().ask("age > 1", key=order["key"])
    except sh.StorageFailed as error:
        n, answers = dataset.n, dataset.status().answers  # as the ledger has it, not as was meant
        said = {"kept": error.kept, "hint": error.hint, "n": n, "answers": answers}
        with open(order["log"], "w") as file:  # noqa: PTH123
            json.dump(said, file)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
