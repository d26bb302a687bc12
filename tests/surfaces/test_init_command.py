"""`surehold init`: what it finds in a file, what it asks, and what comes of it."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surehold as sh
from support.documents import exported
from surehold.data.file_formats import FileFormat
from surehold.data.survey import survey

FLAGS = {
    "--id": "visit_id",
    "--questions": "20",
    "--beta": "0.05",
    "--n": "20000",
    "--guard": "surprise",
}
ANSWERS = ["y", "20", "0.05", "20000", "surprise"]
COLUMNS = {"visit_id": "int", "country": "str", "amount": "float", "day": "str", "bought": "bool"}


class Terminal(io.StringIO):
    """Somebody who types these lines."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def visits(run: Any, tmp_path: Path) -> Any:
    exported(tmp_path / "visits.csv")
    return run


def flags(*left_out: str, **other: str) -> list[str]:
    given = {**FLAGS, **{f"--{name}": value for name, value in other.items()}}
    return [word for pair in given.items() if pair[0] not in left_out for word in pair]


def look(path: Path, text: str | bytes, **options: Any) -> Any:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return survey(path, FileFormat(), {}, **{"has_header": False, **options})


def test_options_answer_everything(visits: Any) -> None:
    code, out, err = visits("init", "visits.csv", *flags(), "--json")
    assert (code, err) == (0, "")
    shown = json.loads(out)
    assert shown["survey"]["columns"] == COLUMNS
    assert shown["survey"]["delimiter"] == ";"
    assert shown["survey"]["decimal"] == ","
    assert (shown["survey"]["ids"], shown["survey"]["target"]) == (["visit_id"], "bought")
    assert (shown["forecast"]["n0"], shown["forecast"]["n"]) == (3_000, 20_000)
    with sh.open("visits") as data:
        assert data.n == 3_000
        assert data.status().to_dict() == shown["status"]
        assert data.columns == {**COLUMNS, "visit_id": "int id"}
        assert (data.status().beta, data.status().claims_expected) == (0.05, 20)
    options = ["--beta", "0.05", "--claims", "20", "--id", "visit_id"]
    dialect = ["--delimiter", ";", "--decimal", ","]
    assert visits("create", "twin", *options, "--like", "visits.csv", *dialect)[0] == 0
    assert visits("append", "twin", "visits.csv", *dialect)[0] == 0
    with sh.open("twin") as twin, sh.open("visits") as data:
        assert data._data.text(0, 3_000) == twin._data.text(0, 3_000)


def test_the_noise_guard_allows_all_questions_from_the_start(visits: Any) -> None:
    code, out, _ = visits("init", "visits.csv", "shop", *flags(guard="noise"), "--json")
    assert code == 0
    status = json.loads(out)["status"]
    assert (status["first_round"], status["last_round"]) == (3_000, 20_000)
    assert status["answers_left"] >= 20
    assert status["width"] == json.loads(out)["forecast"]["widths"][0]["noise"]


@pytest.mark.parametrize("flag", FLAGS)
def test_without_a_terminal_the_missing_option_is_named(visits: Any, flag: str) -> None:
    needed = {"guard": "noise"} if flag == "--n" else {}
    code, _, err = visits("init", "visits.csv", *flags(flag, **needed))
    assert code == 2
    assert "There is no terminal to ask at" in err
    assert f"give {flag} " in err
    assert not Path("visits").exists()


def test_what_need_not_be_said(visits: Any) -> None:
    assert visits("init", "visits.csv", *flags("--id", "--n"), "--no-id")[0] == 0
    with sh.open("visits") as data:
        assert data.columns == COLUMNS


def test_five_questions_at_a_terminal(visits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("\n".join([*ANSWERS, ""])))
    code, out, err = visits("init", "visits.csv")
    assert code == 0
    assert err.count("?") == len(ANSWERS)
    assert "± 0.05704" in out
    assert "appended 3,000 records" in out


