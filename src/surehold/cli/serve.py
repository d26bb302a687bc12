"""`surehold serve` and `surehold token`: serve a dataset over HTTP, and manage access."""

from __future__ import annotations

import gc
import os
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surehold import files
from surehold.checks import check_positive, check_share, check_whole
from surehold.cli import console
from surehold.cli.types import AS_JSON, COUNT, DATASET, EXPOSE, FILE, HELP, HOST, NUMBER, InOrder
from surehold.errors import InvalidInput, MissingExtra, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from surehold.server.oidc import Oidc
    from surehold.server.settings import Settings
    from surehold.server.tokens import Role, Token, TokenBook


class Duration(click.ParamType[float | None]):
    """A duration such as 30d, 12h or 2w; or never."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | None:
        """Parse a duration into seconds; never is None."""
        from surehold.server.tokens import parse_lifetime

        try:
            return parse_lifetime(str(value))
        except InvalidInput:
            self.fail(f"{value!r} is not a duration such as 30d, 12h or 2w, or never.", param, ctx)


@click.command(context_settings=HELP)
@click.argument("datasets", type=DATASET, nargs=-1, metavar="[DATASET]...")
@click.option(
    "--root",
    type=DATASET,
    metavar="FOLDER",
    help="Serve all datasets in this folder, and those that are created there later.",
)
@HOST
@click.option("--port", type=COUNT, default=8750, help="Port to listen on; 0 picks a free one.")
@EXPOSE
@click.option(
    "--base-path",
    default="",
    metavar="PATH",
    help="Path of the service behind a proxy, such as /eval.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="IP address of a proxy whose X-Forwarded-For and X-Forwarded-Proto headers are trusted. "
    "Can be repeated.",
)
@click.option(
    "--oidc",
    type=FILE,
    metavar="FILE",
    help="Let people sign in with accounts of the OpenID provider that this TOML file describes.",
)
@click.option(
    "--rate",
    type=NUMBER,
    default=50.0,
    help="Requests per second and token; bursts of twice as many are allowed.",
)
@click.option(
    "--alert-url",
    envvar="SUREHOLD_ALERT_URL",
    metavar="URL",
    help="Webhook to call when a budget nears its end; better given as SUREHOLD_ALERT_URL, as it "
    "is often a secret.",
)
@click.option(
    "--alert-at",
    "alert_at",
    type=NUMBER,
    multiple=True,
    default=(0.1,),
    metavar="SHARE",
    help="Call it when less than this share of the budget, or of an analyst's limit, is left. Can "
    "be repeated.",
)
@click.option(
    "--alert-width",
    type=NUMBER,
    metavar="WIDTH",
    help="Call it when the next interval would be wider than ± WIDTH.",
)
@click.option(
    "--alert-plain-http",
    is_flag=True,
    help="Allow a webhook on another machine without TLS.",
)
@click.option("--most-append", type=COUNT, default=256, metavar="MB", help="Largest append.")
@click.option("--most-model", type=COUNT, default=64, metavar="MB", help="Largest model.")
@click.option(
    "--no-fixed-time",
    is_flag=True,
    help="Answer immediately. Response times then depend on record values.",
)
def serve(
    datasets: tuple[Path, ...],
    root: Path | None,
    host: str,
    port: int,
    expose: bool,
    **options: Any,
) -> None:
    """Serve datasets over HTTP, with a status page; callers never see a record.

    \b
    surehold serve clinic
    surehold serve clinic shop
    surehold serve --root datasets --base-path /eval
    surehold token create clinic --analyst ann --expires 30d

    One dataset is served at the root; several are served below /d/NAME, where NAME is the name of
    the dataset's folder, each with its own tokens. Tokens that are created in the --root folder
    cover several datasets.

    Until the first token is created, anyone on this machine may ask, and nobody else can connect.
    The log goes to standard error, one JSON object per line. Ctrl-C stops the service after
    finishing the requests in progress.
    """
    if None in map(find_spec, ("fastapi", "uvicorn", "prometheus_client")):
        raise MissingExtra("surehold serve", "serve")
    gc.disable()  # collections while everything is loaded take an eighth of the start
    try:
        _serve(datasets, root, host, port, expose, options)
    finally:
        gc.enable()
    exit_now()


def _serve(
    datasets: tuple[Path, ...],
    root: Path | None,
    host: str,
    port: int,
    expose: bool,
    options: dict[str, Any],
) -> None:
    from surehold.server.traces import traced

    settings = _settings(**options)
    if (not datasets) == (root is None):
        required, got = "given as folders, or by --root", "both" if datasets else "neither"
        raise InvalidInput("the datasets", required, got)
    with traced():
        if len(datasets) == 1:
            _serve_one(datasets[0], host, port, expose, settings)
        else:
            _serve_several(datasets, root, host, port, expose, settings)


def _settings(
    *,
    base_path: str,
    proxies: tuple[str, ...],
    oidc: Path | None,
    rate: float,
    alert_url: str | None,
    alert_at: tuple[float, ...],
    alert_width: float | None,
    alert_plain_http: bool,
    most_append: int,
    most_model: int,
    no_fixed_time: bool,
) -> Settings:
    """Check the options of the service."""
    from surehold.server.addresses import check_alert_url, check_proxies
    from surehold.server.dispatch import check_base_path
    from surehold.server.settings import MEGABYTE, Settings

    return Settings(
        rate=check_positive("--rate", rate, 1e6),
        append_bytes=check_whole("--most-append", most_append, 1) * MEGABYTE,
        model_bytes=check_whole("--most-model", most_model, 1) * MEGABYTE,
        fixed_time=not no_fixed_time,
        base_path=check_base_path(base_path),
        proxies=check_proxies(proxies),
        alert_url=None if alert_url is None else check_alert_url(alert_url, alert_plain_http),
        alert_at=tuple(check_share("--alert-at", share) for share in alert_at),
        alert_width=None if alert_width is None else check_positive("--alert-width", alert_width),
        oidc=None if oidc is None else _read_oidc(oidc),
    )


def _read_oidc(path: Path) -> Oidc:
    if find_spec("jwt") is None or find_spec("cryptography") is None:
        raise MissingExtra("surehold serve --oidc", "oidc")
    from surehold.server import oidc

    return oidc.read(path)


def _serve_one(dataset: Path, host: str, port: int, expose: bool, settings: Settings) -> None:
    """Serve one dataset at the root."""
    from surehold import session
    from surehold.server.addresses import check_address
    from surehold.server.logs import start_logging
    from surehold.server.run import serve as run
    from surehold.server.service import Service
    from surehold.server.tokens import TokenBook

    with session.open(dataset) as opened:
        book = TokenBook(opened.path, guard=opened.guard)
        is_open = book.is_open and settings.oidc is None
        check_address(host, is_open, expose)
        start_logging()
        run(Service(opened, settings, book), host, port, _announcement(is_open))


def _serve_several(
    datasets: tuple[Path, ...],
    root: Path | None,
    host: str,
    port: int,
    expose: bool,
    settings: Settings,
) -> None:
    """Serve datasets below /d/NAME."""
    from surehold.checks import is_loopback
    from surehold.server.addresses import check_address
    from surehold.server.host import Host, check_root
    from surehold.server.logs import start_logging
    from surehold.server.run import serve_host

    folder = None if root is None else check_root(root)
    found = Host(datasets, settings, root=folder, is_exposed=not is_loopback(host))
    check_address(host, not found.has_tokens, expose)
    start_logging()
    serve_host(found, host, port, _announcement(found.front.access.is_open))


def _announcement(is_open: bool) -> Callable[[str], None]:
    access = "open to anyone on this machine" if is_open else "token required"

    def announce(url: str) -> None:
        gc.freeze()  # what is there by now stays, and no collection has to look through it
        gc.enable()
        console.show_text(f"serving at {url} ({access}); press Ctrl-C to stop")

    return announce


def exit_now() -> None:
    """Exit even if a slow ask is still running in a thread.

    Nothing is lost: nobody has seen its answer. A model could otherwise hold us up for ten minutes.
    """
    others = [one for one in threading.enumerate() if one is not threading.current_thread()]
    if any(not one.daemon for one in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


@click.group(context_settings=HELP, cls=InOrder)
def token() -> None:
    """Manage access tokens of a served dataset: role, expiry and spending limit."""


@token.command("create", context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.option(
    "--dataset",
    "names",
    multiple=True,
    metavar="NAME",
    help="For a folder of datasets: the token covers the dataset with this name; can be repeated. "
    "Without it, the token covers all of them, and later ones.",
)
@click.option("--analyst", required=True, help="The analyst's name, as recorded in the ledger.")
@click.option(
    "--role",
    type=click.Choice(["viewer", "submitter", "analyst", "appender", "custodian"]),
    default="analyst",
    help="A viewer may read, an analyst may also ask, an appender may only append; a custodian may "
    "do all this, and manage tokens.",
)
@click.option("--expires", type=Duration(), default="90d", help="Lifetime: 12h, 30d, 8w or never.")
@click.option(
    "--limit",
    type=NUMBER,
    metavar="LIMIT",
    help="What this analyst may spend in total: a share of the budget, such as 0.25; under the "
    "surprise guard, a number of bits, such as 40.",
)
@click.option(
    "--out",
    type=FILE,
    metavar="FILE",
    help="Write the token to a new file that only you can read, instead of printing it.",
)
@AS_JSON
def create_token(
    dataset: Path,
    names: tuple[str, ...],
    analyst: str,
    role: Role,
    expires: float | None,
    limit: float | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Create a token. It is shown only once: the service keeps just its hash.

    \b
    surehold token create clinic --analyst ann --expires 30d --limit 0.25
    surehold token create clinic --analyst ward --role custodian --out ward.token
    surehold token create datasets --dataset clinic --dataset shop --analyst ann

    DATASET is the folder of a dataset or, for a token that covers several, the folder that
    `surehold serve --root` serves.
    """
    book = _open_book(dataset)
    if out is not None:
        _create_file(out)  # first, so that no token is lost
    made, text = book.create(
        analyst, role, seconds=expires, limit=limit, datasets=list(names) or None
    )
    if out is not None:
        _write_token(out, made, text)
        console.show_result(made, as_json)
    elif as_json:
        console.show_json({**made.to_dict(), "token": text})
    else:
        console.show_text(text)
        console.note(f"{made}; keep it safe, it will not be shown again")


