"""Services for tests: real ones, on a free port of this machine, in a thread or in a process."""

from __future__ import annotations

import http.client
import inspect
import io
import json
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from support.noise_sources import FastSeededNoise
from surehold import errors
from surehold.server.addresses import address_of, listen
from surehold.server.host import Host
from surehold.server.logs import start_logging
from surehold.server.middleware import HEADERS
from surehold.server.protocol import HttpServer
from surehold.server.run import Runner
from surehold.server.service import Service
from surehold.server.settings import Settings
from surehold.server.tokens import Role, TokenBook
from surehold.session.dataset import Dataset

PATIENT = 120.0
QUICK = Settings(rate=100_000.0, fixed_time=False)
"""No test waits for its turn, but those of rates, or for a slot, but those of time."""


@dataclass(frozen=True)
class Running:
    """A service that runs in a thread of this process."""

    url: str
    service: Service
    runner: HttpServer
    others: Sequence[Path] = ()
    """The folders of other datasets on the same server."""

    def streams(self) -> int:
        """How many streams of events are open."""
        assert isinstance(self.runner, Runner)
        assert self.runner._host.main is not None
        return int(self.runner._host.main.watch.watchers.taken)

    @property
    def dataset(self) -> Dataset:
        return self.service.dataset

    def token(self, role: Role = "analyst", analyst: str = "ann", **options: Any) -> str:
        """A new token; from the first one on, everybody needs one."""
        options = {"seconds": 3600.0, **options}
        return self.service.book.create(analyst, role, **options)[1]


def running(
    dataset: Dataset, settings: Settings = QUICK, book: TokenBook | None = None
) -> AbstractContextManager[Running]:
    """Serve a dataset that is open; it stays open afterwards."""
    service = Service(dataset, settings, book)
    return _run(service, Runner(Host.of(service)))


def running_tools(dataset: Dataset, settings: Settings = QUICK) -> AbstractContextManager[Running]:
    """The tools for agents, over HTTP, of a dataset that is open and stays so."""
    from surehold.agents.http import tool_application

    service = Service(dataset, settings)
    app = tool_application(service, lambda: None)
    return _run(service, HttpServer(app, settings))


@contextmanager
def hosting(host: Host) -> Iterator[str]:
    """Serve several datasets; yields the address, and closes them afterwards."""
    try:
        with _listening(Runner(host)) as url:
            yield url + host.settings.base_path
    finally:
        host.close()


@contextmanager
def running_among(folder: Path, *others: Path, settings: Settings = QUICK) -> Iterator[Running]:
    """Serve a dataset on one server with others, which are open too."""

    def open_dataset(path: Path) -> Dataset:
        return Dataset(path, FastSeededNoise(3))

    host = Host([folder, *others], settings, open_dataset=open_dataset)
    runner = Runner(host)
    try:
        for path in others:
            host.site(path.name).open()
        with _listening(runner) as url:
            service = host.site(folder.name).open()
            yield Running(f"{url}/d/{folder.name}", service, runner, others)
    finally:
        host.close()


@contextmanager
def _run(service: Service, runner: HttpServer) -> Iterator[Running]:
    with _listening(runner) as url:
        yield Running(url, service, runner)


@contextmanager
def _listening(runner: HttpServer) -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until = time.monotonic() + PATIENT
    while not runner.started:
        assert thread.is_alive()
        assert time.monotonic() < until, "the service did not start"
        time.sleep(0.005)
    try:
        yield address_of(listener)
    finally:
        runner.should_exit = True
        thread.join(PATIENT)
        listener.close()
        assert not thread.is_alive(), "the service did not stop"


@contextmanager
def served(path: Path, *, seed: int = 2, settings: Settings = QUICK) -> Iterator[str]:
    """Open and serve a dataset; yields the address."""
    with Dataset(path, FastSeededNoise(seed)) as dataset, running(dataset, settings) as run:
        yield run.url


# ------------------------------------------------------------------------------- plain requests


@dataclass(frozen=True)
class Got:
    """What came back."""

    status: int
    headers: dict[str, str]
    content: bytes
    cookies: tuple[str, ...] = ()

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def error(self) -> str:
        """The class of the error."""
        return str(self.json["error"]["type"])


