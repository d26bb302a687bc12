"""Admission under the surprise guard: quotes, limits in bits, and registration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from surehold.checks import check_fraction
from surehold.errors import BudgetExhausted, InvalidInput, NotReady
from surehold.ledger.draft import Draft
from surehold.ledger.entries import Entry
from surehold.ledger.ledger import Ledger
from surehold.ledger.names import KeptName
from surehold.ledger.surprise_draft import (
    SurpriseDraft,
    Terms,
    asking_of_entry,
    claim_of,
    kept_terms,
    subject_key,
    subject_of,
    terms_of,
)
from surehold.ledger.surprise_policy import check_bits, to_bits, units_of_bits
from surehold.ledger.tables import Spent
from surehold.ledger.view import Asked, Found, View
from surehold.mechanisms.outcomes.base import Asking
from surehold.queries import Expectation, Query
from surehold.session.admission import Admission, Step
from surehold.session.outcomes import BitsLimit, Registered, SurpriseQuote
from surehold.session.questions import Question


class SurpriseAdmission(Admission):
    """Decides for one analyst, who may have a limit in bits; the dataset may have one too."""

    def __init__(self, ledger: Ledger, analyst: str, limit: float | None) -> None:
        super().__init__(ledger, analyst, None)
        self._mine = None if limit is None else units_of_bits(check_bits("limit", limit))
        whole = ledger.surprise.limit
        self._whole = None if whole is None else units_of_bits(whole)

    def limit(self) -> BitsLimit | None:
        """What this analyst may spend in all, has spent, and has left; None without a limit."""
        if self._mine is None:
            return None
        ledger = self._ledger
        with ledger.store.lock:
            ledger.refresh()
            spent, left = ledger.spent_by(self._analyst).units, self._left(ledger)
        assert left is not None
        return BitsLimit(to_bits(self._mine), to_bits(spent), to_bits(max(left, 0)))

    def _left(self, view: View) -> int | None:
        """What may yet be spent, if every question under way costs the most it can."""
        if self._mine is None and self._whole is None:
            return None
        charges = view.store.outstanding()
        under_way = [(entry.read()["analyst"], self._dearest(view, entry)) for entry in charges]
        lefts = []
        if self._whole is not None:
            lefts.append(self._shared(view, under_way) - self._kept(view, under_way))
        if self._mine is not None:
            due = sum(most for analyst, most in under_way if analyst == self._analyst)
            lefts.append(self._mine - view.spent_by(self._analyst).units - due)
        return min(lefts)

    def unreserved(self, view: View, kept: Spent) -> tuple[Spent, Spent]:
        """What a reservation of the analyst would take, and what there is to take it from."""
        charges = view.store.outstanding()
        mine = [one for one in charges if one.read()["analyst"] == self._analyst]
        owed = sum(self._dearest(view, charge) for charge in mine)
        left = self._left(view)
        assert left is not None  # or there would be nothing to reserve
        return Spent(kept.units - view.spent_by(self._analyst).units - owed, 0), Spent(left, 0)

    def _shared(self, view: View, under_way: Sequence[tuple[str, int]]) -> int:
        """What the dataset's limit leaves for all."""
        assert self._whole is not None
        return self._whole - view.state.spent - sum(most for _, most in under_way)

    def _kept(self, view: View, under_way: Sequence[tuple[str, int]]) -> int:
        """What is reserved for others, who may owe a part of it already."""
        owed: dict[str, int] = defaultdict(int)
        for analyst, most in under_way:
            owed[analyst] += most
        return view.kept_from(self._analyst, owed).units

    def _dearest(self, view: View, charge: Entry) -> int:
        """What a question that is charged and not answered yet may cost."""
        asking = asking_of_entry(self._ledger.schema, charge.read())
        return kept_terms(view, asking, charge).most

    def _sufficient(
        self,
        found: Found,
        asked: Sequence[Asked],
        questions: Sequence[Question],
        keyed: Sequence[Entry | None],
    ) -> Found:
        """Without answers that are coarser than what is asked for now.

        A key stands for the answer that it was used for, however it is asked now.
        """
        answers = dict(found.answers)
        for one, question, key in zip(asked, questions, keyed, strict=True):
            is_settled = key is not None and key.kind == "answer"
            entry = None if is_settled else answers.get(one)
            if entry is not None and not _asking(question).suffices(entry.read()):
                del answers[one]
        return Found(answers, found.charges)

    def is_less(
        self, questions: Sequence[Question], step: Step, answered: Mapping[Asked, Entry]
    ) -> bool:
        """Then it is asked once more; unless it has a key, which stands for that answer now."""
        pairs = zip(step.asked, questions, strict=True)
        return any(
            one in step.found.charges
            and one in answered
            and question.key is None
            and not _asking(question).suffices(answered[one].read())
            for one, question in pairs
        )

    def charges_first(self, step: Step) -> bool:
        """What the dearest outcomes cost was added up before any: doubts learn from outcomes."""
        return len(step.due) > 1 and (self._mine is not None or self._whole is not None)

    def _as_charged(self, question: Question, charge: Entry) -> Question:
        body, ledger = charge.read(), self._ledger
        if body["canonical"] != question.canonical:  # of an earlier version
            return replace(question, form=asking_of_entry(ledger.schema, body))
        asked = Expectation.of(**body["asked"])
        return replace(question, form=ledger.surprise.ask_for(question.query, ledger.schema, asked))

    def _check_fits(self, view: View, t: int, unpaid: Sequence[Question]) -> None:
        left = self._left(view)
        if left is None:
            return
        most = sum(terms_of(view, _asking(question), t).most for question in unpaid)
        if most > left:
            raise self._refusal(view, t, most, left)

    def check_charged(
        self, draft: Draft, new: Iterable[Asked], charges: Mapping[Asked, Entry]
    ) -> None:
        """Of a list, later claims have other levels, and so other menus, than was decided with."""
        left, listed = self._left(draft), [charges[one] for one in new]
        most = 0 if left is None else sum(self._dearest(draft, one) for one in listed)
        if left is not None and most > left:
            raise self._refusal(draft, int(listed[0].read()["round"]), most, left)

    def _refusal(self, view: View, t: int, most: int, left: int) -> BudgetExhausted:
        mine = self._mine is not None and view.spent_by(self._analyst).units + most > self._mine
        kept = view.kept_from(self._analyst).units
        whose, are = "the limit of the dataset does not allow it", "are left"
        if mine:
            whose = f"the limit of analyst {self._analyst!r} does not allow it"
        elif kept and most <= left + kept:
            whose, are = "the rest of the limit is reserved for other analysts", "are not reserved"
        what = (
            f"{whose} at round {t:,}: it may cost {to_bits(most):.4g} bits, and "
            f"{to_bits(max(left, 0)):.4g} {are}"
        )
        hint = "expect an outcome, or ask for a verdict: that costs less; recorded answers are free"
        return BudgetExhausted(to_bits(most), to_bits(max(left, 0)), t, None, None, hint, what)

    def _terms(self, asking: Asking, t: int) -> tuple[Terms | None, str | None]:
        """The terms that a question would have; or why it has none: no share of beta is left."""
        try:
            return terms_of(self._ledger, asking, t), None
        except InvalidInput as error:
            if error.parameter != "share":
                raise
            return None, str(error)

    def quote(self, query: Query, questions: Sequence[Question], held: int | None) -> SurpriseQuote:
        """What a query would cost now, and how wide its interval would be."""
        ledger, [question] = self._ledger, questions
        asking = _asking(question)
        with ledger.store.lock:
            records = ledger.refresh().records
            ledger.check_open()
            reason, more, recorded = None, None, False
            try:
                t = ledger.rules.round_for(records, held)
            except NotReady as error:
                t = ledger.rules.nearest_round(held or records)
                reason, more = str(error), error.numbers.get("more_records")
            asked = (asking.canonical, t)
            found = self._sufficient(ledger.find([asked]), [asked], [question], [None])
            left, recorded = self._left(ledger), asked in found.answers
            terms, refused = self._terms(asking, t)
            claim, least, most = None, 0, 0
            width: float | None = None
            if terms is not None:
                claim, width = terms.claim, asking.forecast(terms.menu, terms.claim, t)
                least, most = (0, 0) if recorded else (terms.least, terms.most)
                if left is not None and most > left:
                    refused = str(self._refusal(ledger, t, most, left))
            reason = reason or refused
            return SurpriseQuote(
                query=query.canonical,
                round=t,
                claim=None if claim is None else claim.number,
                level=None if claim is None else asking.level(claim, t).nats,
                least=to_bits(least),
                most=to_bits(most),
                width=width,
                spent=to_bits(ledger.state.spent),
                allowed=reason is None,
                recorded=recorded,
                reason=reason,
                more_records=more,
                remaining=None if left is None else to_bits(max(left, 0)),
            )


