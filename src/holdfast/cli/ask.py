"""`holdfast quote` and `holdfast ask`: what an analyst does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli import console
from holdfast.cli.types import COUNT, DATASET, HELP

if TYPE_CHECKING:
    from holdfast.session import Session

ROUND = click.option(
    "--round",
    "held",
    type=COUNT,
    metavar="T",
    help="Ask the snapshot of the first T records, at its price.  [default: all records]",
)

ANALYST = click.option(
    "--analyst", default="analyst", show_default=True, help="Who asks, for the ledger."
)
KEY = click.option("--key", help="A name of your own: asked again with it, the same answer, free.")
EXPLAIN = click.option(
    "--explain", is_flag=True, help="Where the width comes from and what it rests on."
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@contextmanager
def session_on(dataset: Path, analyst: str, held: int | None) -> Iterator[Session]:
    """An analyst's session on a dataset, at the round that is asked for."""
    from holdfast import session

    with session.open(dataset) as opened:
        asking = opened.session(analyst)
        asking.hold(held)
        yield asking


@click.command(context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.argument("query")
@ROUND
@AS_JSON
def quote(dataset: Path, query: str, held: int | None, as_json: bool) -> None:
    """What an answer would cost and how wide it would be. Free; no record is touched."""
    with session_on(dataset, "analyst", held) as asking:
        console.show_result(asking.quote(query), as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=DATASET)
@click.argument("queries", metavar="QUERY...", nargs=-1, required=True)
@ROUND
@ANALYST
@KEY
@EXPLAIN
@AS_JSON
def ask(
    dataset: Path,
    queries: tuple[str, ...],
    held: int | None,
    analyst: str,
    key: str | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Ask, and get a value with a width that holds for all answers together.

    \b
    holdfast ask clinic "age > 65 and city = 'Oslo'"
    holdfast ask clinic "mean(bmi, 10, 60)"
    holdfast ask clinic "histogram(bins(age, 0, 18, 65, 120))"
    holdfast ask clinic "rate(cured, treated)"

    Plain text is the fraction of records for which it is true; mean(EXPRESSION, LOW, HIGH) is a
    mean. docs/reference/queries.md has all that can be asked, docs/reference/language.md the
    language. Several queries are answered all or none, in one pass. Exit code 2 means that the
    query can't be meant, 3 that the budget is exhausted, 5 that the dataset is not ready.
    """
    # Only a fit goes through the records more than once.
    is_long = any(query.lstrip().lower().startswith("fit(") for query in queries)
    with session_on(dataset, analyst, held) as asking:
        with console.counting("records") if is_long else nullcontext() as progress:
            if len(queries) == 1:
                answers = [asking.ask(queries[0], key=key, progress=progress)]
            else:
                answers = list(asking.ask_many(queries, key=key, progress=progress))
        console.show_answers(answers, asking, explain=explain, as_json=as_json)
