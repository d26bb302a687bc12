"""`surehold leaderboard`: open a board, submit predictions to it, and show it."""

from __future__ import annotations

from pathlib import Path

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, dataset_on, session_on
from surehold.cli.types import AS_JSON, COUNT, HELP, NUMBER, PLACE, InOrder, parse_label

_METRICS = ("accuracy", "exact_match", "zero_one", "mae", "mse", "brier")


@click.group(context_settings=HELP, cls=InOrder)
def leaderboard() -> None:
    """Run a leaderboard: predictions by one metric, each compared with the best so far.

    It needs the surprise guard, and records with an id.
    """


@leaderboard.command("open", context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option("--title", required=True, help="What it is called.")
@click.option("--target", required=True, metavar="COLUMN", help="The column that is predicted.")
@click.option(
    "--metric",
    type=click.Choice(_METRICS),
    metavar="NAME",
    default="accuracy",
    help=f"One of {', '.join(_METRICS)}.",
)
@click.option(
    "--step", required=True, metavar="B", help="By how much a new best has to be better, at least."
)
@click.option("--daily", type=COUNT, default=10, help="Most submissions of one analyst in a day.")
@click.option("--public", is_flag=True, help="Let everyone read the board without a token.")
@click.option("--positive", metavar="LABEL", help="The positive label, for brier.")
@click.option("--low", type=NUMBER, help="Smallest value of a numeric target, for mae and mse.")
@click.option("--high", type=NUMBER, help="Largest value of a numeric target.")
@TOKEN_FILE
@AS_JSON
def open_board(
    dataset: Place,
    title: str,
    target: str,
    metric: str,
    step: str,
    daily: int,
    public: bool,
    positive: str | None,
    low: float | None,
    high: float | None,
    as_json: bool,
) -> None:
    """Open a leaderboard over the records that are there now. Its question is fixed for good.

    \b
    surehold leaderboard open evals --title "Spam" --target label --step 0.01 --public

    A submission is a new best if it is better than the best so far by the step or more, over these
    records. Records that are appended later do not count.
    """
    label = None if positive is None else parse_label(positive)
    with dataset_on(dataset) as opened:
        board = opened.open_leaderboard(
            title,
            target=target,
            metric=metric,
            step=step,
            daily=daily,
            public=public,
            positive=label,
            low=low,
            high=high,
        )
    console.show_leaderboard(board, as_json)


@leaderboard.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument(
    "predictions", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
@click.option("--name", help="Its name on the board, for good.  [default: the name of the file]")
@click.option(
    "--analyst",
    help="The name recorded in the ledger. A service takes it from the token.  [default: analyst]",
)
@TOKEN_FILE
@AS_JSON
def submit(
    dataset: Place, predictions: Path, name: str | None, analyst: str | None, as_json: bool
) -> None:
    """Submit predictions, and learn whether they are better than the best so far.

    \b
    surehold leaderboard submit evals run-17.csv --name "my model"
    surehold leaderboard submit https://surehold.example run-17.csv --name "my model"

    The file (CSV, Parquet, JSON lines or Arrow) has the id column and the predictions, one row for
    each record of the board. A prediction that is missing counts as wrong. The same predictions
    again are free.
    """
    with session_on(dataset, analyst, None) as session:
        console.show_result(session.submit(predictions, name), as_json)


@leaderboard.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@TOKEN_FILE
@AS_JSON
def show(dataset: Place, as_json: bool) -> None:
    """Show the leaderboard: ranks with their intervals, and what was not better. Free."""
    with dataset_on(dataset) as opened:
        console.show_leaderboard(opened.leaderboard, as_json)
