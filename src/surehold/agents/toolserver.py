"""The tools as a Model Context Protocol server, independent of the transport."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as mcp
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from surehold import __version__
from surehold.agents import rendering
from surehold.agents.guest import Guest
from surehold.agents.language import language_of
from surehold.agents.tools import INSTRUCTIONS, TOOLS, Outcome, Tool
from surehold.errors import SureholdError
from surehold.server.access import check_role
from surehold.server.errors import places_of, unexpected

logger = logging.getLogger(__name__)

_AT_ONCE = 16  # calls that run at the same time; others wait
_ASKS = 64  # and besides those, calls that ask, most of which are only held back
_SECONDS_TO_FINISH = 20.0
_RESOURCES = {
    "surehold://language": mcp.Resource(
        uri="surehold://language",
        name="language",
        title="The query language",
        description="What can be asked, on one page; describe shows it too.",
        mime_type="text/markdown",
    ),
    "surehold://plan": mcp.Resource(
        uri="surehold://plan",
        name="plan",
        title="The plan",
        description="What was promised before the first answer, as JSON.",
        mime_type="application/json",
    ),
}


GuestOf = Callable[[Any], Guest]
"""Finds the guest of a request, which is None where a transport has only one guest."""


class ToolServer:
    """Tools and resources of a dataset with a guard. Calls run in threads: they wait for disks."""

    def __init__(self, guest_of: GuestOf, guard: str) -> None:
        self._guest_of, self._guard = guest_of, guard
        self._tools = TOOLS[guard]
        self._resources = {uri: one for uri, one in _RESOURCES.items() if _has(guard, one)}
        self._turns = anyio.CapacityLimiter(_AT_ONCE)
        self._asks = anyio.CapacityLimiter(_ASKS)
        self.server: Server[Any] = Server(
            "surehold",
            version=__version__,
            title="Surehold: answers that hold",
            instructions=INSTRUCTIONS[guard],
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )

    async def finish(self) -> None:
        """Accept no more calls, and wait a while for those that are running.

        An interrupted ask stays charged, and asking the same question again completes it.
        """
        with anyio.move_on_after(_SECONDS_TO_FINISH):
            for turns in (self._turns, self._asks):
                for _ in range(int(turns.total_tokens)):
                    await turns.acquire_on_behalf_of(object())

    # ------------------------------------------------------------------------------------ tools

    async def _list_tools(
        self, context: ServerRequestContext[Any], params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListToolsResult:
        tools = [_describe(tool, self._guard) for tool in self._tools.values()]
        return mcp.ListToolsResult(tools=tools)

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult:
        tool = self._tools.get(params.name)
        if tool is None:
            listed = ", ".join(self._tools)
            raise MCPError(mcp.INVALID_PARAMS, f"no such tool; there are {listed}")
        turns = self._asks if tool.spends else self._turns
        return await anyio.to_thread.run_sync(
            self._run, tool, params.arguments or {}, context.request, limiter=turns
        )

    def _run(self, tool: type[Tool], given: Mapping[str, Any], request: Any) -> mcp.CallToolResult:
        guest = self._guest_of(request)
        try:
            check_role(guest.caller, "analyst" if tool.spends else "viewer")
            outcome = tool.call(guest, given)
        except SureholdError as error:
            guest.note(tool.name, type(error).__name__)
            return _to_error(error)
        except Exception as error:
            # Its message may repeat what a record holds, so neither caller nor log gets it.
            kind, where = type(error).__name__, " ".join(places_of(error))
            logger.error("the tool %s failed: %s at %s", tool.name, kind, where)
            guest.note(tool.name, "ServiceFailed")
            return _to_error(unexpected())
        guest.note(tool.name, "answered")
        return _to_result(outcome)

    # -------------------------------------------------------------------------------- resources

    async def _list_resources(
        self, context: ServerRequestContext[Any], params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListResourcesResult:
        return mcp.ListResourcesResult(resources=list(self._resources.values()))

    async def _read_resource(
        self, context: ServerRequestContext[Any], params: mcp.ReadResourceRequestParams
    ) -> mcp.ReadResourceResult:
        found = self._resources.get(str(params.uri))
        if found is None:
            listed = ", ".join(self._resources)
            raise MCPError(mcp.INVALID_PARAMS, f"no such resource; there are {listed}")
        text = language_of(self._guard)
        if found.name == "plan":
            text = await anyio.to_thread.run_sync(self._plan, context.request, limiter=self._turns)
        contents = mcp.TextResourceContents(uri=params.uri, mime_type=found.mime_type, text=text)
        return mcp.ReadResourceResult(contents=[contents])

    def _plan(self, request: Any) -> str:
        try:
            return self._guest_of(request).session.plan.to_json()
        except SureholdError as error:
            raise MCPError(mcp.INTERNAL_ERROR, rendering.of_error(error), error.to_dict()) from None


def _has(guard: str, resource: mcp.Resource) -> bool:
    """Whether a dataset has it: only noise needs a plan."""
    return guard == "noise" or resource.name != "plan"


def _describe(tool: type[Tool], guard: str) -> mcp.Tool:
    return mcp.Tool(
        name=tool.name,
        title=tool.title(),
        description=tool.description(guard),
        input_schema=tool.input_schema(guard),
        output_schema=tool.output_schema(guard),
        annotations=mcp.ToolAnnotations(
            title=tool.title(),
            read_only_hint=not tool.spends,
            # What it spends is gone, but nothing is overwritten: a ledger only grows.
            destructive_hint=False,
            # Without key or round, the same ask is a new question once records have arrived.
            idempotent_hint=not tool.spends,
            open_world_hint=False,
        ),
    )


def _to_result(outcome: Outcome) -> mcp.CallToolResult:
    content = mcp.TextContent(type="text", text=outcome.text)
    return mcp.CallToolResult(content=[content], structured_content=outcome.values)


def _to_error(error: SureholdError) -> mcp.CallToolResult:
    content = mcp.TextContent(type="text", text=rendering.of_error(error))
    return mcp.CallToolResult(content=[content], structured_content=error.to_dict(), is_error=True)
