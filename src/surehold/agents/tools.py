"""The tools: names, arguments, results and actions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, TypeAdapter, create_model
from pydantic.json_schema import GenerateJsonSchema

from surehold import queries
from surehold.agents import descriptions, rendering, surprise_descriptions, surprise_rendering
from surehold.agents.arguments import (
    Arguments,
    AtRound,
    Count,
    Doubt,
    Expect,
    Key,
    Named,
    QueryText,
    Whole,
    Within,
    Written,
)
from surehold.agents.guest import Guest
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.formatting import Finding
from surehold.queries import Dashboard, Query
from surehold.queries.metrics import MetricName, score_table
from surehold.queries.selection import USUAL_PRICE
from surehold.server.host import Listed
from surehold.server.schemas import AnyOutcome, Claimed, NoisyResult
from surehold.session import (
    BitsLimit,
    Choice,
    History,
    KeptTable,
    Leaderboard,
    Outlook,
    Quote,
    Registered,
    Result,
    Round,
    SelectionOutcome,
    SpendingLimit,
    Status,
    Submitted,
    SurpriseQuote,
    SurpriseStatus,
    Watched,
)
from surehold.session.quotes import describe_left

_PAGE, _LONGEST_PAGE = 20, 200
_LISTED: Any = create_model("Datasets", datasets=list[Listed])


@dataclass(frozen=True)
class Outcome:
    """The result of a call: the dictionary of every surface, and words for a model."""

    values: dict[str, Any]
    text: str


class _Schema(GenerateJsonSchema):
    """JSON Schema without titles and docstrings, which would fill a model's context."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        found = super().dataclass_schema(schema)
        return {name: value for name, value in found.items() if name != "description"}


class Tool(Arguments):
    """A tool with the arguments of one call; the docstring of each is its title.

    ``gives`` has the type of what comes back under each guard that has the tool. ``spends`` says
    whether a call may charge, or add to the ledger; the others change nothing.
    """

    name: ClassVar[str]
    gives: ClassVar[Mapping[str, Any]]
    spends: ClassVar[bool] = False

    @classmethod
    def description(cls, guard: str) -> str:
        """Return what a model reads of it."""
        return TEXTS[guard][cls.name]

    @classmethod
    def title(cls) -> str:
        """Return the name that people see."""
        return str(cls.__doc__).rstrip(".")

    @classmethod
    def input_schema(cls, guard: str) -> dict[str, Any]:
        """Return the schema of the arguments, without those that the guard refuses."""
        schema = {"required": [], **cls.model_json_schema(schema_generator=_Schema)}
        if guard == "noise":
            for name in (*Expected.model_fields, "share"):
                schema["properties"].pop(name, None)
        return schema

    @classmethod
    def output_schema(cls, guard: str) -> dict[str, Any]:
        """Return the schema of the result; its root is an object, for older clients."""
        adapter: TypeAdapter[Any] = TypeAdapter(cls.gives[guard])
        schema = adapter.json_schema(mode="serialization", schema_generator=_Schema)
        return {"type": "object", **schema}

    @classmethod
    def call(cls, guest: Guest, given: Mapping[str, Any]) -> Outcome:
        """Check the arguments and run the tool."""
        return cls.read(given)._run(guest)

    @abstractmethod
    def _run(self, guest: Guest) -> Outcome: ...


@dataclass(frozen=True, repr=False)
class Description(Shown):
    """What has to be known before the first question."""

    columns: Mapping[str, str]
    plan: dict[str, Any]
    rounds: tuple[Round, ...]


@dataclass(frozen=True, repr=False)
class SurpriseDescription(Shown):
    """The same under the surprise guard."""

    columns: Mapping[str, str]
    guard: str
    beta: float
    n: int


