"""Where a dataset is: in a folder here, or behind the address of a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click

from surehold import files
from surehold.cli import console
from surehold.errors import InvalidInput

if TYPE_CHECKING:
    from surehold.client import RemoteSession
    from surehold.session import Dataset, Session

Place: TypeAlias = Path | str
"""A folder, or an address."""

_TOKEN_FILE = "surehold.token_file"


def _remember(context: click.Context, option: click.Parameter, value: Path | None) -> None:
    context.meta[_TOKEN_FILE] = value


TOKEN_FILE = click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    expose_value=False,
    callback=_remember,
    help="Where the token for a service is, if not in SUREHOLD_TOKEN. (No option takes the token "
    "itself: it would be in the shell's history and in lists of processes.)",
)


@contextmanager
def dataset_on(place: Place) -> Iterator[Dataset | RemoteSession]:
    """A dataset to look at, or to append to."""
    file: Path | None = click.get_current_context().meta.get(_TOKEN_FILE)
    if isinstance(place, str):
        from surehold import client

        with client.connect(place, None if file is None else _token(file)) as connected:
            yield connected
        return
    if file is not None:
        raise InvalidInput("--token-file", "left out, as the dataset is a folder here", str(file))
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
    """An analyst's session on a dataset, at the round that is asked for."""
    if isinstance(place, str) and fixed_time is not None:
        raise InvalidInput("--fixed-time", "left out, as the service decides it", place)
    if isinstance(place, str) and analyst is not None:
        required = "left out, as the token of a service says who asks"
        raise InvalidInput("--analyst", required, analyst)
    with dataset_on(place) as found:
        from surehold.session import Dataset

        name = "analyst" if analyst is None else analyst
        if isinstance(found, Dataset):
            asking: Session | RemoteSession = found.session(name, fixed_time=fixed_time)
        else:
            asking = found
        asking.hold(held)
        yield asking


def _token(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("--token-file", "a file that can be read", str(file)) from error
