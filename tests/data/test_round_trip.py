"""Any records, in any form, in any pieces: the very same come back."""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import surehold as sh
from data.forms import FORMS
from support.runtime import adaptive_plan
from support.soak import length
from surehold.data import intake, record_store, sources
from surehold.queries import Schema

# pandas' floats for whole numbers with gaps hold 53 bits; that is tested by itself.
EXACT = [form for form in FORMS if form != "pandas objects"]
# In CSV an empty text and a missing one are written alike by some, and blanks go from numbers.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "str": TEXT,
    "date": st.dates(),
    "timestamp": st.datetimes(
        dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30), timezones=st.timezones()
    ),
}
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def stored(value: Any) -> Any:
    """As rows have it: days, or microseconds."""
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // dt.timedelta(microseconds=1)
    return (value - EPOCH.date()).days if isinstance(value, dt.date) else value


@st.composite
def tables(draw: st.DrawFn) -> tuple[Schema, list[dict[str, Any]]]:
    names = draw(st.lists(st.sampled_from("abc Ø_"), min_size=2, max_size=4, unique=True))
    columns = {name: draw(st.sampled_from(sorted(VALUES))) for name in names}
    record = st.fixed_dictionaries(
        {name: st.none() | VALUES[kind] for name, kind in columns.items()}
    )
    return Schema.of(columns), draw(st.lists(record, max_size=12))


@settings(max_examples=length(40, full=120))
@given(
    table=tables(),
    forms=st.lists(st.sampled_from(EXACT), min_size=1, max_size=4),
    cuts=st.lists(st.integers(0, 12), max_size=3),
    sizes=st.tuples(st.integers(1, 6), st.integers(0, 6), st.integers(1, 12)),
    seal=st.booleans(),
)
def test_the_same_records_come_back(
    table: tuple[Schema, list[dict[str, Any]]],
    forms: list[str],
    cuts: list[int],
    sizes: tuple[int, int, int],
    seal: bool,
) -> None:
    schema, records = table
    ends = sorted({min(cut, len(records)) for cut in cuts} | {0, len(records)})
    kept = intake.LARGE, intake.RECORDS, record_store.SEAL_AT, sources.RECORDS
    intake.LARGE, more, record_store.SEAL_AT = sizes
    intake.RECORDS = sources.RECORDS = intake.LARGE + more
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            with sh.create(
                path / "data", plan=adaptive_plan(), columns=schema.to_dict()
            ) as dataset:
                for i, (start, end) in enumerate(pairwise(ends)):
                    form = forms[i % len(forms)]
                    dataset.append(FORMS[form](records[start:end], schema, path))
                if seal:
                    dataset._data.seal()
                rows = [[stored(r[name]) for name in schema.names] for r in records]
                text = dataset._data.text(0, len(records))
                assert json.loads(text) == rows
                # Minus zero and the last bit of a float too, which == would pass over.
                assert text == json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
                dataset.verify()
            with sh.open(path / "data") as dataset:
                assert dataset._data.text(0, len(records)) == text
    finally:
        intake.LARGE, intake.RECORDS, record_store.SEAL_AT, sources.RECORDS = kept