class Describe(Tool):
    """Columns, promise and language."""

    name = "describe"
    gives: ClassVar[Any] = {"noise": Description, "surprise": SurpriseDescription}

    def _run(self, guest: Guest) -> Outcome:
        session = guest.session
        status = session.status()
        if isinstance(status, SurpriseStatus):
            found = SurpriseDescription(status.columns, status.guard, status.beta, status.n)
            return Outcome(found.to_dict(), surprise_rendering.of_dataset(status))
        plan, rounds = session.plan, session.rounds
        values = Description(status.columns, plan.to_dict(), rounds).to_dict()
        return Outcome(values, rendering.of_dataset(status, plan, rounds))


@dataclass(frozen=True, repr=False)
class Left(Shown):
    """What is left of the budget, and of the caller's own limit."""

    status: Status
    outlook: Outlook
    limit: SpendingLimit | None


@dataclass(frozen=True, repr=False)
class BitsSpent(Shown):
    """What was spent under the surprise guard, and the caller's own limit."""

    status: SurpriseStatus
    limit: BitsLimit | None


class Budget(Tool):
    """What is left."""

    name = "budget"
    gives: ClassVar[Any] = {"noise": Left, "surprise": BitsSpent}

    def _run(self, guest: Guest) -> Outcome:
        session = guest.session
        status, limit = session.status(), session.limit
        if isinstance(status, SurpriseStatus):
            assert not isinstance(limit, SpendingLimit)
            text = surprise_rendering.of_budget(status, limit)
            return Outcome(BitsSpent(status, limit).to_dict(), text)
        assert not isinstance(limit, BitsLimit)
        outlook = session.outlook()
        values = Left(status, outlook, limit).to_dict()
        return Outcome(values, rendering.of_budget(status, outlook, limit))


class Expected(Tool):
    """A tool that takes what the caller expects, under the surprise guard."""

    expect: Expect = None
    within: Within = None
    doubt: Doubt = None

    def expectation(self) -> dict[str, Any]:
        """Return what a session's ``quote`` takes."""
        return self.model_dump(include=set(Expected.model_fields))


class Question(Tool):
    """A tool about one question."""

    query: QueryText
    round: AtRound = None


class QuoteTool(Expected, Question):
    """What a question would cost (free)."""

    name = "quote"
    gives: ClassVar[Any] = {"noise": Quote, "surprise": SurpriseQuote}

    def _run(self, guest: Guest) -> Outcome:
        quote = guest.at(self.round).quote(self.query, **self.expectation())
        if isinstance(quote, SurpriseQuote):
            return Outcome(quote.to_dict(), surprise_rendering.of_quote(quote))
        status = None if quote.allowed else guest.session.status()
        assert not isinstance(status, SurpriseStatus)
        return Outcome(quote.to_dict(), rendering.of_quote(quote, status))


class Register(Tool):
    """Name questions and claim their intervals (free)."""

    name = "register"
    gives: ClassVar[Any] = {"noise": Claimed, "surprise": Claimed}
    spends = True

    queries: list[str] | None = Field(
        default=None, description="Questions without names, in the query language."
    )
    questions: list[Named] | None = Field(
        default=None, description="Questions with names, for watch."
    )
    share: Written | None = Field(
        default=None,
        description="Divide this share of beta, up to what is left, equally among them; each has "
        "its usual share if left out.",
    )

    def _run(self, guest: Guest) -> Outcome:
        if (self.queries is None) == (self.questions is None):
            got = Finding("neither is given" if self.queries is None else "both are given")
            raise InvalidInput("register", "given one of queries and questions", got)
        asked: Any = self.queries
        if self.questions is not None:
            asked = Dashboard.of([one.model_dump() for one in self.questions])
        claims: tuple[Registered, ...] = guest.at(None).register(asked, share=self.share)
        values = {"registered": [one.to_dict() for one in claims]}
        return Outcome(values, surprise_rendering.of_claims(claims))


class Watch(Tool):
    """Ask the named questions (charged)."""

    name = "watch"
    gives: ClassVar[Any] = {"noise": Watched, "surprise": Watched}
    spends = True

    questions: list[str] | None = Field(
        default=None, description="Names of questions; all that are watched if left out."
    )
    round: AtRound = None

    def _run(self, guest: Guest) -> Outcome:
        watched: Watched = guest.at(self.round).watch(self.questions)
        left = describe_left(guest.session, watched.questions[-1].result)
        return Outcome(watched.to_dict(), rendering.of_watched(watched, left))


