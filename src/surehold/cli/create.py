"""`surehold create` and `surehold append`: what a custodian does."""

from __future__ import annotations

import re
import sys
import uuid
from pathlib import Path

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, dataset_on
from surehold.cli.types import DATASET, HELP, PLACE
from surehold.errors import InvalidInput


@click.command(context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="A file that `surehold plan --json` wrote.",
)
@click.option(
    "--like",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A CSV, Parquet, Arrow or NDJSON file with the columns that records will have.",
)
@click.option(
    "--column",
    "columns",
    metavar="NAME:TYPE",
    multiple=True,
    help="A column and its type: int, float, bool or str, or its categories: str in ('NO', 'SE'). "
    "Repeat it for each; with --like, only for those that the sample shows wrong.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def create(
    dataset: Path, plan_file: Path, like: Path | None, columns: tuple[str, ...], as_json: bool
) -> None:
    """Make a dataset, bound to its plan, in a folder of its own.

    \b
    surehold plan --n0 20000 --n 2000000 --alpha 0.1 --beta 0.05 --json > plan.json
    surehold create clinic --plan plan.json --like jan.csv
    surehold create clinic --plan plan.json --like jan.csv --column rating:float
    surehold create clinic --plan plan.json --column age:int --column city:str
    surehold create clinic --plan plan.json --like jan.csv --column "city:str in ('Oslo', 'Bergen')"

    No record of the sample is kept: append it if it is to count.
    """
    from surehold import session

    named = dict(_column(text) for text in columns) or None
    with session.create(dataset, plan=plan_file, columns=named, like=like) as made:
        status = made.status()
        console.show_status(status, as_json)
    if like is not None:
        from surehold.data.sample_checks import doubts

        console.show_notes(doubts(like, status.columns))


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("source", default="-")
@click.option("--format", "kind", metavar="NAME", help="csv, tsv, parquet, arrow or ndjson.")
@click.option("--again", is_flag=True, help="Keep them even if the same append was made before.")
@click.option("--key", "own_key", help="A name of your own: sent again with it, kept once.")
@TOKEN_FILE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def append(
    dataset: Place, source: str, kind: str | None, again: bool, own_key: str | None, as_json: bool
) -> None:
    """Add the records of a file, or of standard input as one JSON object a line.

    \b
    surehold append clinic jan.csv
    generate | surehold append clinic

    All of them are kept, durably, or none. The format is told by the file's name; `-` is standard
    input. If it fails and nobody can know whether they were kept, the message says which --key to
    run it again with, so that they are kept once; without --key each run has one of its own.
    """
    key = uuid.uuid4().hex if own_key is None else own_key
    with dataset_on(dataset) as opened:
        if source == "-" and kind not in (None, "ndjson"):
            raise InvalidInput("--format", "ndjson for standard input", kind)
        given = sys.stdin.buffer if source == "-" else Path(source)
        with console.counting("records") as progress:
            appended = opened.append(given, format=kind, progress=progress, again=again, key=key)
        console.show_result(appended, as_json)


def _column(text: str) -> tuple[str, str]:
    """A name may have colons in it, and so may categories: the first type there is decides."""
    match = _TYPED.fullmatch(text)
    if match is not None:
        return match[1], match[2]
    name, colon, kind = text.rpartition(":")
    if not colon:
        raise InvalidInput("--column", "NAME:TYPE, such as age:int", text)
    return name, kind


_TYPED = re.compile(r"(.*?)[:=]((?:int|float|bool|str)(?:\s+in\s*\(.*)?)", re.DOTALL)
