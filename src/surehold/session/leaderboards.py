"""Leaderboards: predictions by one metric that the custodian fixed, each against the best so far.

A submission is asked whether it is better than the best by a step, over the records of the board,
and "no" is expected (Surprise, section 4, "improvement"): that is all that is reported of most, and
it claims nothing about the population. A new best is also asked for its score and whether it is
better in the population; these are claims, so all their intervals, and the ranks that follow from
them, hold together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from surehold import formatting
from surehold.data.table_store import KeptTable
from surehold.display import Shown
from surehold.errors import InvalidInput, RequestRefused, WrongGuard
from surehold.ledger.ledger import Ledger
from surehold.ledger.submissions import ANSWERS, KeptSubmission, best_of, questions_of
from surehold.queries.leaderboards import LeaderboardRules
from surehold.queries.side_tables import SideTable
from surehold.session.outcomes import NumberOutcome
from surehold.session.recorded_results import result_of
from surehold.session.results import shown_interval, when

if TYPE_CHECKING:
    from surehold.session.session import Session

_DOUBT = "1/4"
"""That a new best's score is not where its steps over the last one lead to expect it."""


@dataclass(frozen=True, repr=False)
class Submission(Shown):
    """A submission and what was answered about it; only a new best has a score and a rank.

    Over the board's records it is better than ``against`` by ``gain`` or more, in steps of
    ``step``; 0 means by less than one. ``certified`` says whether it was shown to be better in the
    population too. ``rank`` is 1 and the number of those that are certainly better, ``last_rank``
    the lowest that it can be.
    """

    number: int
    name: str
    time: str
    step: float
    against: str | None
    gain: float | None
    certified: bool | None
    value: float | None
    interval: tuple[float, float] | None
    rank: int | None
    last_rank: int | None
    display: Mapping[str, str] = field(init=False, compare=False)

    @property
    def is_best(self) -> bool:
        """Whether it was the best when it came."""
        return self.interval is not None

    def _display(self) -> dict[str, str]:
        texts = {"outcome": "the first"}
        if self.gain:
            texts["outcome"] = f"better than {self.against} by {self.gain:g} or more"
        elif self.against is not None:
            texts["outcome"] = f"not better than {self.against} by {self.step:g}"
        if self.value is None or self.interval is None:
            return texts
        width = 0.5 * (self.interval[1] - self.interval[0])
        digits = formatting.decimals(width, max(1.0, 20.0 * width))
        texts["value"] = formatting.plain(self.value, digits)
        texts["interval"] = shown_interval(self.interval, digits)
        is_sure = self.rank == self.last_rank
        texts["rank"] = f"{self.rank}" if is_sure else f"{self.rank} to {self.last_rank}"
        return texts

    def __str__(self) -> str:
        texts = self.display
        if "value" not in texts:
            return f"{self.name}: {texts['outcome']}, on these records"
        sure = ", and certainly better" if self.certified else ""
        place = f"{texts['value']} in {texts['interval']}"
        return f"{self.name}: {place}, rank {texts['rank']}; {texts['outcome']}{sure}"


@dataclass(frozen=True, repr=False)
class Leaderboard(Shown):
    """A board: its question, and all submissions in order, without their predictions.

    ``metric`` of ``target`` over the first ``round`` records. ``daily`` is the most submissions of
    one analyst in a day. All intervals and ranks hold together with probability 1 - ``beta``.
    """

    title: str
    target: str
    metric: str
    lower_is_better: bool
    step: float
    round: int
    daily: int
    public: bool
    id: str
    beta: float
    submissions: tuple[Submission, ...]
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        return {"confidence": formatting.percent(self.beta)}

    @property
    def ranked(self) -> list[Submission]:
        """Those that were the best when they came, the best first."""
        return [one for one in reversed(self.submissions) if one.is_best]

    def __str__(self) -> str:
        count = formatting.several(len(self.submissions), "submission")
        best = f"; the best is {self.ranked[0]}" if self.submissions else ""
        return f"{self.title}: {count}{best}"


