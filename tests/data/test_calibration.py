"""Expected times: by the query and by sizes, from made-up records, and remembered by kind."""

from __future__ import annotations

import polars as pl
import pytest

import surehold as sh
from support.runtime import made
from support.workload import YOUTH
from surehold.data.calibration import OVERHEAD, Calibration, _kind
from surehold.data.made_up_records import MadeUp
from surehold.data.record_store import RecordStore
from surehold.queries import Schema, Source, query_of
from surehold.queries.expressions import LONGEST_READ

SCHEMA = Schema.of({"age": "int", "bmi": "float", "city": "str", "ill": "bool", "x1": "int"})


@pytest.fixture
def calibration(tmp_path, monkeypatch):
    """Of a dataset whose records nobody may look at."""
    with made(tmp_path / "clinic", count=1000) as dataset:
        dataset.register(YOUTH)

        def refuse(*_: object) -> None:
            raise AssertionError("a record was touched")

        for name in ("exact", "gradients", "text", "_catch_up"):
            monkeypatch.setattr(RecordStore, name, refuse)
        yield Calibration(dataset._data)


def sources(calibration: Calibration, *queries: str) -> list[Source]:
    return [query_of(query).form(calibration._data.schema).source for query in queries]


def made_up(schema: Schema, rows: int) -> pl.DataFrame:
    return MadeUp(schema, rows).frame(0, rows)


def test_made_up_records_are_of_all_sorts():
    frame = made_up(SCHEMA, 4096)
    assert frame.columns == list(SCHEMA.names)
    assert [str(kind) for kind in frame.dtypes] == [
        "Int64",
        "Float64",
        "String",
        "Boolean",
        "Int64",
    ]
    assert all(0 < count < 1000 for count in frame.null_count().row(0))
    lengths = frame["city"].drop_nulls().str.len_bytes()
    assert (lengths.min(), lengths.max()) == (3, 1000)
    assert frame["age"].abs().max() > 1 << 60
    assert frame.equals(made_up(SCHEMA, 4096))


def test_texts_repeat_among_many_records():
    few, many = made_up(SCHEMA, 4096), made_up(SCHEMA, 1 << 16)
    assert many.head(4096).equals(few)
    assert many.height == 1 << 16
    assert set(many["city"]) <= set(made_up(SCHEMA, 1 << 14)["city"]) | {None}


def test_an_engine_of_made_up_records_reads_texts_as_the_language_does():
    engine = MadeUp(SCHEMA, 4096)
    assert engine.size == 4096
    assert engine.frame(0, 4096).equals(made_up(SCHEMA, 4096))
    assert engine._read()["city"].str.len_bytes().max() == LONGEST_READ


def test_thousands_of_columns_cost_little_memory():
    wide = Schema.of({f"c{i}": "int" for i in range(4096)})
    frame = made_up(wide, 1 << 14)
    assert frame.width == 4096
    pointers = {frame[f"c{i}"].to_arrow().buffers()[-1].address for i in range(300)}
    assert len(pointers) <= 3


@pytest.mark.parametrize(
    ("first", "second", "is_alike"),
    [
        ("age > 65", "age > 42", True),
        ("age > 65", "age > 650", False),
        ("age > 65", "bmi > 65", False),
        ("x1 > 65", "x2 > 65", False),
        ("city = 'Oslo'", "city = 'Riga'", True),
        ("city = 'Oslo'", f"city = '{'x' * 990}'", False),
        ('"a 1" > 5', '"a 2" > 5', False),
        ("city = 'it''s 5'", "city = 'it''s 6'", True),
        ("case when age > 5 then 'a' end", "case when age > 5 then 'a' else 'b' end", False),
    ],
)
def test_kinds(first, second, is_alike):
    assert (_kind(first) == _kind(second)) is is_alike


def test_a_kind_is_tried_once(calibration):
    first = calibration.seconds(sources(calibration, "age > 65"), 1000)
    assert calibration.trials == 1
    assert calibration.seconds(sources(calibration, "age > 42"), 900) == first
    assert calibration.trials == 1
    calibration.seconds(sources(calibration, "bmi > 42"), 1000)
    assert calibration.trials == 2


