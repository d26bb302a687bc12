"""The tools: what each is called, takes, gives and does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from surehold import queries
from surehold.agents import descriptions, rendering
from surehold.agents.arguments import Arguments
from surehold.agents.desk import Desk
from surehold.agents.shapes import any_of, closed, listed, shape
from surehold.errors import InvalidInput
from surehold.queries.selection import USUAL_PRICE
from surehold.session import (
    RESULTS,
    Choice,
    Quote,
    Round,
    SpendingLimit,
    Status,
)
from surehold.session.outlook import Outlook, Pace
from surehold.session.transcript import Page

_PAGE, _LONGEST_PAGE = 20, 200


@dataclass(frozen=True)
class Outcome:
    """What a call gives: the dictionary of every surface, and words for a model."""

    values: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Tool:
    """A tool. ``spends`` says whether a call may charge the budget; the others change nothing."""

    name: str
    title: str
    description: str
    takes: Mapping[str, dict[str, Any]]
    required: tuple[str, ...]
    gives: Mapping[str, Any]
    run: Callable[[Desk, Arguments], Outcome]
    spends: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        """Of its arguments."""
        return {
            "type": "object",
            "properties": dict(self.takes),
            "required": list(self.required),
            "additionalProperties": False,
        }

    def call(self, desk: Desk, given: Mapping[str, Any]) -> Outcome:
        """Check the arguments and do it."""
        return self.run(desk, Arguments(given, self.takes))


# ---------------------------------------------------------------------------------- what they do


def _describe(desk: Desk, arguments: Arguments) -> Outcome:
    status, plan, rounds = desk.status(), desk.plan, desk.rounds
    values = {
        "columns": dict(status.columns),
        "plan": plan.to_dict(),
        "rounds": [round.to_dict() for round in rounds],
    }
    return Outcome(values, rendering.of_dataset(status, plan, rounds))


def _budget(desk: Desk, arguments: Arguments) -> Outcome:
    status, outlook, limit = desk.status(), desk.outlook(), desk.limit
    values = {
        "status": status.to_dict(),
        "outlook": outlook.to_dict(),
        "limit": None if limit is None else limit.to_dict(),
    }
    now, mine = outlook.now.round, None
    if limit is not None and now is not None:
        mine = Pace(now, desk.answers_left(now))
    return Outcome(values, rendering.of_budget(status, outlook, limit, mine))


def _quote(desk: Desk, arguments: Arguments) -> Outcome:
    quote = desk.at(arguments.count_or_none("round")).quote(arguments.text("query"))
    status = None if quote.allowed else desk.status()
    return Outcome(quote.to_dict(), rendering.of_quote(quote, status))


def _ask(desk: Desk, arguments: Arguments) -> Outcome:
    return _asked(desk, arguments, arguments.text("query"))


def _select(desk: Desk, arguments: Arguments) -> Outcome:
    best = arguments.text_or_none("best") or "lowest"
    if best not in ("lowest", "highest"):
        raise InvalidInput("best", "lowest or highest", best)
    asked = queries.select(
        arguments.texts_or_names("candidates"),
        best=best,  # type: ignore[arg-type]  # it was checked above
        price=arguments.count("price", USUAL_PRICE),
    )
    return _asked(desk, arguments, asked)


def _asked(desk: Desk, arguments: Arguments, query: Any) -> Outcome:
    asking = desk.at(arguments.count_or_none("round"))
    result = asking.ask(query, key=arguments.text_or_none("key"))
    return Outcome(result.to_dict(), rendering.of_result(result, _left(desk, result.round)))


def _ask_many(desk: Desk, arguments: Arguments) -> Outcome:
    texts, key = arguments.texts("queries"), arguments.text_or_none("key")
    if not texts:
        raise InvalidInput("queries", "one query or more", texts)
    results = desk.at(arguments.count_or_none("round")).ask_many(texts, key=key)
    values = {"answers": [result.to_dict() for result in results]}
    return Outcome(values, rendering.of_results(results, _left(desk, results[-1].round)))


def _left(desk: Desk, round: int) -> str:
    limit = desk.limit
    left = desk.budget if limit is None else limit
    return rendering.left_after(desk.answers_left(round), round, left)


def _transcript(desk: Desk, arguments: Arguments) -> Outcome:
    limit, newest = arguments.count("limit", _PAGE), arguments.flag("newest", True)
    if not 1 <= limit <= _LONGEST_PAGE:
        raise InvalidInput("limit", f"a whole number from 1 to {_LONGEST_PAGE}", limit)
    page = desk.transcript_of(arguments.text_or_none("analyst")).page(
        limit,
        after=arguments.count("after", 0),
        before=arguments.count_or_none("before"),
        round=arguments.count_or_none("round"),
        contains=arguments.text_or_none("contains") or "",
        newest=newest,
    )
    return Outcome(page.to_dict(), rendering.of_page(page, newest))


# ------------------------------------------------------------------------------------- the list

_QUERY = {
    "type": "string",
    "description": "The question, in the query language (describe shows it): age > 65",
}
_ROUND = {
    "type": "integer",
    "minimum": 1,
    "description": "Ask the snapshot of the first so many records, at the price of that round. "
    "Leave it out to ask all records there are.",
}
_KEY = {
    "type": "string",
    "description": "A UUID, new for each question; keys are shared by everybody who asks this "
    "dataset. The same call with the same key returns the recorded answer and charges nothing.",
}
_COUNT = {"type": "integer", "minimum": 0}
_RESULT = any_of(tuple(RESULTS.values()))

TOOLS = (
    Tool(
        name="describe",
        title="Columns, plan and language",
        description=descriptions.DESCRIBE,
        takes={},
        required=(),
        gives=closed(
            {
                "columns": {"type": "object", "additionalProperties": {"type": "string"}},
                "plan": {"type": "object"},
                "rounds": listed(shape(Round)),
            }
        ),
        run=_describe,
    ),
    Tool(
        name="budget",
        title="What is left",
        description=descriptions.BUDGET,
        takes={},
        required=(),
        gives=closed(
            {
                "status": shape(Status),
                "outlook": shape(Outlook),
                "limit": {"anyOf": [shape(SpendingLimit), {"type": "null"}]},
            }
        ),
        run=_budget,
    ),
    Tool(
        name="quote",
        title="What a question would cost (free)",
        description=descriptions.QUOTE,
        takes={"query": _QUERY, "round": _ROUND},
        required=("query",),
        gives=shape(Quote),
        run=_quote,
    ),
    Tool(
        name="ask",
        title="Ask a question (charged)",
        description=descriptions.ASK,
        takes={"query": _QUERY, "round": _ROUND, "key": _KEY},
        required=("query",),
        gives=_RESULT,
        run=_ask,
        spends=True,
    ),
    Tool(
        name="ask_many",
        title="Ask several questions, all or none (charged)",
        description=descriptions.ASK_MANY,
        takes={
            "queries": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "description": "The questions, in the query language.",
            },
            "round": _ROUND,
            "key": _KEY,
        },
        required=("queries",),
        gives=closed({"answers": listed(_RESULT)}),
        run=_ask_many,
        spends=True,
    ),
    Tool(
        name="select",
        title="Choose the best of several (charged)",
        description=descriptions.SELECT,
        takes={
            "candidates": {
                "anyOf": [
                    {"type": "array", "items": {"type": "string"}},
                    {"type": "object", "additionalProperties": {"type": "string"}},
                ],
                "description": "Two queries or more on one scale: a list, or an object that gives "
                "each a name.",
            },
            "best": {
                "type": "string",
                "enum": ["lowest", "highest"],
                "description": "lowest for losses (the default), highest for scores.",
            },
            "price": {
                "type": "integer",
                "minimum": 1,
                "description": f"What it may cost, in answers; {USUAL_PRICE} if left out.",
            },
            "round": _ROUND,
            "key": _KEY,
        },
        required=("candidates",),
        gives=shape(Choice),
        run=_select,
        spends=True,
    ),
    Tool(
        name="transcript",
        title="What was asked so far",
        description=descriptions.TRANSCRIPT,
        takes={
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": _LONGEST_PAGE,
                "description": f"How many answers a page has; {_PAGE} if left out.",
            },
            "newest": {"type": "boolean", "description": "Newest first (the default), or oldest."},
            "before": {
                **_COUNT,
                "description": "Only entries before this one: next, newest first.",
            },
            "after": {**_COUNT, "description": "Only entries after this one: next, oldest first."},
            "analyst": {"type": "string", "description": "Only what this analyst asked."},
            "round": {**_COUNT, "description": "Only answers at this round."},
            "contains": {"type": "string", "description": "Only queries with this text in them."},
        },
        required=(),
        gives=shape(Page, answers=listed(_RESULT)),
        run=_transcript,
    ),
)
"""In the order in which they are used."""

BY_NAME = {tool.name: tool for tool in TOOLS}
