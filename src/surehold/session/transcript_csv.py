"""The transcript as CSV: one line for each number that was reported, for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from surehold.session.results import Result

FIELDS = (
    "entry", "time", "analyst", "name", "query", "kind", "cell",
    "round", "value", "low", "high", "verdict", "price", "bits",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_lines(answers: Iterable[Result]) -> Iterator[str]:
    """Yield the header, then the lines of each answer, while the answers are read.

    The cells of a table have a line each. ``price`` is in answers, under the noise guard, and
    ``bits`` under the surprise guard; both are of the whole answer.
    """
    line = io.StringIO()
    writer = csv.DictWriter(line, FIELDS, lineterminator="\r\n")
    writer.writeheader()
    for answer in answers:
        for row in _rows(answer):
            writer.writerow({name: _safe(value) for name, value in row.items()})
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()


def _rows(answer: Result) -> Iterator[dict[str, Any]]:
    found = answer.to_dict()
    common = {
        **{name: found.get(name) for name in ("entry", "time", "analyst", "round")},
        "name": found.get("title"),
        "query": found["display"].get("query", answer.query),
        "kind": answer.query.partition("(")[0],
        "price": found.get("price"),
        "bits": found.get("surprise"),
    }
    cells = found.get("cells")
    if cells is None:
        yield {**common, **_number(found)}
        return
    for cell in cells:
        yield {**common, "cell": cell["label"], **_number(cell)}


def _number(found: Mapping[str, Any]) -> dict[str, Any]:
    """A value and its interval, a gate's verdict, and what was chosen of several."""
    low, high = found.get("interval") or (found.get("low"), found.get("high"))
    value = found.get("value", found.get("name"))
    return {"value": value, "low": low, "high": high, "verdict": found.get("verdict")}


def _safe(value: object) -> object:
    """Text that a spreadsheet does not take for a formula: queries and names are other people's."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
