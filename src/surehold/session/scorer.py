"""A scorer for scikit-learn's loops, which asks the guarded data instead of scoring on a fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from surehold.errors import InvalidInput
from surehold.queries import Query, Schema, fraction
from surehold.queries.metrics import score
from surehold.queries.models import LOSSES

if TYPE_CHECKING:
    from surehold.session.results import Answer
    from surehold.session.session import Session


class Scorer:
    """Called as scikit-learn calls scorers, ``scorer(estimator, X, y)``; X and y are ignored.

    The score is the answer's value, or minus the loss, so that greater is better. Every estimator
    that has not been scored at this round costs one answer. ``answers`` has all of them, with their
    widths: differences within these mean nothing.
    """

    def __init__(
        self,
        session: Session,
        features: Sequence[str],
        target: str,
        metric: str = "accuracy",
        **options: Any,
    ) -> None:
        if metric != "accuracy" and metric not in LOSSES:
            raise InvalidInput("metric", f"accuracy or one of {', '.join(LOSSES)}", metric)
        needed = {"log": ("most",), "squared": ("low", "high"), "absolute": ("low", "high")}
        for name in needed.get(metric, ()):
            if options.get(name) is None:
                raise InvalidInput(name, f"given for a {metric} loss", None)
        columns = Schema.of(session.columns)
        for name in features:
            if name not in columns:
                raise InvalidInput("features", f"columns of the dataset: {columns.names}", name)
        fraction(f"({target}) is null").form(columns)  # refuses what it can't read
        self._session = session
        self._is_loss = metric != "accuracy"
        self._query: Callable[[object], Query] = partial(
            score, metric=metric, features=list(features), target=target, **options
        )
        self.metric = metric
        self.answers: list[Answer] = []

    def __call__(self, estimator: object, X: object = None, y: object = None) -> float:
        """The score of a fitted estimator."""
        answer: Answer = self._session.ask(self._query(estimator))
        self.answers.append(answer)
        return -answer.value if self._is_loss else answer.value

    def __reduce__(self) -> NoReturn:
        required = "used in the process that opened the dataset"
        raise InvalidInput("the scorer", required, "sent to another", "leave n_jobs out, or say 1")

    def __repr__(self) -> str:
        return f"<scorer: {self.metric}, {len(self.answers)} answers so far>"
