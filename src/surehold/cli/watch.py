"""`surehold watch`: ask the questions of a dashboard, from cron for instance."""

from __future__ import annotations

import click

from surehold.cli import console
from surehold.cli.decide import GATE_CODES
from surehold.cli.place import TOKEN_FILE, Place, session_on
from surehold.cli.types import AS_JSON, COUNT, HELP, PLACE


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option(
    "--question",
    "questions",
    metavar="NAME",
    multiple=True,
    help="Only this question; may be repeated.  [default: all that are watched]",
)
@click.option(
    "--round",
    "held",
    type=COUNT,
    metavar="T",
    help="Ask about the first T records.  [default: all records]",
)
@click.option(
    "--analyst",
    help="The name recorded in the ledger. A service takes it from the token.  [default: analyst]",
)
@TOKEN_FILE
@AS_JSON
def watch(
    dataset: Place,
    questions: tuple[str, ...],
    held: int | None,
    analyst: str | None,
    as_json: bool,
) -> None:
    """Ask the questions of the dashboard at the present round, and check their gates.

    \b
    surehold register shop dashboard.toml
    surehold watch shop

    All are asked in one pass, all or none. It is free if no records have arrived since they were
    last asked. Exit code 0 means that no gate failed or is undecided, 6 that one failed, and 7 that
    none failed but one is undecided; 2, 3 and 5 are as for ask.
    """
    with session_on(dataset, analyst, held) as session:
        watched = session.watch(questions or None)
        console.show_watched(watched, session, as_json)
    click.get_current_context().exit(GATE_CODES[watched.verdict or "pass"])
