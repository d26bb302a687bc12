"""`surehold mcp`: a dataset as tools for an agent."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, dataset_on
from surehold.cli.serve import leave
from surehold.cli.types import COUNT, HELP, PLACE
from surehold.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from surehold.client import RemoteSession
    from surehold.session import Dataset


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option("--analyst", help="Who asks, for the ledger; tokens say it themselves.")
@click.option("--http", "over_http", is_flag=True, help="Listen at /mcp instead of standard input.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=COUNT, default=8751, show_default=True, help="0 takes any that is free."
)
@click.option(
    "--expose", is_flag=True, help="Listen where others can reach it; needs tokens, wants TLS."
)
@TOKEN_FILE
def mcp(
    dataset: Place, analyst: str | None, over_http: bool, host: str, port: int, expose: bool
) -> None:
    """Let an agent ask, through the tools of the Model Context Protocol.

    \b
    surehold mcp clinic
    surehold mcp https://holdout.example
    surehold mcp clinic --http --port 8751

    Give the address of a surehold serve to an agent that has a shell: it could read a folder, which
    would void every answer. The agent's host starts the command and speaks to it over standard
    input and output; with --http it listens for several, who send the tokens of the dataset.
    """
    if find_spec("mcp") is None:
        raise MissingExtra("surehold mcp", "mcp")
    if over_http and isinstance(dataset, str):
        hint = "run it where the dataset lies, or without --http"
        raise InvalidInput("the dataset", "a folder, if it is served over HTTP", dataset, hint)
    if analyst is not None and (over_http or isinstance(dataset, str)):
        required = "left out, as the token of a service says who asks"
        raise InvalidInput("--analyst", required, analyst)
    with dataset_on(dataset) as found:
        if over_http:
            _listen(found, host, port, expose)
            leave()
        else:
            _answer(found, "agent" if analyst is None else analyst)


def _answer(found: Dataset | RemoteSession, analyst: str) -> None:
    """Over standard input and output."""
    from surehold.agents.stdio import serve_stdio
    from surehold.agents.tools import Guest, ServedGuest
    from surehold.agents.toolserver import ToolServer
    from surehold.server.service import Caller, Service
    from surehold.session import Dataset

    if isinstance(found, Dataset):
        guest: Guest = ServedGuest(Service(found), Caller(analyst, "analyst"))
    else:
        guest = Guest(found)
    serve_stdio(ToolServer(lambda request: guest), found.close)


def _listen(found: Dataset | RemoteSession, host: str, port: int, expose: bool) -> None:
    """Over HTTP, by the rules of `surehold serve`."""
    from surehold.agents.http import PATH, serve_http, tool_application
    from surehold.server.addresses import address_of, check_address, listening
    from surehold.server.logs import start_logging
    from surehold.server.service import Service
    from surehold.session import Dataset

    assert isinstance(found, Dataset)
    service = Service(found)
    check_address(host, service.book, expose)
    start_logging()
    with listening(host, port) as listener:
        where = f"tools for agents at {address_of(listener)}{PATH}"
        app = tool_application(service, found.close)
        serve_http(app, listener, lambda: console.note(where))
