"""The question of a leaderboard, which its custodian fixes: one metric of predictions.

All records of the board's round count. A prediction that is missing is wrong, or loses the most, so
that nobody gains by leaving out what is hard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from surehold.checks import check_fraction, check_text, check_whole
from surehold.errors import InvalidInput
from surehold.queries.derived import Gate, gate
from surehold.queries.differences import difference
from surehold.queries.metrics import score_table
from surehold.queries.schema import Schema
from surehold.queries.statistical import Difference, Statistical, fraction, mean
from surehold.queries.writer import name as written
from surehold.queries.writer import number

_LOSSES = ("zero_one", "absolute", "mae", "squared", "mse", "brier")
METRICS = ("accuracy", "exact_match", *_LOSSES)
"""What a board can rank by: means over records, so that two are compared record by record."""
_MOST_A_DAY = 1000
_LONGEST_TITLE = 80


@dataclass(frozen=True)
class LeaderboardRules:
    """What a custodian fixes once: the question, the step, the round, and who may do how much.

    ``step`` is by how much a submission has to be better, as text, exactly. ``daily`` is the most
    submissions of one analyst in a day (UTC). A ``public`` board can be read without a token.
    """

    title: str
    target: str
    metric: str
    step: str
    daily: int
    public: bool
    round: int
    positive: str | float | bool | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        check_text("title", self.title, _LONGEST_TITLE)
        if self.metric not in METRICS:
            hint = "a rate, an F1 or an AUC is no mean over records: ask for those with score"
            raise InvalidInput("metric", f"one of {', '.join(METRICS)}", self.metric, hint)
        required = "a number above 0 and below the range of the metric, such as 0.01"
        step = check_fraction("step", self.step, required, lambda x: x > 0)
        object.__setattr__(self, "step", str(step))
        check_whole("daily", self.daily, 1, _MOST_A_DAY)
        if type(self.public) is not bool:
            raise InvalidInput("public", "true or false", self.public)
        check_whole("round", self.round, 1)
        if step >= Fraction(self.score("p", ("id", "prediction")).high):
            raise InvalidInput("step", required, str(step))

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Read the rules from an entry of the ledger."""
        return cls(**{name: body[name] for name in cls.__dataclass_fields__})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as the ledger keeps them."""
        return asdict(self)

    def check(self, columns: Schema) -> None:
        """Refuse a target that no prediction in a table can be compared with."""
        if columns.id is None:
            hint = "create it with --id NAME: a submission says for each id what is predicted"
            raise InvalidInput("the dataset", "one whose records have an id", "without", hint)
        fraction(f"({self.target}) is null").form(columns)

    @property
    def is_loss(self) -> bool:
        """Whether lower is better."""
        return self.metric in _LOSSES

    def score(self, table: str, columns: Sequence[str]) -> Statistical:
        """The query that scores a table, whose id is the first of its columns, on all records."""
        about = {"target": self.target, "positive": self.positive}
        bounds = {"low": self.low, "high": self.high}
        found = score_table(self.metric, table, columns, None, **about, **bounds)
        assert isinstance(found, Statistical)
        # A query that reads the id itself is about all records, covered or not.
        missing = f"{written(table)}.{written(columns[0])} is null"
        if found.kind == "mean":
            most = number(found.high)
            text = f"case when {missing} then {most} else {found.text} end"
            return mean(text, found.low, found.high)
        return fraction(
            f"{missing} or ({found.text})" if self.is_loss else f"not ({missing}) and {found.text}"
        )

    def gain(self, new: Statistical, best: Statistical) -> Difference:
        """By how much a submission is better than another: above zero is better."""
        found = difference(best, new) if self.is_loss else difference(new, best)
        assert isinstance(found, Difference)
        return found

    def certified(self, gain: Difference) -> Gate:
        """Whether it is better on the population too."""
        return gate(gain, at_least=0)
