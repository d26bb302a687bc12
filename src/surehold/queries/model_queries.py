"""Making queries about models, and reading them back from a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from surehold.checks import check_positive, check_whole
from surehold.errors import InvalidInput, InvalidQuery
from surehold.queries.axes import MOST_CELLS, Axis, read_axis, refuse_many
from surehold.queries.axes import Literal as Label
from surehold.queries.base import Query
from surehold.queries.differences import check_statistical
from surehold.queries.expressions import LARGEST, Column, Number, Text, Truth
from surehold.queries.lexer import Kind
from surehold.queries.models import (
    LOSSES,
    OF_NUMBERS,
    TABLES,
    Improvement,
    Model,
    ModelScore,
    ModelTable,
)
from surehold.queries.parser import Parser, parse
from surehold.queries.statistical import (
    Difference,
    Statistical,
    check_bounds,
    check_length,
    contrast,
)

M = TypeVar("M", bound=ModelScore | ModelTable)

_MOST_BINS = 1000
_LARGEST_LOSS = 1000.0


def accuracy(
    model: object,
    *,
    features: Sequence[str],
    target: str,
    classes: Sequence[Any] | None = None,
    takes: str = "numpy",
) -> ModelScore:
    """The fraction of records whose target a model predicts.

    A model is a fitted scikit-learn estimator, an ONNX model (bytes, or the name of a file) or a
    callable that makes numbers in [0, 1] of a block of records, of which a half or more means true.
    A record for which it gives none, for whatever reason, counts as not predicted; for a callable,
    whose number is then 0, as predicted to be false.
    """
    return _build(ModelScore, "accuracy", model, features, target, classes, takes)


def loss(
    model: object,
    *,
    features: Sequence[str],
    target: str,
    kind: str,
    low: float | None = None,
    high: float | None = None,
    most: float | None = None,
    classes: Sequence[Any] | None = None,
    takes: str = "numpy",
) -> ModelScore:
    """The mean loss of a model, the loss of each record being cut off.

    ``kind`` is zero_one (how often it is wrong), log (of the probability of what came; cut off at
    ``most``), squared or absolute (of a regressor; prediction and target are cut off at ``low`` and
    ``high``).
    """
    if not isinstance(kind, str) or kind not in LOSSES:  # type: ignore[redundant-expr]
        raise InvalidInput("kind", f"one of {', '.join(LOSSES)}", kind)
    bounds = (0.0, 1.0)
    if kind == "log":
        if most is None:
            required = "given: where the loss of a record is cut off, such as 5"
            raise InvalidInput("most", required, most)
        bounds = check_bounds(0.0, check_positive("most", most, _LARGEST_LOSS))
    elif kind in OF_NUMBERS:
        if low is None or high is None:
            required = f"given for a {kind} loss: where prediction and target are cut off"
            raise InvalidInput("low and high", required, (low, high))
        bounds = check_bounds(low, high)
    return _build(ModelScore, kind, model, features, target, classes, takes, bounds)


def brier(
    model: object,
    *,
    features: Sequence[str],
    target: str,
    classes: Sequence[Any] | None = None,
    takes: str = "numpy",
) -> ModelTable:
    """The Brier score of a model's probabilities: of all records, and what each class adds to it.

    For two classes (p - y)^2; for more, half the sum of the squares over the classes.
    """
    return _build(ModelTable, "brier", model, features, target, classes, takes)


def confusion(
    model: object,
    *,
    features: Sequence[str],
    target: str,
    classes: Sequence[Any] | None = None,
    takes: str = "numpy",
) -> ModelTable:
    """The share of records for every pair of an actual and a predicted class."""
    return _build(ModelTable, "confusion", model, features, target, classes, takes)


def calibration(
    model: object,
    *,
    features: Sequence[str],
    target: str,
    bins: object = 10,
    classes: Sequence[Any] | None = None,
    takes: str = "numpy",
) -> ModelTable:
    """The share of records for every bin of predicted probability and every actual class.

    The probability is that of the second of two classes.
    """
    bins = check_whole("bins", bins, 1, _MOST_BINS)
    return _build(ModelTable, "calibration", model, features, target, classes, takes, bins=bins)


Compared: TypeAlias = ModelScore | Statistical | str


def improvement(new: Compared, old: Compared) -> Improvement | Difference:
    """How much more accurate a model is than another, or how much less it loses: one answer.

    Both are given as what is compared: ``improvement(accuracy(new, ...), accuracy(old, ...))``. The
    target must be the same; the features need not be. Predictions are compared by conditions,
    whose difference it is.

    >>> improvement("new.answer = label", "old.answer = label")
    difference('new.answer = label', 'old.answer = label')
    """
    if not isinstance(new, ModelScore) and not isinstance(old, ModelScore):
        plus, minus = check_statistical("new", new), check_statistical("old", old)
        return contrast(plus, minus, f"improvement({plus.text}, {minus.text})")
    check_score("new", new)
    check_score("old", old)
    assert isinstance(new, ModelScore)
    assert isinstance(old, ModelScore)
    return _improvement(new, old, f"improvement({new.text}, {old.text})")


def _improvement(new: ModelScore, old: ModelScore, text: str) -> Improvement:
    if (new.metric, new.bounds) != (old.metric, old.bounds):
        raise InvalidQuery("both models need the same metric, on the same scale", text)
    if canonical_target(new) != canonical_target(old):
        raise InvalidQuery("both models need the same target", text)
    return check_length(Improvement(new, old, text))


def check_score(name: str, given: object) -> None:
    """Refuse what is no score of a model."""
    if not isinstance(given, ModelScore):
        raise InvalidInput(name, "an accuracy(...) or a loss(...)", type(given).__name__)


def canonical_target(query: ModelScore) -> str:
    """What is predicted, without the classes, whose order is the model's own."""
    return replace(query.target, values=(), edges=()).canonical