@dataclass(frozen=True, repr=False)
class Submitted(Shown):
    """What came of a submission: its place, what it cost in bits, and how many are left today.

    If the same predictions had been submitted before, it is ``recorded``, and free.
    """

    submission: Submission
    recorded: bool
    surprise: float
    spent: float
    left_today: int
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        return {"surprise": formatting.bits(self.surprise), "spent": formatting.bits(self.spent)}

    def __str__(self) -> str:
        cost = "recorded, and free" if self.recorded else self.display["surprise"]
        return f"{self.submission} ({cost})"


# -------------------------------------------------------------------------------- opening


def open_leaderboard(ledger: Ledger, **given: Any) -> Leaderboard:
    """Fix the question of a leaderboard over the records that are there now."""
    if ledger.rules.guard != "surprise":
        raise WrongGuard("a leaderboard", "surprise")
    rules = LeaderboardRules(**given, round=ledger.refresh().records)
    rules.check(ledger.schema)
    with ledger.writing() as draft:
        draft.open_leaderboard(rules)
    return leaderboard(ledger)


def rules_of(ledger: Ledger) -> LeaderboardRules:
    """Return what was fixed; refused if no leaderboard was opened."""
    if ledger.rules.guard != "surprise":
        raise WrongGuard("a leaderboard", "surprise")
    ledger.refresh()
    rules = ledger.leaderboard
    if rules is None:
        hint = "its custodian can open one, under the surprise guard: surehold leaderboard open"
        raise RequestRefused(404, "this dataset has no leaderboard", hint)
    return rules


# ----------------------------------------------------------------------------- submitting


def submit(session: Session, source: Any, name: str | None) -> Submitted:
    """Compare predictions with the best so far; the same ones again are free."""
    ledger, store = session._ledger, session._data.table_store
    rules = rules_of(ledger)
    kept = source
    if not isinstance(source, KeptTable):
        kept = store.keep(source, session.analyst, name)
    if kept.rows < rules.round:
        required = f"one with a row for each of the {rules.round:,} records of the board"
        raise InvalidInput("the submission", required, formatting.several(kept.rows, "row"))
    new = store.describe(kept.table)
    with ledger.submitting:  # one at a time, as each is compared with the best of all before
        while True:
            past = ledger.submissions
            if any(one.of == new.reference for one in past):
                return _submitted(ledger, new, session.analyst, recorded=True)
            with ledger.writing() as draft:
                draft.check_daily(session.analyst)
            made = _compare(session.at(rules.round), rules, new, past)
            with ledger.writing() as draft:
                is_kept = draft.add_submission(made)
            if is_kept:  # or another process was first
                return _submitted(ledger, new, session.analyst, recorded=False)


def _compare(
    session: Session, rules: LeaderboardRules, new: SideTable, past: Sequence[KeptSubmission]
) -> KeptSubmission:
    """Ask what the board asks about a submission."""
    best = best_of(past)
    old = None if best is None else session._data.table_store.describe(best.of)
    queries, found = questions_of(rules, new, old), dict[str, Any]()
    expected = {}
    if best is not None:
        found["gain"] = session.ask(
            queries["gain"], expect="no", within=rules.step, doubt=_learned(past)
        )
        steps = found["gain"].steps
        if steps:
            expected = _expected(rules, session._ledger, best, steps)
            found["certified"] = session.ask(queries["certified"], expect="not pass", doubt="1/2")
    is_best = best is None or "certified" in found
    if is_best:
        found["score"] = session.ask(queries["score"], **expected)
    gain, score, certified = (found[one].entry if one in found else None for one in ANSWERS)
    against = None if best is None else best.of
    return KeptSubmission(new.reference, against, is_best, gain, score, certified, session.analyst)


def _learned(past: Sequence[KeptSubmission]) -> str:
    """How likely one more submission is to be better, as the board has seen it so far."""
    from surehold.theory.surprise.menus.numbers import learned_doubt  # loads SciPy

    compared = [one for one in past if one.against is not None]
    return str(learned_doubt(len(compared), sum(one.is_best for one in compared)))


def _expected(
    rules: LeaderboardRules, ledger: Ledger, best: KeptSubmission, steps: int
) -> dict[str, Any]:
    """Where the score of a new best is likely to be: that number of steps beyond the last one."""
    assert best.score is not None
    last = result_of(ledger.entry(best.score), ledger, recorded=True)
    assert isinstance(last, NumberOutcome)
    assert last.value is not None
    gain = (steps + 0.5) * float(Fraction(rules.step))
    guess = last.value - gain if rules.is_loss else last.value + gain
    guess = min(max(guess, last.range[0]), last.range[1])
    return {"expect": f"{guess:.9f}", "within": rules.step, "doubt": _DOUBT}


