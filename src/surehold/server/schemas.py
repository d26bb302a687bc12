"""The JSON of requests and responses, with the schemas that OpenAPI publishes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model
from starlette.responses import JSONResponse

from surehold import queries
from surehold.checks import LONGEST_FRACTION
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.formatting import Finding
from surehold.planning import ComparisonRow
from surehold.queries import Dashboard, Query
from surehold.queries.dashboard import LONGEST_NAME, LONGEST_UNIT, MOST_QUESTIONS
from surehold.queries.lexer import LONGEST_QUERY
from surehold.queries.metrics import MetricName, score, score_table
from surehold.queries.selection import USUAL_PRICE
from surehold.server.service import MOST_QUERIES
from surehold.session import (
    Answer,
    Choice,
    Dataset,
    DecisionOutcome,
    Estimate,
    Fitted,
    Growth,
    History,
    KeptModel,
    KeptTable,
    LadderOutcome,
    NumberOutcome,
    Registered,
    Round,
    SelectionOutcome,
    Table,
    TableOutcome,
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
ExactNumber = Annotated[str, Field(max_length=LONGEST_FRACTION)] | int | Finite
"""A number as it is written: 0.1 is 1/10. Text keeps more than the 15 digits of a float."""
Expect = Annotated[
    ExactNumber | None,
    Field(
        description="The number that you expect, or the verdict: pass, fail, undecided, not pass; "
        "no, or not better, for an improvement. What comes as expected costs little. "
        "Surprise guard only."
    ),
]
Within = Annotated[
    ExactNumber | None,
    Field(description="How far off it may be; for an improvement, the step. Surprise guard only."),
]
Doubt = Annotated[
    ExactNumber | None,
    Field(
        description="The probability that it comes out otherwise; learned from the past if left "
        "out. Surprise guard only."
    ),
]
Share = Annotated[
    ExactNumber | None,
    Field(description="Divide this share of beta, up to what is left, among the questions."),
]


Tables = Annotated[
    dict[str, Annotated[str, Field(max_length=200)]] | None,
    Field(
        max_length=100,
        description="What the queries call uploaded side tables: `p.answer = label` needs "
        '`{"p": "run-17"}`, the name or the hash that the upload returned.',
    ),
]


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


class ScoreTable(Body):
    """A question about predictions in an uploaded side table, like `surehold score`."""

    metric: MetricName
    table: str = Field(description="The name, or hash, of the upload.", max_length=100)
    target: str = Field(max_length=10_000)
    prediction: str | None = Field(default=None, max_length=128)
    positive: str | bool | int | Finite | None = None
    classes: list[str | bool | int | float] | None = Field(default=None, max_length=10_000)
    low: Finite | None = None
    high: Finite | None = None
    bins: int = Field(default=10, ge=1, le=1000)

    def query(self, dataset: Dataset) -> Query:
        """Return the corresponding query."""
        kept = dataset.table(self.table)
        options = self.model_dump(exclude={"table"})
        return score_table(name=kept.name, columns=tuple(kept.columns), **options)


Asked = Annotated[
    str | Score | ScoreTable,
    Field(
        description="A query of the language, such as `age > 65` or `mean(bmi, 10, 60)`, or one "
        "about a model or predictions."
    ),
]


def one_key(header: str | None, body: str | None) -> str | None:
    """Return the key of a request, from its header or its body."""
    if header is not None and not header.isascii():
        # HTTP headers have no one encoding: the same key would be another one in the body.
        required = "of ASCII characters, in the header Idempotency-Key"
        raise InvalidInput("key", required, "not ASCII", "send it in the body")
    if header is not None and body is not None and header != body:
        hint = "send only one"
        raise InvalidInput("key", "the same as the header Idempotency-Key", body, hint)
    return body if header is None else header


def _query(asked: str | Score | ScoreTable, dataset: Dataset) -> Query:
    return dataset.query(asked) if isinstance(asked, str) else asked.query(dataset)


class Expected(Body):
    """What the analyst expects of an answer."""

    expect: Expect = None
    within: Within = None
    doubt: Doubt = None

    def expectation(self) -> dict[str, Any]:
        """Return what a session's ``quote`` takes."""
        return self.model_dump(include=set(Expected.model_fields))


class WithTables(Body):
    """Side tables that were uploaded, by the names that the queries have for them."""

    tables: Tables = None

    def brought(self, dataset: Dataset) -> dict[str, KeptTable] | None:
        """Return what a session's ``ask`` takes: names are looked up here, and no file is read."""
        if self.tables is None:
            return None
        return {alias: dataset.table(name) for alias, name in self.tables.items()}


class QuoteBody(Expected, WithTables):
    """A question to quote."""

    query: Asked
    round: RoundNumber | None = None

    def build(self, dataset: Dataset) -> Query:
        """Return the query to quote or to ask."""
        return _query(self.query, dataset)


class Options(Body):
    """What every ask may say besides its question."""

    round: RoundNumber | None = None
    key: Key | None = None

    def options(self, header: str | None) -> dict[str, Any]:
        """Return what a session's ``ask`` takes; ``header`` is the Idempotency-Key."""
        names = {*Options.model_fields, *Expected.model_fields} - {"round"}
        return {**self.model_dump(include=names), "key": one_key(header, self.key)}


class AskBody(Options, QuoteBody):
    """One question."""


class ReserveBody(Body):
    """What is kept for an analyst."""

    analyst: str = Field(min_length=1, max_length=200)
    amount: float = Field(ge=0, description="A share of the budget, or bits; 0 releases it.")


