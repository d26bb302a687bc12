"""Admission: whether an analyst's questions fit what is left, by sizes and charges alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from surehold.checks import check_share
from surehold.errors import BudgetExhausted, NotReady
from surehold.ledger.draft import Draft
from surehold.ledger.entries import Entry
from surehold.ledger.ledger import Ledger
from surehold.ledger.tables import Spent
from surehold.ledger.view import Asked, Found, Room, View
from surehold.mechanisms import to_float
from surehold.queries import Derived, Form, Query, form_of
from surehold.session.keys import check_list_key, check_rounds, find_keyed
from surehold.session.outcomes import BitsLimit
from surehold.session.questions import Question, cost_of
from surehold.session.quotes import Quote, SpendingLimit
from surehold.session.refusals import refusal


class Step(NamedTuple):
    """What an ask comes to, as the ledger was after the entry with number ``head``.

    ``t`` is the round of all questions whose keys are new. ``found`` is what the ledger has of
    them. ``due`` are the questions that have no answer, charged or not, and ``new_keys`` the places
    of those with a key that is not in use yet.
    """

    head: int
    t: int
    asked: list[Asked]
    found: Found
    due: dict[Asked, Question]
    new_keys: set[int]


class Admission:
    """Decides for one analyst, who may have a limit within the budget of all."""

    @staticmethod
    def of(ledger: Ledger, analyst: str, limit: float | None) -> Admission:
        """Return the admission that the guard of a dataset has."""
        if ledger.rules.guard == "noise":
            return Admission(ledger, analyst, limit)
        from surehold.session.surprise_admission import SurpriseAdmission  # loads SciPy

        return SurpriseAdmission(ledger, analyst, limit)

    def __init__(self, ledger: Ledger, analyst: str, limit: float | None) -> None:
        self._ledger, self._analyst = ledger, analyst
        self._most = None if limit is None else _share(limit, ledger)

    def room(self, view: View) -> Room:
        """What is left for this analyst: not reserved for others, and within their limit."""
        return view.room_for(self._analyst, self._most)

    def limit(self) -> SpendingLimit | BitsLimit | None:
        """What the analyst may spend in all, has spent, and has left; None without a limit."""
        if self._most is None:
            return None
        ledger, most = self._ledger, self._most
        with ledger.store.lock:
            state, spent = ledger.refresh(), ledger.spent_by(self._analyst)
            shared = ledger.policy.budget - state.spent - ledger.kept_from(self._analyst).units
        left = max(min(most.units - spent.units, shared), 0)
        return SpendingLimit(
            to_float(most.units),
            to_float(spent.units),
            to_float(left),
            most.answers,
            spent.answers,
        )

    def refusal(self, view: View, t: int, questions: Iterable[Question]) -> BudgetExhausted:
        """The error for questions that do not fit together at round t."""
        forms = [question.form for question in questions if isinstance(question.form, Form)]
        return refusal(view, self.room(view), t, forms, self._analyst)

    def decide(
        self,
        view: View,
        questions: Sequence[Question],
        *,
        held: int | None = None,
        t: int | None = None,
        list_key: str | None = None,
    ) -> Step:
        """What callers' keys stand for, and what is due; or a refusal. It never sees a record.

        Without a round ``t`` the ledger is refreshed, and its size, or the round that is held, says
        which one it is.
        """
        records = 0
        if t is None:
            records = self._ledger.refresh().records
            self._ledger.check_open()  # a recorded answer is in the transcript
        head = view.head.seq  # before anything is looked up: what is found is this or newer
        check_list_key(view, list_key, questions)
        keyed = [find_keyed(view, question.key, question.canonical) for question in questions]
        if t is None:
            t = 0 if all(keyed) else view.rules.round_for(records, held)
        asked = [
            (question.canonical, t) if entry is None else _recorded(entry)
            for question, entry in zip(questions, keyed, strict=True)
        ]
        check_rounds(questions, asked)
        found = self._sufficient(view.find(asked), asked, questions, keyed)
        due: dict[Asked, Question] = {}
        for one, question in zip(asked, questions, strict=True):
            if one not in found.answers and one not in due:
                charge = found.charges.get(one)
                due[one] = question if charge is None else self._as_charged(question, charge)
        unpaid = [question for one, question in due.items() if one not in found.charges]
        if unpaid:
            self._check_fits(view, t, unpaid)
        pairs = enumerate(zip(questions, keyed, strict=True))
        new_keys = {i for i, (question, entry) in pairs if question.key and entry is None}
        return Step(head, t, asked, found, due, new_keys)

    def _sufficient(
        self,
        found: Found,
        asked: Sequence[Asked],
        questions: Sequence[Question],
        keyed: Sequence[Entry | None],
    ) -> Found:
        """What is found, without answers that do not say all that is asked; of noise all do."""
        return found

    def is_less(
        self, questions: Sequence[Question], step: Step, answered: Mapping[Asked, Entry]
    ) -> bool:
        """Whether a charge from before was answered, and that says less than is asked now."""
        return False

    def charges_first(self, step: Step) -> bool:
        """Whether charges come before answers even if the numbers of these are known."""
        return False

    def _as_charged(self, question: Question, charge: Entry) -> Question:
        """A question as it was charged: in those words, and whatever is expected of it now."""
        recorded = str(charge.read()["canonical"])
        if recorded == question.canonical:
            return question
        return replace(question, form=form_of(recorded, self._ledger.schema))

    def _check_fits(self, view: View, t: int, unpaid: Sequence[Question]) -> None:
        """Refuse questions that do not fit what is left."""
        if not view.fits(t, *cost_of(unpaid), self.room(view)):
            raise self.refusal(view, t, unpaid)

    def check_charged(
        self, draft: Draft, new: Iterable[Asked], charges: Mapping[Asked, Entry]
    ) -> None:
        """Refuse new charges that do not fit after all; under noise they are what was decided."""

    def confirm(
        self, draft: Draft, questions: Sequence[Question], step: Step, list_key: str | None
    ) -> Step:
        """The decision once more, within a transaction: the same if nothing came in between."""
        if draft.head.seq == step.head:
            return step
        return self.decide(draft, questions, t=step.t, list_key=list_key)

    def quote(self, query: Query, questions: Sequence[Question], held: int | None) -> Any:
        """What a query would cost now, and how wide its answer would be."""
        ledger, policy = self._ledger, self._ledger.policy
        with ledger.store.lock:
            records, room = ledger.refresh().records, self.room(ledger)
            reason, more, fresh = None, None, questions
            try:
                t = policy.round_for(records, held)
            except NotReady as error:
                t = policy.nearest_round(held or records)
                reason, more = str(error), error.numbers.get("more_records")
            else:
                found = ledger.find((q.canonical, t) for q in questions)
                paid = found.answers.keys() | found.charges.keys()
                fresh = [q for q in questions if (q.canonical, t) not in paid]
                if fresh and not ledger.fits(t, *cost_of(fresh), room):
                    refused = self.refusal(ledger, t, fresh)
                    reason, more = str(refused), refused.more_records
            price, slots = cost_of(fresh)
            left, unit = room.filter.remaining(t), policy.unit_charge(t)
            is_derived, first = isinstance(query, Derived), questions[0].form
            assert isinstance(first, Form)
            return Quote(
                query=query.canonical,
                round=t,
                charge=to_float(price * unit),
                price=price,
                counts_for=slots,
                width=None if is_derived else policy.widths.of_form(first, t),
                allowed=reason is None,
                recorded=not fresh,
                reason=reason,
                more_records=more,
                remaining=to_float(left),
                answers_left=ledger.answers_left(t, room),
                answers_left_after=max(0, min(left // unit - price, room.answers - slots)),
            )


def _recorded(entry: Entry) -> Asked:
    """The question of a key, in the words of the entry that it stands for."""
    body = entry.read()
    return str(body["canonical"]), int(body["round"])


def _share(limit: object, ledger: Ledger) -> Spent:
    """A share of the budget, and of the plan's answers, rounded down."""
    share = Fraction(check_share("limit", limit))
    return Spent(int(share * ledger.policy.budget), int(share * ledger.plan.queries))
