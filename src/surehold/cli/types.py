"""What an option's text may be."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from surehold.errors import InvalidInput

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+", re.ASCII)
_BARE = re.compile(r"[\w.-]+:\d{1,5}(/.*)?", re.ASCII)  # an address without its http://
_MOST_DIGITS = 400  # far beyond every limit, and still quick to write out


class Count(click.ParamType[int]):
    """A whole number: 1500000, 1_500_000, 1,500,000 or 1.5e6."""

    name = "integer"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Exactly what is written, if that is whole."""
        text = str(value)
        if _THOUSANDS.fullmatch(text):
            text = text.replace(",", "")
        try:
            number = Decimal(text.replace("_", ""))
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite() or number.adjusted() > _MOST_DIGITS or not _is_whole(number):
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        return int(number)


class Number(click.ParamType[float]):
    """A number, with a word for those who write 5% or 0,05."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """What Python reads as a float."""
        try:
            return float(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a number; write 0.05 for 5 %.", param, ctx)


class InOrder(click.Group):
    """A group whose help lists its commands in the order in which they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As they were added."""
        return list(self.commands)


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


class Folder(click.Path):
    """A folder; an address of a service is none."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of the folder."""
        if _is_address(value):
            self.fail(f"{value!r} is an address; this is done where the dataset lies.", param, ctx)
        return super().convert(value, param, ctx)


class FolderOrAddress(Folder):
    """A folder, or the address of a service, which stays a text."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of the folder, or the address."""
        if _is_address(value):
            return value
        if isinstance(value, str) and _BARE.fullmatch(value) and not Path(value).exists():
            self.fail(f"There is no folder {value!r}; did you mean http://{value}?", param, ctx)
        return super().convert(value, param, ctx)


def _is_address(value: object) -> bool:
    return isinstance(value, str) and value.lower().startswith(("http://", "https://"))


DATASET = Folder()
PLACE = FolderOrAddress()
COUNT = Count()
NUMBER = Number()

HELP = {"help_option_names": ["-h", "--help"]}

PICTURE_SUFFIXES = (".png", ".svg")


def check_picture(path: Path) -> None:
    """Refuse a picture that could not be written, before anything is computed."""
    if path.suffix.lower() not in PICTURE_SUFFIXES:
        raise InvalidInput("the picture's name", "one that ends in .png or .svg", str(path))
    if not path.parent.is_dir():
        raise InvalidInput("the picture's folder", "one that exists", str(path.parent))


def make_folder(path: Path) -> None:
    """Make the folder to write to, if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{path}: {error.strerror}"
        raise InvalidInput("the folder", "one that can be written to", reason) from error
