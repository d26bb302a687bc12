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
Count = Annotated[Whole, Field(ge=0)]
QueryText = Annotated[
    str, Field(description="The question, in the query language (describe shows it): age > 65")
]
AtRound = Annotated[
    Annotated[Whole, Field(ge=1)] | None,
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


Written = str | float
"""A number, or text that keeps it exactly."""
Expect = Annotated[
    Written | None,
    Field(
        description="The number that you expect, or the verdict: pass, fail, undecided, not pass; "
        "no, or not better, for a difference or improvement. What comes as expected costs little."
    ),
]
Within = Annotated[
    Written | None,
    Field(
        description="How far off it may be, in the units of the query; with expect no, the "
        "improvement that matters."
    ),
]
Doubt = Annotated[
    Written | None,
    Field(
        description="The probability that it comes out otherwise, such as 0.05; learned from the "
        "answers so far if left out."
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


class Named(Arguments):
    """A question with a name."""

    name: str = Field(description="A name of up to 80 characters; it means one question for ever.")
    question: str = Field(description="The question, in the query language.")
    unit: str | None = Field(default=None, description="Such as %, € or ms; shown with numbers.")
    gate: str | None = Field(default=None, description="The gate: '>= 0.8' or '<= 250'.")