def _submitted(ledger: Ledger, new: SideTable, analyst: str, recorded: bool) -> Submitted:
    from surehold.ledger.surprise_policy import to_bits  # loads SciPy

    made = next(one for one in ledger.submissions if one.of == new.reference)
    entries = [seq for name in ANSWERS if (seq := getattr(made, name)) is not None]
    cost = sum(int(ledger.entry(seq).read()["charge"]) for seq in entries)
    with ledger.writing() as draft:
        left = draft.submissions_left(analyst)
    place = next(one for one in leaderboard(ledger).submissions if one.name == new.name)
    return Submitted(place, recorded, to_bits(cost), to_bits(ledger.state.spent), left)


# -------------------------------------------------------------------------------- showing


def leaderboard(ledger: Ledger) -> Leaderboard:
    """Compute the board from the ledger: from the submissions and what was answered about them."""
    rules = rules_of(ledger)
    past, kept = ledger.submissions, ledger.kept
    names = {one.of: str(kept[one.of]["name"]) for one in past}
    best = [one for one in past if one.is_best]
    scores = [_score(ledger, one) for one in best]
    intervals = [one.combined or one.interval for one in scores]
    certified = [bool(_is_certified(ledger, one)) for one in best]
    ranks = _ranks(intervals, certified, rules.is_loss)
    places = {
        one.of: {"value": score.value, "interval": interval, "rank": high, "last_rank": low}
        for one, score, interval, (high, low) in zip(best, scores, intervals, ranks, strict=True)
    }
    unranked = dict.fromkeys(("value", "interval", "rank", "last_rank"))
    step, about = float(Fraction(rules.step)), ("title", "target", "metric", "round", "daily")
    return Leaderboard(
        **{name: getattr(rules, name) for name in about},
        public=rules.public,
        lower_is_better=rules.is_loss,
        step=step,
        id=str(ledger.schema.id),
        beta=float(ledger.surprise.beta),
        submissions=tuple(
            Submission(
                number=number,
                name=names[one.of],
                time=when(one.time),
                step=step,
                against=None if one.against is None else names[one.against],
                gain=_gain(ledger, one),
                certified=_is_certified(ledger, one),
                **places.get(one.of, unranked),
            )
            for number, one in enumerate(past, start=1)
        ),
    )


def _score(ledger: Ledger, one: KeptSubmission) -> NumberOutcome:
    assert one.score is not None
    found = result_of(ledger.entry(one.score), ledger, recorded=True)
    assert isinstance(found, NumberOutcome)
    return found


def _gain(ledger: Ledger, one: KeptSubmission) -> float | None:
    if one.gain is None:
        return None
    body = ledger.entry(one.gain).read()
    return float(body["steps"] * body["step"])


def _is_certified(ledger: Ledger, one: KeptSubmission) -> bool | None:
    if one.certified is None:
        return None
    return bool(ledger.entry(one.certified).read()["verdict"] == "pass")


def _ranks(
    intervals: Sequence[tuple[float, float]], certified: Sequence[bool], is_loss: bool
) -> list[tuple[int, int]]:
    """The highest and the lowest rank of each that was the best; all of them hold together.

    One is certainly better than another if its interval lies beyond the other's, or by steps from
    one to the next that were certified.

    >>> _ranks([(0.5, 0.6), (0.55, 0.65), (0.7, 0.8)], [False, False, False], is_loss=False)
    [(2, 3), (2, 3), (1, 1)]
    """
    count, below = len(intervals), []  # whom each is better than, as bits
    for at, (low, high) in enumerate(intervals):
        bits = 1 << (at - 1) if certified[at] else 0
        for other, (least, most) in enumerate(intervals):
            bits |= (high < least if is_loss else low > most) << other
        below.append(bits)
    for via in range(count):
        below = [bits | below[via] if bits >> via & 1 else bits for bits in below]
    return [
        (1 + sum(bits >> at & 1 for bits in below), count - below[at].bit_count())
        for at in range(count)
    ]