class Asking(Tool):
    """A tool that asks, and what its calls may say besides the question."""

    spends = True

    round: AtRound = None
    key: Key = None

    def options(self) -> dict[str, Any]:
        """Return what a session's ``ask`` takes."""
        names = {*Asking.model_fields, *Expected.model_fields} - {"round"}
        return self.model_dump(include=names)

    def _ask(self, guest: Guest, query: Query | str) -> Outcome:
        result: Result = guest.at(self.round).ask(query, **self.options())
        left = describe_left(guest.session, result)
        return Outcome(result.to_dict(), rendering.of_result(result, left))


def _answers(result: Any) -> Any:
    return create_model("Answers", answers=list[result])


def _page(result: Any) -> Any:
    return create_model("AnswersPage", answers=list[result], next=int | None, total=int)


class Ask(Asking, QuoteTool):
    """Ask a question (charged)."""

    name = "ask"
    gives: ClassVar[Any] = {"noise": NoisyResult, "surprise": AnyOutcome}

    def _run(self, guest: Guest) -> Outcome:
        return self._ask(guest, self.query)


class AskMany(Asking):
    """Ask several questions, all or none (charged)."""

    name = "ask_many"
    gives: ClassVar[Any] = {guard: _answers(one) for guard, one in Ask.gives.items()}

    queries: list[str] = Field(min_length=1, description="The questions, in the query language.")

    def _run(self, guest: Guest) -> Outcome:
        results = guest.at(self.round).ask_many(self.queries, **self.options())
        values = {"answers": [result.to_dict() for result in results]}
        left = describe_left(guest.session, results[-1])
        return Outcome(values, rendering.of_results(results, left))


class Select(Asking):
    """Choose the best of several (charged)."""

    name = "select"
    gives: ClassVar[Any] = {"noise": Choice, "surprise": SelectionOutcome}

    candidates: list[str] | dict[str, str] = Field(
        description="Two queries or more on one scale: a list, or an object that names each."
    )
    best: Literal["lowest", "highest"] = Field(
        default="lowest", description="lowest for losses (the default), highest for scores."
    )
    price: Whole = Field(
        default=USUAL_PRICE,
        ge=1,
        description=f"What it may cost, in answers; {USUAL_PRICE} if left out.",
    )

    def _run(self, guest: Guest) -> Outcome:
        asked = queries.select(self.candidates, best=self.best, price=self.price)
        return self._ask(guest, asked)


class Submit(Tool):
    """Submit predictions (free)."""

    name = "submit"
    gives: ClassVar[Any] = {"noise": KeptTable, "surprise": KeptTable}
    spends = True

    rows: list[dict[str, Any]] = Field(
        min_length=1,
        description="One object for each id: the dataset's id column, and what your system said, "
        'such as {"item": "q17", "answer": "cat"}.',
    )
    called: str | None = Field(
        default=None, description="What to call them, for good: a name that is new, such as run-17."
    )

    def _run(self, guest: Guest) -> Outcome:
        kept = guest.keep_table(self.rows, self.called)
        return Outcome(kept.to_dict(), rendering.of_table(kept))


