"""A web server of this machine that notes what it is sent, and responds as it is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENT = 120.0


@dataclass
class Sent:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Hook:
    """What came in, and the statuses of the next responses; then 200."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)

    def wait(self, count: int) -> list[Sent]:
        """Until that many came in."""
        wait_for(lambda: len(self.sent) >= count)
        return self.sent


def wait_for(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENT
    while not is_so():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.005)


@contextmanager
def hook() -> Iterator[Hook]:
    found = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status = found.statuses.pop(0) if found.statuses else 200
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{found.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()
            found.sent.append(Sent(self.path, headers, body))

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        found.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
