"""Names of questions: which question each stands for, and what each question is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from surehold.errors import LedgerCorrupt
from surehold.ledger.entries import Entry
from surehold.queries import CustomStatistic, Declared, Gate, NamedQuestion, Select


@dataclass(frozen=True)
class KeptName:
    """A question as the ledger keeps it; ``canonical`` is what is asked under its name."""

    question: NamedQuestion
    canonical: str

    def to_entry(self) -> dict[str, Any]:
        """The body of its entry."""
        values = self.question.to_dict()
        return {"name": values.pop("name"), "canonical": self.canonical, **values}

    @classmethod
    def of_entry(cls, entry: Entry) -> KeptName:
        """What an entry says."""
        body = entry.read()
        try:
            parts = {name: body[name] for name in NamedQuestion.__dataclass_fields__}
            return cls(NamedQuestion(**parts), str(body["canonical"]))
        except (KeyError, TypeError, ValueError):
            raise LedgerCorrupt("the ledger", "it does not name a question", entry.seq) from None


class Names:
    """All names of a dataset: each means one question for ever, as it was declared last."""

    def __init__(self, kept: Iterable[KeptName]) -> None:
        self.by_name: dict[str, KeptName] = {}
        self.titles: dict[str, str] = {}
        """What each question is called, by its canonical text: the name it was given last."""
        for one in kept:
            name = one.question.name
            self.by_name[name] = one
            self.titles[one.canonical] = name


def resolve(query: Any, declared: Callable[[str], Declared | None]) -> Any:
    """Fill in what a custodian ``declared`` of registered statistics."""
    match query:
        case CustomStatistic():
            found = declared(query.name)
            return query if found is None else query.resolve(found)
        case Gate():
            return replace(query, query=resolve(query.query, declared))
        case Select():
            parts = tuple(resolve(one, declared) for one in query.candidates)
            return replace(query, candidates=parts)
        case _:
            return query
