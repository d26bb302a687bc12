"""A process that opens, appends, asks and closes, over and over, while others do the same."""

from __future__ import annotations

import json
import sys

import surehold as sh
from surehold.ledger import database


def main() -> None:
    order = json.loads(sys.stdin.readline())
    connect = database._connect

    def often(*args: object) -> object:
        connection = connect(*args)
        connection.execute("PRAGMA wal_autocheckpoint = 3")  # so that it happens in a short run
        return connection

    database._connect = often
    for i in range(order["times"]):
        with sh.open(order["dataset"]) as dataset:
            for j in range(3):
                number = order["seed"] * 10_000 + i * 10 + j
                dataset.append({"age": number, "bmi": 1.0, "city": "Oslo"}, key=str(number))
            dataset.status()
            if i % 3 == 0:
                dataset._data.seal()


if __name__ == "__main__":
    main()
