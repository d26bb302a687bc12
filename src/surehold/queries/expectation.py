"""Expectations: how a question is asked under the surprise guard."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from surehold.checks import check_fraction

VERDICTS = ("pass", "fail", "undecided", "not pass", "no", "not better")


@dataclass(frozen=True)
class Expectation:
    """How a question is asked: what is expected, within what, with what doubt.

    ``expect`` is a number in the units of the query, or a verdict as text.
    """

    expect: Fraction | str | None = None
    within: Fraction | None = None
    doubt: Fraction | None = None

    @classmethod
    def of(cls, expect: object = None, within: object = None, doubt: object = None) -> Expectation:
        """Check what a caller gave; numbers are kept exactly as they are written."""
        expected: Fraction | str | None = None
        if isinstance(expect, str) and expect.strip().lower() in VERDICTS:
            expected = expect.strip().lower()
        elif expect is not None:
            required = f"a number, or one of {', '.join(VERDICTS)}"
            expected = check_fraction("expect", expect, required)
        if within is not None:
            within = check_fraction("within", within, "a number above 0", lambda x: x > 0)
        if doubt is not None:
            required = "a number strictly between 0 and 1"
            doubt = check_fraction("doubt", doubt, required, lambda x: 0 < x < 1)
        return cls(expected, within, doubt)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is said."""
        return self.expect is None and self.within is None and self.doubt is None

    def to_dict(self) -> dict[str, str | None]:
        """As a ledger keeps it: exact texts."""
        parts = (("expect", self.expect), ("within", self.within), ("doubt", self.doubt))
        return {name: None if part is None else str(part) for name, part in parts}
