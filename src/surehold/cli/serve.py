"""`surehold serve` and `surehold token`: a dataset behind HTTP, and who may come."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surehold import files
from surehold.checks import check_positive, check_whole
from surehold.cli import console
from surehold.cli.types import COUNT, DATASET, HELP, NUMBER, InOrder
from surehold.errors import InvalidInput, MissingExtra, StorageFailed

if TYPE_CHECKING:
    from surehold.server.tokens import Role, Token, TokenBook

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)


class Duration(click.ParamType[float | None]):
    """How long: 30d, 12h, 2w; or never, for a token that does not expire."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | None:
        """In seconds."""
        if value == "never":
            return None
        match = _DURATION.fullmatch(str(value))
        if match is None or int(match[1]) == 0:
            self.fail(f"{value!r} is not a time such as 30d, 12h or 2w; or say never.", param, ctx)
        return float(int(match[1]) * _UNITS[match[2]])


@click.command(context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=COUNT, default=8750, show_default=True, help="0 takes any that is free."
)
@click.option(
    "--expose", is_flag=True, help="Listen where others can reach it; needs tokens, wants TLS."
)
@click.option(
    "--rate",
    type=NUMBER,
    default=50.0,
    show_default=True,
    help="Requests a second, for each token; twice as many at once.",
)
@click.option(
    "--most-append",
    type=COUNT,
    default=256,
    show_default=True,
    metavar="MB",
    help="The largest append.",
)
@click.option(
    "--most-model",
    type=COUNT,
    default=64,
    show_default=True,
    metavar="MB",
    help="The largest model.",
)
@click.option(
    "--no-fixed-time",
    is_flag=True,
    help="Answer at once. The time that it takes then tells of records.",
)
def serve(
    dataset: Path,
    host: str,
    port: int,
    expose: bool,
    rate: float,
    most_append: int,
    most_model: int,
    no_fixed_time: bool,
) -> None:
    """Let others ask over HTTP, who never hold a record, and show a page to watch it.

    \b
    surehold serve clinic
    surehold token create clinic --analyst ann --expires 30d

    Until the first token is made anybody on this machine may ask, and nobody else can reach it.
    The log goes to standard error, one JSON object a line. Stop it with Ctrl-C: what is under way
    is finished.
    """
    for package in ("fastapi", "uvicorn", "prometheus_client"):
        if find_spec(package) is None:
            raise MissingExtra("surehold serve", "serve")
    from surehold import session
    from surehold.server.addresses import check_address
    from surehold.server.logs import start_logging
    from surehold.server.run import serve as run
    from surehold.server.service import Service
    from surehold.server.settings import MEGABYTE, Settings
    from surehold.server.tokens import TokenBook

    settings = Settings(
        rate=check_positive("--rate", rate, 1e6),
        append_bytes=check_whole("--most-append", most_append, 1) * MEGABYTE,
        model_bytes=check_whole("--most-model", most_model, 1) * MEGABYTE,
        fixed_time=not no_fixed_time,
    )
    with session.open(dataset) as opened:
        book = TokenBook(opened.path)
        check_address(host, book, expose)
        start_logging()
        run(Service(opened, settings, book), host, port, _announce(book))
    leave()


def leave() -> None:
    """End now, also if an ask that takes long is still under way: it was told to nobody.

    Nothing is lost by it. A model would otherwise be waited for, up to ten minutes.
    """
    others = [one for one in threading.enumerate() if one is not threading.current_thread()]
    if any(not one.daemon for one in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _announce(book: TokenBook) -> Callable[[str], None]:
    who = "anybody on this machine may ask" if book.is_open else "who has a token may ask"
    return lambda url: console.show_text(f"serving at {url} ({who}); Ctrl-C stops it")


@click.group(context_settings=HELP, cls=InOrder)
def token() -> None:
    """Who may come to a served dataset, as whom, until when, and how much they may spend."""


@token.command("create", context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.option("--analyst", required=True, help="Whose it is: the name in the ledger.")
@click.option(
    "--role",
    type=click.Choice(["viewer", "analyst", "custodian"]),
    default="analyst",
    show_default=True,
    help="To look; to ask too; to append too.",
)
@click.option(
    "--expires",
    type=Duration(),
    default="90d",
    show_default=True,
    help="After how long it opens nothing any more: 12h, 30d, 8w; or never.",
)
@click.option(
    "--limit",
    type=NUMBER,
    metavar="SHARE",
    help="The share of the budget that this analyst may spend in all, such as 0.25.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it to a new file that only you can read, instead of showing it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def create_token(
    dataset: Path,
    analyst: str,
    role: Role,
    expires: float | None,
    limit: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Make a token. It is shown this once: only its hash is kept.

    \b
    surehold token create clinic --analyst ann --expires 30d --limit 0.25
    surehold token create clinic --analyst ward --role custodian --out ward.token
    """
    book = _book(dataset)
    if out is not None:
        made = _written(out, lambda: book.create(analyst, role, seconds=expires, limit=limit))
        console.show_result(made, as_json)
        return
    made, text = book.create(analyst, role, seconds=expires, limit=limit)
    if as_json:
        console.show_json({**made.to_dict(), "token": text})
    else:
        console.show_text(text)
        console.note(f"{made}; keep it safe, it is not shown again")


@token.command("list", context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_tokens(dataset: Path, as_json: bool) -> None:
    """All tokens that were made, and whether they still open the door."""
    book = _book(dataset)
    listed: list[dict[str, Any]] = [
        {**token.to_dict(), "state": book.state(token)} for token in book.tokens
    ]
    if as_json:
        console.show_json({"tokens": listed})
        return
    for made in book.tokens:
        console.show_text(f"{made}  {book.state(made)}")
    if not listed:
        console.note("there are none: anybody on this machine may ask a service")


@token.command("revoke", context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.argument("id")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def revoke_token(dataset: Path, id: str, as_json: bool) -> None:
    """Make a token open nothing any more, at once. `surehold token list` shows its ID."""
    revoked = _book(dataset).revoke(id)
    if as_json:
        console.show_json(revoked.to_dict())
    else:
        console.show_text(f"revoked {revoked}")


def _written(path: Path, make: Callable[[], tuple[Token, str]]) -> Token:
    """Into a file of its own, which has to be new: made first, so that no token is lost."""
    try:
        path.touch(mode=files.PRIVATE_FILE, exist_ok=False)
    except OSError as error:
        hint = error.strerror or str(error)
        raise InvalidInput("--out", "a file that is not there yet", str(path), hint) from error
    token, text = make()
    try:
        files.write_file(path, f"{text}\n".encode(), f"writing {path}")
    except StorageFailed as error:
        hint = f"the token was made, and nobody has it: surehold token revoke DATASET {token.id}"
        raise StorageFailed(error.what, error.reason, hint, kept=True) from error
    return token


def _book(dataset: Path) -> TokenBook:
    from surehold import session
    from surehold.server.tokens import TokenBook

    with session.open(dataset) as opened:
        return TokenBook(opened.path)