class SucceedBody(Body):
    """What a successor is called, and what is changed in it."""

    name: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$", description="Of its folder.")
    reason: str = Field(min_length=1, max_length=1000, description="Kept for good: name nobody.")
    erase: list[int | str] | None = Field(None, description="Ids of records to erase.")
    add: dict[str, list[dict[str, Any]]] | None = Field(None, description="New columns, with ids.")
    columns: dict[str, str] | None = Field(None, description="Other types of columns.")
    id: str | None = Field(None, description="The column that identifies a record from now on.")


class Several(WithTables):
    """Several questions."""

    queries: list[Asked] = Field(min_length=1, max_length=MOST_QUERIES)

    def build(self, dataset: Dataset) -> list[Query]:
        """Return the queries."""
        return [_query(one, dataset) for one in self.queries]


class AskManyBody(Options, Several):
    """Several questions, answered all or none, at one round."""


class QuestionBody(Body):
    """A question of a dashboard, like a table in its file."""

    name: str = Field(max_length=LONGEST_NAME)
    question: str = Field(description="A query of the language.", max_length=LONGEST_QUERY)
    unit: str | None = Field(default=None, max_length=LONGEST_UNIT)
    gate: str | None = Field(default=None, description="`>= 0.8` or `<= 250`.", max_length=100)
    at_least: Finite | None = None
    at_most: Finite | None = None
    watch: bool = True


class RegisterBody(WithTables):
    """Questions whose intervals are claimed from now on: queries, or a dashboard with names."""

    queries: list[Asked] | None = Field(default=None, min_length=1, max_length=MOST_QUERIES)
    questions: list[QuestionBody] | None = Field(
        default=None, min_length=1, max_length=MOST_QUESTIONS
    )
    share: Share = None
    round: RoundNumber | None = None

    def build(self, dataset: Dataset) -> list[Query] | Dashboard:
        """Return what to register."""
        if (self.queries is None) == (self.questions is None):
            got = Finding("neither is given" if self.queries is None else "both are given")
            raise InvalidInput("the body", "given one of queries and questions", got)
        if self.questions is not None:
            return Dashboard.of([one.model_dump() for one in self.questions])
        return [_query(one, dataset) for one in self.queries or ()]


class WatchBody(Body):
    """Which questions of the dashboard to ask; all that are watched, if left out."""

    questions: list[Annotated[str, Field(max_length=LONGEST_NAME)]] | None = Field(
        default=None, min_length=1, max_length=MOST_QUESTIONS
    )
    round: RoundNumber | None = None


class SelectBody(Options, Expected, WithTables):
    """Choose the best of several queries, at one price for any number of them."""

    candidates: (
        Annotated[list[Asked], Field(min_length=1, max_length=10_000)]
        | Annotated[dict[str, Asked], Field(min_length=1, max_length=10_000)]
    )
    best: Literal["lowest", "highest"] = "lowest"
    price: int = Field(default=USUAL_PRICE, ge=1, le=1_000_000)

    def build(self, dataset: Dataset) -> queries.Select:
        """Return the selection to ask."""
        given = self.candidates
        candidates = (
            {name: _query(one, dataset) for name, one in given.items()}
            if isinstance(given, dict)
            else [_query(one, dataset) for one in given]
        )
        return queries.select(candidates, best=self.best, price=self.price)


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


class Reply(JSONResponse):
    """One strictly valid JSON object; a lone surrogate, which UTF-8 lacks, stays escaped."""

    def render(self, content: Any) -> bytes:
        """Return it as bytes."""
        try:
            return super().render(content)
        except UnicodeEncodeError:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def reply(result: Shown | dict[str, Any]) -> Reply:
    """Return a result in the form that every surface uses."""
    return Reply(result if isinstance(result, dict) else result.to_dict())


NoisyResult = Answer | Table | Estimate | Verdict | Choice | Fitted
AnyOutcome = NumberOutcome | DecisionOutcome | LadderOutcome | SelectionOutcome | TableOutcome
Result = NoisyResult | AnyOutcome
"""What a question may come to, under either guard; ``kind`` says which."""


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
Held = create_model("Held", round=int, answers_left=int | None)
Claimed = create_model("Claimed", registered=list[Registered])
Histories = create_model("Histories", histories=list[History])
Rounds = create_model("Rounds", rounds=list[Round])
Grown = create_model("Grown", growth=list[Growth])
Compared = create_model("Compared", entries=list[ComparisonRow])
Models = create_model("Models", models=list[KeptModel])
KeptTables = create_model("KeptTables", tables=list[KeptTable])
Health = create_model("Health", status=str, version=str)
Failure = create_model("Failure", error=Error)


def gives(model: Any, *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the responses of a route, for OpenAPI."""
    return {200: {"model": model}, **failures(*statuses)}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors of a route, for OpenAPI."""
    return {status: {"model": Failure, "description": _WORDS[status]} for status in statuses}


_WORDS = {
    400: "The body is not valid JSON.",
    401: "Not authenticated: no token, or one that is not valid.",
    402: "The budget, or a limit, does not allow it. This is final for this question.",
    403: "Permission denied: the role does not allow this.",
    404: "Not found.",
    405: "Method not allowed.",
    408: "The body arrived too slowly.",
    409: "The plan does not cover that round, or its records are not there yet.",
    410: "The dataset was closed or retired: it is only read.",
    413: "The body is too large.",
    415: "The content type is not supported.",
    422: "A value is invalid, or the query is, or it needs the other guard.",
    429: "Rate limited; Retry-After says when to try again.",
    501: "The service lacks an optional package.",
    503: "The disk failed, or another process holds a lock. Try again, with the key.",
}
USUAL = (401, 403, 422, 429, 503)
WITH_BODY = (*USUAL, 400, 408, 413, 415)
