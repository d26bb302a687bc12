"""What a model reads: the value with its width, what it means, and what is left."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.agents.language import LANGUAGE
from holdfast.errors import (
    AccessDenied,
    BudgetExhausted,
    HoldfastError,
    InvalidInput,
    InvalidQuery,
    NotReady,
    ServiceFailed,
    StorageFailed,
)
from holdfast.numerals import percent, several, width
from holdfast.planning import Plan
from holdfast.session import (
    Answer,
    Budget,
    Choice,
    Estimate,
    Fitted,
    Quote,
    Result,
    Round,
    Status,
    Table,
    Verdict,
)
from holdfast.session.outlook import Outlook
from holdfast.session.transcript import Page

_SHOWN_ROUNDS = 12
_LONGEST = 400


# ------------------------------------------------------------------------------------- answers


def of_result(result: Result, left: str) -> str:
    """A result in a few lines; ``left`` says what the budget has room for afterwards."""
    recorded = "  (recorded: it was given before, and cost nothing now)" if result.recorded else ""
    lines = [
        f"{result}{recorded}",
        f"query: {_shortened(result.query)}",
        f"meaning: {_meaning(result)}",
    ]
    if not isinstance(result, Fitted):
        lines.append(f"certainty: {_together(result.beta)}")
    lines.append(f"cost: {_cost(result)}; {left}")
    return "\n".join(lines)


def of_results(results: Sequence[Result], left: str) -> str:
    """Several results, a line each, and what holds for all of them."""
    lines = [f"{result.brief}   {_shortened(result.query)}" for result in results]
    if not results:
        return f"nothing was asked; {left}"
    return "\n".join(
        [*lines, f"certainty: {_together(results[0].beta)}", f"cost: {_costs(results)}; {left}"]
    )


def left_after(answers: int, round: int, budget: Budget) -> str:
    """What the budget has room for."""
    return f"room for {several(answers, 'answer')} more at n = {round:,}; {budget}"


def _meaning(result: Result) -> str:
    match result:
        case Answer():
            return (
                f"the population's value is within {width(result.width)} of this one (the width is "
                "a half-width); smaller differences mean nothing"
            )
        case Table():
            return (
                "each cell's population value lies in its interval; cells whose intervals overlap "
                "may be equal"
            )
        case Estimate(interval=None):
            return "undetermined: there may be too few such records for any statement"
        case Estimate():
            return "the population's value lies in the interval; smaller differences mean nothing"
        case Verdict(verdict="undecided"):
            return "the limit lies inside the interval, so neither pass nor fail is known"
        case Verdict():
            return f"{result.verdict}: the whole interval lies on that side of the limit"
        case Choice():
            edge = "exceeds the lowest" if result.best == "lowest" else "falls short of the highest"
            return (
                f"the value of the chosen candidate {edge} of all {result.candidates:,} by at most "
                f"{width(result.width)}; its value itself is another question"
            )
        case Fitted():
            return (
                "nothing is promised of the coefficients; ask how good the model is: "
                f"{_shortened(result.predictor)}"
            )
        case _:
            raise NotImplementedError(type(result).__name__)


def _together(beta: float) -> str:
    return (
        f"all intervals of the whole analysis hold together with probability {percent(beta)}, "
        "however the questions were chosen"
    )


def _cost(result: Result) -> str:
    if result.recorded:
        return "nothing now"
    if result.price == 0:
        return "nothing beyond the answers it follows from"
    return f"{several(result.price, 'answer')} ({result.charge:.4g} of each record's budget)"


def _costs(results: Sequence[Result]) -> str:
    price = sum(result.price for result in results if not result.recorded)
    return several(price, "answer") if price else "nothing now"


# -------------------------------------------------------------------------------------- quotes


def of_quote(quote: Quote) -> str:
    """What it would cost, or why it would be refused."""
    lines = [str(quote), f"query: {_shortened(quote.query)}"]
    if quote.allowed:
        lines.append("this was a quote: free, nothing was charged and no record was touched")
    else:
        more = quote.more_records
        when = "never in this plan" if more is None else f"after {several(more, 'more record')}"
        lines.append(f"a question of this cost would fit {when}; rephrasing does not help")
    return "\n".join(lines)


# ------------------------------------------------------------------------- the dataset as a whole


def of_dataset(status: Status, plan: Plan, rounds: Sequence[Round]) -> str:
    """Columns, plan and language: what has to be known before the first question."""
    columns = [f"    {name}: {kind}" for name, kind in status.columns.items()]
    given = [f"    {round}" for round in rounds[-_SHOWN_ROUNDS:]]
    return "\n".join(
        [
            f"{several(status.n, 'record')} now; planned from {plan.n0:,} to {plan.n:,}.",
            "columns:",
            *columns,
            f"width: a fraction is told as value ± {width(status.width)} at most (a half-width); "
            "a mean in proportion to its bounds.",
            f"beta = {plan.beta:g}: {_together(plan.beta)}.",
            f"round: the number of records a question is asked of, now {_now(status)}. Asking "
            "later, of more records, costs less; an earlier round can be named and costs more.",
            f"answers so far: {status.answers:,}." if given else "no answers so far.",
            *given,
            "it holds if:",
            *(f"    - {sentence}" for sentence in plan.assumptions),
            "",
            LANGUAGE,
        ]
    )


def of_budget(status: Status, outlook: Outlook, limit: Budget | None) -> str:
    """What is left, and what it buys."""
    lines = [
        str(status.budget),
        f"it buys {outlook.now} if asked now; {several(outlook.evenly.answers, 'answer')} if asked "
        f"evenly as records arrive; {outlook.at_end} if asked at the end",
    ]
    if limit is not None:
        lines.append(f"of this you may spend: {limit}")
    if status.advice is not None:
        lines.append(f"not ready: {status.advice}")
    lines.append("what is spent never comes back; quotes and recorded answers are free")
    return "\n".join(lines)


def of_page(page: Page, newest: bool) -> str:
    """A page of the transcript, a line each."""
    lines = [
        f"{answer.entry}  {answer.analyst}  {answer.brief}   {_shortened(answer.query)}"
        for answer in page.answers
    ]
    if page.next is not None:
        lines.append(f"there may be more: {'before' if newest else 'after'} = {page.next}")
    return "\n".join(lines) or "no answers"


def _now(status: Status) -> str:
    if status.round is None:
        return f"none ({status.advice})"
    if status.next_round is not None and status.next_round != status.round:
        return f"{status.round:,} (the next is at {status.next_round:,})"
    return f"{status.round:,}"


# --------------------------------------------------------------------------------------- errors


def of_error(error: HoldfastError) -> str:
    """What went wrong, and what to do about it."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}\n{_advice(error)}"


def _advice(error: HoldfastError) -> str:
    match error:
        case BudgetExhausted(more_records=None):
            return (
                "This refusal is final. Do not retry or rephrase the question: nothing more "
                "of this size fits in this plan. Report what you have."
            )
        case BudgetExhausted():
            return (
                "This refusal is final at this round. Do not retry or rephrase the "
                f"question. Only {_what_helps(error.more_records)}. Report what you have."
            )
        case NotReady():
            return "Nothing was charged. Asking again helps only once there are other records."
        case AccessDenied():
            return "This is final for you; do not look for another way to the records."
        case InvalidQuery() | InvalidInput():
            return "Nothing was charged. Mend the arguments; describe has columns and language."
        case StorageFailed() | ServiceFailed():
            return (
                "If you gave a key, call again with the same key: an answer that was already "
                "charged comes back without a second charge. If you gave none, read the "
                "transcript first."
            )
        case _:
            return "Nothing about the question itself can mend this; tell whoever runs the dataset."


def _what_helps(more_records: int | None) -> str:
    if not more_records:
        return "a later round helps, which is there: leave the round out, or name a later one"
    return f"records help: it would fit after {several(more_records, 'more record')}"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text):,} characters)"
