"""`surehold succeed`: the custodian's way to erase a record, or to change a column."""

from __future__ import annotations

from pathlib import Path

import click

from surehold.cli import console
from surehold.cli.create import parse_columns
from surehold.cli.types import AS_JSON, DATASET, FILE, HELP
from surehold.errors import InvalidInput


@click.command(context_settings=HELP)
@click.argument("old", type=DATASET)
@click.argument("new", type=DATASET)
@click.option("--erase", type=FILE, help="A file with the ids of records to erase, one on a line.")
@click.option(
    "--add-column",
    "added",
    metavar="NAME=FILE",
    multiple=True,
    help="A new column and a file with it and the id. Repeat for each column.",
)
@click.option(
    "--column",
    "columns",
    metavar="NAME:TYPE",
    multiple=True,
    help="Another type for a column, or the type of an added one.",
)
@click.option("--id", metavar="COLUMN", help="The column that identifies a record from now on.")
@click.option(
    "--reason", required=True, help="Why; both ledgers keep it for good, so name nobody in it."
)
@AS_JSON
def succeed(
    old: Path,
    new: Path,
    erase: Path | None,
    added: tuple[str, ...],
    columns: tuple[str, ...],
    id: str | None,
    reason: str,
    as_json: bool,
) -> None:
    """Replace a dataset by a new one: without some records, or with other columns.

    \b
    surehold succeed clinic clinic-2 --erase ids.txt --reason "erasure on request"
    surehold succeed clinic clinic-2 --add-column region=regions.csv --reason "regions known"
    surehold succeed clinic clinic-2 --column rating:float --reason "ratings have decimals"

    NEW takes over the records of OLD, and all that was spent stays spent. OLD is closed for good:
    it refuses questions and records and names NEW, but its transcript stays, and verify works. The
    files of erased records are removed. It needs the surprise guard. If it is interrupted, run the
    same command again.
    """
    from surehold import session

    sources = dict(_parse_source(text) for text in added)
    mended = parse_columns(columns)
    succession = session.succeed(
        old, new, reason=reason, erase=erase, add=sources, columns=mended, id=id
    )
    console.show_result(succession, as_json)


def _parse_source(text: str) -> tuple[str, Path]:
    name, equals, path = text.partition("=")
    if not equals or not name or not path:
        raise InvalidInput("--add-column", "NAME=FILE, such as region=regions.csv", text)
    return name, Path(path)
