"""Programs that agents live in: real clients of the protocol, over stdio and HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

COMMAND = (sys.executable, "-W", "error", "-m", "surehold", "mcp")


class Host:
    """A client that is connected, called as if there were no event loop."""

    def __init__(self, portal: Any, client: Client) -> None:
        self.portal = portal
        self.client = client

    def tools(self) -> dict[str, Any]:
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def call(self, tool: str, **arguments: Any) -> Any:
        """The whole result, an error or not."""
        return self.portal.call(self.client.call_tool, tool, arguments)

    def told(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a call gives; it must not be an error."""
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return result.structured_content

    def error(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The error that a call must end with."""
        result = self.call(tool, **arguments)
        assert result.is_error, text_of(result)
        assert list(result.structured_content) == ["error"]
        found = result.structured_content["error"]
        assert list(found) == ["type", "message", "details"]
        assert "Traceback" not in text_of(result)
        return found

    def at_once(self, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
        """Several calls side by side, and their results in order."""
        started = [
            self.portal.start_task_soon(self.client.call_tool, tool, arguments)
            for tool, arguments in calls
        ]
        return [task.result(timeout=120) for task in started]


def text_of(result: Any) -> str:
    [content] = result.content
    return content.text


@contextmanager
def connected(transport: Any, mode: str = "auto") -> Iterator[Host]:
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        client = Client(transport, mode=mode, read_timeout_seconds=60)
        stack.enter_context(portal.wrap_async_context_manager(client))
        yield Host(portal, client)


@contextmanager
def over_stdio(
    dataset: Path | str,
    *options: str,
    log: Path,
    mode: str = "auto",
    env: Mapping[str, str] | None = None,
) -> Iterator[Host]:
    """The command as a host starts it; what it logs is in ``log`` afterwards."""
    program, *arguments = (*COMMAND, str(dataset), *options)
    started = StdioServerParameters(
        command=program, args=arguments, env=dict(env or {}), cwd=log.parent
    )
    with (
        log.open("w", encoding="utf-8") as errors,
        connected(stdio_client(started, errlog=errors), mode) as host,
    ):
        yield host


@contextmanager
def listening(dataset: Path, *options: str, end: signal.Signals = signal.SIGTERM) -> Iterator[str]:
    """The command with --http on a free port; its address. It must end by the signal it gets."""
    process = subprocess.Popen(
        [*COMMAND, str(dataset), "--http", "--port", "0", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    assert process.stdout is not None
    try:
        first = process.stderr.readline()
        assert first.startswith("serving tools at http://"), first + process.stderr.read()
        # It logs each request: a pipe that nobody empties would stop it.
        lines: list[str] = []
        reader = threading.Thread(target=lines.extend, args=(process.stderr,))
        reader.start()
        yield first.split()[-1]
    finally:
        process.send_signal(end)
        out = process.stdout.read()
        process.wait(timeout=120)
        reader.join()
        process.stdout.close()
        process.stderr.close()
    assert (process.returncode, out) == (-end, "")
    told = [json.loads(line) for line in lines if line.endswith("}\n")]
    # On a busy machine an answer may be late.
    assert all(line["level"] == "info" or line["event"] == "late answer" for line in told), lines


@contextmanager
def over_http(url: str, token: str | None = None, mode: str = "auto") -> Iterator[Host]:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    http = httpx2.AsyncClient(headers=headers, timeout=120)
    with connected(streamable_http_client(url, http_client=http), mode) as host:
        try:
            yield host
        finally:
            host.portal.call(http.aclose)
