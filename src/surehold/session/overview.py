"""What may be known of a dataset without asking: its plan, its size, its budget, its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from surehold.display import Shown
from surehold.errors import NotReady
from surehold.formatting import percent, several, share_spent, width
from surehold.ledger.ledger import Ledger
from surehold.mechanisms import to_float
from surehold.planning import Plan
from surehold.queries import Dashboard
from surehold.session.dashboards import dashboard_of
from surehold.session.histories import History, histories, history
from surehold.session.leaderboards import Leaderboard, leaderboard
from surehold.session.outcomes import AnalystSpending, SurpriseStatus
from surehold.session.outlook import Outlook, outlook
from surehold.session.questions import Questions
from surehold.session.quotes import Budget
from surehold.session.reservations import spending
from surehold.session.results import when
from surehold.session.transcript import Transcript


@dataclass(frozen=True, repr=False)
class Status(Shown):
    """Where a dataset stands.

    ``name`` is that of its folder, without the path, which remote callers need not know. ``round``
    is that of a query asked now, None if none may be; ``next_round`` the next of a fixed schedule.
    ``id`` is the column that identifies a record, None if there is none. ``by_analyst`` is what
    each has spent, and what is reserved for each.
    ``predecessor`` and
    ``successor`` are the names of the datasets that it took over from, and that took over from it.
    """

    guard: str = field(default="noise", init=False)
    name: str
    dataset: str
    columns: Mapping[str, str]
    id: str | None
    predecessor: str | None
    successor: str | None
    n: int
    first_round: int
    last_round: int
    ready: bool
    round: int | None
    next_round: int | None
    advice: str | None
    width: float
    beta: float
    certificate: str
    budget: Budget
    answers: int
    answers_left: int
    segments: int
    pending: int
    entries: int
    head: str
    by_analyst: tuple[AnalystSpending, ...] = ()
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        return {"width": f"± {width(self.width)}", "confidence": percent(self.beta)}

    def __str__(self) -> str:
        return (
            f"{self.name}: {several(self.n, 'record')}, "
            f"{several(self.answers, 'answer')} given; {self.budget}"
        )


@dataclass(frozen=True, repr=False)
class Growth(Shown):
    """How many records there were, from a time on."""

    time: str
    n: int

    def __str__(self) -> str:
        return f"{several(self.n, 'record')} from {self.time} on"


@dataclass(frozen=True, repr=False)
class Round(Shown):
    """The answers that were given at one round, and what they cost in all.

    ``share`` is that cost as a share of the whole budget, and ``share_so_far`` that of this round
    and all earlier ones.
    """

    round: int
    answers: int
    spent: float
    share: float
    share_so_far: float
    display: Mapping[str, str] = field(init=False, compare=False)

    def _display(self) -> dict[str, str]:
        return {
            "share": share_spent(self.share, 1.0),
            "share_so_far": share_spent(self.share_so_far, 1.0),
        }

    def __str__(self) -> str:
        return f"{several(self.answers, 'answer')} at n = {self.round:,} for {self.spent:.4g}"


class Overview:
    """What datasets and sessions show of themselves; it is free and touches no record."""

    _ledger: Ledger

    @property
    def n(self) -> int:
        """How many records there are now."""
        return self._ledger.refresh().records

    @property
    def plan(self) -> Plan:
        """The plan it was created with."""
        return self._ledger.plan

    @property
    def columns(self) -> dict[str, str]:
        """Names and types of the columns."""
        return self._ledger.schema.to_dict()

    @property
    def transcript(self) -> Transcript:
        """Return all answers of the dataset so far, of all analysts."""
        return self.transcript_of(None)

    def transcript_of(self, analyst: str | None) -> Transcript:
        """The answers that one analyst asked for; None stands for all."""
        return Transcript(self._ledger, analyst)

    @property
    def budget(self) -> Budget:
        """The budget of the record that is exposed most, the first."""
        return self._budget(self._ledger.refresh().spent)

    def _budget(self, spent: int) -> Budget:
        total = self._ledger.policy.budget
        return Budget(to_float(total), to_float(spent), to_float(total - spent))

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds at which answers were given, in order."""
        policy, so_far, found = self._ledger.policy, 0, []
        for total in self._ledger.store.rounds():
            spent = total.price * policy.unit_charge(total.round)
            so_far += spent
            shares = spent / max(policy.budget, 1), so_far / max(policy.budget, 1)
            found.append(Round(total.round, total.answers, to_float(spent), *shares))
        return tuple(found)

    def growth(self, points: int = 500) -> tuple[Growth, ...]:
        """How the data grew: at most ``points`` moments, the last append among them."""
        states = (entry.state() for entry in self._ledger.store.sampled("append", points))
        return tuple(Growth(when(state.time), state.records) for state in states)

    @property
    def dashboard(self) -> Dashboard:
        """The questions that have names, with their units and gates."""
        return dashboard_of(self._ledger)

    def history(self, question: str) -> History:
        """The answers to one question so far, by its name or its text, round by round."""
        self._ledger.refresh()
        named, questions = self._ledger.names, Questions(self._ledger)
        if question in named.by_name:
            kept = named.by_name[question]
            return history(self._ledger, kept.canonical, kept.question)
        canonical = questions.canonical(questions.query(question))
        title = named.titles.get(canonical)
        one = None if title is None else named.by_name[title].question
        return history(self._ledger, canonical, one)

    def histories(self, most: int = 12) -> tuple[History, ...]:
        """The histories of named questions or, if there are none, of those asked most often."""
        return tuple(histories(self._ledger, most))

    @property
    def leaderboard(self) -> Leaderboard:
        """The leaderboard, if the custodian opened one; refused if not."""
        return leaderboard(self._ledger)

    def outlook(self) -> Outlook:
        """What the rest of the budget buys: now, evenly from now on, or at the end."""
        return outlook(self._ledger)

    def _spent(self, units: int) -> float:
        """What was spent, in mu^2 or, under the surprise guard, in bits."""
        if self._ledger.rules.guard == "noise":
            return to_float(units)
        from surehold.ledger.surprise_policy import to_bits  # loads SciPy

        return to_bits(units)

    @property
    def guard(self) -> str:
        """How the dataset is protected: noise or surprise."""
        return self._ledger.rules.guard

    def status(self) -> Status | SurpriseStatus:
        """Where it stands, in numbers."""
        if self.guard == "surprise":
            from surehold.session.surprise_status import surprise_status  # loads SciPy

            return surprise_status(self._ledger)
        ledger, policy = self._ledger, self._ledger.policy
        state = ledger.refresh()
        current, advice = None, None
        try:
            current = policy.round_for(state.records, None)
        except NotReady as error:
            advice = str(error)
        first_pending = min(ledger.store.first_pending(), state.records)
        return Status(
            name=ledger.folder.name,
            dataset=ledger.fingerprint,
            columns=MappingProxyType(self.columns),
            id=ledger.schema.id,
            predecessor=ledger.predecessor_name,
            successor=ledger.successor_name,
            n=state.records,
            first_round=policy.first_round,
            last_round=policy.last_round,
            ready=current is not None,
            round=current,
            next_round=policy.next_round(state.records),
            advice=advice,
            width=policy.widths.widest(0.0, 1.0, 0),
            beta=self.plan.beta,
            certificate=self.plan.certificate,
            budget=self._budget(state.spent),
            answers=state.answers,
            answers_left=ledger.answers_left(policy.nearest_round(state.records)),
            segments=len(ledger.store.segments()),
            pending=state.records - first_pending,
            entries=ledger.head.seq,
            head=ledger.head.hash.hex(),
            by_analyst=spending(ledger),
        )
