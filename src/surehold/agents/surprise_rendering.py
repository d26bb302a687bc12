"""Outcomes, quotes and the dataset in words for a model, under the surprise guard."""

from __future__ import annotations

from collections.abc import Sequence

from surehold.agents.language import language_of
from surehold.agents.words import APART, quoted, sign, together
from surehold.formatting import bits, several, width
from surehold.session import (
    BitsLimit,
    DecisionOutcome,
    LadderOutcome,
    Leaderboard,
    NumberOutcome,
    Outcome,
    Registered,
    Result,
    SelectionOutcome,
    Submission,
    Submitted,
    SurpriseQuote,
    SurpriseStatus,
    TableOutcome,
)

_MOST_LISTED = 20  # submissions that a model is shown
_DEAR = 3.0  # bits from which a hint to guess is worth its words
_HOLDS = (
    "it holds if records are independent draws from one population, and arrive regardless of what "
    "they hold, and nothing is known of the records but what was reported here"
)


def meaning_of(outcome: Outcome) -> str:
    """Say what an outcome shows, and no more."""
    match outcome:
        case NumberOutcome(value=None):
            return "undetermined: there may be too few such records for any statement"
        case NumberOutcome():
            return f"{_cell(outcome)}; {sign(outcome.query, outcome.interval) or APART}"
        case DecisionOutcome():
            return _verdict(outcome)
        case LadderOutcome():
            better = f"better by {outcome.steps * outcome.step:g} or more"
            found = better if outcome.improved else f"not better by {outcome.step:g}"
            return (
                f"over these records the first is {found}; nothing is claimed about the "
                "population: for that ask without expect, or ask a gate"
            )
        case SelectionOutcome():
            edge = "exceeds the lowest" if outcome.best == "lowest" else "is below the highest"
            return (
                f"the value of the chosen candidate {edge} of all {outcome.candidates:,} by "
                f"{width(outcome.width)} at most; to learn its value, ask another question"
            )
        case TableOutcome():
            return (
                "each cell's population value lies in its interval; cells whose intervals overlap "
                "may be equal"
            )
        case _:
            raise NotImplementedError(type(outcome).__name__)


def _cell(outcome: NumberOutcome) -> str:
    lies = "the population's value lies in the interval"
    if outcome.cell is not None:
        low, high = outcome.cell
        lies = f"over these records the value is from {low:g} to {high:g}; {lies}"
    if outcome.combined is None:
        return f"{lies}; the answers to this question contradict each other, so do not rely on them"
    if outcome.combined != outcome.interval:
        return f"{lies} and, with earlier answers, in {outcome.display['combined']}"
    return lies


def _verdict(outcome: DecisionOutcome) -> str:
    side = outcome.side.replace("_", " ")
    other = "below" if outcome.side == "at_least" else "above"
    match outcome.verdict:
        case "pass":
            return f"pass: the population's value is {side} {outcome.limit:g}"
        case "fail":
            return f"fail: the population's value is {other} {outcome.limit:g}"
        case "undecided":
            return "undecided: these records do not show on which side of the limit it is"
        case _:
            return f"not pass: these records do not show that it is {side} {outcome.limit:g}"


def cost_of(results: Sequence[Result]) -> str:
    """Say what outcomes cost now, and what all have cost so far."""
    new = [one for one in results if isinstance(one, Outcome) and not one.recorded]
    came = {True: ", as expected", False: ", a surprise", None: ""}[new[-1].expected]
    spent = bits(sum(one.surprise for one in new))
    how = came if len(results) == 1 else ""
    return f"{spent}{how} ({bits(new[-1].spent)} in all, which every later claim pays for)"


def of_claims(claims: Sequence[Registered]) -> str:
    """List what was registered."""
    lines = []
    for one in claims:
        before = "" if one.new else ", registered before"
        now = f", {one.display['width']} now" if "width" in one.display else ""
        claim = "named" if one.claim is None else f"claim {one.claim:,}"
        title = "" if one.title is None else f"{quoted(one.title)} "
        lines.append(f"{claim}{before}{now}: {title}{quoted(one.query)}")
    return "\n".join([*lines, "it was free, and nothing of the records was reported; ask any time"])


