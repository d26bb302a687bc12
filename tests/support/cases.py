"""Many cases of one path in one test: a failure names its case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def case(*names: object) -> Iterator[None]:
    """Add the names to whatever is raised inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {', '.join(map(str, names))[:200]}")
        raise
