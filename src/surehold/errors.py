"""Every exception that Surehold raises, on one page.

All share the base :class:`SureholdError`. Each says what was required, what was given and what to
do, and has the numbers as attributes, so that no surface has to parse text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class SureholdError(Exception):
    """Base of every error that Surehold raises on purpose."""

    def to_dict(self) -> dict[str, Any]:
        """Return the one shape of an error on every surface: class, message and numbers.

        >>> NotApplicable("split", "data is asked twice").to_dict()["error"]["details"]
        {'certificate': 'split', 'reason': 'data is asked twice'}
        """
        return {
            "error": {
                "type": type(self).__name__,
                "message": " ".join(str(self).split()),
                "details": {name: _plain(value) for name, value in vars(self).items()},
            }
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by attributes: constructors do not take the message, which ``args`` holds."""
        return _restored, (type(self), self.args, self.__dict__)


class InvalidInput(SureholdError, ValueError):
    """The caller gave an invalid argument.

    >>> raise InvalidInput("beta", "a number strictly between 0 and 1", 1.5)
    Traceback (most recent call last):
    ...
    surehold.errors.InvalidInput: beta must be a number strictly between 0 and 1, but is 1.5
    """

    def __init__(self, parameter: str, required: str, got: object, hint: str = "") -> None:
        self.parameter = parameter
        self.required = required
        self.got = got
        self.hint = hint
        tail = f"; {hint}" if hint else ""
        found = getattr(got, "found", f"is {got!r}")  # formatting.Finding brings its verb
        super().__init__(f"{parameter} must be {required}, but {found}{tail}")


class Unreachable(SureholdError):
    """No plan reaches the target; ``reachable`` says what can be reached."""

    def __init__(self, target: str, reachable: str, numbers: Mapping[str, Any]) -> None:
        self.target = target
        self.reachable = reachable
        self.numbers = dict(numbers)
        super().__init__(f"{target} is out of reach; {reachable}")


class NotApplicable(SureholdError):
    """A certificate was named for a setting in which its theorem does not hold."""

    def __init__(self, certificate: str, reason: str) -> None:
        self.certificate = certificate
        self.reason = reason
        super().__init__(f"certificate {certificate!r} does not hold here: {reason}")


class WrongGuard(SureholdError):
    """What was asked for needs the other guard than the dataset has."""

    def __init__(self, what: str, needs: str, hint: str = "") -> None:
        self.what = what
        self.needs = needs
        self.guard = "surprise" if needs == "noise" else "noise"
        self.hint = hint or _OTHER_GUARD[needs]
        has = f"this dataset has the {self.guard} guard"
        super().__init__(f"{what} needs the {needs} guard, and {has}; {self.hint}")


_OTHER_GUARD = {
    "noise": "surehold create NAME --plan plan.json makes a dataset with a plan and noise",
    "surprise": "surehold create NAME --beta 0.05 makes a dataset with the surprise guard",
}


class NotCertified(SureholdError, ArithmeticError):
    """A solver could not certify its result, so there is none."""

    def __init__(self, what: str, numbers: Mapping[str, Any]) -> None:
        self.what = what
        self.numbers = dict(numbers)
        shown = ", ".join(f"{name} = {value!r}" for name, value in self.numbers.items())
        super().__init__(f"{what} could not be certified ({shown}); please report these numbers")


