"""What an option's text may be."""

from __future__ import annotations

from pathlib import Path

import click

from holdfast.errors import InvalidInput


class Count(click.ParamType[int]):
    """A whole number: 1500000, 1_500_000, 1,500,000 or 1.5e6."""

    name = "integer"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Digits exactly; anything else through a float that must be whole."""
        text = str(value).replace(",", "").replace("_", "")
        try:
            return int(text)
        except ValueError:
            pass
        try:
            number = float(text)
        except ValueError:
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        if number != number or number in (float("inf"), float("-inf")) or number % 1:
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        return int(number)


COUNT = Count()

HELP = {"help_option_names": ["-h", "--help"]}

PICTURE_SUFFIXES = (".png", ".svg")


def picture_path(path: Path) -> Path:
    """A picture's file name, checked before anything is computed."""
    if path.suffix.lower() not in PICTURE_SUFFIXES:
        raise InvalidInput("the picture's name", "one that ends in .png or .svg", str(path))
    if not path.parent.is_dir():
        raise InvalidInput("the picture's folder", "one that exists", str(path.parent))
    return path


def folder(path: Path) -> Path:
    """A folder to write to, made if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{path}: {error.strerror}"
        raise InvalidInput("the folder", "one that can be written to", reason) from error
    return path
