"""The JSON of requests and responses, with the schemas that OpenAPI publishes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from starlette.responses import Response

from surehold import queries
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.planning import ComparisonRow
from surehold.queries import Query
from surehold.queries.metrics import MetricName, score
from surehold.server.service import MOST_QUERIES
from surehold.session import (
    Answer,
    Choice,
    Dataset,
    Estimate,
    Fitted,
    Growth,
    KeptModel,
    Round,
    Table,
    Verdict,
)

LARGEST = 2**53
"""Beyond it, many readers of JSON round whole numbers."""

RoundNumber = Annotated[int, Field(ge=0, le=LARGEST, description="Ask the first `round` records.")]
Key = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="A name of your own for this question: a request that is repeated with it "
        "gets the same answer, free. The header Idempotency-Key does the same.",
    ),
]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Body(BaseModel):
    """The base of all bodies."""

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


class Score(Body):
    """A question about an uploaded ONNX model, like `surehold score`."""

    metric: MetricName
    model: str = Field(description="The name that the upload returned: onnx:...", max_length=100)
    features: list[str] = Field(min_length=1, max_length=10_000)
    target: str = Field(max_length=10_000)
    classes: list[str | bool | int | float] | None = Field(default=None, max_length=10_000)
    most: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None
    bins: int = Field(default=10, ge=1, le=1000)

    def query(self, dataset: Dataset) -> Query:
        """Return the corresponding query."""
        content = dataset.model_content(self.model)
        if content is None:
            hint = "upload it first: POST /v1/models"
            raise InvalidInput("the model", "one that was uploaded", self.model, hint)
        return score(content, **self.model_dump(exclude={"model"}))


Asked = Annotated[
    str | Score,
    Field(
        description="A query of the language, such as `age > 65` or `mean(bmi, 10, 60)`, or one "
        "about a model."
    ),
]


def query_of(asked: str | Score, dataset: Dataset) -> Query:
    """Return the query in a body."""
    return queries.query_of(asked) if isinstance(asked, str) else asked.query(dataset)


class QuoteBody(Body):
    """A question to quote."""

    query: Asked
    round: RoundNumber | None = None


class AskBody(QuoteBody):
    """One question."""

    key: Key | None = None


class AskManyBody(Body):
    """Several questions, answered all or none, at one round."""

    queries: list[Asked] = Field(min_length=1, max_length=MOST_QUERIES)
    round: RoundNumber | None = None
    key: Key | None = None


class SelectBody(Body):
    """Choose the best of several queries, at one price for any number of them."""

    candidates: (
        Annotated[list[Asked], Field(min_length=1, max_length=10_000)]
        | Annotated[dict[str, Asked], Field(min_length=1, max_length=10_000)]
    )
    best: Literal["lowest", "highest"] = "lowest"
    price: int = Field(default=25, ge=1, le=1_000_000)
    round: RoundNumber | None = None
    key: Key | None = None


class HoldBody(Body):
    """The round to hold; null means the present one."""

    round: RoundNumber | None = None


HEADERS = {
    # Styles by hand: charts are drawn with style attributes.
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; object-src 'none'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""For browsers; the page needs no more than this allows."""


class Reply(Response):
    """One strictly valid JSON object; a lone surrogate, which UTF-8 lacks, stays escaped."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return it as bytes."""
        text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def reply(result: Shown | dict[str, Any]) -> Reply:
    """Return a result in the form that every surface uses."""
    return Reply(result if isinstance(result, dict) else result.to_dict())


Result = Answer | Table | Estimate | Verdict | Choice | Fitted
"""What a question may come to; ``kind`` says which."""


@dataclass(frozen=True)
class Answers:
    """Several answers."""

    answers: list[Result]


@dataclass(frozen=True)
class AnswersPage:
    """Some answers; `next` is where the next page begins, null if there is none.

    `total` is the number of all answers of the dataset, independent of the search.
    """

    answers: list[Result]
    next: int | None
    total: int


@dataclass(frozen=True)
class Error:
    """What went wrong: the class, one line, and its numbers."""

    type: str
    message: str
    details: dict[str, Any]


# Responses of one or two fields, for OpenAPI.
Held = create_model("Held", round=int, answers_left=int)
Rounds = create_model("Rounds", rounds=list[Round])
Grown = create_model("Grown", growth=list[Growth])
Compared = create_model("Compared", entries=list[ComparisonRow])
Models = create_model("Models", models=list[KeptModel])
Health = create_model("Health", status=str, version=str)
Failure = create_model("Failure", error=Error)


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors of a route, for OpenAPI."""
    return {status: {"model": Failure, "description": _WORDS[status]} for status in statuses}


_WORDS = {
    400: "The body is not valid JSON.",
    401: "Not authenticated: no token, or one that is not valid.",
    402: "The budget, or the caller's limit, is exhausted. This is final: only records help.",
    403: "Permission denied: the role does not allow this.",
    404: "Not found.",
    405: "Method not allowed.",
    408: "The body arrived too slowly.",
    409: "The plan does not cover that round, or its records are not there yet.",
    413: "The body is too large.",
    415: "The content type is not supported.",
    422: "A value is invalid, or the query is.",
    429: "Rate limited; Retry-After says when to try again.",
    501: "The service lacks an optional package.",
    503: "The disk failed, or another process holds a lock. Try again, with the key.",
}
USUAL = (401, 403, 422, 429, 503)
WITH_BODY = (*USUAL, 400, 408, 413, 415)