class Score(Expected, Asking):
    """Score submitted predictions (charged)."""

    name = "score"
    gives: ClassVar[Any] = Ask.gives

    table: str = Field(description="The name that submit returned.")
    target: str = Field(description="The column that they predict, or a condition.")
    metric: MetricName = Field(default="accuracy", description="accuracy if left out.")
    prediction: str | None = Field(
        default=None, description="The column of the predictions, if there are several."
    )
    positive: str | float | bool | None = Field(
        default=None, description="The positive label, for precision, recall, f1 and jaccard."
    )
    low: float | None = Field(default=None, description="Where numbers are cut off, for mae, mse.")
    high: float | None = Field(default=None, description="Where numbers are cut off above.")
    at_least: float | None = Field(
        default=None, description="Only learn whether the score is at least this: pass or fail."
    )

    def _run(self, guest: Guest) -> Outcome:
        kept = next((one for one in guest.session.tables if one.name == self.table), None)
        if kept is None:
            raise InvalidInput("table", "one that was submitted", self.table, "call submit first")
        about = self.model_dump(
            include={"metric", "target", "prediction", "positive", "low", "high"}
        )
        asked = score_table(name=kept.name, columns=tuple(kept.columns), **about)
        if self.at_least is not None:
            asked = queries.gate(asked, at_least=self.at_least)
        return self._ask(guest, asked)


class Compare(Submit):
    """Submit predictions to the leaderboard (charged)."""

    name = "compare"
    gives: ClassVar[Any] = {"surprise": Submitted}

    def _run(self, guest: Guest) -> Outcome:
        made = guest.submit(self.rows, self.called)
        return Outcome(made.to_dict(), surprise_rendering.of_submitted(made))


class Board(Tool):
    """The leaderboard (free)."""

    name = "leaderboard"
    gives: ClassVar[Any] = {"surprise": Leaderboard}

    def _run(self, guest: Guest) -> Outcome:
        board = guest.session.leaderboard
        return Outcome(board.to_dict(), surprise_rendering.of_leaderboard(board))


class HistoryTool(Tool):
    """One question over time (free)."""

    name = "history"
    gives: ClassVar[Any] = {"noise": History, "surprise": History}

    question: str = Field(description="The name of the question, or its text.")

    def _run(self, guest: Guest) -> Outcome:
        history = guest.session.history(self.question)
        return Outcome(history.to_dict(), rendering.of_history(history))


class Datasets(Tool):
    """Datasets of the server (free)."""

    name = "datasets"
    gives: ClassVar[Any] = {"noise": _LISTED, "surprise": _LISTED}

    def _run(self, guest: Guest) -> Outcome:
        found = guest.datasets
        return Outcome({"datasets": found}, rendering.of_datasets(found, guest.session.status()))


class Transcript(Tool):
    """What was asked so far."""

    name = "transcript"
    gives: ClassVar[Any] = {guard: _page(one) for guard, one in Ask.gives.items()}

    limit: Whole = Field(
        default=_PAGE,
        ge=1,
        le=_LONGEST_PAGE,
        description=f"How many answers a page has; {_PAGE} if left out.",
    )
    newest: bool = Field(default=True, description="Newest first (the default), or oldest.")
    before: Count | None = Field(
        default=None, description="Only entries before this one: next, newest first."
    )
    after: Count = Field(default=0, description="Only entries after this one: next, oldest first.")
    analyst: str | None = Field(default=None, description="Only what this analyst asked.")
    round: Count | None = Field(default=None, description="Only answers at this round.")
    contains: str = Field(default="", description="Only queries with this text in them.")

    def _run(self, guest: Guest) -> Outcome:
        transcript = guest.session.transcript_of(self.analyst)
        page = transcript.page(**self.model_dump(exclude={"analyst"}))
        return Outcome(page.to_dict(), rendering.of_page(page, self.newest))


TEXTS = {"noise": descriptions.TEXTS, "surprise": surprise_descriptions.TEXTS}
INSTRUCTIONS = {
    "noise": descriptions.INSTRUCTIONS,
    "surprise": surprise_descriptions.INSTRUCTIONS,
}
_ALL = (
    *(Datasets, Describe, Budget, QuoteTool, Register, Watch, Ask, AskMany, Select),
    *(Submit, Score, Compare, Board, HistoryTool, Transcript),
)
TOOLS: dict[str, dict[str, type[Tool]]] = {
    guard: {tool.name: tool for tool in _ALL if guard in tool.gives} for guard in TEXTS
}
"""Under each guard, by name, in the order in which they are used."""
