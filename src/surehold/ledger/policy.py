"""What a plan permits at run time: rounds, charges and budgets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Any, ClassVar, Literal, TypeAlias

from surehold.checks import check_fraction
from surehold.errors import InvalidInput, LedgerCorrupt, NotApplicable, NotReady
from surehold.ledger.filter import Filter, FixedFilter, RecordFilter
from surehold.ledger.tables import RoundTotals, Spent
from surehold.ledger.widths import Widths
from surehold.mechanisms import ClippedGaussian, units_down
from surehold.planning import Plan
from surehold.queries import Form

Guard: TypeAlias = Literal["noise", "surprise"]
"""How a dataset is protected, fixed when it is created."""

_FEW = 8
# These answer every query from all records that are there, with one noise for all.
_ANSWERABLE = frozenset({"sharp", "ours-n", "ours-u", "adaptive"})
_KNOWN_CHARGES = 4096


class Rules(ABC):
    """What a guard permits at run time, by sizes and parameters alone; it never sees a record."""

    guard: ClassVar[Guard]
    first_book: Mapping[str, Any] | None = None
    """What a ledger keeps count of at first, besides the state of any."""

    @property
    @abstractmethod
    def first_round(self) -> int:
        """The smallest round at which anything may be asked."""

    @property
    @abstractmethod
    def is_one_piece(self) -> bool:
        """Whether of all charges only the sum matters."""

    @property
    @abstractmethod
    def beta(self) -> float | Fraction:
        """The probability that any interval of the whole analysis misses."""

    @property
    @abstractmethod
    def budget(self) -> int:
        """What may be spent in all, in units."""

    @property
    @abstractmethod
    def limit_units(self) -> int | None:
        """What may be spent in all, in units, by any limit; None if there is none."""

    @abstractmethod
    def reservation(self, amount: object) -> Spent | None:
        """What an amount keeps for an analyst; None if it is 0, which releases it."""

    @abstractmethod
    def to_entry(self) -> dict[str, Any]:
        """What the first entry of a ledger keeps of it."""

    @abstractmethod
    def new_filter(self) -> Filter:
        """The filter before the first answer."""

    @abstractmethod
    def charges(self, totals: Sequence[RoundTotals], spent: int) -> list[tuple[int, int]]:
        """Rounds and what was charged at each, from the index and what was charged in all."""

    @abstractmethod
    def round_for(self, records: int, held: int | None) -> int:
        """The round of a query asked now; raises NotReady with what to do."""

    @abstractmethod
    def check_round(self, t: int) -> None:
        """Refuse what can't be a round, whether or not it has been reached."""

    @abstractmethod
    def nearest_round(self, wanted: int) -> int:
        """A round that may be asked about, the wanted one if possible."""