@token.command("list", context_settings=HELP)
@click.argument("dataset", type=DATASET)
@AS_JSON
def list_tokens(dataset: Path, as_json: bool) -> None:
    """List all tokens and whether they are still valid."""
    book = _open_book(dataset)
    listed = [(made, book.state(made)) for made in book.tokens]
    if as_json:
        console.show_json({"tokens": [{**made.to_dict(), "state": now} for made, now in listed]})
        return
    for made, now in listed:
        console.show_text(f"{made}  {now}")
    if not listed:
        access = (
            "a service is open to anyone on this machine" if book.is_open else "nobody has access"
        )
        console.note(f"no tokens: {access}")


@token.command("revoke", context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.argument("id")
@AS_JSON
def revoke_token(dataset: Path, id: str, as_json: bool) -> None:
    """Revoke a token, effective immediately. `surehold token list` shows its ID."""
    revoked = _open_book(dataset).revoke(id)
    if as_json:
        console.show_json(revoked.to_dict())
    else:
        console.show_text(f"revoked {revoked}")


def _create_file(path: Path) -> None:
    try:
        path.touch(mode=files.PRIVATE_FILE, exist_ok=False)
    except OSError as error:
        hint = error.strerror or str(error)
        raise InvalidInput("--out", "a new file", str(path), hint) from error


def _write_token(path: Path, token: Token, text: str) -> None:
    try:
        files.write_file(path, f"{text}\n".encode(), f"writing {path}")
    except StorageFailed as error:
        hint = f"revoke the token, which was created: surehold token revoke DATASET {token.id}"
        raise StorageFailed(error.what, error.reason, hint, kept=True) from error


def _open_book(dataset: Path) -> TokenBook:
    from surehold import session
    from surehold.server.host import is_root
    from surehold.server.tokens import TokenBook

    if is_root(dataset):
        return TokenBook(dataset.absolute(), guard=None)
    with session.open(dataset) as opened:
        return TokenBook(opened.path, guard=opened.guard)
