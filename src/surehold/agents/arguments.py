"""What a model gives to a tool, checked: a wrong argument is told in words that mend it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surehold.errors import InvalidInput


class Arguments:
    """The arguments of one call. A null stands for one that was left out, as models write it."""

    def __init__(self, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
        for name in given:
            if name not in known:
                required = f"one of {', '.join(known)}" if known else "left out: there are none"
                raise InvalidInput("the argument", required, name)
        self._given = {name: value for name, value in given.items() if value is not None}

    def text(self, name: str) -> str:
        """A text that has to be there."""
        value = self._given.get(name)
        if not isinstance(value, str):
            raise InvalidInput(name, "a text", value)
        return value

    def text_or_none(self, name: str) -> str | None:
        """A text, if it was given."""
        return self.text(name) if name in self._given else None

    def texts(self, name: str) -> list[str]:
        """A list of texts that has to be there."""
        value = self._given.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InvalidInput(name, "a list of texts", value)
        return value

    def texts_or_names(self, name: str) -> list[str] | dict[str, str]:
        """A list of texts, or texts by their names."""
        value = self._given.get(name)
        if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
            return value
        if isinstance(value, dict):
            raise InvalidInput(name, "a list of texts, or texts by their names", value)
        return self.texts(name)

    def count(self, name: str, otherwise: int) -> int:
        """A whole number, if it was given."""
        found = self.count_or_none(name)
        return otherwise if found is None else found

    def count_or_none(self, name: str) -> int | None:
        """A whole number, if it was given; 20000.0 is one, as JSON has but one kind of number."""
        value = self._given.get(name)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise InvalidInput(name, "a whole number", value)
        return value

    def flag(self, name: str, otherwise: bool) -> bool:
        """True or false, if it was given."""
        value = self._given.get(name, otherwise)
        if not isinstance(value, bool):
            raise InvalidInput(name, "true or false", value)
        return value
