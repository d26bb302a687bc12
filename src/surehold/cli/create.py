"""`surehold create` and `surehold append`: the custodian's commands."""

from __future__ import annotations

import re
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, dataset_on
from surehold.cli.types import AS_JSON, COUNT, DATASET, DIALECT, FILE, HELP, PLACE, combine
from surehold.errors import InvalidInput


@click.command(context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.option(
    "--beta",
    metavar="B",
    help="Surprise guard, no plan needed: the probability that any interval of the whole analysis "
    "misses, such as 0.05.",
)
@click.option(
    "--claims",
    type=COUNT,
    metavar="K",
    help="About how many different questions you expect to ask, with --beta.  [default: 20]",
)
@click.option(
    "--limit", metavar="BITS", help="The most bits that all analysts may spend, with --beta."
)
@click.option(
    "--plan",
    "plan_file",
    type=FILE,
    help="Noise guard: a plan written by `surehold plan --json`.",
)
@click.option(
    "--like",
    type=FILE,
    help="A sample file (CSV, Parquet, Arrow or NDJSON) to take the columns from.",
)
@click.option(
    "--column",
    "columns",
    metavar="NAME:TYPE",
    multiple=True,
    help="A column and its type: int, float, bool, str, date or timestamp, or its categories: "
    "str in ('NO', 'SE'). Repeat for each column; with --like, give only those that the sample "
    "gets wrong.",
)
@click.option(
    "--id",
    metavar="COLUMN",
    help="The column, int or str, that identifies a record: append then adds new ids only.",
)
@combine(*DIALECT)
@AS_JSON
def create(
    dataset: Path,
    beta: str | None,
    claims: int | None,
    limit: str | None,
    plan_file: Path | None,
    like: Path | None,
    columns: tuple[str, ...],
    id: str | None,
    as_json: bool,
    **dialect: Any,
) -> None:
    """Create a dataset, bound to its guard, in a new folder.

    \b
    surehold create evals --beta 0.05 --like evals.csv
    surehold create shop --beta 0.05 --like day-1.csv --id order_id
    surehold create evals --beta 0.05 --claims 200 --column correct:bool --column label:str
    surehold plan --n0 20000 --n 2000000 --alpha 0.1 --beta 0.05 --json > plan.json
    surehold create clinic --plan plan.json --like jan.csv
    surehold create clinic --plan plan.json --like jan.csv --column rating:float
    surehold create clinic --plan plan.json --column age:int --column city:str
    surehold create clinic --plan plan.json --like jan.csv --column "city:str in ('Oslo', 'Bergen')"

    With --beta every answer is exact but coarse, and what surprises you costs bits: the guard for
    500 to 20,000 records, gates, leaderboards and dashboards. With --plan answers have noise, and a
    budget ends: the guard for many plain numbers about much data. docs/explanation/which-guard.md
    compares them. The guard is fixed for good.

    The sample only supplies the columns: its records are not added. Use append for that.
    """
    from surehold import session

    named = parse_columns(columns) or None
    guard: dict[str, Any] = {"plan": plan_file, "beta": beta, "claims": claims, "limit": limit}
    with session.create(dataset, **guard, columns=named, like=like, id=id, **dialect) as made:
        status = made.status()
        console.show_status(status, as_json)
    if like is not None:
        from surehold.data.file_formats import FileFormat
        from surehold.data.sample_checks import doubts

        for doubt in doubts(like, status.columns, FileFormat.of(None, **dialect)):
            console.note(f"note: {doubt}")


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("source", default="-")
@click.option("--format", "kind", metavar="NAME", help="csv, tsv, parquet, arrow or ndjson.")
@click.option(
    "--again", is_flag=True, help="Add them even if the same records were appended before."
)
@click.option(
    "--key", "own_key", help="An idempotency key: appends with the same key are kept once."
)
@combine(*DIALECT)
@TOKEN_FILE
@AS_JSON
def append(
    dataset: Place,
    source: str,
    kind: str | None,
    again: bool,
    own_key: str | None,
    as_json: bool,
    **dialect: Any,
) -> None:
    """Append records from a file, or from standard input (one JSON object per line).

    \b
    surehold append clinic jan.csv
    surehold append clinic jan.csv.gz
    surehold append clinic januar.csv --delimiter ";" --decimal ,
    generate | surehold append clinic

    Either all records are stored durably, or none. The file's suffix gives the format; .gz or .zst
    after it decompresses; `-` is standard input. If a failure leaves it unclear whether the records
    were stored, the error names the --key to retry with, so that they are stored once. Without
    --key, each run makes its own.
    """
    key = uuid.uuid4().hex if own_key is None else own_key
    with dataset_on(dataset) as opened:
        if source == "-" and kind not in (None, "ndjson"):
            raise InvalidInput("--format", "ndjson for standard input", kind)
        given = sys.stdin.buffer if source == "-" else Path(source)
        with console.counting("records") as progress:
            options: dict[str, Any] = {"again": again, "key": key, **dialect}
            appended = opened.append(given, format=kind, progress=progress, **options)
        console.show_result(appended, as_json)


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Return names and types, as --column gives them."""
    return dict(_parse_column(text) for text in texts)


def _parse_column(text: str) -> tuple[str, str]:
    """Names and categories may contain colons, so the first type found splits the text."""
    match = _TYPED.fullmatch(text)
    if match is not None:
        return match[1], match[2]
    name, colon, kind = text.rpartition(":")
    if not colon:
        raise InvalidInput("--column", "NAME:TYPE, such as age:int", text)
    return name, kind


_TYPED = re.compile(r"(.*?)[:=]((?:int|float|bool|str)(?:\s+in\s*\(.*)?)", re.DOTALL)
