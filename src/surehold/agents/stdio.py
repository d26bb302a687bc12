"""The tools over standard input and output, for a host that starts the command itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import anyio
from mcp.server.stdio import stdio_server

from surehold.agents.toolserver import ToolServer


def serve_stdio(tools: ToolServer, close: Callable[[], None]) -> None:
    """Serve until standard input ends or a signal arrives; close the dataset first."""
    anyio.run(_serve, tools, close)


async def _serve(tools: ToolServer, close: Callable[[], None]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch, tools, close)
        async with stdio_server() as (incoming, outgoing):
            options = tools.server.create_initialization_options()
            await tools.server.run(incoming, outgoing, options)
        tasks.cancel_scope.cancel()


async def _watch(tools: ToolServer, close: Callable[[], None]) -> None:
    """End by the signal itself, once running calls are done and the dataset is closed.

    It cannot return normally: a thread waits for standard input, and nothing wakes it.
    """
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            await tools.finish()
            close()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
