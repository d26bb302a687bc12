"""What every question of the surprise guard is: a claim, a menu, an outcome and a report."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar

from surehold.errors import InvalidInput
from surehold.queries import CheckedQuery, Expectation
from surehold.theory.surprise.claims.mixtures import concentration
from surehold.theory.surprise.ends import Interval
from surehold.theory.surprise.levels import ClaimLevels, Level, Rounds, claim_level, question_levels
from surehold.theory.surprise.menus.cells import Cell


class Exact(Protocol):
    """Integers from the records, and the divisor that brings them to [0, 1]."""

    @property
    def numerators(self) -> tuple[int, ...]: ...

    @property
    def denominator(self) -> int: ...


@dataclass(frozen=True)
class Claim:
    """What was registered for a question, for good (Surprise, sections 1 and 3).

    ``number`` is its c, ``claims`` how many intervals share in it, ``share`` what each of them has.
    ``first`` is the round that claim (a) is about, None if there is none, and ``records`` how many
    records there were.
    """

    beta: Fraction
    number: int
    claims: int
    share: Fraction
    spent: int
    rounds: Rounds
    first: int | None
    records: int
    one_sided: bool = False

    @cached_property
    def levels(self) -> ClaimLevels:
        """The levels of claims (a) and (b)."""
        return question_levels(self.whole, self.rounds, one_sided=self.one_sided)

    @cached_property
    def whole(self) -> Level:
        """L, the level of the whole share."""
        return claim_level(self.beta, self.share, self.spent)

    @cached_property
    def kappa(self) -> int:
        """The concentration of the centred mixture (Surprise, section 3b)."""
        assert self.levels.other is not None
        return concentration(self.records, self.levels.other)

    def is_once(self, t: int) -> bool:
        """Whether an answer at round t goes by claim (a)."""
        return self.levels.first is not None and self.first == t

    def level(self, t: int) -> Level:
        """The level of an answer at round t."""
        found = self.levels.at(self.first == t)
        assert found is not None
        return found

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps; beta is the dataset's."""
        return {
            "claim": self.number,
            "claims": self.claims,
            "share": str(self.share),
            "spent": str(self.spent),
            "rounds": self.rounds,
            "first": self.first,
            "records": self.records,
            "one_sided": self.one_sided,
        }

    @classmethod
    def from_dict(cls, beta: Fraction, given: Mapping[str, Any]) -> Claim:
        """Read what :meth:`to_dict` wrote."""
        return cls(
            beta,
            int(given["claim"]),
            int(given["claims"]),
            Fraction(given["share"]),
            int(given["spent"]),
            given["rounds"],
            given["first"],
            int(given["records"]),
            bool(given["one_sided"]),
        )


class Menu(dict[str, Any]):
    """A menu as the ledger keeps it, and the object it was written from, which need not be read."""

    written_from: Any = None


M = TypeVar("M", bound="WrittenMenu")


class WrittenMenu(Protocol):
    """What every menu of :mod:`surehold.theory.surprise.menus` can do."""

    def to_dict(self) -> dict[str, Any]: ...

    @classmethod
    def from_dict(cls: type[M], given: dict[str, Any]) -> M: ...


def write_menu(menu: WrittenMenu) -> Menu:
    """A menu as the ledger keeps it."""
    written = Menu(menu.to_dict())
    written.written_from = menu
    return written


def read_menu(kind: type[M], menu: Mapping[str, Any]) -> M:
    """What :func:`write_menu` wrote."""
    known = menu.written_from if isinstance(menu, Menu) else None
    return known if isinstance(known, kind) else kind.from_dict(dict(menu))


class Past(NamedTuple):
    """All that a menu may depend on.

    ``known`` is what was reported of the same question at this round, ``last`` at any round, as
    bodies of the ledger; ``doubt`` is the learned one.
    """

    t: int
    claim: Claim | None
    known: Mapping[str, Any] | None
    last: Mapping[str, Any] | None
    doubt: Fraction


class Report(NamedTuple):
    """What an outcome says: the weights that it had, one for each price, and the ledger's body."""

    weights: tuple[Fraction, ...]
    body: dict[str, Any]


