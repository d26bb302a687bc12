"""Dashboards: questions with names, units and gates, as a file lists them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from surehold.checks import check_number, check_text
from surehold.display import Shown
from surehold.errors import InvalidInput
from surehold.formatting import Finding, several
from surehold.queries.base import Query
from surehold.queries.derived import Gate, gate
from surehold.queries.lexer import LONGEST_QUERY
from surehold.queries.query_text import query_of

LONGEST_NAME = 80
LONGEST_UNIT = 16
MOST_QUESTIONS = 500
"""Names that one dataset may have."""

_GATE = re.compile(r"(>=|<=)\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(%?)", re.ASCII | re.I)
_SIDES = {">=": "at_least", "<=": "at_most"}
_KEYS = ("name", "question", "unit", "gate", "at_least", "at_most", "watch")


@dataclass(frozen=True, repr=False)
class NamedQuestion(Shown):
    """A question with a name of people's choosing.

    Its ``unit`` is shown behind its numbers; ``%`` shows a number from 0 to 1 in percent. A value
    passes its gate if it is at least, or at most, so much. ``watch`` says whether ``watch`` asks
    it; a question that is not watched any more keeps its name.
    """

    name: str
    question: str
    unit: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    watch: bool = True

    def __post_init__(self) -> None:
        name = check_text("name", self.name, LONGEST_NAME)
        if name != name.strip():
            raise InvalidInput("name", "text without blanks around it", name)
        _check_length(self.question)
        if self.unit is not None:
            check_text("unit", self.unit, LONGEST_UNIT)
        if type(self.watch) is not bool:
            raise InvalidInput("watch", "true or false", self.watch)
        for side in ("at_least", "at_most"):
            if getattr(self, side) is not None:
                limit = check_number(
                    side, getattr(self, side), "a number", lambda x: abs(x) < 1e300
                )
                object.__setattr__(self, side, limit)
        if self.at_least is not None and self.at_most is not None:
            raise InvalidInput("the gate", "one of at_least and at_most", "both")

    @classmethod
    def of(cls, values: object) -> Self:
        """Read a question as a file has it, with its gate as text: ``gate = ">= 0.8"``."""
        if isinstance(values, cls):
            return values
        if not isinstance(values, Mapping):
            required = f"a table with {', '.join(_KEYS)}"
            raise InvalidInput("it", required, type(values).__name__)
        unknown = [key for key in values if key not in _KEYS]
        if unknown:
            raise InvalidInput("a key", f"one of {', '.join(_KEYS)}", unknown[0])
        for key in ("name", "question"):
            if key not in values:
                raise InvalidInput(key, "given", Finding("is missing"))
        given = {key: value for key, value in values.items() if key != "gate"}
        if values.get("gate") is not None:
            side, limit = _read_gate(values["gate"])
            if given.get("at_least") is not None or given.get("at_most") is not None:
                raise InvalidInput("the gate", "given once", "gate, and at_least or at_most")
            given[side] = limit
        return cls(**given)

    @property
    def gate(self) -> tuple[str, float] | None:
        """The side and the limit of its gate, if it has one."""
        for side in ("at_least", "at_most"):
            limit = getattr(self, side)
            if limit is not None:
                return side, limit
        return None

    def query(self) -> Query:
        """Parse its text."""
        return query_of(self.question)

    def gated(self, query: Query) -> Gate | None:
        """Its gate, as a query that can be checked like any other."""
        if self.gate is None:
            return None
        return gate(query, at_least=self.at_least, at_most=self.at_most)

    def __str__(self) -> str:
        return f"{self.name}: {self.question}"


@dataclass(frozen=True, repr=False)
class Dashboard(Shown):
    """Questions that are watched together.

    >>> Dashboard.of([{"name": "adults", "question": "age >= 18", "gate": ">= 80 %"}])
    <dashboard: 1 question>
    """

    questions: tuple[NamedQuestion, ...]

    @classmethod
    def of(cls, questions: Iterable[object], where: str = "") -> Self:
        """Read a list of questions, each a :class:`NamedQuestion` or a mapping of its parts."""
        if isinstance(questions, str | Mapping) or not isinstance(questions, Iterable):
            raise InvalidInput("the dashboard", "a list of questions", type(questions).__name__)
        found: dict[str, NamedQuestion] = {}
        for number, values in enumerate(questions, 1):
            with_name = values.get("name") if isinstance(values, Mapping) else None
            known = f" ({with_name!r})" if isinstance(with_name, str) else ""
            place = f"question {number}{known[: LONGEST_NAME + 5]}{where}"
            try:
                one = NamedQuestion.of(values)
            except InvalidInput as error:
                what = f"{place}: {error.parameter}"
                raise InvalidInput(what, error.required, error.got, error.hint) from None
            if one.name in found:
                raise InvalidInput(f"{place}: name", "new for each question", one.name)
            found[one.name] = one
        if not 1 <= len(found) <= MOST_QUESTIONS:
            required = f"of 1 to {MOST_QUESTIONS:,} questions"
            raise InvalidInput(f"the dashboard{where}", required, len(found))
        return cls(tuple(found.values()))

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a TOML file with a table ``[[question]]`` for each question."""
        where = f" of {Path(path).name}"
        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InvalidInput("the dashboard", "a file that can be read", str(path)) from error
        except UnicodeDecodeError as error:
            raise InvalidInput("the dashboard", "a file of UTF-8 text", str(path)) from error
        except tomllib.TOMLDecodeError as error:
            required, hint = (
                f"a TOML file ({error})",
                "write a table [[question]] for each question",
            )
            raise InvalidInput("the dashboard", required, str(path), hint) from None
        unknown = [key for key in values if key != "question"]
        listed = values.get("question")
        if unknown or not isinstance(listed, list):
            required = "made of tables [[question]], each with name and question"
            raise InvalidInput(f"the dashboard {path}", required, unknown or Finding("has none"))
        return cls.of(listed, where)

    def __iter__(self) -> Iterator[NamedQuestion]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def __str__(self) -> str:
        return several(len(self.questions), "question")


def _check_length(question: object) -> None:
    if not isinstance(question, str) or not 1 <= len(question) <= LONGEST_QUERY:
        required = f"a query as text, of 1 to {LONGEST_QUERY:,} characters"
        raise InvalidInput("question", required, question)


def _read_gate(text: object) -> tuple[str, float]:
    """The side and the limit of a gate: ``>= 0.8``, ``<= 250``, ``>= 80 %``."""
    found = _GATE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise InvalidInput("gate", "text such as '>= 0.8', '<= 250' or '>= 80 %'", text)
    sign, digits, percent = found.groups()
    return _SIDES[sign], float(digits) / (100.0 if percent else 1.0)
