"""The transcript of a service, fetched page by page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from surehold.client.connection import Connection
from surehold.client.decoding import Unreadable, result_of
from surehold.errors import RequestRefused
from surehold.session import Page, Result
from surehold.session.transcript import BaseTranscript

PAGE = 200
_DOING = "reading the transcript"


class RemoteTranscript(BaseTranscript):
    """All answers of a dataset in order, including derived results."""

    def __init__(self, connection: Connection, analyst: str | None = None) -> None:
        self._connection = connection
        self._analyst = analyst

    def __len__(self) -> int:
        return self.page(1).total if self._analyst is None else sum(1 for _ in self)

    def __iter__(self) -> Iterator[Result]:
        after: int | None = 0
        while after is not None:
            page = self.page(PAGE, after=after)
            yield from page.answers
            after = page.next

    def __reversed__(self) -> Iterator[Result]:
        return self._back(PAGE)

    def _back(self, limit: int) -> Iterator[Result]:
        page = self.page(limit, newest=True)
        yield from page.answers
        while page.next is not None:
            page = self.page(limit, before=page.next, newest=True)
            yield from page.answers

    def last(self, count: int) -> list[Result]:
        """Return the last answers, in order, without reading the earlier ones."""
        if count < 1:
            return []
        return list(islice(self._back(min(count, PAGE)), count))[::-1]

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
        """Return at most ``limit`` answers whose entries are between two numbers.

        These filter them: ``round``; ``contains``, a part of the query's text or of its name;
        ``kind``, the function that was asked, such as rate; and times in seconds since 1970. A page
        may be short, even empty, and still have a ``next``: pass it as ``after``, or as ``before``
        if the newest come first.
        """
        return self._connection.get(
            "/v1/transcript",
            _DOING,
            _read_page,
            limit=limit,
            after=after,
            before=before,
            analyst=self._analyst,
            round=round,
            contains=contains or None,
            kind=kind or None,
            since=since or None,
            until=None if until == math.inf else until,
            newest=newest or None,
        )

    def entry(self, number: int) -> Result | None:
        """Return the answer of an entry, if it is one."""
        if number < 1:
            return None
        try:
            result = self._connection.get(f"/v1/transcript/{number:d}", _DOING, result_of)
        except RequestRefused as error:
            if error.status == 404:
                return None
            raise
        return result if self._analyst in (None, result.analyst) else None


def _read_page(values: Mapping[str, Any]) -> Page:
    answers, following, total = (values.get(name) for name in ("answers", "next", "total"))
    is_place = following is None or isinstance(following, int)
    if not (isinstance(answers, list) and is_place and isinstance(total, int)):
        raise Unreadable("it is not a page of answers")
    return Page(tuple(map(result_of, answers)), following, total)
