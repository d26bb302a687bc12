"""The transcript: all answers in order, read from the ledger when it is looked at."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any, overload

from surehold import formatting
from surehold.display import Shown
from surehold.ledger.entries import Entry
from surehold.ledger.ledger import Ledger
from surehold.session.recorded_results import result_of
from surehold.session.results import Result

_LOOKED_AT = 20_000  # entries that one page may go through, whatever it looks for


@dataclass(frozen=True, repr=False)
class Page(Shown):
    """Some answers in order; ``next`` is where the next page begins, None if there is none.

    ``total`` is how many answers the dataset has given, whatever was looked for.
    """

    answers: tuple[Result, ...]
    next: int | None
    total: int

    def __str__(self) -> str:
        return formatting.several(len(self.answers), "answer")


class BaseTranscript(Sequence[Result]):
    """What every transcript has, local or remote."""

    @abstractmethod
    def __iter__(self) -> Iterator[Result]:
        """All answers in order."""

    @abstractmethod
    def last(self, count: int) -> list[Result]:
        """The last answers, in order, without reading those before."""

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return [*iter(self)][index]
        if index < 0:
            found = self.last(-index)
            if len(found) < -index:
                raise IndexError("there are fewer answers")
            return found[0]
        for answer in islice(self, index, None):
            return answer
        raise IndexError("there are fewer answers")

    def to_dict(self) -> dict[str, Any]:
        """All answers as plain values, as JSON has them."""
        return {"answers": [answer.to_dict() for answer in self]}

    def __repr__(self) -> str:
        return f"<transcript of {formatting.several(len(self), 'answer')}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(str(answer))}</td></tr>" for answer in self.last(20))
        return f"<table><caption>{escape(repr(self))}</caption>{rows}</table>"


class Transcript(BaseTranscript):
    """All answers of a dataset in order, and what was derived from them."""

    def __init__(self, ledger: Ledger, analyst: str | None = None) -> None:
        self._ledger = ledger
        self._analyst = analyst

    def __len__(self) -> int:
        if self._analyst is None:
            return self._ledger.store.questions()
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Result]:
        return self._read(self._ledger.store.entries())

    def last(self, count: int) -> list[Result]:
        """The last answers, in order, without reading those before."""
        return [*islice(self._read(self._ledger.store.entries_back(2**62)), count)][::-1]

    def entry(self, number: int) -> Result | None:
        """The answer of that entry, if it is one."""
        found = self._ledger.store.entry(number)
        return None if found is None else next(self._read([found]), None)

    def _read(self, entries: Iterable[Entry]) -> Iterator[Result]:
        for entry in entries:
            if self._matches(entry):
                yield result_of(entry, self._ledger, recorded=True)

    def _matches(
        self,
        entry: Entry,
        t: int | None = None,
        contains: str = "",
        kind: str = "",
        since: float = 0.0,
        until: float = math.inf,
    ) -> bool:
        """Whether it is an answer of this transcript, and one that is looked for."""
        if entry.kind not in ("answer", "derived"):
            return False
        body, part = entry.read(), contains.casefold()
        is_kind = not kind or str(body.get("canonical")).partition("(")[0] == kind
        if not (is_kind and since <= body.get("time", 0.0) <= until):
            return False
        title = self._ledger.names.titles.get(str(body.get("canonical")), "") if part else ""
        texts = (body.get("canonical"), body.get("query"), title)
        return (
            self._analyst in (None, body.get("analyst"))
            and t in (None, body.get("round"))
            and any(part in str(text).casefold() for text in texts)
        )

    def page(
        self,
        limit: int = 100,
        *,
        after: int = 0,
        before: int | None = None,
        round: int | None = None,
        contains: str = "",
        kind: str = "",
        since: float = 0.0,
        until: float = math.inf,
        newest: bool = False,
    ) -> Page:
        """At most ``limit`` answers with entries between two numbers, the newest first or last.

        These pick some: ``round``; ``contains``, a part of the query's text or of its name;
        ``kind``, the function that was asked, such as rate; and times in seconds since 1970. A page
        may be short, even empty, and still have a ``next``: give it as ``after``, or as ``before``
        from the newest on.
        """
        end, total = 2**62 if before is None else before, self._ledger.store.questions()
        store, found, at, looked = self._ledger.store, list[Result](), None, 0
        for entry in store.entries_back(end) if newest else store.entries(after):
            if not after < entry.seq < end:
                break
            if len(found) == limit or looked == _LOOKED_AT:
                return Page(tuple(found), at, total)
            looked, at = looked + 1, entry.seq
            if self._matches(entry, round, contains, kind, since, until):
                found.append(result_of(entry, self._ledger, recorded=True))
        return Page(tuple(found), None, total)
