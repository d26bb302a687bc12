"""A service that says, and breaks, what a test has written down: plain sockets, one thread each."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Act = Callable[[socket.socket], None]

ME = {"analyst": "ann", "role": "analyst", "token": "t1", "expires": None, "limit": None}


@dataclass(frozen=True)
class Got:
    """A request that arrived, whole."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def raw(data: bytes) -> Act:
    return lambda connection: connection.sendall(data)


def reply(
    status: int, body: bytes | dict[str, Any], kind: str = "application/json", **headers: str
) -> Act:
    """A response, then the end of the connection."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Type: {kind}", "Connection: close"]
    given = {"Content_Length": str(len(content)), **headers}
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in given.items()]
    return raw("\r\n".join([*lines, "", ""]).encode() + content)


def error(code: int, kind: str, message: str, /, *, wait: str | None = None, **details: Any) -> Act:
    """An error in the shape of the contract."""
    body = {"error": {"type": kind, "message": message, "details": details}}
    return reply(code, body, **({} if wait is None else {"Retry_After": wait}))


def reset(connection: socket.socket) -> None:
    """A connection that is torn down: the other side is told so."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def cut(connection: socket.socket) -> None:
    """Half a response, then a reset."""
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"
    )
    reset(connection)


@dataclass
class Scripted:
    """``script`` is acted out in order, whoever comes; ``/v1/me`` is answered beside it.

    With ``by`` what is done depends on the request instead.
    """

    script: list[Act] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    by: Callable[[Got], Act] | None = None
    port: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        """What was asked besides who asks."""
        return [one.path for one in self.got if one.path != "/v1/me"]

    def silence(self, connection: socket.socket) -> None:
        """Nothing, until the test is over."""
        self.ended.wait(30.0)

    def dripping(self, connection: socket.socket) -> None:
        """A response that comes a byte at a time and never ends."""
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while not self.ended.wait(0.05):
            connection.sendall(b" ")


@contextmanager
def scripted(*script: Act) -> Iterator[Scripted]:
    service = Scripted(list(script))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        service.port = listening.getsockname()[1]
        accepting = threading.Thread(target=_accept, args=(listening, service))
        accepting.start()
        try:
            yield service
        finally:
            service.ended.set()
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(listening: socket.socket, service: Scripted) -> None:
    serving: list[threading.Thread] = []
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            break
        serving.append(threading.Thread(target=_serve, args=(connection, service)))
        serving[-1].start()
    for one in serving:
        one.join()


def _serve(connection: socket.socket, service: Scripted) -> None:
    with connection:
        got = _received(connection)
        if got is None:
            return
        service.got.append(got)
        if got.path == "/v1/me":
            act = reply(200, ME)
        else:
            act = service.script.pop(0) if service.by is None else service.by(got)
        try:
            act(connection)
        except OSError:  # the client has gone, which is its right
            return


def _received(connection: socket.socket) -> Got | None:
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(1 << 16)
        if not part or part[0] == 0x16:  # gone, or a greeting in TLS
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" if part else b"")
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    headers = {name.lower(): value for name, _, value in pairs}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(1 << 16)
    method, path, _ = first.split(" ")
    return Got(method, path, headers, body)
