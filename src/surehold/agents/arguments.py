"""Tool arguments: pydantic models, whose errors become ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from surehold.errors import InvalidInput
from surehold.server.errors import invalid_input


def _whole(value: object) -> object:
    """Accept 20000.0 as a whole number: JSON has only one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
Count = Annotated[int, Field(ge=0), BeforeValidator(_whole)]
QueryText = Annotated[
    str, Field(description="The question, in the query language (describe shows it): age > 65")
]
AtRound = Annotated[
    Annotated[int, Field(ge=1), BeforeValidator(_whole)] | None,
    Field(
        description="Ask the snapshot of the first ROUND records, at the price of that round. "
        "Leave it out to ask all records."
    ),
]
Key = Annotated[
    str | None,
    Field(
        description="A UUID, new for each question; all callers of a dataset share its keys. "
        "The same call with the same key returns the recorded answer and charges nothing."
    ),
]


class Arguments(BaseModel):
    """The arguments of one call. Null stands for a missing one, because models write it so."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Check the arguments; InvalidInput names the first invalid one."""
        known = cls.model_fields
        for name, value in given.items():
            if name not in known:
                hint = f"there are {', '.join(known)}" if known else "this tool takes no arguments"
                raise InvalidInput(name, "left out, as there is no such argument", value, hint)
        try:
            return cls(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            raise invalid_input(error.errors()) from None
