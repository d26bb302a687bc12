"""The tools: names, arguments, results and actions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from pydantic import Field, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from surehold import queries
from surehold.agents import descriptions, rendering
from surehold.agents.arguments import Arguments, AtRound, Count, Key, QueryText, Whole
from surehold.display import Shown
from surehold.queries import Query
from surehold.queries.selection import USUAL_PRICE
from surehold.server.schemas import Answers, AnswersPage
from surehold.server.schemas import Result as AnyResult
from surehold.server.service import ANYBODY, Caller, Service
from surehold.session import (
    Choice,
    Outlook,
    Pace,
    Quote,
    Result,
    Round,
    Session,
    SpendingLimit,
    Status,
)

if TYPE_CHECKING:
    from surehold.client import RemoteSession

Note: TypeAlias = Callable[[str, str], None]

_PAGE, _LONGEST_PAGE = 20, 200


class Guest:
    """A caller of tools: the session to read from, and the way to ask.

    Questions to a service pass through its limits, like HTTP requests. ``note`` is called with the
    tool that ran and the outcome.
    """

    def __init__(
        self,
        session: Session | RemoteSession,
        caller: Caller = ANYBODY,
        service: Service | None = None,
        note: Note = lambda tool, outcome: None,
    ) -> None:
        self.session, self.caller, self._service, self.note = session, caller, service, note

    @classmethod
    def of(cls, service: Service, caller: Caller, note: Note = lambda tool, outcome: None) -> Guest:
        """Return the guest for a caller of a service."""
        return cls(service.session(caller), caller, service, note)

    def quote(self, query: str, t: int | None) -> Quote:
        """Quote what an answer would cost."""
        if self._service is None:
            return self.session.at(t).quote(query)
        return self._service.quote(self.caller, query, t=t)

    def ask(self, query: Query | str, t: int | None, key: str | None) -> Result:
        """Charge and answer."""
        if self._service is None:
            result: Result = self.session.at(t).ask(query, key=key)
            return result
        return self._service.ask(self.caller, query, t=t, key=key)

    def ask_many(self, texts: list[str], t: int | None, key: str | None) -> tuple[Result, ...]:
        """Answer all of them, or none."""
        if self._service is None:
            return self.session.at(t).ask_many(texts, key=key)
        return self._service.ask_many(self.caller, texts, t=t, key=key)


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

    ``gives`` is the type of what comes back. ``spends`` says whether a call may charge the budget;
    the others change nothing.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    gives: ClassVar[Any]
    spends: ClassVar[bool] = False

    @classmethod
    def title(cls) -> str:
        """Return the name that people see."""
        return str(cls.__doc__).rstrip(".")

    @classmethod
    def input_schema(cls) -> dict[str, Any]:
        """Return the schema of the arguments."""
        return {"required": [], **cls.model_json_schema(schema_generator=_Schema)}

    @classmethod
    def output_schema(cls) -> dict[str, Any]:
        """Return the schema of the result; its root is an object, for older clients."""
        adapter: TypeAdapter[Any] = TypeAdapter(cls.gives)
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


class Describe(Tool):
    """Columns, plan and language."""

    name = "describe"
    description = descriptions.DESCRIBE
    gives = Description

    def _run(self, guest: Guest) -> Outcome:
        session = guest.session
        status, plan, rounds = session.status(), session.plan, session.rounds
        values = Description(status.columns, plan.to_dict(), rounds).to_dict()
        return Outcome(values, rendering.of_dataset(status, plan, rounds))


@dataclass(frozen=True, repr=False)
class Left(Shown):
    """What is left of the budget, and of the caller's own limit."""

    status: Status
    outlook: Outlook
    limit: SpendingLimit | None


class Budget(Tool):
    """What is left."""

    name = "budget"
    description = descriptions.BUDGET
    gives = Left

    def _run(self, guest: Guest) -> Outcome:
        session = guest.session
        status, outlook, limit = session.status(), session.outlook(), session.limit
        values = Left(status, outlook, limit).to_dict()
        now, mine = outlook.now.round, None
        if limit is not None and now is not None:
            mine = Pace(now, session.answers_left(now))
        return Outcome(values, rendering.of_budget(status, outlook, limit, mine))


class QuoteTool(Tool):
    """What a question would cost (free)."""

    name = "quote"
    description = descriptions.QUOTE
    gives = Quote

    query: QueryText
    round: AtRound = None

    def _run(self, guest: Guest) -> Outcome:
        quote = guest.quote(self.query, self.round)
        status = None if quote.allowed else guest.session.status()
        return Outcome(quote.to_dict(), rendering.of_quote(quote, status))


class Ask(Tool):
    """Ask a question (charged)."""

    name = "ask"
    description = descriptions.ASK
    gives = AnyResult
    spends = True

    query: QueryText
    round: AtRound = None
    key: Key = None

    def _run(self, guest: Guest) -> Outcome:
        return _ask(guest, self.query, self.round, self.key)


class AskMany(Tool):
    """Ask several questions, all or none (charged)."""

    name = "ask_many"
    description = descriptions.ASK_MANY
    gives = Answers
    spends = True

    queries: list[str] = Field(min_length=1, description="The questions, in the query language.")
    round: AtRound = None
    key: Key = None

    def _run(self, guest: Guest) -> Outcome:
        results = guest.ask_many(self.queries, self.round, self.key)
        values = {"answers": [result.to_dict() for result in results]}
        left = _left(guest, results[-1].round)
        return Outcome(values, rendering.of_results(results, left))


class Select(Tool):
    """Choose the best of several (charged)."""

    name = "select"
    description = descriptions.SELECT
    gives = Choice
    spends = True

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
    round: AtRound = None
    key: Key = None

    def _run(self, guest: Guest) -> Outcome:
        asked = queries.select(self.candidates, best=self.best, price=self.price)
        return _ask(guest, asked, self.round, self.key)


class Transcript(Tool):
    """What was asked so far."""

    name = "transcript"
    description = descriptions.TRANSCRIPT
    gives = AnswersPage

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
        page = guest.session.transcript_of(self.analyst).page(
            self.limit,
            after=self.after,
            before=self.before,
            round=self.round,
            contains=self.contains,
            newest=self.newest,
        )
        return Outcome(page.to_dict(), rendering.of_page(page, self.newest))


def _ask(guest: Guest, query: Query | str, t: int | None, key: str | None) -> Outcome:
    result = guest.ask(query, t, key)
    return Outcome(result.to_dict(), rendering.of_result(result, _left(guest, result.round)))


def _left(guest: Guest, t: int) -> str:
    session = guest.session
    limit = session.limit
    left = session.budget if limit is None else limit
    return rendering.left_after(session.answers_left(t), t, left)


TOOLS: dict[str, type[Tool]] = {
    tool.name: tool for tool in (Describe, Budget, QuoteTool, Ask, AskMany, Select, Transcript)
}
"""By name, in the order in which they are used."""
