"""Every exception Holdfast raises, on one page.

All share the base :class:`HoldfastError`; each says what was required, what was got and what to
do, and carries the numbers as attributes so that a surface can translate it without parsing text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class HoldfastError(Exception):
    """Base of every error that Holdfast raises on purpose."""


class InvalidInput(HoldfastError, ValueError):
    """A value that the caller gave cannot be meant.

    >>> raise InvalidInput("beta", "a number strictly between 0 and 1", 1.5)
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidInput: beta must be a number strictly between 0 and 1, but is 1.5
    """

    def __init__(self, parameter: str, required: str, got: object, hint: str = "") -> None:
        self.parameter = parameter
        self.required = required
        self.got = got
        self.hint = hint
        tail = f"; {hint}" if hint else ""
        super().__init__(f"{parameter} must be {required}, but is {got!r}{tail}")


class Unreachable(HoldfastError):
    """No plan reaches the target; ``reachable`` says what would be."""

    def __init__(self, target: str, reachable: str, numbers: Mapping[str, Any]) -> None:
        self.target = target
        self.reachable = reachable
        self.numbers = dict(numbers)
        super().__init__(f"{target} is out of reach; {reachable}")


class NotApplicable(HoldfastError):
    """A certificate was named for a setting in which its theorem does not hold."""

    def __init__(self, certificate: str, reason: str) -> None:
        self.certificate = certificate
        self.reason = reason
        super().__init__(f"certificate {certificate!r} does not hold here: {reason}")


class NotCertified(HoldfastError, ArithmeticError):
    """A solver could not certify its result, so there is none."""

    def __init__(self, what: str, numbers: Mapping[str, Any]) -> None:
        self.what = what
        self.numbers = dict(numbers)
        shown = ", ".join(f"{name} = {value!r}" for name, value in self.numbers.items())
        super().__init__(f"{what} could not be certified ({shown}); please report these numbers")


class MissingExtra(HoldfastError, ImportError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        super().__init__(f"{feature} needs an extra: pip install 'holdfast[{extra}]'")
