"""`surehold quote` and `surehold ask`: the analyst's commands, and the options asking takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, session_on
from surehold.cli.types import AS_JSON, COUNT, HELP, PLACE, SIDE_TABLE, combine
from surehold.errors import InvalidInput

_ROUND = click.option(
    "--round",
    "held",
    type=COUNT,
    metavar="T",
    help="Ask about the first T records, at the price of that round.  [default: all records]",
)
_EXPECTATION = {
    "expect": click.option(
        "--expect",
        metavar="VALUE",
        help="The number or verdict you expect; what comes as expected costs little. "
        "(Surprise guard.)",
    ),
    "within": click.option(
        "--within", metavar="E", help="How far off it may be: the half-width of a reported cell."
    ),
    "doubt": click.option(
        "--doubt",
        metavar="D",
        help="The probability that it comes out otherwise.  [default: learned from the past]",
    ),
}
_TABLES = click.option(
    "--with",
    "tables",
    type=SIDE_TABLE,
    multiple=True,
    metavar="NAME=FILE",
    help="Bring a side table with the id column and others, such as predictions: with "
    "--with p=run-17.csv a query may say p.answer = label.",
)
_QUESTION = {
    **_EXPECTATION,
    "tables": _TABLES,
    "key": click.option(
        "--key", help="An idempotency key: asking again with the same key repeats the answer, free."
    ),
}
"""What a session's ``ask`` takes besides the query, by the same names."""
_OPTIONS = combine(
    _ROUND,
    click.option(
        "--analyst",
        help="The name recorded in the ledger. A service takes it from the token.  "
        "[default: analyst]",
    ),
    *_QUESTION.values(),
    click.option(
        "--fixed-time/--no-fixed-time",
        default=None,
        help="Release answers at times that do not depend on record values.  "
        "[default: for models and fits]",
    ),
    click.option(
        "--explain", is_flag=True, help="Show how the width is computed and what it assumes."
    ),
    TOKEN_FILE,
    AS_JSON,
)


@dataclass(frozen=True)
class Asking:
    """The options that `ask`, `gate`, `select` and `score` have in common."""

    held: int | None
    analyst: str | None
    fixed_time: bool | None
    explain: bool
    as_json: bool
    options: Mapping[str, Any]

    def ask(self, dataset: Place, queries: Sequence[Any], counts: bool = False) -> list[Any]:
        """Ask, show the answers and return them; ``counts`` shows records as they are evaluated.

        A query may be a function that builds it, given the session.
        """
        with session_on(dataset, self.analyst, self.held, self.fixed_time) as session:
            queries = [query(session) if callable(query) else query for query in queries]
            with console.counting("records") if counts else nullcontext() as progress:
                options = {k: v for k, v in self.options.items() if v is not None and v != ()}
                if "tables" in options:
                    options["tables"] = dict(options["tables"])
                if len(queries) == 1:
                    answers = [session.ask(queries[0], **options, progress=progress)]
                elif options.keys() & _EXPECTATION.keys():
                    required = "used with one query: what is expected differs from query to query"
                    raise InvalidInput("--expect, --within or --doubt", required, len(queries))
                else:
                    answers = list(session.ask_many(queries, **options, progress=progress))
            console.show_answers(answers, session, explain=self.explain, as_json=self.as_json)
        return answers


def asking_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of :class:`Asking`, and pass them as ``asking``."""

    @wraps(command)
    def call(**given: Any) -> None:
        given["options"] = {name: given.pop(name) for name in _QUESTION}
        asking = Asking(**{name: given.pop(name) for name in Asking.__dataclass_fields__})
        command(asking=asking, **given)

    return _OPTIONS(call)  # type: ignore[no-any-return]


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("query")
@_ROUND
@combine(*_EXPECTATION.values(), _TABLES)
@TOKEN_FILE
@AS_JSON
def quote(dataset: Place, query: str, held: int | None, as_json: bool, **options: Any) -> None:
    """Show what an answer would cost and how wide it would be. Free; reads no record."""
    given = {name: value for name, value in options.items() if value is not None}
    given["tables"] = dict(given["tables"])
    with session_on(dataset, None, held) as session:
        console.show_result(session.quote(query, **given), as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("queries", metavar="FILE|QUERY...", nargs=-1, required=True)
@click.option("--analyst", help="The name recorded in the ledger.  [default: analyst]")
@click.option(
    "--share",
    metavar="S",
    help="Divide this share of beta, up to 1, equally among them.  "
    "[default: each gets its usual share]",
)
@_TABLES
@TOKEN_FILE
@AS_JSON
def register(
    dataset: Place,
    queries: tuple[str, ...],
    analyst: str | None,
    share: str | None,
    tables: tuple[tuple[str, Path], ...],
    as_json: bool,
) -> None:
    """Name questions and claim their intervals now, to be asked later. Free; reads no record.

    \b
    surehold register shop dashboard.toml
    surehold register evals "correct" "rate(correct, label = 'cat')"

    A dashboard is a TOML file of questions with names, units and gates, for `surehold watch`.
    Register it again after every change. Under the surprise guard an interval is as wide as the
    bits spent before it was registered demand. So register what you will watch at the start: it
    stays narrow for ever. Under the noise guard only a file can be registered: nothing is claimed.
    """
    from surehold.queries import Dashboard

    is_file = len(queries) == 1 and queries[0].lower().endswith(".toml")
    asked = Dashboard.from_file(queries[0]) if is_file else queries
    with session_on(dataset, analyst, None) as session:
        claims = session.register(asked, share=share, tables=dict(tables))
        console.show_registered(claims, as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("queries", metavar="QUERY...", nargs=-1, required=True)
@asking_options
def ask(dataset: Place, queries: tuple[str, ...], asking: Asking) -> None:
    """Ask one or more queries; each answer comes with a valid confidence interval.

    \b
    surehold ask clinic "age > 65 and city = 'Oslo'"
    surehold ask clinic "mean(bmi, 10, 60)"
    surehold ask clinic "histogram(bins(age, 0, 18, 65, 120))"
    surehold ask clinic "rate(cured, treated)"
    surehold ask https://surehold.example "age > 65"
    surehold ask evals "correct" --expect 0.83 --within 0.01 --doubt 0.05
    surehold ask evals "p.answer = label" --with p=run-17.csv

    A condition asks for the fraction of records that meet it; mean(EXPRESSION, LOW, HIGH) asks for
    a mean. docs/reference/queries.md lists all queries, docs/reference/language.md describes the
    language. Several queries are answered in one pass, all or none. Exit code 2 means an invalid
    query, 3 that the budget is exhausted, 5 that the dataset is not ready.
    """
    # Only a fit passes over the records more than once.
    is_long = any(query.lstrip().lower().startswith("fit(") for query in queries)
    asking.ask(dataset, queries, counts=is_long)
