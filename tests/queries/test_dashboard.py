"""Files of questions: read, and refused with the number and the name of what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import surehold as sh
from surehold.queries.dashboard import LONGEST_NAME, LONGEST_UNIT, MOST_QUESTIONS

FILE = """
[[question]]
name = "conversion"
question = "bought"
unit = "%"
gate = ">= 2.5 %"

[[question]]
name = "response time"
question = "mean(ms, 0, 1000)"
unit = "ms"
at_most = 185
watch = false
"""


def read(tmp_path: Path, text: str) -> sh.Dashboard:
    path = tmp_path / "dashboard.toml"
    path.write_text(text, encoding="utf-8")
    return sh.Dashboard.from_file(path)


def test_a_file(tmp_path):
    first, second = read(tmp_path, FILE)
    assert first == sh.NamedQuestion("conversion", "bought", "%", at_least=0.025)
    assert (second.gate, second.watch) == (("at_most", 185.0), False)
    assert str(first) == "conversion: bought"
    again = sh.Dashboard.of(read(tmp_path, FILE).to_dict()["questions"])
    assert again == read(tmp_path, FILE)


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        (">= 0.8", ("at_least", 0.8)),
        ("<=250", ("at_most", 250.0)),
        (" >= -1e2 ", ("at_least", -100.0)),
        ("<= 80%", ("at_most", 0.8)),
        (">= .5", ("at_least", 0.5)),
    ],
)
def test_gates(text, gate):
    assert sh.NamedQuestion.of({"name": "a", "question": "b", "gate": text}).gate == gate


QUESTION = '[[question]]\nname = "a"\nquestion = "b"\n'
WRONG = {
    "": "made of tables",
    "a = 1": "made of tables",
    "question = 3": "made of tables",
    "question = [3]": "question 1 of dashboard.toml: it must be a table",
    "[[question]]\nname = oops\n": "line 2",
    QUESTION
    + "[[question]]\nname = 'x'": r"question 2 \('x'\) of dashboard.toml: question must be",
    QUESTION + "[[question]]\nquestion = 'x'": "question 2 of dashboard.toml: name must be given",
    QUESTION + QUESTION: r"question 2 \('a'\) of dashboard.toml: name must be new",
    QUESTION + "colour = 'red'": r"question 1 \('a'\).*a key must be one of name, question",
    QUESTION + "unit = ''": "unit must be text of 1 to 16",
    QUESTION + f"unit = '{'m' * (LONGEST_UNIT + 1)}'": "unit must be",
    QUESTION + "unit = 3": "unit must be",
    QUESTION + "gate = '> 3'": "gate must be text such as",
    QUESTION + "gate = 3": "gate must be text such as",
    QUESTION + "gate = '>= 3'\nat_least = 3": "the gate must be given once",
    QUESTION + "at_most = 4\nat_least = 3": "one of at_least and at_most",
    QUESTION + "at_most = nan": "at_most must be a number",
    QUESTION + "at_most = '4'": "at_most must be a number",
    QUESTION + "watch = 1": "watch must be true or false",
    '[[question]]\nname = ""\nquestion = "b"': "name must be text",
    '[[question]]\nname = " a"\nquestion = "b"': "without blanks",
    '[[question]]\nname = "a\\u0007"\nquestion = "b"': "printable",
    '[[question]]\nname = "a\\nb"\nquestion = "b"': "printable",
    f'[[question]]\nname = "{"n" * (LONGEST_NAME + 1)}"\nquestion = "b"': "printable",
    '[[question]]\nname = "a"\nquestion = 3': "question must be a query as text",
    '[[question]]\nname = "a"\nquestion = ""': "question must be a query as text",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named(tmp_path, text):
    with pytest.raises(sh.InvalidInput, match=WRONG[text]):
        read(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(sh.InvalidInput, match="can be read"):
        sh.Dashboard.from_file(tmp_path / "nowhere.toml")
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    with pytest.raises(sh.InvalidInput, match="UTF-8"):
        sh.Dashboard.from_file(tmp_path / "latin.toml")


@pytest.mark.parametrize("given", ["a", {"name": "a"}, 3, [], None])
def test_what_is_no_list_of_questions(given):
    with pytest.raises(sh.InvalidInput):
        sh.Dashboard.of(given)


def test_too_many():
    many = [{"name": str(i), "question": "a"} for i in range(MOST_QUESTIONS + 1)]
    assert len(sh.Dashboard.of(many[1:])) == MOST_QUESTIONS
    with pytest.raises(sh.InvalidInput, match="of 1 to 500 questions"):
        sh.Dashboard.of(many)
