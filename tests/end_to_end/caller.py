"""A client in a process of its own: `python caller.py`, then one JSON line that says what to do.

It loads nothing but the standard library, says `ready`, waits for its order, and then asks one
thing after the other until SIGTERM, when it finishes what it is about and writes down what it was
told. A patient one tries again, with the same key, when a service goes away; where the service is
by then stands in a file.
"""

from __future__ import annotations

import http.client
import json
import random
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 180.0  # seconds without an answer from a service that is there
POOL = 20  # questions that all callers have in common
JSON, NDJSON = "application/json", "application/x-ndjson"


def records(batch: int, count: int) -> list[dict[str, Any]]:
    """The records of a batch: all of it can be told from what is kept."""
    return [{"batch": batch, "i": i, "x": (batch * 37 + i) % 100 / 100} for i in range(count)]


class Caller:
    """One request of each kind, then random ones: seeded, and unlike others' but for a pool."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._address = Path(order["address"])
        self._progress = Path(order["progress"])
        self._token = order.get("token")
        self._base: str = order.get("base", "")  # of its dataset, on a server of several
        self._seed: int = order["seed"]
        self._is_patient: bool = order.get("patient", False)
        self._round: int | None = order.get("round")
        self._does: dict[str, int] = order["does"]
        self._random = random.Random(self._seed)
        self._connection: http.client.HTTPConnection | None = None
        self._number = 0
        self._is_over = False
        self._last: tuple[str, dict[str, Any]] | None = None
        self.times: defaultdict[str, list[float]] = defaultdict(list)
        self.told: list[dict[str, Any]] = []
        self.keys: dict[str, list[int]] = {}  # of asks that were answered: their entries
        self.appended: dict[int, int] = {}  # batch: records
        self.refused = 0
        self.lost = 0  # requests whose connection ended without a response
        self.found = 0  # of these, how many had been answered all the same

    def stop(self, *_: object) -> None:
        self._is_over = True

    def run(self) -> dict[str, Any]:
        names, weights = list(self._does), list(self._does.values())
        began = time.monotonic()
        first = iter(names)
        while not self._is_over:
            self._number += 1
            what = next(first, None) or self._random.choices(names, weights)[0]
            start = time.perf_counter()
            getattr(self, what)()
            self.times[what].append(time.perf_counter() - start)
            if self._is_patient:
                with self._progress.open("ab") as file:
                    file.write(b".")
            if self._number == len(names):
                self._progress.with_name(f"all-{self._seed}").touch()
        return {
            "seconds": time.monotonic() - began,
            "times": self.times,
            "told": self.told,
            "keys": self.keys,
            "appended": self.appended,
            "refused": self.refused,
            "lost": self.lost,
            "found": self.found,
        }

    # ------------------------------------------------------------------------------- requests

    def fresh(self) -> None:
        """A question that nobody asked before."""
        self._ask("/v1/ask", {"query": self._question(0)})

    def keyed(self) -> None:
        """The same with a key."""
        self._ask("/v1/ask", {"query": self._question(0), "key": self._key()})

    def many(self) -> None:
        """Three of them at once."""
        queries = [self._question(i) for i in range(3)]
        self._ask("/v1/ask-many", {"queries": queries, "key": self._key()})

    def again(self) -> None:
        """The last keyed request once more, as if its response had been lost."""
        if self._last is not None:
            self._ask(*self._last)

    def known(self) -> None:
        """A question that others ask too: whoever is first pays."""
        query = f"x < {self._random.randrange(POOL)} / {POOL}"
        self._ask("/v1/ask", {"query": query, "round": self._round})

    def quote(self) -> None:
        self._expect(200, "/v1/quote", {"query": self._question(0)})

    def status(self) -> None:
        self._expect(200, "/v1/status", None)

    def append_few(self) -> None:
        self._append(self._random.randint(1, 4))

    def append_many(self) -> None:
        self._append(200)

    # ---------------------------------------------------------------------------------- parts

    def _question(self, part: int) -> str:
        return f"x < 0.5 and batch <> {self._seed} and i <> {self._number * 10 + part}"

    def _key(self) -> str:
        return f"caller {self._seed}, request {self._number}"

    def _ask(self, path: str, body: dict[str, Any]) -> None:
        if body.get("key"):
            self._last = path, body
        status, answered = self._sent(path, JSON, json.dumps(body).encode(), {})
        if status == 402:
            self.refused += 1
            self._progress.with_name(f"refused-{self._seed}").touch()
            return
        if status != 200:
            raise RuntimeError(f"{path} {body}: {status} {answered}")
        results = [answered] if path == "/v1/ask" else answered["answers"]
        self.told += results
        if body.get("key"):
            entries = [result["entry"] for result in results]
            self.found += body["key"] not in self.keys and results[0]["recorded"]
            if self.keys.setdefault(body["key"], entries) != entries:
                raise RuntimeError(f"{body['key']} stands for {self.keys[body['key']]}, {entries}")

    def _append(self, count: int) -> None:
        """Each twice, the second time as if the first had not been acknowledged."""
        batch = self._seed * 1_000_000 + self._number
        body = "\n".join(json.dumps(record) for record in records(batch, count)).encode()
        key = {"Idempotency-Key": f"batch {batch}"}
        for _ in range(2):
            status, answered = self._sent("/v1/append", NDJSON, body, key)
            if status != 200 or answered["count"] != count:
                raise RuntimeError(f"append: {status} {answered}")
        self.appended[batch] = count

    def _expect(self, wanted: int, path: str, body: dict[str, Any] | None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        status, answered = self._sent(path, JSON, content, {})
        if status != wanted:
            raise RuntimeError(f"{path}: {status} {answered}")
        return answered

    def _sent(
        self, path: str, kind: str, body: bytes | None, besides: dict[str, str]
    ) -> tuple[int, Any]:
        """The response; a patient caller waits for one, whatever becomes of the service."""
        headers = {"Content-Type": kind, **besides} if body is not None else {}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        until = time.monotonic() + PATIENCE
        while True:
            try:
                connection = self._connected()
                method = "GET" if body is None else "POST"
                connection.request(method, self._base + path, body, headers)
                response = connection.getresponse()
                content = response.read()
                if not self._is_patient or response.status != 503:
                    return response.status, json.loads(content)
            except FileNotFoundError:
                # No service just now. How long that may take, and how often, is not for a caller
                # to judge: one that is unlucky meets the end of several services in a row.
                if not self._is_patient:
                    raise
                until = time.monotonic() + PATIENCE
            except (OSError, http.client.HTTPException) as error:
                if not self._is_patient or time.monotonic() > until:
                    raise
                # The service may not be there yet, or no longer; what else ends was under way.
                self.lost += not isinstance(error, ConnectionRefusedError)
                self._drop()
            time.sleep(0.01)

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            place = urlsplit(self._address.read_text())
            self._connection = http.client.HTTPConnection(
                str(place.hostname), place.port, timeout=PATIENCE
            )
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def main() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    order = json.loads(sys.stdin.readline())
    caller = Caller(order)
    signal.signal(signal.SIGTERM, caller.stop)
    done = caller.run()
    Path(order["log"]).write_text(json.dumps(done))


if __name__ == "__main__":
    main()
