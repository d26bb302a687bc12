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
from surehold.agents.descriptions import INSTRUCTIONS
from surehold.agents.language import LANGUAGE
from surehold.agents.tools import TOOLS, Guest, Outcome, Tool
from surehold.errors import SureholdError
from surehold.server.errors import places_of, unexpected
from surehold.server.service import check_role

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
    """Tools and resources. Calls run in threads, because they wait for the disk."""

    def __init__(self, guest_of: GuestOf) -> None:
        self._guest_of = guest_of
        self._turns = anyio.CapacityLimiter(_AT_ONCE)
        self._asks = anyio.CapacityLimiter(_ASKS)
        self.server: Server[Any] = Server(
            "surehold",
            version=__version__,
            title="Surehold: answers that hold",
            instructions=INSTRUCTIONS,
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
        return mcp.ListToolsResult(tools=[_describe(tool) for tool in TOOLS.values()])

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(mcp.INVALID_PARAMS, f"no such tool; there are {', '.join(TOOLS)}")
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
        return mcp.ListResourcesResult(resources=list(_RESOURCES.values()))

    async def _read_resource(
        self, context: ServerRequestContext[Any], params: mcp.ReadResourceRequestParams
    ) -> mcp.ReadResourceResult:
        found = _RESOURCES.get(str(params.uri))
        if found is None:
            listed = ", ".join(_RESOURCES)
            raise MCPError(mcp.INVALID_PARAMS, f"no such resource; there are {listed}")
        text = LANGUAGE
        if found.name == "plan":
            text = await anyio.to_thread.run_sync(self._plan, context.request, limiter=self._turns)
        contents = mcp.TextResourceContents(uri=params.uri, mime_type=found.mime_type, text=text)
        return mcp.ReadResourceResult(contents=[contents])

    def _plan(self, request: Any) -> str:
        try:
            return self._guest_of(request).session.plan.to_json()
        except SureholdError as error:
            raise MCPError(mcp.INTERNAL_ERROR, rendering.of_error(error), error.to_dict()) from None


def _describe(tool: type[Tool]) -> mcp.Tool:
    return mcp.Tool(
        name=tool.name,
        title=tool.title(),
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
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