class Registering(NamedTuple):
    """Who registers, at what round if one is held, with what share, and whether it is counted."""

    analyst: str
    held: int | None
    share: object
    is_counted: bool


def register(
    ledger: Ledger,
    questions: Sequence[Question],
    how: Registering,
    names: Sequence[KeptName] = (),
) -> tuple[Registered, ...]:
    """Register questions that have no claim yet, all at the same past, and name them."""
    declared, analyst = None, how.analyst
    if how.share is not None:
        declared = check_fraction("share", how.share, "above 0 and up to 1", lambda x: 0 < x <= 1)
    found = []
    with ledger.writing() as draft:
        assert isinstance(draft, SurpriseDraft)
        t = ledger.rules.nearest_round(how.held or draft.state.records)
        new = [q for q in _distinct(questions, t) if _row(draft, _asking(q), t) is None]
        each = None
        if declared is not None and new:
            claims = sum(_asking(question).claims for question in new)
            each = declared / max(claims, 1)
        for question in new:
            asking = _asking(question)
            if asking.claims:
                bill = {"query": question.query.text, "analyst": analyst}
                bill |= draft.count_free(analyst) if how.is_counted else {}
                at = t if asking.is_one_round else None
                draft.add_claim(asking, at, bill, None if each is None else each * asking.claims)
        fresh = {_asking(question).canonical for question in new}
        for name in names:
            if draft.add_name(name, analyst):
                fresh.add(name.canonical)
        for question in questions:
            asking = _asking(question)
            found.append(_registered(draft, asking, t, asking.canonical in fresh))
    return tuple(found)


def _distinct(questions: Sequence[Question], t: int) -> list[Question]:
    """One question for each claim."""
    return list({subject_of(_asking(one), t): one for one in reversed(questions)}.values())[::-1]


def _row(draft: Draft, asking: Asking, t: int) -> Any:
    return draft.claim_row(subject_key(subject_of(asking, t)))


def _registered(draft: SurpriseDraft, asking: Asking, t: int, new: bool) -> Registered:
    row, claim = _row(draft, asking, t), None
    if row is not None:
        claim = claim_of(draft.surprise, draft.entry(row.seq))
    at = t if claim is None else claim.first or t
    menu: Mapping[str, Any] = terms_of(draft, asking, at).menu
    return Registered(
        title=draft.names.titles.get(asking.canonical),
        query=asking.canonical,
        claim=None if claim is None else claim.number,
        level=None if claim is None else asking.level(claim, at).nats,
        share=None if claim is None else float(claim.share),
        width=asking.forecast(menu, claim, at),
        new=new,
    )


def _asking(question: Question) -> Asking:
    assert isinstance(question.form, Asking)
    return question.form
