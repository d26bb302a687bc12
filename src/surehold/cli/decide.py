"""`surehold gate`, `select` and `score`: decide, choose and judge models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from surehold.cli.ask import Asking, asking_options
from surehold.cli.place import Place
from surehold.cli.types import COUNT, HELP, NUMBER, PLACE, parse_label
from surehold.errors import InvalidInput
from surehold.formatting import Finding

GATE_CODES = {"pass": 0, "fail": 6, "undecided": 7}
"""The exit codes of `surehold gate`."""

METRICS = (
    "accuracy",
    "exact_match",
    "precision",
    "recall",
    "f1",
    "jaccard",
    "auc",
    "zero_one",
    "log",
    "squared",
    "mse",
    "absolute",
    "mae",
    "brier",
    "confusion",
    "calibration",
)
"""As in queries.metrics, which would take long to load for a command that does not need it."""

_CODE = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".h5", ".keras")


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
        got = Finding("neither is given" if at_least is None else "both are given")
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
@click.argument(
    "scored", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
@click.option("--target", required=True, metavar="COLUMN", help="The column it predicts.")
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    metavar="NAME",
    default="accuracy",
    help=f"One of {', '.join(METRICS)}.",
)
@click.option("--at-least", type=NUMBER, help="Only check whether the score is at least this.")
@click.option("--at-most", type=NUMBER, help="Only check whether the score is at most this.")
@click.option("--name", help="What to call it, for good.  [default: the name of the file]")
@click.option("--features", metavar="A,B,...", help="The input columns of a model.")
@click.option(
    "--prediction",
    metavar="COLUMN",
    help="The column of a table.  [default: the only one besides the id, or prediction or answer]",
)
@click.option(
    "--positive", metavar="LABEL", help="The positive label, for precision, recall, f1 and jaccard."
)
@click.option("--classes", metavar="A,B,...", help="The labels, if they are not known otherwise.")
@click.option("--most", type=NUMBER, help="Clip the log loss of a model at this value.")
@click.option("--low", type=NUMBER, help="Smallest value of a numeric target.")
@click.option("--high", type=NUMBER, help="Largest value of a numeric target.")
@click.option("--bins", type=COUNT, default=10, help="Number of bins, for calibration.")
@asking_options
def score(
    dataset: Place,
    scored: Path,
    at_least: float | None,
    at_most: float | None,
    name: str | None,
    features: str | None,
    prediction: str | None,
    asking: Asking,
    **about: Any,
) -> None:
    """Score predictions, or an ONNX model, on records that their author never sees.

    \b
    surehold score evals run-17.csv --target label
    surehold score evals run-17.csv --target label --metric recall --positive spam
    surehold score evals run-17.csv --target label --at-least 0.8
    surehold score clinic model.onnx --features age,bmi --target ill

    A table of predictions (CSV, Parquet, JSON lines or Arrow) has the dataset's id column and the
    predictions. The score is about the records that the table covers. With --at-least or --at-most
    it is a gate: exit code 0 means pass, 6 fail and 7 undecided.
    """
    from surehold import queries

    if at_least is not None and at_most is not None:
        raise InvalidInput("the gate", "given at most one of --at-least and --at-most", "both")
    for option in ("classes", "positive"):
        about[option] = _parse_labels(about[option])
    of_model = scored.suffix.lower() == ".onnx"
    if scored.suffix.lower() in _CODE:
        required = "a table of predictions, or an ONNX file (MODEL.onnx): other models are programs"
        raise InvalidInput("the file", required, str(scored))
    build = _of_model(scored, features, about) if of_model else _of_table(scored, prediction, about)

    def query(session: Any) -> Any:
        asked = build(session, name)
        if at_least is None and at_most is None:
            return asked
        return queries.gate(asked, at_least=at_least, at_most=at_most)

    [result] = asking.ask(dataset, [query], counts=of_model)
    if at_least is not None or at_most is not None:
        click.get_current_context().exit(GATE_CODES[result.verdict])


def _of_model(file: Path, features: str | None, about: dict[str, Any]) -> Callable[..., Any]:
    """Return what builds the query about a model, which is kept under its name."""
    from surehold.queries.metrics import score as score_query

    if features is None:
        raise InvalidInput("--features", "given for a model: its input columns", None)
    del about["positive"]

    def build(session: Any, name: str | None) -> Any:
        asked = score_query(file, features=_split(features), **about)
        session.keep_model(file, name)
        return asked

    return build


def _of_table(file: Path, prediction: str | None, about: dict[str, Any]) -> Callable[..., Any]:
    """Return what builds the query about predictions, which are kept under their name."""
    from surehold.queries.metrics import score_table

    positive = about["positive"] or [None]
    del about["most"]

    def build(session: Any, name: str | None) -> Any:
        kept = session.keep_table(file, name)
        scored = {**about, "prediction": prediction, "positive": positive[0]}
        return score_table(name=kept.name, columns=tuple(kept.columns), **scored)

    return build


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_labels(text: str | None) -> list[str | int | float | bool] | None:
    return None if text is None else [parse_label(part) for part in _split(text)]