def _build(
    cls: type[M],
    metric: Any,
    model: object,
    features: object,
    target: str,
    classes: Sequence[Any] | None,
    takes: str,
    bounds: tuple[float, float] = (0.0, 1.0),
    bins: int = 1,
) -> M:
    from surehold.models.payload import payload_of

    if isinstance(features, str) or not isinstance(features, Sequence) or not features:
        raise InvalidInput("features", "a list of names of columns", features)
    for feature in features:
        if not isinstance(feature, str):
            raise InvalidInput("features", "a list of names of columns", feature)
    if len(set(features)) < len(features):
        raise InvalidInput("features", "all different", list(features))
    if not isinstance(takes, str):
        raise InvalidInput("takes", "'numpy' or 'arrow'", takes)
    payload = payload_of(model, takes, _list_labels(classes))  # type: ignore[arg-type]  # it checks takes
    axis = Axis(parse(target))
    if metric not in OF_NUMBERS:
        if payload.classes is None:
            required = "a classifier, or given with its classes"
            hint = "for a regressor ask loss(..., kind='squared', low=..., high=...)"
            got = f"a model without classes ({payload.kind})"
            raise InvalidInput("the model", required, got, hint)
        axis = replace(axis, values=tuple(_label(value) for value in payload.classes))
        if metric == "calibration" and len(axis.values) != 2:
            raise InvalidInput("the model", "of two classes", f"{len(axis.values)} of them")
    known = Model(f"{payload.kind}:{payload.digest}", payload)
    query = cls(metric, known, axis, tuple(features), bounds, bins, "")
    query = replace(query, text=query.canonical)
    return _check_readable(_check_cells(check_length(query)))


