"""Odd records, engines that hold them, and measures of queries about them."""

import math
from itertools import pairwise

import polars as pl
from hypothesis import reject

from queries.generators import COLUMNS, DATES, FLOATS, INTEGERS, STAMPS, TEXTS
from surehold.data.engines import PolarsEngine
from surehold.errors import InvalidQuery
from surehold.queries import Schema

SCHEMA = Schema.of(COLUMNS)
DTYPES = {"int": pl.Int64(), "float": pl.Float64(), "bool": pl.Boolean(), "str": pl.String()}
DTYPES |= {"date": pl.Date(), "timestamp": pl.Datetime("us", "UTC")}


def measured(query):
    """What a query makes of a record; what costs too much is another test's affair."""
    try:
        return query.measure(SCHEMA)
    except InvalidQuery as refused:
        if "it costs" not in refused.reason:
            raise
        reject()


def frame_of(rows, categorical=False):
    """As the store keeps records: what is not finite is null already."""
    dtypes = dict(DTYPES, str=pl.Categorical()) if categorical else DTYPES
    columns = {
        name: pl.Series(name, [_stored(row[name]) for row in rows], dtype=dtypes[kind])
        for name, kind in COLUMNS.items()
    }
    return pl.DataFrame(columns)


def _stored(value):
    return None if isinstance(value, float) and not math.isfinite(value) else value


def engine_of(rows, cuts=(), categorical=False):
    engine = PolarsEngine()
    edges = [0, *sorted(cut % (len(rows) + 1) for cut in cuts), len(rows)]
    for start, stop in pairwise(edges):
        engine.extend(frame_of(rows[start:stop], categorical))
    return engine


def pool():
    """Records in which the odd values meet each other."""
    ints, floats, texts = [*INTEGERS, None], [*FLOATS, None], [*TEXTS, None]
    truths = [True, False, None]
    days, moments = [*DATES, None], [*STAMPS, None]
    return [
        {
            "age": ints[i % len(ints)],
            "id": ints[(i * 7 + 3) % len(ints)],
            "bmi": floats[i % len(floats)],
            "weight of": floats[(i * 5 + 1) % len(floats)],
            "smoker": truths[i % 3],
            "In": truths[i // 3 % 3],
            "city": texts[i % len(texts)],
            "length": texts[(i * 11 + 2) % len(texts)],
            "day": days[i % len(days)],
            "due": days[(i * 5 + 3) % len(days)],
            "at": moments[i % len(moments)],
            "seen": moments[(i * 7 + 2) % len(moments)],
        }
        for i in range(120)
    ]


POOL = pool()
ENGINES = [engine_of(POOL), engine_of(POOL, (1, 2, 60, 61)), engine_of(POOL, (40,), True)]
