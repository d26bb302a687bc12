"""What a surprise guard permits: any round, any number of answers; only beta is fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

from surehold.checks import SMALLEST_BETA, check_fraction, check_whole
from surehold.errors import InvalidInput, NotReady
from surehold.formatting import Finding
from surehold.ledger.filter import Filter, RecordFilter
from surehold.ledger.policy import Rules
from surehold.ledger.tables import RoundTotals, Spent
from surehold.mechanisms.outcomes.base import Asking, Claim, exact_number
from surehold.mechanisms.outcomes.forms import ask_for
from surehold.queries import Expectation, Query, Schema
from surehold.theory.surprise.digits import LOG_TWO, decimal_of, precise
from surehold.theory.surprise.levels import LARGEST_BETA, Rounds
from surehold.theory.surprise.menus.numbers import learned_doubt
from surehold.theory.surprise.prices import UNITS, bits
from surehold.theory.surprise.shares import EXPECTED_CLAIMS, Shares

_UNLIMITED = 2**256  # more units than any analysis spends

_MOST_CLAIMS = 20_000

THEOREM = "the surprise theorem"
ASSUMPTIONS = (
    "records are independent draws from one population, and arrive regardless of what they hold",
    "nothing is known of the records but what was reported here",
)


@dataclass(frozen=True)
class Book:
    """What the guard keeps count of, besides what was spent: a function of the past.

    ``claims`` were registered so far, and ``shares`` are left. Of ``expected`` numbers that had an
    expectation, ``surprised`` came out otherwise.
    """

    shares: Shares
    claims: int = 0
    expected: int = 0
    surprised: int = 0

    @property
    def doubt(self) -> Fraction:
        """The doubt that was learned (Surprise, section 4)."""
        return learned_doubt(self.expected, self.surprised)

    def to_dict(self) -> dict[str, Any]:
        """As every entry keeps it."""
        return {
            "claims": self.claims,
            "defaults": self.shares.defaults,
            "left": str(self.shares.left),
            "expected": self.expected,
            "surprised": self.surprised,
        }


class SurprisePolicy(Rules):
    """The surprise guard of a dataset, read once. It knows sizes and parameters, never a record."""

    guard = "surprise"
    first_round = 1
    is_one_piece = True

    def __init__(
        self, beta: Fraction, claims: int = EXPECTED_CLAIMS, limit: Fraction | None = None
    ) -> None:
        self._beta, self.claims, self.limit = beta, claims, limit
        self.first_book = Book(Shares(claims)).to_dict()
        self._known_claims: dict[bytes, Claim] = {}
        self._last_book: tuple[Mapping[str, Any], Book] = ({}, Book(Shares(claims)))

    @property
    def beta(self) -> Fraction:
        return self._beta

    @classmethod
    def of(cls, beta: object, claims: object = None, limit: object = None) -> SurprisePolicy:
        """Check what a custodian gave."""
        smallest = Fraction(str(SMALLEST_BETA))
        required = f"a number from {SMALLEST_BETA:g} to {float(LARGEST_BETA)}"
        return cls(
            check_fraction("beta", beta, required, lambda x: smallest <= x <= LARGEST_BETA),
            EXPECTED_CLAIMS if claims is None else check_whole("claims", claims, 1, 10**9),
            None if limit is None else check_bits("limit", limit),
        )

    def to_entry(self) -> dict[str, Any]:
        limit = None if self.limit is None else str(self.limit)
        return {"guard": {"beta": str(self.beta), "claims": self.claims, "limit": limit}}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> SurprisePolicy:
        """Read what :meth:`to_entry` wrote."""
        return cls.of(given["beta"], given["claims"], given["limit"])

    # ------------------------------------------------------------------------------ asking

    def ask_for(self, query: Query, schema: Schema, asked: Expectation) -> Asking:
        """How a query is asked."""
        return ask_for(query, schema, asked)

    def write_book(self, book: Book) -> dict[str, Any]:
        """A book as every entry keeps it; it is read next."""
        written = book.to_dict()
        self._last_book = (written, book)
        return written

    def book_of(self, given: Mapping[str, Any]) -> Book:
        """Read what an entry says; the same one is read several times in each ask."""
        last, book = self._last_book
        if given is not last:
            shares = Shares(self.claims, int(given["defaults"]), exact_number(given["left"]))
            counts = (int(given[name]) for name in ("claims", "expected", "surprised"))
            book = Book(shares, *counts)
            self._last_book = (given, book)
        return book

    def next_claim(
        self,
        book: Book,
        spent: int,
        records: int,
        asking: Asking,
        t: int | None,
        share: Fraction | None = None,
    ) -> tuple[Claim, Book]:
        """The claim of a question that is registered now, and the book after that.

        ``t`` is the round at which it is asked; None if it is registered only (Surprise, 3).
        A table has as many claims as cells, which have equal parts of all their shares. A declared
        ``share`` is for all claims of the question.
        """
        shares, each = book.shares, asking.claims
        if share is not None:
            share, shares = shares.declare(share, each)
        elif each == 1:
            share, shares = shares.default()
        else:
            before = shares.left
            for _ in range(each):
                _, shares = shares.default()
            share = (before - shares.left) / each
        is_always = t is None or asking.is_always
        rounds: Rounds = "once" if asking.is_one_round else "always" if is_always else "both"
        claim = Claim(
            self.beta,
            book.claims + 1,
            each,
            share,
            spent,
            rounds,
            None if is_always and rounds != "once" else t,
            records,
            asking.is_one_sided,
        )
        return claim, Book(shares, book.claims + each, book.expected, book.surprised)

    def known_claim(self, digest: bytes) -> Claim | None:
        """The claim of an entry, by the entry's hash, if it was needed before."""
        return self._known_claims.get(digest)

    def remember(self, digest: bytes, claim: Claim) -> Claim:
        """Keep the claim of an entry, whose levels are then worked out once."""
        if len(self._known_claims) >= _MOST_CLAIMS:
            self._known_claims.clear()
        self._known_claims[digest] = claim
        return claim

    # ------------------------------------------------------------------------------ limits

    @property
    def limit_units(self) -> int | None:
        return None if self.limit is None else units_of_bits(self.limit)

    def reservation(self, amount: object) -> Spent | None:
        """Some bits, if there is a limit to keep them from."""
        required = "a number of bits, from 0 to 10^6"
        amount = check_fraction("the reservation", amount, required, lambda x: 0 <= x <= 10**6)
        if not amount:
            return None
        if self.limit is None:
            required = "limited in bits (create --limit), so that a part can be reserved"
            hint = "without a limit nobody can use up what another needs"
            raise InvalidInput("the dataset", required, Finding("has no limit"), hint)
        return Spent(units_of_bits(amount), 0)

    @property
    def budget(self) -> int:
        """There is none: a limit is checked before a question is charged, not after."""
        return _UNLIMITED

    def new_filter(self) -> Filter:
        return RecordFilter([1], [_UNLIMITED])

    def charges(self, totals: Sequence[RoundTotals], spent: int) -> list[tuple[int, int]]:
        """What was spent, as if at the first round: every answer counts for all claims."""
        return [(1, spent)]

    # ------------------------------------------------------------------------------ rounds

    def round_for(self, records: int, held: int | None) -> int:
        """The round of a query asked now; raises NotReady with what to do."""
        t = records if held is None else held
        if not 1 <= t <= records:
            more = max(t, 1) - records
            reason = (
                "there are no records yet"
                if records == 0
                else f"round {t:,} is not there: there are {records:,} records"
            )
            hint = "append some" if records == 0 else f"hold a round from 1 to {records:,}"
            raise NotReady(reason, hint, {"records": records, "round": t, "more_records": more})
        return t

    def check_round(self, t: int) -> None:
        """Refuse what is no round."""
        check_whole("round", t, 1, 10**18)

    def nearest_round(self, wanted: int) -> int:
        """The wanted one."""
        return max(wanted, 1)


def check_bits(name: str, value: object) -> Fraction:
    """A number of bits, kept exactly."""
    required = "a number of bits, above 0 and up to 10^6"
    return check_fraction(name, value, required, lambda x: 0 < x <= 10**6)


def units_of_bits(amount: Fraction) -> int:
    """Whole units in some bits, rounded down."""
    with precise():
        return floor(decimal_of(amount) * UNITS * LOG_TWO)


def to_bits(units: int) -> float:
    """Units as bits, to be shown."""
    return float(bits(units))