class MissingExtra(SureholdError, ImportError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        super().__init__(f"{feature} needs an extra: pip install 'surehold[{extra}]'")


class InvalidQuery(SureholdError, ValueError):
    """A query that the language does not allow; the same for every dataset with these columns.

    ``position`` is where in ``text`` the error begins, counted from 0; None if it has no single
    position.
    """

    def __init__(self, reason: str, text: str, position: int | None = None, hint: str = "") -> None:
        self.reason = reason
        self.text = text
        self.position = position
        self.hint = hint
        place = (
            "" if position is None else f" at character {position + 1}{_pointed(text, position)}"
        )
        tail = f"; {hint}" if hint else ""
        super().__init__(f"invalid query: {reason}{place}{tail}")


def _pointed(text: str, position: int) -> str:
    """Return a few characters around a position, so that a long query can be corrected."""
    around = text[max(position - 10, 0) : position + 20]
    return f" (near {around!r})" if around.strip() else ""


class BudgetExhausted(SureholdError):
    """The filter refused: the charge does not fit. Nothing was charged and no data was read.

    ``charge`` is the required charge and ``remaining`` what is left (mu^2 of the record that
    binds); ``fits_at`` is the smallest round at which it would fit, None if there is none in the
    plan. ``what`` replaces the first sentence if the number of answers does not fit.
    """

    def __init__(
        self,
        charge: float,
        remaining: float,
        round: int,
        fits_at: int | None,
        more_records: int | None,
        hint: str,
        what: str = "",
    ) -> None:
        self.charge = charge
        self.remaining = remaining
        self.round = round
        self.fits_at = fits_at
        self.more_records = more_records
        self.hint = hint
        what = what or (
            f"the budget is exhausted at round {round:,}: the charge is {charge:.6g} "
            f"and {remaining:.6g} is left"
        )
        super().__init__(f"{what}; {hint}")


class NotReady(SureholdError):
    """A question at a round that the plan does not cover, or that the data has not reached."""

    def __init__(self, reason: str, hint: str, numbers: Mapping[str, Any]) -> None:
        self.reason = reason
        self.hint = hint
        self.numbers = dict(numbers)
        super().__init__(f"{reason}; {hint}")


class LedgerCorrupt(SureholdError):
    """The ledger, the data and the plan do not match, so nothing is answered.

    ``entry`` is the number of the first wrong entry, None if no entry is wrong.
    """

    def __init__(self, what: str, reason: str, entry: int | None = None) -> None:
        self.what = what
        self.reason = reason
        self.entry = entry
        place = "" if entry is None else f" (entry {entry:,})"
        super().__init__(
            f"{what} is corrupt{place}: {reason}; nothing was changed. Restore the whole folder "
            "from one backup, never a single file"
        )


class BadRecord(SureholdError, ValueError):
    """A record of an append does not fit the columns; nothing of that append was stored.

    ``record`` counts from 1 within the append. The message does not repeat the value, because
    messages end up in logs.
    """

    def __init__(self, record: int | None, column: str | None, required: str, got: str) -> None:
        self.record = record
        self.column = column
        self.required = required
        self.got = got
        places = [] if record is None else [f"record {record:,}"]
        places += [] if column is None else [f"column {column!r}"]
        super().__init__(
            f"{', '.join(places) or 'the records'} must be {required}, but is {got}; "
            "nothing of this append was kept"
        )


class StorageFailed(SureholdError, OSError):
    """The disk failed, or another process was in the way.

    ``kept`` is False if nothing was changed, True if the change was stored after all, None if that
    is unknown. Repeating the request with the same key is always safe.
    """

    def __init__(self, what: str, reason: str, hint: str, kept: bool | None = False) -> None:
        self.what = what
        self.reason = reason
        self.hint = hint
        self.kept = kept
        super().__init__(f"{what} failed: {reason}; {hint}")


class EvaluationFailed(SureholdError):
    """A model could not be evaluated, for a reason that does not depend on the records.

    The charge stands, and asking the same question again evaluates it without another charge.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.hint = "ask the same question again: it will not be charged again"
        super().__init__(f"evaluating the model failed: {reason}; {self.hint}")


class AccessDenied(SureholdError):
    """Not authenticated (``status`` 401) or permission denied (403).

    Nothing was charged and no data was read.
    """

    def __init__(self, reason: str, hint: str, status: int = 401) -> None:
        self.reason = reason
        self.hint = hint
        self.status = status
        what = "not authenticated" if status == 401 else "permission denied"
        super().__init__(f"{what}: {reason}; {hint}")


class RequestRefused(SureholdError):
    """A request that is too large, malformed or rate limited; nothing was done.

    ``status`` is the HTTP status. ``retry_after`` is the number of seconds to wait, None if the
    request itself has to change.
    """

    def __init__(
        self, status: int, reason: str, hint: str, retry_after: float | None = None
    ) -> None:
        self.status = status
        self.reason = reason
        self.hint = hint
        self.retry_after = retry_after
        super().__init__(f"request refused: {reason}; {hint}")


class ServiceFailed(SureholdError, ConnectionError):
    """A service could not be reached, or its response could not be read."""

    def __init__(self, what: str, reason: str, hint: str) -> None:
        self.what = what
        self.reason = reason
        self.hint = hint
        super().__init__(f"{what} failed: {reason}; {hint}")


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; name any other object by its type."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value - value == 0.0 else str(value)  # JSON has no infinity
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return type(value).__name__


def _restored(
    kind: type[SureholdError], args: tuple[Any, ...], attributes: dict[str, Any]
) -> SureholdError:
    """Rebuild an error that came from another process."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(attributes)
    return error
