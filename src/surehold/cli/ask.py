"""`surehold quote` and `surehold ask`: what an analyst does."""

from __future__ import annotations

from contextlib import nullcontext

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, session_on
from surehold.cli.types import COUNT, HELP, PLACE

ROUND = click.option(
    "--round",
    "held",
    type=COUNT,
    metavar="T",
    help="Ask the snapshot of the first T records, at its price.  [default: all records]",
)

ANALYST = click.option(
    "--analyst",
    help="Who asks, for the ledger. A service is told by the token.  [default: analyst]",
)
KEY = click.option("--key", help="A name of your own: asked again with it, the same answer, free.")
FIXED_TIME = click.option(
    "--fixed-time/--no-fixed-time",
    default=None,
    help="Release answers at times that do not depend on records.  [default: for models and fits]",
)
EXPLAIN = click.option(
    "--explain", is_flag=True, help="Where the width comes from and what it rests on."
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("query")
@ROUND
@TOKEN_FILE
@AS_JSON
def quote(dataset: Place, query: str, held: int | None, as_json: bool) -> None:
    """What an answer would cost and how wide it would be. Free; no record is touched."""
    with session_on(dataset, None, held) as asking:
        console.show_result(asking.quote(query), as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("queries", metavar="QUERY...", nargs=-1, required=True)
@ROUND
@ANALYST
@KEY
@FIXED_TIME
@EXPLAIN
@TOKEN_FILE
@AS_JSON
def ask(
    dataset: Place,
    queries: tuple[str, ...],
    held: int | None,
    analyst: str | None,
    key: str | None,
    fixed_time: bool | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Ask, and get a value with a width that holds for all answers together.

    \b
    surehold ask clinic "age > 65 and city = 'Oslo'"
    surehold ask clinic "mean(bmi, 10, 60)"
    surehold ask clinic "histogram(bins(age, 0, 18, 65, 120))"
    surehold ask clinic "rate(cured, treated)"
    surehold ask https://surehold.example "age > 65"

    Plain text is the fraction of records for which it is true; mean(EXPRESSION, LOW, HIGH) is a
    mean. docs/reference/queries.md has all that can be asked, docs/reference/language.md the
    language. Several queries are answered all or none, in one pass. Exit code 2 means that the
    query can't be meant, 3 that the budget is exhausted, 5 that the dataset is not ready.
    """
    # Only a fit goes through the records more than once.
    is_long = any(query.lstrip().lower().startswith("fit(") for query in queries)
    with session_on(dataset, analyst, held, fixed_time) as asking:
        with console.counting("records") if is_long else nullcontext() as progress:
            if len(queries) == 1:
                answers = [asking.ask(queries[0], key=key, progress=progress)]
            else:
                answers = list(asking.ask_many(queries, key=key, progress=progress))
        console.show_answers(answers, asking, explain=explain, as_json=as_json)