@dataclass(frozen=True)
class Asking(CheckedQuery):
    """A query as the surprise guard asks it; ``canonical`` is the query's."""

    asked: Expectation

    @property
    def subject(self) -> str:
        """The question whose claim it uses: that of a gate is its query."""
        return self.canonical

    @property
    def is_one_round(self) -> bool:
        """Whether its claim is about one round only, so that another round is another claim."""
        return False

    @property
    def is_always(self) -> bool:
        """Whether its claim is about all rounds only."""
        return False

    @property
    def is_one_sided(self) -> bool:
        """Whether claim (a) has one side."""
        return False

    @property
    def claims(self) -> int:
        """How many claims it takes."""
        return 1

    @property
    def prices(self) -> int:
        """How many prices an outcome has at most."""
        return 1

    @property
    def is_number(self) -> bool:
        """Whether later questions may expect what it reports, so that it is kept as known."""
        return False

    def check_expected(self) -> None:
        """Raise InvalidInput if what is expected is nothing the query can give.

        Before anything is charged: where no menu is made before the records are looked at, an error
        would depend on them.
        """

    @abstractmethod
    def menu(self, past: Past) -> dict[str, Any]:
        """What may come out, and all that its weights follow from, as the ledger keeps it."""

    def earlier_menu(self, menu: Mapping[str, Any]) -> dict[str, Any]:
        """What :meth:`menu` gave in the first version, for ledgers that were written by it."""
        return dict(menu)

    @abstractmethod
    def outcome(
        self, menu: Mapping[str, Any], claim: Claim | None, t: int, exact: Sequence[Exact]
    ) -> Any:
        """Which outcome the records have: the only function that sees exact numbers."""

    @abstractmethod
    def report(self, menu: Mapping[str, Any], claim: Claim | None, t: int, outcome: Any) -> Report:
        """What an outcome costs and what it proves."""

    def level(self, claim: Claim, t: int) -> Level:
        """The level at which an answer at round t is claimed."""
        return claim.level(t)

    @abstractmethod
    def extremes(
        self, menu: Mapping[str, Any], t: int, claim: Claim | None
    ) -> tuple[Fraction, Fraction]:
        """The weights of the outcomes that cost least and most."""

    @abstractmethod
    def forecast(self, menu: Mapping[str, Any], claim: Claim | None, t: int) -> float | None:
        """The half-width that the answer will have if it comes as expected, or else about 1/2."""

    def suffices(self, recorded: Mapping[str, Any]) -> bool:
        """Whether an answer that was given at the same round says all that is asked now."""
        return True


@lru_cache(maxsize=4096)
def exact_number(number: float | str) -> Fraction:
    """A number as it is written: 0.1 is a tenth. The same few come again and again."""
    return Fraction(str(number))


def given_number(asked: Expectation, low: Fraction, high: Fraction) -> Fraction | None:
    """The expected number on [0, 1]."""
    if asked.expect is None:
        return None
    required = f"from {float(low):g} to {float(high):g}, what the query can give"
    if isinstance(asked.expect, str):
        raise InvalidInput("expect", f"a number {required}", asked.expect)
    if not low <= asked.expect <= high:
        raise InvalidInput("expect", required, str(asked.expect))
    return on_unit(asked.expect, low, high)


def on_unit(x: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """Where a number lies between the ends, from 0 to 1."""
    return x if is_unit(low, high) else (x - low) / (high - low)


def is_unit(low: Fraction, high: Fraction) -> bool:
    """Whether a number is from 0 to 1 as it is."""
    return not low and high == 1


def scaled_ends(found: Interval, low: Fraction, high: Fraction) -> list[float]:
    """An interval on [0, 1] in the units of the query, rounded outwards."""
    if is_unit(low, high):
        return [_down(found.low), _up(found.high)]
    span = high - low
    return [_down(low + found.low * span), _up(low + found.high * span)]


def scaled_value(x: Fraction, low: Fraction, high: Fraction) -> float:
    """A number on [0, 1] in the units of the query."""
    scaled = x if is_unit(low, high) else low + x * (high - low)
    return scaled.numerator / scaled.denominator


def cell_of(body: Mapping[str, Any]) -> Cell:
    """The cell that an answer reported."""
    return Cell.from_dict(body["cell"])


def _down(end: Fraction) -> float:
    """The largest double that is not above it; ends of nine decimals are what they are written."""
    found = end.numerator / end.denominator
    return found if _is_short(end) or Fraction(found) <= end else math.nextafter(found, -math.inf)


def _up(end: Fraction) -> float:
    found = end.numerator / end.denominator
    return found if _is_short(end) or Fraction(found) >= end else math.nextafter(found, math.inf)


def _is_short(end: Fraction) -> bool:
    """Whether its decimal text, which is what is shown and kept, is the number itself."""
    return 10**9 % end.denominator == 0