def test_ten_thousand_candidates_cost_a_few_trials(calibration, monkeypatch):
    """By this clock each measure takes a second, alone or in a list."""
    now = [0.0]
    by_clock = Calibration(calibration._data, clock=lambda: now[0])

    def sums(_: MadeUp, measures: list[Source], start: int, stop: int) -> None:
        now[0] += len(measures)

    monkeypatch.setattr(MadeUp, "sums", sums)
    many = sources(calibration, *(f"age > {i}" for i in range(10, 100)), "bmi > 3", "bmi < 3")
    assert by_clock.seconds(many[:1], 1000) - OVERHEAD == pytest.approx(1.0, abs=0.1)
    assert len(many) <= by_clock.seconds(many, 1000) - OVERHEAD <= 2 * len(many)
    assert by_clock.trials <= 3


def test_what_is_remembered_is_bounded(calibration):
    small = Calibration(calibration._data, most=3)
    for i in range(6):
        small.seconds(sources(small, f"age > {'1' * (i + 1)}"), 1000)
    assert len(small._paces) == 3
    assert small.trials == 6


def test_every_kind_of_query_is_expected_to_take_something(calibration):
    texts = (
        "age > 5",
        "mean(bmi, 0, 50)",
        "difference(age > 5, bmi > 3)",
        "histogram(bins(age, 0, 50, 98))",
        "kendall(age, bmi)",
        "statistic('youth', 1, 1, 0, 1)",
    )
    for source in sources(calibration, *texts):
        few, many = (calibration.seconds([source], round) for round in (1 << 18, 1 << 24))
        assert OVERHEAD < few <= many
    fit = sh.fit("linear", target="bmi", low=0, high=50, features={"age": (0, 9)}, price=9, steps=3)
    assert calibration.fit_seconds(fit.form(calibration._data.schema), 1000) > OVERHEAD


def test_it_is_a_clock_that_is_given(calibration):
    """By this clock tries on 1,024 records take a second, and all others three."""
    now = [0.0]
    by_clock = Calibration(calibration._data, clock=lambda: now[0])

    def work(rows: int) -> None:
        now[0] += 1.0 if rows <= 1024 else 3.0

    pace = by_clock.pace("kind", work, 1 << 20)
    assert pace.each == pytest.approx(2.0 / (4096 - 1024))
    assert pace.once == 1.0
    assert 3.0 <= pace.at(4096) < 3.7


@pytest.mark.parametrize(
    ("each", "t", "most"),
    [
        (1e-9, 10**7, 1 << 18),  # so quick that less would say little
        (1e-6, 10**7, 1 << 14),
        (1e-3, 10**7, 1 << 12),
        (1e-9, 20_000, 1 << 15),  # about as many as there are
        (1e-9, 3, 4),
    ],
)
def test_a_quick_query_is_tried_on_more_records(calibration, each, t, most):
    now, tried = [0.0], []
    by_clock = Calibration(calibration._data, clock=lambda: now[0])

    def work(rows: int) -> None:
        tried.append(rows)
        now[0] += each * rows

    assert each * t < 1.000001 * by_clock.pace("kind", work, t).at(t) < 1.000002 * each * (t + 1024)
    assert max(tried) == most


@pytest.mark.parametrize("count", [1, 2, 9, 16, 17, 1000])
def test_the_measures_of_one_pass_share_what_it_takes(calibration, monkeypatch, count):
    """By this clock a pass takes a second, and a tenth more for each measure."""
    now, tried = [0.0], []
    by_clock = Calibration(calibration._data, clock=lambda: now[0])

    def sums(_: MadeUp, measures: list[Source], start: int, stop: int) -> None:
        tried.append(len(measures))
        now[0] += 1.0 + 0.1 * len(measures)

    monkeypatch.setattr(MadeUp, "sums", sums)
    listed = sources(calibration, *(f"age > {i}" for i in range(1000, 1000 + count)))
    seconds = by_clock.seconds(listed, 1000) - OVERHEAD
    assert len(set(tried)) == 1
    assert tried[0] <= 16
    actual = 1.0 + 0.1 * count
    assert actual <= seconds <= 2 * actual


def test_nothing_is_loaded_twice(tmp_path):
    with made(tmp_path / "loaded", count=1000) as dataset:
        assert dataset._calibration.loading(1000) > 0.0
        dataset._data.load(1000)
        assert dataset._calibration.loading(1000) == 0.0
