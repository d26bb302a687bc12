"""How results are shown: a dictionary for every surface, a line for people, an HTML table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from html import escape
from typing import Any, cast

_TEXTS = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    },
}


def as_table(caption: str, values: Mapping[str, Any]) -> str:
    """Return an HTML table of names and values for a notebook, without empty values."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in values.items()
        if value is not None
    )
    return f"<table><caption>{escape(caption)}</caption>{rows}</table>"


class Shown:
    """A frozen dataclass for results; every surface prints its ``to_dict``."""

    __slots__ = ()

    @property
    def display(self) -> Mapping[str, Any]:
        """Return the numbers as text, rounded to the safe side.

        A class that has it in its dictionary lists it among its fields and overrides ``_display``.
        """
        return self._display()

    def _display(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in JSON."""
        names = (field.name for field in fields(cast("Any", self)))
        return {name: _plain(getattr(self, name)) for name in names}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        """Return the schema of ``to_dict``: pydantic omits computed fields."""
        schema: dict[str, Any] = handler(core)
        shape, names = (
            handler.resolve_ref_schema(schema),
            [one.name for one in fields(cast("Any", cls))],
        )
        if "display" in names:
            shape["properties"]["display"] = _TEXTS
        shape["required"] = names
        return schema

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()}: {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle frozen mappings as plain ones."""
        given = [field.name for field in fields(cast("Any", self)) if field.init]
        values = {name: getattr(self, name) for name in given}
        plain = {
            name: dict(value) if isinstance(value, Mapping) else value
            for name, value in values.items()
        }
        return _build, (type(self), plain)

    def _repr_html_(self) -> str:
        return as_table(str(self), {**self.to_dict(), "display": None})


def _build(kind: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Build a result from its fields by name: some take no place among the arguments."""
    return kind(**values)


def _plain(value: Any) -> Any:
    if isinstance(value, Shown):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
