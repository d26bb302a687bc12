"""Callers' keys: a request repeated with its key gives the same result, and is charged once."""

from __future__ import annotations

from collections.abc import Sequence

from surehold.checks import check_text as check_text
from surehold.errors import InvalidInput
from surehold.ledger.entries import Entry
from surehold.ledger.view import Asked, View
from surehold.queries import is_same
from surehold.session.questions import Question


def keys_of_parts(key: str | None, count: int, is_list: bool) -> list[str | None]:
    """A key for each part of a request; the first part of a list has the key of the whole list.

    So the key of a list is taken, and can't be used for anything else.
    """
    if key is None:
        return [None] * count
    keys: list[str | None] = [_part_key(key, i) for i in range(count)]
    if is_list and keys:
        keys[0] = key
    return keys


def find_keyed(view: View, key: str | None, canonical: str) -> Entry | None:
    """The answer, or the charge for it, that a key stands for; refuses the key of another query."""
    entry = None if key is None else view.keyed(key)
    if entry is not None and not is_same(entry.read().get("canonical"), canonical):
        raise InvalidInput("key", "new for each query: it was used for another one", key)
    return entry


def check_list_key(view: View, key: str | None, questions: Sequence[Question]) -> None:
    """The key of a list of queries stands for that list: no other, none longer or shorter."""
    if key is None:
        return
    used = [view.keyed(str(question.key)) is not None for question in questions]
    is_longer = view.keyed(_part_key(key, len(questions))) is not None
    if is_longer or any(used) != all(used):
        raise InvalidInput("key", "new for each list of queries: it was used for another one", key)


def check_rounds(questions: Sequence[Question], asked: Sequence[Asked]) -> None:
    """The parts of one query are of one round, whatever keys were used for some of them before."""
    rounds: dict[int, int] = {}
    for question, (_, t) in zip(questions, asked, strict=True):
        if rounds.setdefault(question.whole, t) != t:
            required = "new for each query: it was used for a part of this one, at another round"
            raise InvalidInput("key", required, question.key)


def _part_key(key: str, i: int) -> str:
    return f"{key}/{i}"