def send(
    url: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    token: str | None = None,
    headers: dict[str, str] | None = None,
) -> Got:
    """One request by the standard library, so that nothing of ours is on both ends."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=PATIENT)
    given = dict(headers or {})
    if token is not None:
        given["Authorization"] = f"Bearer {token}"
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode()
        given.setdefault("Content-Type", "application/json")
    try:
        connection.request(method, place.path + path, body, given)
        response = connection.getresponse()
        content = response.read()
        cookies = tuple(response.headers.get_all("set-cookie", ()))
        headers = {k.lower(): v for k, v in response.getheaders()}
        return Got(response.status, headers, content, cookies)
    finally:
        connection.close()


def knock(url: str, sent: bytes = b"") -> socket.socket:
    """A bare connection, on which these bytes were sent."""
    place = urlsplit(url)
    connection = socket.create_connection((str(place.hostname), place.port), timeout=PATIENT)
    connection.sendall(sent)
    return connection


def heard(connection: socket.socket) -> bytes:
    """All that comes until the service closes the connection, however it does."""
    pieces = []
    try:
        while piece := connection.recv(1 << 16):
            pieces.append(piece)
    except ConnectionResetError:  # it did not read all that was sent
        pass
    return b"".join(pieces)


def raw(url: str, sent: bytes) -> bytes:
    """What a service says to bytes that need not be HTTP, until it closes the connection."""
    with knock(url, sent) as connection:
        return heard(connection)


def read(response: bytes) -> Got:
    """The first response among some bytes, with all that follows as its content."""
    head, _, content = response.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return Got(int(first.split()[1]), headers, content)


# ------------------------------------------------------------------------------------------ log


class Log:
    """The log of services in this process, line by line."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def __call__(self) -> list[dict[str, Any]]:
        """The lines so far."""
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def of(self, got: Got) -> dict[str, Any]:
        """The line of a request, which is written once its response is on the way."""
        until = time.monotonic() + PATIENT
        while time.monotonic() < until:
            for line in self():
                is_last = line["event"] == "request"  # the others are of what it caused
                if is_last and line["request"] == got.headers["x-request-id"]:
                    return line
            time.sleep(0.005)
        raise AssertionError("there is no line of that request")


@contextmanager
def logged() -> Iterator[Log]:
    """What services in this process log meanwhile."""
    names = ("surehold.server", "uvicorn", "urllib3", "")
    before = [(logging.getLogger(name), vars(logging.getLogger(name)).copy()) for name in names]
    found = Log()
    start_logging(found.stream)
    try:
        yield found
    finally:
        for logger, state in before:
            logger.handlers, logger.propagate = state["handlers"], state["propagate"]
            logger.setLevel(state["level"])


# ------------------------------------------------------------------------------------- refusals

KINDS = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, errors.SureholdError)
}
"""All classes of errors."""


def check_refusal(got: Got, *statuses: int) -> dict[str, Any]:
    """The one shape, with a class that exists; and what every response has."""
    assert got.status in statuses, (got.status, got.content[:300])
    check_headers(got)
    assert got.headers["content-type"] == "application/json"
    assert set(got.json) == {"error"}
    error: dict[str, Any] = got.json["error"]
    assert set(error) == {"type", "message", "details"}
    assert error["type"] in KINDS
    assert "\n" not in error["message"]
    return error


def check_headers(got: Got) -> None:
    for name, value in HEADERS.items():
        assert got.headers[name.lower()] == value
    assert got.headers["cache-control"] == "no-store"
    assert not [name for name in got.headers if name.startswith("access-control")]
    assert "server" not in got.headers


# ------------------------------------------------------------------------------------ processes


@contextmanager
def serving(
    path: Path, *options: str | Path, is_root: bool = False
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`surehold serve` in a process of its own; yields its address and the process."""
    given = [*(["--root"] if is_root else []), str(path), "--port", "0", *map(str, options)]
    command = [sys.executable, "-m", "surehold", "serve", *given]
    log = (path.parent / "service.log").open("a")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("serving at "), (line, process.poll())
        yield line.split()[2], process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        log.close()
