"""Questions with side tables, under both guards: what they mean, what they cost, what is kept."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surehold as sh
from support.noise_sources import NoNoise
from support.runtime import GUARDS, guarded
from surehold.queries import fraction
from surehold.session.dataset import Dataset

N = 2000
COLUMNS = {"item": "str", "label": "str", "y": "float", "ill": "bool"}


def record(i: int) -> dict[str, object]:
    return {
        "item": f"q{i * 7919 % 10_007}",
        "label": "cat" if i % 3 else "dog",
        "y": (i * 31 % 500) / 10,
        "ill": i % 4 == 0,
    }


def filled(path, guard="noise", start=0, columns=COLUMNS):
    id = "item" if "item" in columns else None
    sh.create(path, columns=columns, id=id, **guarded(guard)).close()
    dataset = Dataset(path, NoNoise())
    dataset.append([{k: record(i)[k] for k in columns} for i in range(start, start + N)])
    return dataset


def predictions(share: float = 0.9, wrong: int = 5) -> pl.DataFrame:
    """Of the first records, in another order, and of some that there are not."""
    known = [record(i) for i in range(int(share * N))]
    rows = [
        {
            "item": one["item"],
            "answer": None if i % 50 == 9 else "cow" if i % wrong == 0 else one["label"],
            "guess": one["y"] + i % 3,
            "p": (i * 13 % 101) / 100,
            "says": i % 4 == 0 or i % 9 == 0,
        }
        for i, one in enumerate(known)
    ]
    rows += [{"item": f"other {i}", "answer": "cat", "guess": 0.0, "p": 0.5, "says": True}
             for i in range(100)]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"answer": pl.String}).sample(
        fraction=1.0, shuffle=True, seed=3
    )


@pytest.fixture(params=GUARDS)
def dataset(request, tmp_path):
    with filled(tmp_path / "evals", request.param) as found:
        yield found


@pytest.fixture
def session(dataset):
    return dataset.session("ann")


# --------------------------------------------------------------------------------- meaning


JOINED = pl.DataFrame([record(i) for i in range(N)]).join(
    predictions().with_columns(covered=pl.lit(True)), on="item", how="left", maintain_order="left"
)
COVERED = JOINED.filter(pl.col("covered"))
MEANT = {
    "p.answer = label": (COVERED["answer"] == COVERED["label"]).fill_null(False).mean(),
    "fraction(p.answer is null)": COVERED["answer"].is_null().mean(),
    "mean(abs(p.guess - y), 0, 4)": (COVERED["guess"] - COVERED["y"]).abs().mean() / 4 * 4,
    "rate(p.answer = 'cat', label = 'cat')": (
        (COVERED.filter(pl.col("label") == "cat")["answer"] == "cat").fill_null(False).mean()
    ),
    "fraction(p.item is not null)": COVERED.height / N,
    "fraction(p.item is not null and p.answer = label)": (
        (JOINED["answer"] == JOINED["label"]).fill_null(False).mean()
    ),
    "p.says = ill and y > 10": (((COVERED["says"] == COVERED["ill"]) & (COVERED["y"] > 10)).mean()),
    "difference(p.says, ill)": (COVERED["says"].sum() - COVERED["ill"].sum()) / N,
    "improvement(mean(p.guess, 0, 60), mean(y, 0, 60))": (
        (COVERED["guess"].sum() - COVERED["y"].sum()) / N
    ),
}


@pytest.mark.parametrize("query", MEANT)
def test_what_is_answered_is_what_a_join_gives(dataset, query):
    exact = MEANT[query]
    result = dataset.session().ask(query, tables={"p": predictions()})
    low, high = result.interval
    assert low <= exact <= high
    if dataset.guard == "noise":
        assert result.value == pytest.approx(exact, abs=1e-6)  # no noise here
    is_about = ("p",) if not any(of in query for of in ("item", "diff", "improve")) else ()
    assert result.among == is_about
    assert ("of the records that p covers" in str(result)) == bool(is_about)
    assert dataset.verify().recomputed in (0, 1)


def test_wherever_an_expression_is_taken(dataset):
    session, tables = dataset.session(), {"p": predictions(), "q": predictions(0.8, 7)}
    asked = [
        "gate(p.answer = label, at_least, 0.1)",
        "histogram(p.answer in ('cat', 'dog'), label in ('cat', 'dog'))",
        "means(p.guess, 0, 60, label in ('cat', 'dog'))",
        "difference(p.answer = label, q.answer = label)",
        "auc(p.p, ill)",
        "variance(p.guess, 0, 60)",
        "select(highest, 2, p.answer = label, q.answer = label)",
        "p.answer = label and q.answer = label",
    ]
    for query in asked:
        result = session.ask(query, tables=tables)
        assert session.ask(query, tables=tables).entry == result.entry
        assert "table:" not in result.shown_query
    assert result.among == ("p", "q") or result.among == ("q", "p")
    if dataset.guard == "noise":
        session.ask("fit(linear, 2, 3, 1, mean(p.guess, 0, 60), mean(y, 0, 50))", tables=tables)
    dataset.verify()


def test_the_improvement_of_a_run_counts_only_what_both_runs_have(dataset):
    """A run over half of the records would lose, or win, on those that it never saw."""
    session, tables = dataset.session(), {"p": predictions(), "q": predictions(0.45)}
    asked = sh.improvement("p.answer = label", "q.answer = label")
    result = session.ask(asked, tables=tables)  # as good as each other where both answer
    assert result.value == 0.0 or dataset.guard == "surprise"
    assert result.interval[0] <= 0.0 <= result.interval[1]
    again = session.ask("improvement(label = p.answer, q.answer = label)", tables=tables)
    assert again.recorded
    assert session.ask("difference(q.answer = label, q.answer = label)", tables=tables).value == 0.0
    better = sh.gate(asked, at_least=0.02)
    assert session.ask(better, tables=tables).verdict != "pass"
    dataset.verify()


def test_a_model_may_predict_a_column_of_a_table(dataset):
    from support.small_models import ONE

    asked = sh.accuracy(ONE, features=["y", "y2"], target="p.says", classes=[False, True])
    with pytest.raises(sh.InvalidQuery, match="y2"):
        dataset.session().ask(asked, tables={"p": predictions()})


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_any_table_as_a_join(tmp_path_factory, data):
    """An oracle for ids of both types, in any order, with anything missing."""
    kind = data.draw(st.sampled_from(["int", "str"]))
    one = st.integers(0, 300) if kind == "int" else st.text("abß", max_size=3)
    ids = data.draw(st.lists(one, unique=True, min_size=200 if kind == "int" else 1, max_size=250))
    rows = data.draw(st.dictionaries(one, st.none() | st.integers(0, 2), min_size=1))
    rows = {**rows, data.draw(one): 1}  # so that the column has a type
    path = tmp_path_factory.mktemp("any") / "any"
    sh.create(path, columns={"k": kind, "v": "int"}, id="k", beta=0.05).close()
    records = pl.DataFrame({"k": ids, "v": [i % 3 for i in range(len(ids))]})
    table = pl.DataFrame({"k": list(rows), "w": list(rows.values())}, {"k": records["k"].dtype,
                         "w": pl.Int64})  # fmt: skip
    with Dataset(path) as dataset:
        dataset.append(records)
        store = dataset._data
        asked = dataset.session()._questions.query(
            "t.w = v", dataset.session()._bring({"t": table})
        )
        both, given_ = (part.form(store.schema).source for part in asked.parts)
        found = [one.numerators[0] for one in store.exact([both, given_], len(ids))]
    joined = records.join(table.with_columns(there=1), on="k", how="left")
    assert found == [int((joined["w"] == joined["v"]).sum()), int(joined["there"].count())]


# ------------------------------------------------------------------------------- one question


def test_the_alias_is_no_part_of_the_question(session):
    frame = predictions()
    first = session.ask("p.answer = label", tables={"p": frame})
    again = session.ask("run.answer = label", tables={"run": frame.reverse()})
    assert (again.recorded, again.entry, again.query) == (True, first.entry, first.query)
    assert session.ask(first.query).entry == first.entry  # by its hash
    assert session.ask(first.text).entry == first.entry  # by its name
    assert session.ask(fraction("p.answer = label")).entry == first.entry
    assert first.names == {session.tables[0].table: "p"}


def test_the_same_predictions_are_the_same_table_in_any_format(session, tmp_path):
    frame = predictions().select("item", "answer", "p", "says")
    frame.write_csv(tmp_path / "run-17.csv")
    frame.reverse().write_parquet(tmp_path / "run-17.parquet")
    frame.write_ndjson(tmp_path / "b.jsonl")
    frame.select("says", "p", "item", "answer").write_ipc(tmp_path / "c.arrow")
    files = ["run-17.csv", "run-17.parquet", "b.jsonl", "c.arrow"]
    kept = [session.keep_table(tmp_path / file) for file in files]
    [table] = session.tables
    assert {one.table for one in kept} == {table.table}
    assert (table.name, table.rows) == ("run-17", frame.height)
    assert session.keep_table(frame.to_dicts()).table == table.table
    assert session.keep_table(frame.to_pandas()).table == table.table


# ------------------------------------------------------------------------------------ names


def test_names_stay_and_none_is_taken_twice(session, tmp_path):
    frame = predictions()
    assert session.keep_table(frame, "run-17").name == "run-17"
    assert session.keep_table(frame).name == "run-17"
    with pytest.raises(sh.InvalidInput, match="as it was named before"):
        session.keep_table(frame, "other")
    other = frame.head(500)
    with pytest.raises(sh.InvalidInput, match="no other table or model has"):
        session.keep_table(other, "run-17")
    other.write_csv(tmp_path / "run-17.csv")
    assert session.keep_table(tmp_path / "run-17.csv").name == "run-17-2"
    assert [one.name for one in session.tables] == ["run-17", "run-17-2"]
    for bad in ("", 'a"b', "it's", "a\nb", "x" * 101, "table:1", 5):
        with pytest.raises(sh.InvalidInput, match="the name"):
            session.keep_table(frame.head(7), bad)


def test_models_have_names(dataset):
    from support.small_models import ONE

    session = dataset.session()
    assert session.keep_model(ONE).name is None
    kept = session.keep_model(ONE, "tree")
    assert kept.name == session.keep_model(ONE).name == dataset.models[0].name == "tree"
    with pytest.raises(sh.InvalidInput, match="no other table or model has"):
        session.keep_table(predictions(), "tree")


def test_a_dashboard_may_watch_a_table(dataset):
    session = dataset.session()
    session.keep_table(predictions(), "run-17")
    asked = [{"name": "accuracy of 17", "question": '"run-17".answer = label', "at_least": 0.01}]
    session.register(sh.Dashboard.of(asked))
    [watched] = session.watch().questions
    assert watched.result.among == ("run-17",)
    assert session.ask("accuracy of 17").entry == watched.result.entry
    session.ask("p.says = ill", tables={"p": predictions()})
    shown = session.history('"run-17".says = ill')
    assert (shown.label, len(shown.points)) == (session.transcript[-1].shown_query, 1)
    assert "table:" not in shown.label
    dataset.verify()


# --------------------------------------------------------------------------------- refusals


REFUSED = {
    "without the id": predictions().drop("item"),
    "only the id": predictions().select("item"),
    "ids twice": pl.concat([predictions(), predictions().head(3)]),
    "an id that is missing": predictions().with_columns(
        item=pl.when(pl.col("p") > 0.99).then(None).otherwise("item")
    ),
    "ids of another type": predictions().with_columns(item=pl.int_range(pl.len())),
    "no rows": predictions().clear(),
    "no table": 5,
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_depend_on_the_table_and_the_columns_alone(tmp_path, name):
    """Two datasets whose records have nothing in common refuse in the same words."""
    said = []
    for start in (0, 5000):
        with filled(tmp_path / f"evals {start}", start=start) as dataset:
            before = dataset.last_entry
            with pytest.raises(sh.SureholdError) as caught:
                dataset.session().ask("p.answer = label", tables={"p": REFUSED[name]})
            assert dataset.last_entry == before
            said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("p.answr = label", "one of its columns: item, answer"),
        ("q.answer = label", "bring it with --with q=FILE"),
        ("p.answer > 3", "p.answer is text, but 3 is a number"),
        ("p.answer", "expected a boolean"),
        (f'"table:{"0" * 64}:str".answer = label', "one that is brought or kept"),
    ],
)
def test_questions_that_make_no_sense(session, query, says):
    with pytest.raises(sh.SureholdError, match=says):
        session.ask(query, tables={"p": predictions()})
    assert len(session.transcript) == 0


def test_a_column_of_another_type_than_the_table_says(session):
    first = session.ask("p.answer = label", tables={"p": predictions()})
    with pytest.raises(sh.InvalidInput, match="of the type that the table says, str"):
        session.ask(first.query.replace(":str", ":int"))


def test_a_dataset_without_an_id_refuses_side_tables(tmp_path):
    columns = {name: kind for name, kind in COLUMNS.items() if name != "item"}
    dataset = filled(tmp_path / "evals", columns=columns)
    with dataset, pytest.raises(sh.InvalidInput, match="create it with --id NAME"):
        dataset.session().ask("p.answer = label", tables={"p": predictions()})


# ------------------------------------------------------------------------------ what is kept


def test_a_table_lasts_and_is_verified(dataset, tmp_path):
    first = dataset.session().ask("p.answer = label", tables={"p": predictions()})
    dataset.close()
    with Dataset(tmp_path / "evals") as again:
        assert again.session().ask(first.text) == again.transcript.entry(first.entry)
        assert again.verify().recomputed == (again.guard == "surprise")
        more = [record(i) for i in range(N, N + 100)] if again.guard == "surprise" else []
        if more:  # later records are not covered, and change nothing of what is asked about
            again.append(more)
            assert again.session().ask(first.text).value == first.value


def test_forgery_is_found(dataset, tmp_path):
    dataset.session().ask("p.answer = label", tables={"p": predictions()})
    dataset.close()
    [file] = (tmp_path / "evals" / "tables").iterdir()
    frame = pl.read_ipc(file.read_bytes())
    assert "not (" not in file.name
    for forged in (
        frame.with_columns(answer=pl.lit("cat")),
        frame.head(10),
        frame.reverse(),
        frame.drop("p"),
    ):
        forged.write_ipc(file)
        with Dataset(tmp_path / "evals") as again:
            with pytest.raises(sh.LedgerCorrupt, match="does not hold what it was named for"):
                again.verify()
            with pytest.raises(sh.InvalidInput, match="at hand"):
                again.session().ask("p.says and ill")
    file.write_bytes(b"nothing")
    with Dataset(tmp_path / "evals") as again, pytest.raises(sh.LedgerCorrupt):
        again.verify()
    shutil.rmtree(file.parent)  # whoever removes a table loses the questions, not the ledger
    with Dataset(tmp_path / "evals") as again:
        assert again.verify().recomputed == 0
        assert again.transcript[-1].among == ("p",)
        with pytest.raises(sh.InvalidInput, match="at hand"):
            again.session().ask("p.says and ill")
        again.session().ask("p.says and ill", tables={"p": predictions()})  # brought again


def test_a_table_that_was_not_kept_before_is_found(dataset, tmp_path, monkeypatch):
    """An entry that names no table of the ledger, as if the name had been cut out."""
    session = dataset.session()
    session.ask("p.answer = label", tables={"p": predictions()})
    monkeypatch.setattr(
        "surehold.ledger.replay.Replay.check_keep", lambda self, body, entry: self.state
    )
    with pytest.raises(sh.LedgerCorrupt, match="its table was not kept before"):
        dataset.verify()


def test_one_dictionary(session):
    result = session.ask("p.answer = label", tables={"p": predictions()})
    values = json.loads(json.dumps(result.to_dict()))
    assert values["among"] == ["p"]
    assert values["display"]["query"] == "rate(p.answer = label, not p.item is null)"
    assert "table:" in values["query"]


# ------------------------------------------------------------------------------------- time


def test_calibration_knows_side_tables_and_reads_no_record(dataset, monkeypatch):
    session = dataset.session(fixed_time=True)
    quick = session._evaluator._calibration
    asked = session._questions.query("p.says = ill", session._bring({"p": predictions()}))
    sources = [part.form(dataset._data.schema).source for part in asked.parts]
    monkeypatch.setattr(type(dataset._data), "_snapshot", None)
    with_table = quick.seconds(sources, N)
    assert with_table > 0.0
    kinds = [kind for kind in quick._paces if "beside" in kind]
    assert len(kinds) == 1
    trials = quick.trials
    other = session._questions.query("q.says = ill", session._bring({"q": predictions(0.91)}))
    quick.seconds([part.form(dataset._data.schema).source for part in other.parts], N)
    assert quick.trials <= trials + 2  # a table of about the same size is of the same kind


def test_a_table_that_covers_everything_costs_and_is_as_wide_as_a_column(tmp_path):
    """Under the surprise guard it is expected to; a table that does not costs more."""
    whole, part = predictions(1.0), predictions(0.5)
    with filled(tmp_path / "evals", "surprise") as dataset:
        ask = {"expect": 0.78, "within": 0.02, "doubt": 0.05}
        s = dataset.session("ann")
        covered = s.ask("p.answer = label", tables={"p": whole}, **ask)
        assert covered.surprise == pytest.approx(0.148, abs=0.001)  # twice -log2(19/20)
        quoted = s.quote("p.answer <> label", tables={"p": whole}, expect=0.22, within=0.02)
        assert quoted.width is not None
        assert s.ask("p.answer = label", tables={"p": part}, **ask).surprise > 8
        assert dataset.verify().recomputed == 2
    rows = [record(i) for i in range(N)]
    answers = dict(whole.select("item", "answer").rows())
    columns = {**COLUMNS, "right": "bool"}
    with sh.create(tmp_path / "column", columns=columns, **guarded("surprise")) as dataset:
        right = [{**row, "right": answers[row["item"]] == row["label"]} for row in rows]
        dataset.append(right)
        known = dataset.session("ann").ask("right", **ask)
        assert (covered.low, covered.high) == (known.low, known.high)