def test_a_wrong_answer_is_asked_again(visits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ["maybe", "n", "many", "20", "5", "5%", "0.05", "", "none", ""]
    monkeypatch.setattr("sys.stdin", Terminal("\n".join(typed) + "\n"))
    assert visits("init", "visits.csv")[0] == 0
    with sh.open("visits") as data:
        assert data.guard == "surprise"  # as recommended
        assert data.columns == COLUMNS


def test_who_goes_away_leaves_nothing(visits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("y\n20\n"))
    assert visits("init", "visits.csv")[0] == 130
    assert not Path("visits").exists()


def test_a_real_terminal_shows_what_the_page_shows(tmp_path: Path) -> None:
    exported(tmp_path / "visits.csv")
    ours, theirs = pty.openpty()
    os.write(ours, "".join(f"{answer}\n" for answer in ANSWERS).encode())
    command = [sys.executable, "-m", "surehold", "init", "visits.csv"]
    done = subprocess.run(
        command, stdin=theirs, capture_output=True, text=True, cwd=tmp_path, timeout=300,
        env={**os.environ, "COLUMNS": "80"}, check=True,
    )  # fmt: skip
    os.close(ours)
    os.close(theirs)
    page = Path(__file__).parents[2] / "docs/how-to/start-from-a-file.md"
    shown = page.read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    for line in shown.splitlines()[1:]:
        asked = [answer for answer in ANSWERS if "?" in line and line.endswith(f" {answer}")]
        expected = line.removesuffix(asked[0]).strip() if asked else line.removesuffix("...")
        assert expected in (done.stderr if asked else done.stdout)
    assert len([line for line in shown.splitlines() if "?" in line]) == len(ANSWERS)


def test_folders_that_are_there(visits: Any) -> None:
    Path("visits").mkdir()
    (Path("visits") / "mine.txt").write_text("x")
    code, _, err = visits("init", "visits.csv", *flags())
    assert code == 2
    assert "a folder that is not there yet" in err
    assert visits("init", "visits.csv", "other", *flags())[0] == 0


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.csv", b"", "can be read"),
        ("a.csv", b"x,y\n", "which the sample must show"),
        ("a.csv", b"\n\n\n", "must"),
        ("a.csv", b"30,21.5,Oslo\n31,20.5,Oslo\n", "give --header"),
        ("a.csv", b"a,a\n1,2\n", "there more than once"),
        ("a.csv", b",a\n1,2\n", "index=False"),
        ("a.csv", b"a,b\n1,2\n3\n", "record 2 must be as long as the first line, 2 fields"),
        ("a.csv", b'a,b\n1,"2\n3,4\n', "must"),
        ("a.csv", b"a,b\n1,\n2,\n", "--column b:TYPE"),
        ("a.csv", "größe\n1\n".encode("latin-1"), "UTF-8"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-8"),
        ("a.csv", b"\x1f\x8b\x08\x00", "suffix .gz"),
        ("a.csv.gz", b"a,b\n1,2\n", "can be read"),
        ("a.xlsx", b"PK\x03\x04", "save the sheet as CSV UTF-8"),
        ("a.ndjson", b"{]\n", "not valid JSON"),
        ("a.parquet", b"nothing", "can be read"),
        ("a", b"a,b\n1,2\n", "a file named"),
    ],
)
def test_hostile_files(run: Any, name: str, data: bytes, said: str) -> None:
    Path(name).write_bytes(data)
    code, out, err = run("init", name, "made", *flags("--id"), "--no-id")
    assert (code, out) == (2, "")
    assert err.startswith("surehold: ")
    assert err.count("\n") == 1
    assert said in err
    assert not Path("made").exists()


def test_types_come_from_the_whole_file_and_may_be_corrected(run: Any) -> None:
    Path("a.csv").write_text("x,y,z\n" + "1,,0\n" * 10_050 + "1.5,,1\n")
    code, _, err = run("init", "a.csv", *flags("--id"))
    assert (code, "--column y:TYPE" in err) == (2, True)
    code, out, _ = run("init", "a.csv", *flags("--id"), "--column", "y:str", "--json")
    assert code == 0
    found = json.loads(out)["survey"]
    assert found["columns"] == {"x": "float", "y": "str", "z": "int"}
    assert found["remarks"] == [
        "'z' has only 0 and 1; --column z:bool makes it a condition to ask about"
    ]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("id,x\n1,a\n2,b\n", ("id",)),
        ("userId,x\nq,a\nr,b\n", ("userId",)),
        ("user_id,x\n1,a\n1,b\n", ()),
        ("user_id,x\n1,a\n,b\n", ()),
        ("paid,x\n1,a\n2,b\n", ()),
        ("x,row uuid\na,8e0c\nb,77f1\n", ("row uuid",)),
    ],
)
def test_ids(tmp_path: Path, text: str, ids: tuple[str, ...]) -> None:
    assert look(tmp_path / "a.csv", text).ids == ids


@pytest.mark.parametrize(
    ("text", "delimiter", "decimal"),
    [
        ("a,b\n1.5,x\n", ",", "."),
        ("a;b\n1,5;x\n", ";", ","),
        ("a;b\n1.5;x\n", ";", "."),
        ("a\tb\n1,5\tx\n", "\t", ","),
        ("a|b\n1|x\n", "|", "."),
        ('a,b\n"1,5",x\n', ",", ","),
        ("a;b\n1,234;x\n", ";", "."),  # thousands, for all one can see: it stays text
        ("a\nx\n", ",", "."),
    ],
)
def test_dialects(tmp_path: Path, text: str, delimiter: str, decimal: str) -> None:
    found = look(tmp_path / "a.csv", text)
    assert (found.delimiter, found.decimal) == (delimiter, decimal)


def test_a_header_of_numbers_may_be_insisted_on(tmp_path: Path) -> None:
    text = "2019,2020\n1,2\n"
    with pytest.raises(sh.InvalidInput, match="--header"):
        look(tmp_path / "a.csv", text)
    assert look(tmp_path / "a.csv", text, has_header=True).columns == {"2019": "int", "2020": "int"}


_PIECES = st.sampled_from(["a", "id", "1", "1,5", "", '"', ",", ";", "\n", "\r\n", "\t", "é", "\0"])


@given(st.lists(_PIECES, max_size=25).map("".join))
def test_no_file_makes_a_traceback(tmp_path_factory: Any, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.csv"
    with suppress(sh.SureholdError):
        found = look(path, text)
        assert found.records > 0
        assert json.dumps(found.to_dict())