def of_quote(quote: SurpriseQuote) -> str:
    """Describe the cost, or the reason for a refusal."""
    lines = [str(quote), f"query: {quoted(quote.query)}"]
    if not quote.allowed:
        lines.append("the same question in other words does not help")
        return "\n".join(lines)
    lines.append(f"{bits(quote.spent)} were spent so far")
    if quote.least >= _DEAR:
        lines.append("to pay less, give a guess as expect, or ask a gate")
    return "\n".join([*lines, "this was a quote: it is free and touched no record"])


def of_dataset(status: SurpriseStatus) -> str:
    """Describe columns, promise and language: what to know before the first question."""
    return "\n".join(
        [
            f"{several(status.n, 'record')} now; there may be more later.",
            "columns:",
            *(f"    {name}: {kind}" for name, kind in status.columns.items()),
            f"beta = {status.beta:g}: {together(status.beta)}.",
            f"cost: answers cost bits; {bits(status.spent)} were spent so far. {_next(status)}.",
            "round: the number of records a question is asked of, now "
            f"{status.n:,}. With more records intervals are narrower.",
            f"answers so far: {status.answers:,}; claims so far: {status.claims:,}.",
            f"{_HOLDS}.",
            "",
            language_of("surprise"),
        ]
    )


def of_budget(status: SurpriseStatus, limit: BitsLimit | None) -> str:
    """Describe what was spent, and how wide a next claim is; ``limit`` is the caller's own."""
    lines = [
        f"{bits(status.spent)} were spent, in {several(status.answers, 'answer')}",
        *(f"    {quoted(one.analyst)}: {bits(one.spent)}" for one in status.by_analyst),
        _next(status),
        f"{several(status.claims, 'claim')} registered so far; {status.share_left:.1%} of beta is "
        "left for others",
    ]
    if status.limit is not None and status.remaining is not None:
        lines.append(f"all analysts together have {bits(status.remaining)} left")
    if limit is not None:
        lines.append(f"your own limit: {limit}")
    lines.append("what is spent never comes back; quotes and recorded answers are free")
    return "\n".join(lines)


def _next(status: SurpriseStatus) -> str:
    if status.width is None:
        return "nothing can be asked before there are records"
    now = status.display["width"]
    return f"a fraction claimed and asked now is at most {now} (a half-width)"


def of_submitted(made: Submitted) -> str:
    """Say how a submission compares with the best so far, and what that means."""
    one = made.submission
    found = "it is not known by how much, and nothing is claimed about the population"
    if one.is_best:
        certain = "shown to be better in the population too" if one.certified else ""
        if one.certified is False:
            certain = "not shown to be better in the population: it may be luck"
        found = f"it is the best so far{certain and f', and {certain}'}"
    cost = "nothing now, as it is recorded" if made.recorded else made.display["surprise"]
    return (
        f"{_place(one)}\nmeaning: over these records; {found}\n"
        f"cost: {cost}; {several(made.left_today, 'submission')} left today"
    )


def of_leaderboard(board: Leaderboard) -> str:
    """List a board: ranks first, then what was not better, the newest first."""
    better = "lower" if board.lower_is_better else "higher"
    others = [one for one in reversed(board.submissions) if not one.is_best]
    listed = [*board.ranked, *others]
    more = [f"and {len(listed) - _MOST_LISTED:,} more"] if len(listed) > _MOST_LISTED else []
    return "\n".join(
        [
            f"{quoted(board.title)}: {board.metric} of {quoted(board.target)}, {better} is better; "
            f"a new best is better by {board.step:g} or more over {several(board.round, 'record')}",
            *map(_place, listed[:_MOST_LISTED]),
            *more,
            f"{together(board.beta)}; so do ranks. Ranks that overlap are ties",
        ]
    )


def _place(one: Submission) -> str:
    texts = one.display
    against = "" if one.against is None else f" than {quoted(one.against)}"
    found = "the first"
    if one.gain:
        found = f"better{against} by {one.gain:g} or more"
    elif one.against is not None:
        found = f"not better{against} by {one.step:g}"
    if "value" not in texts:
        return f"{quoted(one.name)}: {found}"
    score = f"{texts['value']} in {texts['interval']}"
    sure = ", certainly" if one.certified else ""
    return f"rank {texts['rank']}: {quoted(one.name)}, {score}; {found}{sure}"