def _list_labels(classes: object) -> tuple[Any, ...] | None:
    if classes is None:
        return None
    if isinstance(classes, str | bytes) or not isinstance(classes, Iterable):
        raise InvalidInput("classes", "a list of labels", classes)
    listed = tuple(getattr(value, "item", lambda value=value: value)() for value in classes)
    if not listed or not all(isinstance(value, str | int | float) for value in listed):
        raise InvalidInput("classes", "a list of texts, numbers or truth values", classes)
    return listed


def _check_cells(query: M) -> M:
    """Refuse a table that is larger than any other may be."""
    if query.metric == "confusion" and query.target.size**2 > MOST_CELLS:
        refuse_many(query.target.size**2, query.text)
    return query


def _check_readable(query: M) -> M:
    """A ledger has to read it back: labels have to be literals, no two of them the same."""
    from surehold.queries.query_text import query_of

    try:
        is_same = query_of(query.canonical) == query
    except InvalidQuery as error:
        required = "such that a query can name them, each by itself"
        raise InvalidInput("classes and features of a model", required, error.reason) from None
    assert is_same
    return query


def _label(value: object) -> Label:
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, int | float):
        if not abs(value) <= LARGEST:  # no number of the language
            required = f"texts, truth values or numbers up to {LARGEST:g}"
            raise InvalidInput("the classes of the model", required, value)
        return Number(float(value) + 0.0)
    return Text(str(value))


# ----------------------------------------------------------------------------- reading


def read_model(parser: Parser, name: str) -> Query:
    """What follows ``accuracy(`` and its like, as a ledger has it."""
    metric, bounds, bins = name, (0.0, 1.0), 1
    if name == "loss":
        metric = parser.advance().value
        if metric not in LOSSES:
            parser.refuse(f"a loss is one of {', '.join(LOSSES)}")
        parser.expect(",")
        if metric == "log":
            most = check_positive("the most of a log loss", _read_number(parser), _LARGEST_LOSS)
            bounds = check_bounds(0.0, most)
        elif metric in OF_NUMBERS:
            low = _read_number(parser)
            bounds = check_bounds(low, _read_number(parser))
    elif name == "calibration":
        found = _read_number(parser)
        if not (found.is_integer() and 1 <= found <= _MOST_BINS):
            parser.refuse(f"bins must be a whole number from 1 to {_MOST_BINS:,}")
        bins = int(found)
    if parser.token.kind is not Kind.TEXT:
        hint = "pass models in Python or to surehold score; a text can only name one"
        parser.refuse("a model must be named by its hash, in quotes", hint)
    model = Model(parser.advance().value, None)
    parser.expect(",")
    target = read_axis(parser)
    features = []
    while parser.accept(","):
        column = parser.expression()
        if not isinstance(column, Column):
            parser.refuse("features must be columns")
        features.append(column.name)
    if not features or len(set(features)) < len(features):
        parser.refuse("a model needs columns, each of them once")
    if bool(target.values) == (metric in OF_NUMBERS) or target.edges:
        hint = "ill in (false, true); without any for a squared or an absolute loss"
        parser.refuse("the target of a classifier must list its classes", hint)
    if metric == "calibration" and len(target.values) != 2:
        parser.refuse("a calibration needs two classes")
    made = ModelTable if metric in TABLES else ModelScore
    query = made(metric, model, target, tuple(features), bounds, bins, parser.text)  # type: ignore[arg-type]  # checked above, or by READERS
    return _check_cells(query)


def read_improvement(parser: Parser, read: Callable[[Parser], Query]) -> Improvement | Difference:
    """What follows ``improvement(``: two scores of models, or of predictions."""
    new = read(parser)
    parser.expect(",")
    old = read(parser)
    if isinstance(new, Statistical) and isinstance(old, Statistical):
        return contrast(new, old, parser.text)
    if not (isinstance(new, ModelScore) and isinstance(old, ModelScore)):
        parser.refuse("an improvement needs the scores of two models, or two fractions or means")
    return _improvement(new, old, parser.text)


def _read_number(parser: Parser) -> float:
    found = parser.number("expected a number")
    parser.expect(",")
    return found
