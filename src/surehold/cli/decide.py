"""`surehold gate`, `select` and `score`: decisions, choices and models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from surehold.cli import console
from surehold.cli.ask import ANALYST, AS_JSON, EXPLAIN, FIXED_TIME, KEY, ROUND
from surehold.cli.place import TOKEN_FILE, Place, session_on
from surehold.cli.types import COUNT, HELP, NUMBER, PLACE
from surehold.errors import InvalidInput

GATE_CODES = {"pass": 0, "fail": 6, "undecided": 7}
"""What `surehold gate` ends with."""

METRICS = (
    "accuracy",
    "auc",
    "zero_one",
    "log",
    "squared",
    "absolute",
    "brier",
    "confusion",
    "calibration",
)
"""As in queries.metrics, which would take long to load for a command that does not need it."""

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]{1,18}\.[0-9]{1,18}")


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("query")
@click.option("--at-least", type=NUMBER, help="Pass if the population's value is at least this.")
@click.option("--at-most", type=NUMBER, help="Pass if the population's value is at most this.")
@ROUND
@ANALYST
@KEY
@FIXED_TIME
@EXPLAIN
@TOKEN_FILE
@AS_JSON
def gate(
    dataset: Place,
    query: str,
    at_least: float | None,
    at_most: float | None,
    held: int | None,
    analyst: str | None,
    key: str | None,
    fixed_time: bool | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Pass, fail or undecided: is a value at least, or at most, so much?

    \b
    surehold gate clinic "smoker" --at-most 0.3
    surehold gate clinic "rate(cured, treated)" --at-least 0.8
    surehold gate https://surehold.example "smoker" --at-most 0.3 --key build-17

    It passes if the whole interval does and fails if none of it does. Exit code 0 means pass, 6
    fail and 7 undecided; 2, 3 and 5 are as for ask.
    """
    from surehold import queries

    if (at_least is None) == (at_most is None):
        got = "neither" if at_least is None else "both"
        raise InvalidInput("the gate", "given one of --at-least and --at-most", got)
    asked = queries.gate(query, at_least=at_least, at_most=at_most)
    with session_on(dataset, analyst, held, fixed_time) as asking:
        verdict = asking.ask(asked, key=key)
        console.show_answers([verdict], asking, explain=explain, as_json=as_json)
    click.get_current_context().exit(GATE_CODES[verdict.verdict])


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("candidates", metavar="QUERY...", nargs=-1, required=True)
@click.option(
    "--best",
    type=click.Choice(["lowest", "highest"]),
    default="lowest",
    show_default=True,
    help="Whether the queries are losses or scores.",
)
@click.option(
    "--price", type=COUNT, default=25, show_default=True, help="What it may cost, in answers."
)
@ROUND
@ANALYST
@KEY
@FIXED_TIME
@EXPLAIN
@TOKEN_FILE
@AS_JSON
def select(
    dataset: Place,
    candidates: tuple[str, ...],
    best: Any,
    price: int,
    held: int | None,
    analyst: str | None,
    key: str | None,
    fixed_time: bool | None,
    explain: bool,
    as_json: bool,
) -> None:
    """Choose the best of several queries, at one price however many there are.

    \b
    surehold select clinic "(age > 60) <> ill" "(age > 70) <> ill" "smoker <> ill"

    The answer names one of them and says by how much the best can be better.
    """
    from surehold import queries

    asked = queries.select(candidates, best=best, price=price)
    with session_on(dataset, analyst, held, fixed_time) as asking:
        choice = asking.ask(asked, key=key)
        console.show_answers([choice], asking, explain=explain, as_json=as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("model", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--features", required=True, metavar="A,B,...", help="Columns the model is given.")
@click.option("--target", required=True, metavar="COLUMN", help="What it predicts.")
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    metavar="NAME",
    default="accuracy",
    show_default=True,
    help=f"How it is judged: {', '.join(METRICS)}.",
)
@click.option("--classes", metavar="A,B,...", help="The labels, if the model does not say them.")
@click.option("--most", type=NUMBER, help="Where the log loss is cut off.")
@click.option("--low", type=NUMBER, help="The least that a regressor's target can be.")
@click.option("--high", type=NUMBER, help="The most that it can be.")
@click.option("--bins", type=COUNT, default=10, show_default=True, help="Of a calibration.")
@ROUND
@ANALYST
@KEY
@FIXED_TIME
@EXPLAIN
@TOKEN_FILE
@AS_JSON
def score(
    dataset: Place,
    model: Path,
    features: str,
    target: str,
    metric: str,
    classes: str | None,
    most: float | None,
    low: float | None,
    high: float | None,
    bins: int,
    held: int | None,
    analyst: str | None,
    key: str | None,
    fixed_time: bool | None,
    explain: bool,
    as_json: bool,
) -> None:
    """How good an ONNX model is, on records that whoever made it need not see.

    \b
    surehold score clinic model.onnx --features age,bmi --target ill
    """
    from surehold.queries.metrics import score as score_query

    if model.suffix.lower() != ".onnx":
        raise InvalidInput("the model", "an ONNX file, MODEL.onnx", str(model))
    asked = score_query(
        model,
        metric,
        features=_listed(features),
        target=target,
        classes=None if classes is None else [_value(text) for text in _listed(classes)],
        low=low,
        high=high,
        most=most,
        bins=bins,
    )
    with session_on(dataset, analyst, held, fixed_time) as asking:
        with console.counting("records") as progress:
            answer = asking.ask(asked, key=key, progress=progress)
        console.show_answers([answer], asking, explain=explain, as_json=as_json)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _value(text: str) -> str | int | float | bool:
    """A label as it is meant: 1, 2.5, true, or a text. Words such as nan are texts."""
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
