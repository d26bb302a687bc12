"""`surehold gate`, `select` and `score`: decide, choose and judge models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from surehold.cli.ask import Asking, asking_options
from surehold.cli.place import Place
from surehold.cli.types import COUNT, HELP, NUMBER, PLACE
from surehold.errors import InvalidInput

GATE_CODES = {"pass": 0, "fail": 6, "undecided": 7}
"""The exit codes of `surehold gate`."""

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
@asking_options
def gate(
    dataset: Place, query: str, at_least: float | None, at_most: float | None, asking: Asking
) -> None:
    """Check a value against a threshold: pass, fail or undecided.

    \b
    surehold gate clinic "smoker" --at-most 0.3
    surehold gate clinic "rate(cured, treated)" --at-least 0.8
    surehold gate https://surehold.example "smoker" --at-most 0.3 --key build-17

    The gate passes if the whole confidence interval does, and fails if none of it does. Exit code 0
    means pass, 6 fail and 7 undecided; 2, 3 and 5 are as for ask.
    """
    from surehold import queries

    if (at_least is None) == (at_most is None):
        got = "neither" if at_least is None else "both"
        raise InvalidInput("the gate", "given exactly one of --at-least and --at-most", got)
    asked = queries.gate(query, at_least=at_least, at_most=at_most)
    [verdict] = asking.ask(dataset, [asked])
    click.get_current_context().exit(GATE_CODES[verdict.verdict])


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("candidates", metavar="QUERY...", nargs=-1, required=True)
@click.option(
    "--best",
    type=click.Choice(["lowest", "highest"]),
    default="lowest",
    help="Choose the lowest (a loss) or the highest (a score).",
)
@click.option("--price", type=COUNT, default=25, help="Price to pay, in answers.")
@asking_options
def select(
    dataset: Place, candidates: tuple[str, ...], best: Any, price: int, asking: Asking
) -> None:
    """Choose the best of several queries, at one price for any number of them.

    \b
    surehold select clinic "(age > 60) <> ill" "(age > 70) <> ill" "smoker <> ill"

    The answer names one candidate and bounds how much better the best one can be.
    """
    from surehold import queries

    asking.ask(dataset, [queries.select(candidates, best=best, price=price)])


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("model", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--features", required=True, metavar="A,B,...", help="The model's input columns.")
@click.option("--target", required=True, metavar="COLUMN", help="The column it predicts.")
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    metavar="NAME",
    default="accuracy",
    help=f"One of {', '.join(METRICS)}.",
)
@click.option("--classes", metavar="A,B,...", help="The labels, if the model does not list them.")
@click.option("--most", type=NUMBER, help="Clip the log loss at this value.")
@click.option("--low", type=NUMBER, help="Smallest value of a regression target.")
@click.option("--high", type=NUMBER, help="Largest value of a regression target.")
@click.option("--bins", type=COUNT, default=10, help="Number of bins, for calibration.")
@asking_options
def score(
    dataset: Place,
    model: Path,
    features: str,
    target: str,
    metric: str,
    classes: str | None,
    asking: Asking,
    **scale: Any,
) -> None:
    """Evaluate an ONNX model on records that its author never sees.

    \b
    surehold score clinic model.onnx --features age,bmi --target ill
    """
    from surehold.queries.metrics import score as score_query

    if model.suffix.lower() != ".onnx":
        raise InvalidInput("the model", "an ONNX file (MODEL.onnx)", str(model))
    asked = score_query(
        model,
        metric,
        features=_split(features),
        target=target,
        classes=None if classes is None else [_parse_label(text) for text in _split(classes)],
        **scale,
    )
    asking.ask(dataset, [asked], counts=True)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_label(text: str) -> str | int | float | bool:
    """Parse a label: 1, 2.5, true, or a string. Words such as nan are strings."""
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
