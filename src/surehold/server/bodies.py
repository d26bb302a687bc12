"""What requests carry, as OpenAPI tells it and as it is checked: strictly, and nothing besides."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from surehold import queries
from surehold.errors import InvalidInput
from surehold.queries import Query
from surehold.queries.models import LOSSES
from surehold.server.service import MOST_QUERIES
from surehold.session import Dataset

_LARGEST = 2**53  # beyond it, many readers of JSON round whole numbers

Round = Annotated[int, Field(ge=0, le=_LARGEST, description="Ask the first so many records.")]
Key = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="A name of your own for this question: sent again with it, the same answer, "
        "free. The header Idempotency-Key says the same.",
    ),
]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Body(BaseModel):
    """What every body is."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Score(Body):
    """A question about an uploaded ONNX model, as `surehold score` asks it."""

    metric: Literal[
        "accuracy",
        "auc",
        "brier",
        "calibration",
        "confusion",
        "zero_one",
        "log",
        "squared",
        "absolute",
    ]
    model: str = Field(description="Its name, as the upload gave it: onnx:...", max_length=100)
    features: list[str] = Field(min_length=1, max_length=10_000)
    target: str = Field(max_length=10_000)
    classes: list[str | bool | int | float] | None = Field(default=None, max_length=10_000)
    most: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None
    bins: int = Field(default=10, ge=1, le=1000)

    def query(self, dataset: Dataset) -> Query:
        """The query that it stands for."""
        content = dataset.model_content(self.model)
        if content is None:
            hint = "upload it first: POST /v1/models"
            raise InvalidInput("the model", "one that is kept here", self.model, hint)
        common: dict[str, Any] = {
            "features": self.features,
            "target": self.target,
            "classes": self.classes,
        }
        if self.metric in LOSSES:
            common |= {"low": self.low, "high": self.high, "most": self.most}
            return queries.loss(content, kind=self.metric, **common)
        if self.metric == "calibration":
            return queries.calibration(content, bins=self.bins, **common)
        made: Query = getattr(queries, self.metric)(content, **common)
        return made


Asked = Annotated[
    str | Score,
    Field(
        description="A query of the language, such as `age > 65` or `mean(bmi, 10, 60)`, or one "
        "about a model."
    ),
]


def query_of(asked: str | Score, dataset: Dataset) -> Query:
    """The query that a body holds."""
    return queries.query_of(asked) if isinstance(asked, str) else asked.query(dataset)


class QuoteBody(Body):
    """What would it cost?"""

    query: Asked
    round: Round | None = None


class AskBody(QuoteBody):
    """One question."""

    key: Key | None = None


class AskManyBody(Body):
    """Several questions, answered all or none, at one round."""

    queries: list[Asked] = Field(min_length=1, max_length=MOST_QUERIES)
    round: Round | None = None
    key: Key | None = None


class SelectBody(Body):
    """Choose the best of several queries, at one price however many there are."""

    candidates: (
        Annotated[list[Asked], Field(min_length=1, max_length=10_000)]
        | Annotated[dict[str, Asked], Field(min_length=1, max_length=10_000)]
    )
    best: Literal["lowest", "highest"] = "lowest"
    price: int = Field(default=25, ge=1, le=1_000_000)
    round: Round | None = None
    key: Key | None = None


class HoldBody(Body):
    """May this round be held? Null asks for the present one."""

    round: Round | None = None