class Policy(Rules):
    """A plan, read once: the noise guard."""

    guard = "noise"

    def __init__(self, plan: Plan) -> None:
        if plan.sigma is None or (plan.certificate not in _ANSWERABLE and plan.batches != 1):
            reason = (
                "it answers each query from new records only, which datasets do not support; "
                "make a plan with certificate 'sharp'"
            )
            raise NotApplicable(plan.certificate, reason)
        self.plan = plan
        self.mechanism = ClippedGaussian(plan.sigma)
        self.unit_charge = lru_cache(_KNOWN_CHARGES)(self.mechanism.charge)
        """What one answer at a round costs each of its records, in units, worked out once."""
        self.widths = Widths(plan, plan.sigma, self.charge)
        schedule = plan.schedule()
        self.schedule: tuple[tuple[int, int], ...] | None = None
        if schedule is not None:
            counts = (round(count) for count in schedule.counts.tolist())
            self.schedule = tuple(zip(schedule.rounds.tolist(), counts, strict=True))

    @property
    def beta(self) -> float:
        return self.plan.beta

    def to_entry(self) -> dict[str, Any]:
        return {"plan": self.plan.to_dict()}

    @cached_property
    def rounds(self) -> tuple[int, ...]:
        """The rounds that a fixed schedule has, in order; none if the plan is adaptive."""
        return tuple(t for t, _ in self.schedule or ())

    @property
    def is_one_piece(self) -> bool:
        return len(self.rounds) <= 1

    @property
    def first_round(self) -> int:
        return self.rounds[0] if self.rounds else self.plan.n0

    @property
    def last_round(self) -> int:
        """The largest."""
        return self.rounds[-1] if self.rounds else self.plan.n

    # ----------------------------------------------------------------------------- charges

    def charge(self, form: Form, t: int) -> int:
        """What a query costs each record of round t, in units."""
        return form.price * self.unit_charge(t)

    @cached_property
    def budget(self) -> int:
        """What the most exposed record may be charged in all, in units."""
        if self.schedule is None:
            assert self.plan.budget is not None
            return units_down(self.plan.budget)
        return sum(count * self.unit_charge(t) for t, count in self.schedule)

    @property
    def limit_units(self) -> int:
        return self.budget

    def reservation(self, amount: object) -> Spent | None:
        """A share of the budget and of the plan's answers, rounded down."""
        required = "a share of the budget, from 0 to 1 (0.25 is a quarter)"
        share = check_fraction("the reservation", amount, required, lambda x: 0 <= x <= 1)
        if not self.is_one_piece:
            # What later records may be charged is less, and would have to be kept by rounds.
            got = f"{len(self.rounds):,} fixed rounds"
            raise InvalidInput("the plan", "without fixed rounds, to reserve a part of it", got)
        return Spent(int(share * self.budget), int(share * self.plan.queries)) if share else None

    def new_filter(self) -> Filter:
        """The filter before the first answer.

        With `sharp` a fixed schedule gives each record the budget of the queries that are planned
        from its arrival on: what is left unasked early may not be asked late, but the reverse may.
        """
        if self.schedule is None:
            return RecordFilter([1], [self.budget])
        planned = {t: count * self.unit_charge(t) for t, count in self.schedule}
        if self.plan.certificate != "sharp":
            return FixedFilter(planned)
        firsts = [1, *(t + 1 for t in self.rounds[:-1])]
        from_then_on = list(accumulate(reversed(planned.values())))
        return RecordFilter(firsts, from_then_on[::-1])

    def charges(self, totals: Sequence[RoundTotals], spent: int) -> list[tuple[int, int]]:
        if self.rounds and not {total.round for total in totals} <= set(self.rounds):
            raise LedgerCorrupt("the ledger", "its index has rounds that are not in the plan")
        return [(total.round, total.price * self.unit_charge(total.round)) for total in totals]

    def answers_left(self, filter: Filter, t: int, given: int) -> int:
        """How many answers fit at round t after ``given`` of the plan's answers."""
        return max(0, min(filter.remaining(t) // self.unit_charge(t), self.plan.queries - given))

    def fits_at(self, filter: Filter, t: int, price: int = 1) -> int | None:
        """The first round from t on at which answers of that price fit; None if there is none."""
        if not self.rounds:
            left = filter.remaining(t) // price
            return self.mechanism.smallest_round(left, t, self.last_round)
        for later in self.rounds[bisect_left(self.rounds, t) :]:
            if filter.admits(later, price * self.unit_charge(later)):
                return later
        return None

    def check_covers(self, form: Form) -> None:
        """Refuse a query that the plan's theorem does not cover."""
        if form.needs == "statistical":
            return
        if self.plan.rare is not None:
            reason = "its intervals for rare events are proved for means over records only"
            raise NotApplicable(f"{self.plan.certificate}, rare", reason)
        if self.plan.certificate != "sharp" and self.plan.covers == "statistical":
            reason = (
                "this plan covers means over records only; make one with "
                "covers='low-sensitivity' (--covers), or with certificate 'sharp'"
            )
            raise NotApplicable(self.plan.certificate, reason)

    # ------------------------------------------------------------------------------ rounds

    def round_for(self, records: int, held: int | None) -> int:
        """The round of a query asked now; raises NotReady with what to do."""
        first, last = self.first_round, self.last_round
        if held is not None:
            self._check_in_plan(held, records, min(last, max(records, first)))
            if held > records:
                more = held - records
                raise self._not_ready(
                    f"round {held:,} is not there yet: there are {records:,} records",
                    f"append {more:,} more, or hold an earlier round",
                    records=records,
                    round=held,
                    more_records=more,
                )
            return held
        if records < first:
            more = first - records
            raise self._not_ready(
                f"asking starts at {first:,} records and there are {records:,}",
                f"append {more:,} more",
                records=records,
                more_records=more,
            )
        if self.rounds:
            return self.nearest_round(records)
        if records > last:
            raise self._not_ready(
                f"the plan is complete: it ends at n = {last:,} and there are {records:,} records",
                f"while budget is left, you can ask about the first {last:,}: hold({last}), or "
                f"--round {last}; recorded answers stay free. For what came later, create another "
                "dataset, with a plan of its own or with the surprise guard, which has no end",
                records=records,
            )
        return records

    def check_round(self, t: int) -> None:
        """Refuse a round that the plan does not have, whether or not it has been reached."""
        self._check_in_plan(t, None, min(self.last_round, max(t, self.first_round)))

    def _check_in_plan(self, t: int, records: int | None, latest: int) -> None:
        first, last = self.first_round, self.last_round
        numbers = {} if records is None else {"records": records}
        if not first <= t <= last:
            raise self._not_ready(
                f"the plan covers rounds {first:,} to {last:,}, and {t:,} is not one of them",
                f"hold a round from {first:,} to {latest:,}",
                **numbers,
                round=t,
            )
        if self.rounds and t not in self.rounds:
            near = self.nearest_round(t)
            listed = ", ".join(f"{one:,}" for one in self.rounds[:_FEW])
            dots = ", ..." if len(self.rounds) > _FEW else ""
            raise self._not_ready(
                f"the plan has fixed rounds ({listed}{dots}), and {t:,} is not one of them",
                f"hold the one before it, {near:,}",
                **numbers,
                round=t,
                nearest_round=near,
            )

    def _not_ready(self, reason: str, hint: str, **numbers: int) -> NotReady:
        ends = {"first_round": self.first_round, "last_round": self.last_round}
        return NotReady(reason, hint, ends | numbers)

    def next_round(self, records: int) -> int | None:
        """The next round of a fixed schedule that the data has not reached, if there is one."""
        later = self.rounds[bisect_right(self.rounds, records) :]
        return later[0] if later else None

    def nearest_round(self, wanted: int) -> int:
        """A round of the plan: the wanted one, or else the last before it, or the first of all."""
        wanted = min(max(wanted, self.first_round), self.last_round)
        if self.rounds:
            return self.rounds[bisect_right(self.rounds, wanted) - 1]
        return wanted
