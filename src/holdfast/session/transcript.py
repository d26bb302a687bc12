"""The transcript: what was told, in order, read from the ledger when it is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, overload

from holdfast import numerals
from holdfast.ledger.ledger import Ledger
from holdfast.session.answers import Result, result_of

_TOLD = ("answer", "derived")


class Transcript(Sequence[Result]):
    """All answers of a dataset in order, and what was derived from them."""

    def __init__(self, ledger: Ledger, analyst: str | None = None) -> None:
        self._ledger = ledger
        self._analyst = analyst

    def __len__(self) -> int:
        if self._analyst is None:
            return self._ledger.store.questions()
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Result]:
        for entry in self._ledger.store.entries():
            if entry.kind in _TOLD:
                answer = result_of(entry, self._ledger, recorded=True)
                if self._analyst in (None, answer.analyst):
                    yield answer

    def last(self, count: int) -> list[Result]:
        """The last answers, in order, without reading those before."""
        found: list[Result] = []
        for entry in self._ledger.store.entries_back(2**62):
            if len(found) == count:
                break
            if entry.kind in _TOLD:
                answer = result_of(entry, self._ledger, recorded=True)
                found += [answer] if self._analyst in (None, answer.analyst) else []
        return found[::-1]

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | slice) -> Result | list[Result]:
        if isinstance(index, slice):
            return list(self)[index]
        if index < 0:
            found = self.last(-index)
            if len(found) < -index:
                raise IndexError("there are not so many answers")
            return found[0]
        for i, answer in enumerate(self):
            if i == index:
                return answer
        raise IndexError("there are not so many answers")

    def to_dict(self) -> dict[str, Any]:
        """All answers as plain values, as JSON has them."""
        return {"answers": [answer.to_dict() for answer in self]}

    def __repr__(self) -> str:
        return f"<transcript of {numerals.several(len(self), 'answer')}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(str(answer))}</td></tr>" for answer in self.last(20))
        return f"<table><caption>{escape(repr(self))}</caption>{rows}</table>"
