"""The types of arguments and options, and what several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import reduce
from pathlib import Path
from typing import Any

import click

from surehold.errors import InvalidInput

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+", re.ASCII)
_BARE = re.compile(r"[\w.-]+:\d{1,5}(/.*)?", re.ASCII)  # an address without its http://
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]{1,18}\.[0-9]{1,18}")
_MOST_DIGITS = 400  # far beyond every limit, and still quick to write out


class Count(click.ParamType[int]):
    """A whole number: 1500000, 1_500_000, 1,500,000 or 1.5e6."""

    name = "integer"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Parse exactly; refuse what is not a whole number."""
        text = str(value)
        if _THOUSANDS.fullmatch(text):
            text = text.replace(",", "")
        try:
            number = Decimal(text.replace("_", ""))
        except InvalidOperation:
            number = Decimal("NaN")
        is_small = number.is_finite() and number.adjusted() <= _MOST_DIGITS
        if not is_small or number != int(number):
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        return int(number)


class Number(click.ParamType[float]):
    """A number, with a hint for anyone who writes 5% or 0,05."""

    name = "number"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse as Python does."""
        try:
            return float(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a number; write 0.05 for 5%.", param, ctx)


class InOrder(click.Group):
    """A group whose help lists commands in the order of use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order they were added."""
        return list(self.commands)


class Folder(click.Path):
    """A local folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, file_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a path; refuse an address."""
        if _is_address(value):
            self.fail(f"{value!r} is an address; give the dataset's folder.", param, ctx)
        return super().convert(value, param, ctx)


class FolderOrAddress(Folder):
    """A local folder, or the address of a service, which stays a string."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a path or an address."""
        if _is_address(value):
            return value
        if isinstance(value, str) and _BARE.fullmatch(value) and not Path(value).exists():
            self.fail(f"Folder {value!r} not found; did you mean http://{value}?", param, ctx)
        return super().convert(value, param, ctx)


def _is_address(value: object) -> bool:
    return isinstance(value, str) and value.lower().startswith(("http://", "https://"))


class NamedFile(click.ParamType[tuple[str, Path]]):
    """A side table and what a query calls it: p=run-17.csv."""

    name = "name=file"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        """Parse NAME=FILE."""
        name, _, file = str(value).partition("=")
        if not name or not file:
            self.fail(f"{value!r} is not NAME=FILE, such as p=run-17.csv.", param, ctx)
        if not Path(file).is_file():
            self.fail(f"File {file!r} not found.", param, ctx)
        return name, Path(file)


DATASET = Folder()
SIDE_TABLE = NamedFile()
PLACE = FolderOrAddress()
COUNT = Count()
NUMBER = Number()
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)

HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"], "show_default": True}
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")

HOST = click.option("--host", default="127.0.0.1", help="Address to listen on.")
EXPOSE = click.option(
    "--expose",
    is_flag=True,
    help="Listen on an address other machines can reach. Requires tokens; use TLS.",
)


DIALECT = (
    click.option(
        "--delimiter", metavar="MARK", help="For CSV: what separates fields, one of , ; | and tab."
    ),
    click.option(
        "--decimal", metavar="MARK", help="For CSV: the decimal mark, a point or a comma."
    ),
)


def combine(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that adds several options, in this order in the help."""
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


def check_picture(path: Path) -> None:
    """Refuse a picture that cannot be written, before computing anything."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise InvalidInput("the picture", "a .png or .svg file", str(path))
    if not path.parent.is_dir():
        raise InvalidInput("the picture's folder", "an existing folder", str(path.parent))


def make_folder(path: Path) -> None:
    """Create the output folder if it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{path}: {error.strerror}"
        raise InvalidInput("the folder", "writable", reason) from error


def parse_label(text: str) -> str | int | float | bool:
    """Parse a label: 1, 2.5, true, or a string. Words such as nan are strings."""
    if text in ("true", "false"):
        return text == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
