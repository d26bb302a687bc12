"""The session: quote, ask, hold."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from surehold.checks import check_whole
from surehold.data.calibration import Calibration
from surehold.data.model_store import KeptModel
from surehold.data.record_store import Progress, RecordStore
from surehold.data.side_tables import default_name
from surehold.data.table_store import KeptTable
from surehold.errors import InvalidInput, WrongGuard
from surehold.ledger.answer_entries import derived_body
from surehold.ledger.draft import Draft
from surehold.ledger.entries import Entry
from surehold.ledger.ledger import Ledger
from surehold.ledger.names import KeptName
from surehold.ledger.view import Asked, Found
from surehold.mechanisms import NoiseSource
from surehold.queries import Dashboard, Derived, Query, Select
from surehold.queries.side_tables import SideTable, mentions_table
from surehold.session.admission import Admission, Step
from surehold.session.dashboards import Watched, register_names, watched, watched_names
from surehold.session.evaluation import Evaluator
from surehold.session.keys import check_text, find_keyed, keys_of_parts
from surehold.session.leaderboards import Submitted, submit
from surehold.session.outcomes import BitsLimit, Registered, SelectionOutcome
from surehold.session.outlook import Outlook, outlook
from surehold.session.overview import Overview
from surehold.session.questions import Question, Questions
from surehold.session.quotes import SpendingLimit
from surehold.session.recorded_results import result_of
from surehold.session.release import Release
from surehold.session.results import Choice, Result
from surehold.session.scorer import Scorer


class Session(Overview):
    """One analyst's access to a dataset. The budget is the dataset's, shared by all analysts."""

    def __init__(
        self,
        ledger: Ledger,
        data: RecordStore,
        noise: NoiseSource,
        analyst: str,
        limit: float | None = None,
        *,
        release: Release | None = None,
        calibration: Calibration | None = None,
        fixed_time: bool | None = None,
    ) -> None:
        self._ledger = ledger
        self._data = data
        self.analyst = check_text("analyst", analyst)
        self._admission = Admission.of(ledger, self.analyst, limit)
        self._evaluator = Evaluator(
            data,
            ledger,
            noise,
            release or Release(),
            calibration or Calibration(data),
            fixed_time,
        )
        self._held: int | None = None
        self.is_counted = False
        """Whether claims count as free entries, of which an analyst may add a number each day."""
        self._questions = Questions(ledger, data.table_store)

    def __repr__(self) -> str:
        held = "" if self._held is None else f", held at {self._held:,}"
        return f"<session of {self.analyst!r} on {self._ledger.folder.name!r}{held}>"

    @property
    def held(self) -> int | None:
        """The round that is held; None while it follows the data."""
        return self._held

    def hold(self, round: int | None) -> None:
        """Keep asking at the snapshot of ``round`` while records arrive; None moves on.

        An older round costs what it cost then: more than a later one.
        """
        if round is not None:
            round = check_whole("round", round)
            self._ledger.rules.round_for(self._ledger.refresh().records, round)
        self._held = round

    def at(self, round: int | None) -> Self:
        """This session held at a round, beside the one that goes on: ``s.at(20_000).ask(...)``."""
        sibling = copy.copy(self)
        sibling.hold(round)
        return sibling

    @property
    def limit(self) -> SpendingLimit | BitsLimit | None:
        """What this analyst may spend in all, has spent, and has left; None without a limit."""
        return self._admission.limit()

    def answers_left(self, round: int) -> int:
        """How many answers fit at a round of the plan, whether or not it has been reached."""
        self._ledger.policy.check_round(round)
        with self._ledger.store.lock:
            self._ledger.refresh()
            return self._ledger.answers_left(round, self._admission.room(self._ledger))

    def outlook(self) -> Outlook:
        """What the rest of the budget buys this analyst, without what is reserved for others."""
        return outlook(self._ledger, self._admission.room)

    def scorer(
        self, *, features: Sequence[str], target: str, metric: str = "accuracy", **options: Any
    ) -> Scorer:
        """A scorer for scikit-learn's loops: ``GridSearchCV(..., scoring=session.scorer(...))``."""
        return Scorer(self, features, target, metric, **options)

    # ------------------------------------------------------------------------------ quote

    def quote(
        self,
        query: Query | str,
        *,
        expect: object = None,
        within: object = None,
        doubt: object = None,
        tables: Mapping[str, Any] | None = None,
    ) -> Any:
        """What an answer would cost and how wide it would be; free, and it touches no record."""
        query = self._questions.query(query, self._bring(tables))
        asked = self._questions.expectation(expect, within, doubt)
        parts = self._questions.parts(query)
        questions = [self._questions.question(part, None, asked=asked) for part in parts]
        return self._admission.quote(query, questions, self._held)

    # -------------------------------------------------------------------------------- ask

    def ask(
        self,
        query: Query | str,
        *,
        expect: object = None,
        within: object = None,
        doubt: object = None,
        tables: Mapping[str, Any] | None = None,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Check, charge and answer; the answer is returned once it is on the disk.

        The same query at the same round gives the recorded answer, free. With a ``key`` of the
        caller's own, a question that is repeated, after a crash say, gives the recorded answer too,
        whatever the round is by then. ``progress`` is called with the number of records read.

        Under the surprise guard, ``expect`` is the number or the verdict that is expected,
        ``within`` how far off it may be (for an improvement, its steps), and ``doubt`` the
        probability that it is. What comes as expected costs little.

        ``tables`` are side tables by the names that the query has for them: ``p.answer = label``
        needs ``tables={"p": ...}``, a file, a table of another library, or what
        :meth:`keep_table` returned.
        """
        query = self._questions.query(query, self._bring(tables))
        asked = self._questions.expectation(expect, within, doubt)
        if key is not None:
            key = check_text("key", key)
        if isinstance(query, Derived) and self._ledger.rules.guard == "noise":
            return self._derive(query, key, progress)
        question = self._questions.question(query, key, asked=asked)
        [result] = self._ask([question], progress)
        return _rename(result, query)

    def ask_many(
        self,
        queries: Iterable[Query | str],
        *,
        tables: Mapping[str, Any] | None = None,
        key: str | None = None,
        progress: Progress | None = None,
    ) -> tuple[Any, ...]:
        """All at one round, all or none, in one pass over the data and one durable step.

        A ``key`` stands for the whole list: repeated with it, the same answers.
        """
        asked = self._listed(queries, tables)
        if key is not None:
            key = check_text("key", key)
        leaves = [self._questions.parts(query) for query in asked]
        results = iter(self._ask_leaves(leaves, key, progress, is_list=True))
        if self._ledger.rules.guard == "surprise":
            return tuple(map(_rename, results, asked))
        return tuple(self._conclude(query, results, None) for query in asked)

    def register(
        self,
        queries: Dashboard | Iterable[Query | str],
        *,
        share: object = None,
        tables: Mapping[str, Any] | None = None,
    ) -> tuple[Registered, ...]:
        """Claim intervals for questions now, to be asked at any time; it costs nothing.

        The questions of a dashboard are also named, under either guard, all of them or none. Once
        more, that changes nothing but units and gates: a name means one question for ever.

        Under the surprise guard an interval is as wide as what was spent when it was claimed
        demands: what is registered early stays narrow for ever. With a ``share`` of beta, from what
        is left of it, those that are new have equal parts of it: the custodian's decision, as it is
        taken from all analysts.
        """
        names: list[KeptName] = []
        if isinstance(queries, Dashboard):
            asked, names = self._questions.dashboard(queries)
        else:
            asked = self._listed(queries, tables)
        if self._ledger.rules.guard == "noise":
            if not isinstance(queries, Dashboard) or share is not None:
                raise WrongGuard("claiming intervals of questions", "surprise")
            forms = [
                None if isinstance(one, Derived) else self._questions.question(one, None).form
                for one in asked
            ]
            return register_names(self._ledger, names, forms, self.analyst)
        from surehold.session.surprise_admission import Registering, register  # loads SciPy

        questions = [self._questions.question(query, None) for query in asked]
        registering = Registering(self.analyst, self._held, share, self.is_counted)
        return register(self._ledger, questions, registering, names)

    def watch(self, questions: Sequence[str] | None = None) -> Watched:
        """Ask the questions of the dashboard, all or those of some names, at the present round.

        They are asked in one pass, all or none. What was answered at this round before is free.
        """
        names = watched_names(self._ledger, questions)
        return watched(names, self.ask_many([name.canonical for name in names]))

    def _listed(self, queries: object, tables: Mapping[str, Any] | None) -> list[Query]:
        if isinstance(queries, str | Query) or not isinstance(queries, Iterable):
            raise InvalidInput("queries", "a list of queries", queries)
        brought = self._bring(tables)
        return [self._questions.query(query, brought) for query in queries]

    # ----------------------------------------------------------------------------- tables

    def keep_table(self, source: Any, name: str | None = None) -> KeptTable:
        """Keep a side table, so that queries may name it: ``"run-17".answer = label``.

        It has the dataset's id column and others, one row for each id, and never changes. The
        ``name`` is kept for good; without one it is that of the file.
        """
        return self._data.table_store.keep(source, self.analyst, name)

    def submit(self, source: Any, name: str | None = None) -> Submitted:
        """Submit predictions, a side table, to the leaderboard; the same ones again are free."""
        return submit(self, source, name)

    def keep_model(self, model: bytes | str | Path, name: str | None = None) -> KeptModel:
        """Keep an ONNX model under a name, for good; without one it is that of the file."""
        return self._data.keep_model(model, name, self.analyst)

    @property
    def tables(self) -> tuple[KeptTable, ...]:
        """The side tables that are kept."""
        return self._data.table_store.tables

    def _bring(self, tables: object) -> dict[str, SideTable]:
        """What an ask brings along, kept before anything is asked about it."""
        store, found = self._data.table_store, dict[str, SideTable]()
        if tables is None:
            return found
        if not isinstance(tables, Mapping) or not all(isinstance(name, str) for name in tables):
            raise InvalidInput("tables", "a mapping of names to tables", tables)
        for alias, given in tables.items():
            kept = given
            if not isinstance(given, KeptTable):
                kept = store.keep(given, self.analyst, default=default_name(given, alias))
            found[alias] = store.describe(kept.table)
        return found

    def _ask_leaves(
        self,
        leaves: Sequence[Sequence[Query]],
        key: str | None,
        progress: Progress | None,
        is_list: bool = False,
    ) -> list[Result]:
        """All parts of all queries in one step."""
        flat = [(leaf, whole) for whole, listed in enumerate(leaves) for leaf in listed]
        questions = [
            self._questions.question(leaf, part_key, whole)
            for (leaf, whole), part_key in zip(
                flat, keys_of_parts(key, len(flat), is_list), strict=True
            )
        ]
        return self._ask(questions, progress, key if is_list else None)

    def _derive(self, query: Derived, key: str | None, progress: Progress | None) -> Result:
        """Ask for the parts, then keep what follows from them, before anything is returned."""
        known = find_keyed(self._ledger, key, query.canonical)
        if known is not None:
            return result_of(known, self._ledger, recorded=True)
        results = self._ask_leaves([self._questions.parts(query)], key, progress)
        return self._conclude(query, iter(results), key)

    def _conclude(self, query: Query, results: Iterator[Result], key: str | None) -> Result:
        """The result of a query, from those of its leaves, which are taken in order.

        What follows from answers that were all recorded before is implied by their entries. It gets
        an entry of its own only if the caller has a key for it.
        """
        if not isinstance(query, Derived):
            return _rename(next(results), query)
        parts = [self._conclude(part, results, None) for part in query.parts]
        t, ledger = parts[0].round, self._ledger
        known = ledger.answered(query.canonical, t)
        if known is not None and key is None:
            return result_of(known, ledger, recorded=True)
        entries = [part.entry for part in parts]
        body = {
            "query": self._questions.text(query),
            "parts": entries,
            **derived_body(query, entries, ledger),
            "analyst": self.analyst,
        }
        is_implied = all(part.recorded for part in parts)
        if is_implied and key is None:
            text = body["query"] if mentions_table(query.canonical) else query.canonical
            return self._imply({**body, "query": text}, parts[-1].analyst, t)
        with ledger.writing() as draft:
            keyed = find_keyed(draft, key, query.canonical)  # others may have come first by now
            known = keyed or draft.answered(query.canonical, t)
            recorded = known is not None
            if known is None:
                known = draft.add_derived(body, query.canonical, t, key, free=is_implied)
            elif key is not None and keyed is None:
                draft.add_key(key, known, self.analyst)
        return result_of(known, ledger, recorded)

    def _imply(self, body: Mapping[str, Any], analyst: str, t: int) -> Result:
        """What follows from recorded answers, the same for every analyst.

        It has the number of the last of them, and the name of the analyst who asked for that.
        """
        ledger = self._ledger
        with ledger.store.lock:
            state, left = ledger.state, ledger.answers_left(t)
        values = {"canonical": body["query"], "round": t, **body, "analyst": analyst}
        values |= {"left": left, "time": state.time, "after": state.to_dict()}
        entry = Entry(max(body["parts"]), "derived", "", b"", values)
        return result_of(entry, ledger, recorded=True)

    def _ask(
        self,
        questions: Sequence[Question],
        progress: Progress | None = None,
        list_key: str | None = None,
    ) -> list[Result]:
        """Refuse, or charge, then evaluate, then answer.

        Every refusal comes first, and the charge is durable before any record is touched. If the
        ask is cut off after that, asking the same again gives the answer without another charge.
        """
        evaluator = self._evaluator
        step = self._admission.decide(self._ledger, questions, held=self._held, list_key=list_key)
        known = evaluator.known(step.due)
        answered: dict[Asked, Entry] = {}
        if known is None:
            evaluator.prepare(step.due)
            with self._data.in_flight.hold(step.due):
                step, answered = self._evaluate(questions, step, {}, progress, list_key)
        elif step.due or step.new_keys:
            step, answered = self._evaluate(questions, step, known, progress, list_key)
        if self._admission.is_less(questions, step, answered):
            return self._ask(questions, progress, list_key)
        return self._results(step, answered)

    def _evaluate(
        self,
        questions: Sequence[Question],
        planned: Step,
        known: Mapping[Asked, list[Any]],
        progress: Progress | None,
        list_key: str | None,
    ) -> tuple[Step, dict[Asked, Entry]]:
        """Charge, evaluate and answer; others may have been first, so decide once more.

        What is ``known`` touches no record, so charge and answer are one step. Otherwise the answer
        is held back before it is committed, not after: others see commits.
        """
        ledger, evaluator = self._ledger, self._evaluator
        expected = None if known else evaluator.expected_seconds(planned.due)

        def charge(draft: Draft) -> tuple[Step, Found, bool, int]:
            step = self._admission.confirm(draft, questions, planned, list_key)
            is_known = (
                bool(known)
                and step.due.keys() <= known.keys()
                and not self._admission.charges_first(step)
                and not evaluator.is_slow_to_draw(step.due)
            )
            now = self._settle(draft, questions, step, known if is_known else {})
            return step, now, is_known, draft.head.seq

        step, now, is_known, charged_at = ledger.write(charge)
        if not step.due or is_known:
            return step, now.answers
        if expected is None:
            expected = evaluator.expected_seconds(step.due)
        charges = now.charges
        drawn = evaluator.evaluate(step.due, charges, expected, progress)

        def answer(draft: Draft) -> dict[Asked, Entry]:
            # Another process, or the commit before an interrupt, may have answered by now.
            there = now if draft.head.seq == charged_at else draft.find(step.due)
            unanswered = {
                one: question
                for one, question in step.due.items()
                if one in there.charges and there.charges[one].seq == charges[one].seq
            }
            return self._record(draft, unanswered, drawn, charges)

        return step, ledger.write(answer)

    def _settle(
        self,
        draft: Draft,
        questions: Sequence[Question],
        step: Step,
        known: Mapping[Asked, list[Any]],
    ) -> Found:
        """Charge what is due, or answer it if its numbers are known, and note new keys.

        Returns the answers that are new, and all charges for what is due.
        """
        answers: dict[Asked, Entry] = {}
        charges = dict(step.found.charges)
        for asked, question in step.due.items():
            if asked not in charges:
                draft.prepare(question.form, asked[1], self._bill(question))
        for i, (question, asked) in enumerate(zip(questions, step.asked, strict=True)):
            entry = step.found.answers.get(asked) or charges.get(asked) or answers.get(asked)
            if entry is not None and i in step.new_keys:
                draft.add_key(str(question.key), entry, self.analyst)
            elif entry is None and asked not in known:
                bill = self._bill(question)
                charges[asked] = draft.add_charge(bill, question.form, asked[1], question.key)
            elif entry is None:
                terms = draft.terms(question.form, asked[1])
                drawn = {asked: self._evaluator.draw(question, asked[1], known[asked], terms)}
                answers |= self._record(draft, {asked: question}, drawn, {}, question.key)
        self._admission.check_charged(draft, charges.keys() - step.found.charges.keys(), charges)
        if known:
            charged = {one: step.due[one] for one in step.due if one in charges}
            kept = self._evaluator.draw_charged(charged, charges, known)
            answers |= self._record(draft, charged, kept, charges)
        return Found(answers, charges)

    def _bill(self, question: Question) -> dict[str, Any]:
        return {"query": self._questions.text(question.query), "analyst": self.analyst}

    def _record(
        self,
        draft: Draft,
        due: Mapping[Asked, Question],
        drawn: Mapping[Asked, dict[str, Any]],
        charges: Mapping[Asked, Entry],
        key: str | None = None,
    ) -> dict[Asked, Entry]:
        """Keep the answers to what is due, which are charged now if they were not before."""
        answers = {}
        for asked, question in due.items():
            values = {**self._bill(question), **drawn[asked]}
            if isinstance(question.query, Select):
                values["name"] = question.query.names[values["chosen"]]
            charge = charges.get(asked)
            answers[asked] = draft.add_answer(values, question.form, asked[1], charge, key)
        return answers

    def _results(self, step: Step, answered: Mapping[Asked, Entry]) -> list[Result]:
        """The result of each question; of two that are the same the second is a recorded one."""
        results, new = [], dict(answered)
        for asked in step.asked:
            recorded = answered.get(asked) or step.found.answers.get(asked)
            entry = recorded or self._ledger.answered(*asked)  # by another process, meanwhile
            assert entry is not None
            is_new = new.pop(asked, None) is not None
            results.append(result_of(entry, self._ledger, recorded=not is_new))
        return results


def _rename(result: Result, query: Query) -> Result:
    """A choice by the names that this caller gave, who need not be the first to ask."""
    if isinstance(result, Choice | SelectionOutcome) and isinstance(query, Select):
        return replace(result, name=query.names[result.index])
    return result
