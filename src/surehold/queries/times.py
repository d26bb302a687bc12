"""Dates and timestamps as integers: days, or microseconds, since the start of 1970 in UTC."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

DAY = 86_400_000_000
"""Microseconds of a day; there are no leap seconds."""
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""0001-01-01 and 9999-12-31, in days."""

TIME = (
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r" ?(?:Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?"
)
"""What a text has to be, as a whole, to be read as a date or a timestamp."""

_TIME = re.compile(TIME)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_time(text: str) -> int | None:
    """Return the microseconds of an ISO date or timestamp; None if it is none.

    Without an offset it is in UTC. What is finer than a microsecond is cut off.

    >>> read_time("1970-01-01T02:00:00.5+02:00"), read_time("1970-01-02"), read_time("1970-02-30")
    (500000, 86400000000, None)
    """
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    day, hour, minute, second, part, sign, hours, minutes = match.groups(default="")
    try:
        days = date.fromisoformat(day).toordinal() + FIRST_DAY - 1
    except ValueError:
        return None
    clock = [int(given or 0) for given in (hour, minute, second, hours, minutes)]
    if any(map(int.__gt__, clock, (23, 59, 59, 23, 59))):
        return None
    of_day = (clock[0] * 60 + clock[1]) * 60 + clock[2]
    ahead = (clock[3] * 60 + clock[4]) * (-60 if sign == "-" else 60)
    found = days * DAY + (of_day - ahead) * 1_000_000 + int(part[:6].ljust(6, "0"))
    return found if is_in_range(found) else None


def write_time(microseconds: int) -> str:
    """Return the one spelling that a query uses: the shortest, in UTC.

    >>> write_time(0), write_time(3 * 3_600_000_000), write_time(-1)
    ('1970-01-01', '1970-01-01T03:00', '1969-12-31T23:59:59.999999')
    """
    days, of_day = divmod(microseconds, DAY)
    written = date.fromordinal(days - FIRST_DAY + 1).isoformat()
    if not of_day:
        return written
    seconds, part = divmod(of_day, 1_000_000)
    minutes, second = divmod(seconds, 60)
    written += f"T{minutes // 60:02}:{minutes % 60:02}"
    if second or part:
        written += f":{second:02}"
    return f"{written}.{part:06}".rstrip("0") if part else written


def microseconds_of(given: date) -> int:
    """Return the microseconds of a date, at midnight, or of a datetime, in UTC if it has no zone.

    >>> microseconds_of(date(1970, 1, 2)), microseconds_of(datetime(1970, 1, 1, 0, 0, 1))
    (86400000000, 1000000)
    """
    if not isinstance(given, datetime):
        return (given.toordinal() + FIRST_DAY - 1) * DAY
    aware = given.replace(tzinfo=UTC) if given.utcoffset() is None else given
    return (aware - _EPOCH) // timedelta(microseconds=1)


def is_in_range(microseconds: int) -> bool:
    """Check that a time lies in the years 1 to 9999, in UTC."""
    return FIRST_DAY * DAY <= microseconds < (LAST_DAY + 1) * DAY
