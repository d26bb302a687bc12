"""Evaluation: the one place where a query meets data, once it is charged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from surehold.data.calibration import Calibration
from surehold.data.record_store import Progress, RecordStore
from surehold.ledger.entries import Entry
from surehold.ledger.ledger import Ledger
from surehold.ledger.view import Asked
from surehold.mechanisms import NoiseSource
from surehold.queries import FitForm, Form, Source
from surehold.session.gradient_descent import fit
from surehold.session.noisy_answers import draw_body, names_model
from surehold.session.questions import Question, by_round
from surehold.session.release import Release
from surehold.spans import span

if TYPE_CHECKING:
    from surehold.ledger.surprise_draft import Terms

_OUTCOME_SECONDS = 0.005  # a few, settled with thirty digits


class Evaluator:
    """Turns questions into the bodies of their answers, which nobody has seen yet.

    ``fixed_time`` says whether results are held back until a time that does not depend on records;
    None holds back models and fits.
    """

    def __init__(
        self,
        data: RecordStore,
        ledger: Ledger,
        noise: NoiseSource,
        release: Release,
        calibration: Calibration,
        fixed_time: bool | None,
    ) -> None:
        self._data, self._ledger, self._noise = data, ledger, noise
        self._release, self._calibration, self._fixed_time = release, calibration, fixed_time

    def prepare(self, due: Mapping[Asked, Question]) -> None:
        """Refuse what can't be evaluated, whatever records hold, and load the snapshots."""
        for t, sources in by_round(due).items():
            self._data.check_evaluable(_flat(sources), t)
            # How long records take to load depends on how long their texts are.
            loading = self._calibration.loading(t) if self._is_held_back(due) else 0.0
            with self._release.held(loading):
                self._data.load(t)

    def expected_seconds(self, due: Mapping[Asked, Question]) -> float:
        """How long an evaluation takes, by public facts; 0 if it is not held back."""
        if not self._is_held_back(due):
            return 0.0
        if self.is_slow_to_draw(due) and self.known(due) is not None:
            return _OUTCOME_SECONDS
        seconds, calibration = 0.0, self._calibration
        for t, sources in by_round(due).items():
            seconds += calibration.seconds(_flat(sources), t)
        for (_, t), question in due.items():
            if isinstance(question.form, FitForm):
                seconds += calibration.fit_seconds(question.form, t)
        return seconds

    def known(self, due: Mapping[Asked, Question]) -> dict[Asked, list[Any]] | None:
        """The exact numbers of what is due, if that takes no look at a record; else None."""
        known: dict[Asked, list[Any]] = {}
        for t, sources in by_round(due).items():
            for asked, listed in sources.items():
                found = self._data.known(listed, t) if listed else None
                if found is None:
                    return None
                known[asked] = list(found)
        return known

    def is_slow_to_draw(self, due: Mapping[Asked, Question]) -> bool:
        """Whether answers are held back even if their numbers are known.

        Noise is drawn in no time, but how long it takes to find an outcome depends on the numbers:
        a gate whose statistic is next to its level is settled with thirty digits.
        """
        return self._ledger.rules.guard == "surprise" and self._is_held_back(due)

    def evaluate(
        self,
        due: Mapping[Asked, Question],
        charges: Mapping[Asked, Entry],
        expected: float,
        progress: Progress | None,
    ) -> dict[Asked, dict[str, Any]]:
        """The answers to what is due, at the end of a slot for the ``expected`` seconds."""
        with self._release.held(expected), span("evaluation", questions=len(due)):
            return self.draw_charged(due, charges, self._exact(due, progress))

    def draw_charged(
        self,
        due: Mapping[Asked, Question],
        charges: Mapping[Asked, Entry],
        exact: Mapping[Asked, list[Any]],
    ) -> dict[Asked, dict[str, Any]]:
        """The answers to what was charged, on the terms of its charges."""
        return {
            asked: self.draw(question, asked[1], exact[asked], self._kept(question, charges[asked]))
            for asked, question in due.items()
        }

    def draw(
        self, question: Question, t: int, exact: list[Any], terms: Terms | None
    ) -> dict[str, Any]:
        """The body of an answer: with noise or, on the ``terms`` of a surprise guard, without."""
        if terms is not None:
            return terms.body(exact)
        assert isinstance(question.form, Form)
        return draw_body(question.form, exact, self._ledger.policy, t, self._noise)

    def _kept(self, question: Question, charge: Entry) -> Terms | None:
        """The terms on which a question was charged, under a surprise guard."""
        if isinstance(question.form, Form):
            return None
        from surehold.ledger.surprise_draft import kept_terms

        return kept_terms(self._ledger, question.form, charge)

    def _is_held_back(self, due: Mapping[Asked, Question]) -> bool:
        if self._fixed_time is not None:
            return self._fixed_time
        return any(names_model(question.form) for question in due.values())

    def _exact(
        self, due: Mapping[Asked, Question], progress: Progress | None
    ) -> dict[Asked, list[Any]]:
        """The exact numbers of what is due, from the records, all of a round in one pass.

        A fit takes many passes of its own, and its coefficients have their noise already.
        """
        exact: dict[Asked, list[Any]] = {}
        for t, sources in by_round(due).items():
            flat = _flat(sources)
            found = iter(self._data.exact(flat, t, progress)) if flat else iter(())
            exact |= {asked: [next(found) for _ in listed] for asked, listed in sources.items()}
        for asked, question in due.items():
            if isinstance(question.form, FitForm):
                parts = (self._data, self._ledger.policy, asked[1], self._noise, progress)
                exact[asked] = [fit(question.form, *parts)]
        return exact


def _flat(sources: Mapping[Asked, tuple[Source, ...]]) -> list[Source]:
    return [source for listed in sources.values() for source in listed]
