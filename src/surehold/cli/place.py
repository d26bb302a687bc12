"""Open a dataset: a local folder, or a service at an address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from surehold import files
from surehold.cli import console
from surehold.cli.types import FILE
from surehold.errors import InvalidInput

if TYPE_CHECKING:
    from surehold.client import RemoteSession
    from surehold.session import Dataset, Session

Place: TypeAlias = Path | str
"""A local folder, or the address of a service."""

_TOKEN_FILE = "surehold.token_file"


def _store_token_file(context: click.Context, option: click.Parameter, value: Path | None) -> None:
    context.meta[_TOKEN_FILE] = value


TOKEN_FILE = click.option(
    "--token-file",
    type=FILE,
    metavar="FILE",
    expose_value=False,
    callback=_store_token_file,
    help="Read the service's token from this file instead of SUREHOLD_TOKEN. (No option takes the "
    "token itself: it would end up in the shell history and in process lists.)",
)


@contextmanager
def dataset_on(place: Place) -> Iterator[Dataset | RemoteSession]:
    """Open a dataset to read it or append to it."""
    file: Path | None = click.get_current_context().meta.get(_TOKEN_FILE)
    if isinstance(place, str):
        from surehold import client

        with client.connect(place, None if file is None else _read_token(file)) as connected:
            yield connected
        return
    if file is not None:
        raise InvalidInput("--token-file", "omitted for a local dataset", str(file))
    from surehold import session

    with session.open(place) as opened:
        remark = files.exposure(opened.path)
        if remark is not None:
            console.note(remark)
        yield opened


@contextmanager
def session_on(
    place: Place, analyst: str | None, held: int | None, fixed_time: bool | None = None
) -> Iterator[Session | RemoteSession]:
    """Open an analyst's session on a dataset, at the given round."""
    if isinstance(place, str) and fixed_time is not None:
        raise InvalidInput("--fixed-time", "omitted, as the service decides this", place)
    if isinstance(place, str) and analyst is not None:
        required = "omitted, as the token identifies the analyst"
        raise InvalidInput("--analyst", required, analyst)
    with dataset_on(place) as found:
        from surehold.session import Dataset

        name = "analyst" if analyst is None else analyst
        if isinstance(found, Dataset):
            from surehold.mechanisms import SystemNoise

            found.noise = found.noise or SystemNoise(ahead=0)  # a command asks once: no pool
            asking: Session | RemoteSession = found.session(name, fixed_time=fixed_time)
        else:
            asking = found
        asking.hold(held)
        yield asking


def _read_token(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("--token-file", "a readable file", str(file)) from error
