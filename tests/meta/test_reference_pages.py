"""The pages of reference are complete: API, command, errors, glossary and file format."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from typing import get_args

import commands
import polars as pl
import pytest

import surehold as sh
from support.documents import ROOT
from support.runtime import made, sql
from surehold import errors, lab
from surehold.cli import exit_code
from surehold.ledger.entries import Kind
from surehold.planning.plans import CERTIFICATE_NAMES

REFERENCE = ROOT / "docs" / "reference"
API = "\n".join(
    page.read_text(encoding="utf-8") for page in sorted((REFERENCE / "api").glob("*.md"))
)
COMMANDS, ERRORS, FORMAT, GLOSSARY = (
    (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    for name in ("cli", "errors", "file-format", "glossary")
)


def sections(text: str, level: int = 2) -> dict[str, str]:
    """The text under each heading of a level, up to the next of that level or above."""
    parts = re.split(rf"^#{{1,{level}}} (.*)$", text, flags=re.MULTILINE)
    marks = re.findall(rf"^(#{{1,{level}}}) ", text, flags=re.MULTILINE)
    found = zip(marks, parts[1::2], parts[2::2], strict=True)
    return {heading: body for mark, heading, body in found if len(mark) == level}


def codes(text: str) -> set[str]:
    """The words that stand between backticks, all by themselves."""
    return set(re.findall(r"`([\w-]+)`", text))


def listed(text: str) -> set[str]:
    """Those in the first cells of tables, where things are defined."""
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return codes("\n".join("|".join(row[:-1]) for row in rows))


# ----------------------------------------------------------------------------------------- API


def entries(text: str) -> list[str]:
    """What the pages take from docstrings."""
    return re.findall(r"^::: ([\w.]+)$", text, flags=re.MULTILINE)


def public() -> dict[str, object]:
    """Every public name of the library and of its lab."""
    found = {f"surehold.{name}": getattr(sh, name) for name in sh.__all__}
    return found | {f"surehold.lab.{name}": getattr(lab, name) for name in lab.__all__}


def missing_entries(text: str) -> set[str]:
    return set(public()) - {"surehold.__version__", *entries(text)}


def empty_entries(text: str) -> list[str]:
    """Entries that name nothing public, and those that are there twice."""
    counts = Counter(entries(text))
    return [name for name, count in counts.items() if name not in public() or count > 1]


def test_every_public_name_has_an_entry():
    assert missing_entries(API) == set()
    assert "`surehold.__version__`" in API


def test_every_entry_is_of_a_public_name():
    assert empty_entries(API) == []


def test_every_entry_has_a_docstring_to_show():
    things = {name: thing for name, thing in public().items() if callable(thing)}
    assert [name for name, thing in things.items() if not inspect.getdoc(thing)] == []


# ------------------------------------------------------------------------------------- command


def test_the_page_of_the_command_is_what_the_command_says():
    assert commands.page() == COMMANDS, "the help has changed: make pages"


def test_every_command_is_on_it():
    headings = sections(COMMANDS)
    assert {f"surehold {name}" for name in commands.surehold.commands} <= set(headings)


# -------------------------------------------------------------------------------------- errors

KINDS = {
    name: kind
    for name, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, errors.SureholdError)
}


def attributes(kind: type[errors.SureholdError]) -> set[str]:
    """What an error carries: all that is assigned to it when it is made."""
    if kind is errors.SureholdError:
        return set()
    return set(re.findall(r"^ +self\.(\w+) = ", inspect.getsource(kind), re.MULTILINE))


def errors_wrong(text: str) -> list[str]:
    """Which errors the page does not have, or has with other attributes or exit codes."""
    found = sections(text)
    wrong = [name for name in KINDS if name not in found]
    wrong += [name for name in found if name not in KINDS]
    for name, kind in KINDS.items():
        about, code = found.get(name, ""), exit_code(kind.__new__(kind))
        if kind is errors.SureholdError:
            continue
        if listed(about) - {"attribute"} != attributes(kind):
            wrong.append(f"{name}: attributes")
        if not about.lstrip().startswith(f"Exit code {code}"):
            wrong.append(f"{name}: exit code")
        if f"| {code} | [`{name}`](#{name.lower()}) |" not in text:
            wrong.append(f"{name}: row in the table")
        others = {base.__name__ for base in kind.__bases__} - {"SureholdError"}
        if not others <= codes(about):
            wrong.append(f"{name}: bases")
        if f"surehold.errors.{name}: " not in about and name != "Unreachable":
            wrong.append(f"{name}: example")
    return wrong


def test_every_error_is_explained():
    assert errors_wrong(ERRORS) == []


# ------------------------------------------------------------------------------------ glossary

MET = (
    "record dataset round snapshot query mechanism charge budget filter ledger transcript answer "
    "width alpha beta certificate plan quote custodian analyst mu lopsided price derived witness "
    "fingerprint head segment seal key hold gate undecided undetermined population session result "
    "guard claim register outcome menu weight surprise spent bits share doubt"
)


def glossary(text: str) -> list[str]:
    return list(sections(text, level=3))


def unexplained(text: str) -> set[str]:
    """Words that readers meet and the glossary does not have."""
    met = {*MET.split(), *(name.rstrip("+") for name in CERTIFICATE_NAMES)}
    return met - set(glossary(text))


def out_of_order(text: str) -> list[str]:
    words = glossary(text)
    right = sorted(words, key=lambda word: word.casefold().replace("-", " "))
    return [word for word, other in zip(words, right, strict=True) if word != other]


def test_the_glossary_is_complete_and_in_order():
    assert unexplained(GLOSSARY) == set()
    assert out_of_order(GLOSSARY) == []
    assert len(set(glossary(GLOSSARY))) == len(glossary(GLOSSARY)) >= 100
    assert [
        word for word, text in sections(GLOSSARY, level=3).items() if len(text.split()) < 5
    ] == []


def test_words_stand_under_their_letters():
    under = re.findall(r"^(##|###) (.*)$", GLOSSARY, flags=re.MULTILINE)
    letter = ""
    for mark, heading in under:
        letter = heading if mark == "##" else letter
        assert heading[0].upper() == letter


# --------------------------------------------------------------------------------- file format


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory):
    """A dataset with an entry of every kind, and a result of every kind."""
    path = tmp_path_factory.mktemp("format") / "clinic"
    plan = sh.plan(n0=20_000, n=100_000, alpha=0.3, beta=0.1)
    with made(path, plan, 100) as dataset:
        numbers = pl.int_range(20_000, eager=True)
        table = {"age": numbers % 90, "bmi": numbers % 50 * 1.0}
        dataset.append(pl.DataFrame(table).with_columns(city=pl.lit("Oslo")), key="records")
        dataset.register(sh.Statistic("half", lambda table: 0.5, constant=1, columns=["age"]))
        dataset.reserve("ann", 0.01)
        session = dataset.session()
        named = {"name": "old", "question": "age > 65", "unit": "%", "gate": ">= 1 %"}
        session.register(sh.Dashboard.of([named]))
        session.ask("age > 65", key="one")
        session.ask("age > 65", key="two")
        session.ask(sh.histogram("city", cells=["Oslo", "Bergen"]))
        session.ask(sh.select(["age > 20", "age > 40"], price=16))
        session.ask(sh.fit("logistic", target="age > 50", features={"bmi": (0, 50)}, price=10))
        session.ask(sh.rate("age > 50", given="bmi > 20"))
        session.ask(sh.gate("age > 66", at_most=0.9))
        session.ask(sh.means("bmi", 0, 50, by="city", cells=["Oslo"]))
    return path


@pytest.fixture(scope="module")
def every_outcome(tmp_path_factory):
    """A dataset with the surprise guard, and an outcome of every kind."""
    path = tmp_path_factory.mktemp("format") / "evals"
    columns = {"case": "int", "right": "bool", "label": "str"}
    with sh.create(path, beta=0.05, columns=columns, id="case") as dataset:
        cases = ({"case": i, "right": i % 6 > 0, "label": "ab"[i % 2]} for i in range(500))
        dataset.append(cases)
        session = dataset.session()
        session.keep_table([{"case": 1, "answer": "a"}], "run-17")
        session.is_counted = True  # as a service does
        session.register(["right and label = 'a'"])
        session.is_counted = False
        session.ask("right", expect=0.83, within=0.01, key="one")
        session.ask(sh.rate("right", given="label = 'a'"))
        session.ask(sh.gate("right", at_least=0.5), expect="pass")
        session.ask(sh.difference("right", "label = 'a'"), expect="no")
        session.ask(sh.select(["right", "label = 'a'"]))
        session.ask(sh.histogram("label", cells=["a", "b"]))
        dataset.open_leaderboard("Right", target="right", step="0.1")
        session.submit([{"case": i, "said": True} for i in range(500)])
    categories = {"label": "str in ('a', 'b')"}
    sh.succeed(path, path.with_name("evals-2"), columns=categories, reason="categories")
    return path


def written(*paths):
    """The fields of the entries of datasets: by kind of entry, and by kind of result."""
    found: dict[str, set[str]] = {}
    listed_entries = [row for path in paths for row in sql(path, "SELECT kind, body FROM entries")]
    for kind, body in listed_entries:
        values = json.loads(body)
        fields = set(values) - {"after"}
        nests = (values.get("statistic"), values.get("succeeds"), *values.get("segments", ()))
        for nested in nests:
            fields |= set(nested or ())
        found.setdefault("after", set()).update(values["after"])
        found.setdefault(kind, set()).update(fields)
        if kind in ("answer", "derived"):
            found.setdefault(values["kind"], set()).update(fields)
    return found


def about(text: str, kind: str, result: str | None = None) -> str:
    """What the page says of a kind of entry, and of one kind of result among them."""
    body = sections(text, level=3).get(kind, "")
    if result is None:
        return body
    before, heading, table = body.partition("| kind | field | meaning |")
    assert heading, f"no table of the results of {kind}"
    rows = table.splitlines()
    taken, current = [], ""
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        current = cells[0].strip("`") or current
        taken += [row] if current == result and len(cells) == 3 else []
    return before + "\n".join(taken)


def format_wrong(text: str, found: dict[str, set[str]]) -> list[str]:
    """Fields that are written and not named, or named and not written."""
    wrong = [kind for kind in get_args(Kind) if kind not in sections(text, level=3)]
    state = sections(text)["Entries"].partition("\n### ")[0]
    wrong += [f"after: {name}" for name in found["after"] ^ (listed(state) - {"after"})]
    for kind in get_args(Kind):
        body = about(text, kind)
        wrong += [f"{kind}: {name}" for name in found[kind] - codes(body)]
        results = {*ANSWERS, *DERIVED}
        wrong += [f"{kind}: {name}, never written" for name in listed(body) - found[kind] - results]
    for kind, results in (("answer", ANSWERS), ("derived", DERIVED)):
        for result in results:
            missing = found[result] - codes(about(text, kind, result))
            wrong += [f"{kind}, {result}: {name}" for name in missing]
    return wrong


ANSWERS = (
    *("number", "table", "choice", "fit"),
    *("cell", "decision", "steps", "selection"),  # under the surprise guard
)
DERIVED = ("estimate", "verdict", "means")


def test_every_field_of_every_entry_is_on_the_page(every_kind, every_outcome):
    found = written(every_kind, every_outcome, every_outcome.with_name("evals-2"))
    assert {*get_args(Kind), *ANSWERS, *DERIVED} <= set(found)
    assert format_wrong(FORMAT, found) == []


def tables_wrong(text: str, path) -> list[str]:
    """Tables of the database, or columns, that the page does not have, or has in vain."""
    rows = re.findall(
        r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|", sections(text)["The database"], re.M
    )
    described = {name: sorted(codes(columns)) for name, columns in rows}
    there = {
        name: sorted(
            column for (column,) in sql(path, f"SELECT name FROM pragma_table_info('{name}')")
        )
        for (name,) in sql(path, "SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    return [name for name in {*described, *there} if described.get(name) != there.get(name)]


def test_every_table_of_the_database_is_on_the_page(every_kind):
    assert tables_wrong(FORMAT, every_kind) == []
    [(version,)] = sql(every_kind, "PRAGMA user_version")
    assert f"now {version}." in sections(FORMAT)["The database"]


# ---------------------------------------------------------------------------------------------


class TestThatTheChecksCanFail:
    """The same checks on doctored pages."""

    def test_api(self):
        assert "surehold.rate" in missing_entries(API.replace("::: surehold.rate\n", ""))
        assert "surehold.rates" in empty_entries(API + "\n::: surehold.rates\n")
        assert "surehold.rate" in empty_entries(API + "\n::: surehold.rate\n")

    def test_command(self, monkeypatch):
        monkeypatch.setattr(commands.surehold.commands["plan"], "help", "Other words.")
        assert commands.page() != COMMANDS

    @pytest.mark.parametrize(
        ("right", "wrong", "objection"),
        [
            ("## BadRecord\n", "## BadRecords\n", "BadRecords"),
            ("| `fits_at` | the", "| `fits` | the", "BudgetExhausted: attributes"),
            ("Exit code 5. A question", "Exit code 6. A question", "NotReady: exit code"),
            (
                "| 4 | [`LedgerCorrupt`]",
                "| 3 | [`LedgerCorrupt`]",
                "LedgerCorrupt: row in the table",
            ),
            ("also an `OSError`", "", "StorageFailed: bases"),
            ("surehold.errors.MissingExtra: ", "", "MissingExtra: example"),
        ],
    )
    def test_errors(self, right, wrong, objection):
        assert right in ERRORS
        assert objection in errors_wrong(ERRORS.replace(right, wrong))

    def test_glossary(self):
        assert unexplained(GLOSSARY.replace("### witness\n", "")) == {"witness"}
        assert out_of_order(GLOSSARY.replace("### alpha\n", "### zeta\n"))

    @pytest.mark.parametrize(
        ("right", "wrong", "objection"),
        [
            ("### seal\n", "### sealed\n", "seal"),
            ("| `salt` |", "| `pepper` |", "append: salt"),
            ("| `salt` |", "| `pepper` |", "append: pepper, never written"),
            ("| `manifest` | a hash", "| `man` | a hash", "after: manifest"),
            ("`name`, `constant`, `power`", "`name`, `constant`", "register: power"),
            ("| | `bits` |", "| | `grid` |", "answer, number: bits"),
            ("| `declared` |", "| `said` |", "claim: declared"),
            ("| | `combined` |", "| | `joined` |", "answer, cell: combined"),
            ("| | `allowance` |", "| | `epsilon` |", "answer, choice: allowance"),
            ("`values`, `intervals`", "`intervals`", "derived, means: values"),
        ],
    )
    def test_file_format(self, right, wrong, objection, every_kind, every_outcome):
        assert right in FORMAT
        assert objection in format_wrong(
            FORMAT.replace(right, wrong),
            written(every_kind, every_outcome, every_outcome.with_name("evals-2")),
        )

    def test_tables(self, every_kind):
        assert tables_wrong(FORMAT.replace("`round`, `answers`", "`answers`"), every_kind) == [
            "rounds"
        ]
        assert tables_wrong(FORMAT.replace("| `keys` |", "| `names` |"), every_kind)
