"""`surehold mcp`: expose a dataset to an agent as tools."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, dataset_on
from surehold.cli.serve import exit_now
from surehold.cli.types import COUNT, EXPOSE, HELP, HOST, PLACE
from surehold.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from surehold.client import RemoteSession
    from surehold.session import Dataset


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option(
    "--analyst", help="The name recorded in the ledger; tokens carry their own.  [default: agent]"
)
@click.option(
    "--http",
    "over_http",
    is_flag=True,
    help="Serve at /mcp over HTTP instead of standard input and output.",
)
@HOST
@click.option("--port", type=COUNT, default=8751, help="Port to listen on; 0 picks a free one.")
@EXPOSE
@TOKEN_FILE
def mcp(
    dataset: Place, analyst: str | None, over_http: bool, host: str, port: int, expose: bool
) -> None:
    """Let an agent ask through Model Context Protocol (MCP) tools.

    \b
    surehold mcp clinic
    surehold mcp https://holdout.example
    surehold mcp clinic --http --port 8751

    If the agent has a shell, give it the address of a service instead of a folder: reading the
    records would void every answer. The agent's host starts this command and talks to it over
    standard input and output; with --http it serves several agents, which send tokens.
    """
    if find_spec("mcp") is None:
        raise MissingExtra("surehold mcp", "mcp")
    if over_http and None in map(find_spec, ("fastapi", "prometheus_client")):
        raise MissingExtra("surehold mcp --http", "mcp,serve")
    if over_http and isinstance(dataset, str):
        hint = "run it on the machine that holds the dataset, or without --http"
        raise InvalidInput("the dataset", "a local folder for --http", dataset, hint)
    if analyst is not None and (over_http or isinstance(dataset, str)):
        required = "omitted, as the token identifies the analyst"
        raise InvalidInput("--analyst", required, analyst)
    with dataset_on(dataset) as found:
        if over_http:
            _listen(found, host, port, expose)
            exit_now()
        else:
            _answer(found, "agent" if analyst is None else analyst)


def _answer(found: Dataset | RemoteSession, analyst: str) -> None:
    """Serve over standard input and output."""
    from surehold.agents.guest import Guest
    from surehold.agents.stdio import serve_stdio
    from surehold.agents.toolserver import ToolServer
    from surehold.server.access import Caller
    from surehold.server.service import Service
    from surehold.session import Dataset

    if isinstance(found, Dataset):
        service = Service(found)
        service.load()
        guest = Guest.of(service, Caller(analyst, "analyst"))
    else:
        guest = Guest(found)
    serve_stdio(ToolServer(lambda request: guest, found.guard), found.close)


def _listen(found: Dataset | RemoteSession, host: str, port: int, expose: bool) -> None:
    """Serve over HTTP, by the rules of `surehold serve`."""
    from surehold.agents.http import PATH, serve_http, tool_application
    from surehold.server.addresses import address_of, check_address, listen
    from surehold.server.logs import start_logging
    from surehold.server.service import Service
    from surehold.session import Dataset

    assert isinstance(found, Dataset)
    service = Service(found)
    check_address(host, service.book.is_open, expose)
    service.load()
    start_logging()
    with listen(host, port) as listener:
        where = f"serving tools at {address_of(listener)}{PATH}"
        app = tool_application(service, found.close)
        serve_http(app, service.settings, listener, lambda: console.note(where))
