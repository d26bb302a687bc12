"""theorem-map.md against the code: names, test files, citations, figures and values."""

from __future__ import annotations

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import NamedTuple

import pytest

import surehold.theory
from surehold.errors import InvalidInput
from surehold.planning.figures import get_figure
from surehold.theory.certificates import Batches, Certificate, get

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "docs" / "reference" / "theorem-map.md").read_text(encoding="utf-8")
THEORY = "surehold.theory."
NOTHING = "—"

# The results of the paper, in its order: each has a row, whether or not it is software.
PAPER = """
Algorithm 1|Transcript|Sec. 2.2|Def. 2.1, 2.2|Def. 2.3|Def. 2.4|Lemma 3.1|Theorem 3.2|Lemma 3.3
Theorem 3.4|Lemma 3.5|Theorem 3.6|Def. 4.1|Lemma 4.2|Lemma 4.3|Theorem 4.4|Algorithm 2|Lemma C.1
Theorem C.2|Theorem C.3|Proposition C.4|End of C.3|Proposition C.5|Theorem A.3|Def. D.1 to D.3
Theorem D.4|Theorems D.5, D.6|Lemma D.7|Proposition D.8|Corollary D.9|Fig. 2|Fig. 3|Fig. 4|Fig. 5
""".replace("\n", "|").strip("|")

# In these modules a function either computes a theorem and says which, or is on this list: a
# definition, or what all certificates share.
THEOREMS_LIVE_IN = (
    *("transfer", "conversion", "noise", "gaussian", "certificates"),
    *("surprise.blocks", "surprise.claims", "surprise.levels", "surprise.menus", "surprise.shares"),
)
COMPUTES_NO_THEOREM = {
    "transfer.Accuracy",
    "certificates.get",
    "certificates.base.Certificate",
    "certificates.base.Width",
    "certificates.base.total_width",
    "certificates.base.round_noise",
    "certificates.base.needs_statistical",
    "certificates.base.needs_fresh_batches",
    "surprise.blocks.Step",
    "surprise.claims.base.Rough",
    "surprise.claims.base.Statistic",
    "surprise.claims.base.exact_value",
    "surprise.levels.Level",
    "surprise.levels.ClaimLevels",
}


class Named(NamedTuple):
    """A row of "Every public name"."""

    name: str
    result: str
    cited_as: str
    tests: str


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    section = re.split(r"^## ", text.split(f"## {heading}\n", 1)[1], flags=re.MULTILINE)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def named(text: str) -> dict[str, Named]:
    """The rows of "Every public name" by name."""
    table = [Named(*cells) for cells in rows(text, "Every public name")]
    return {row.name.strip("`"): row for row in table}


def codes(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", text)


def names_in(text: str) -> set[str]:
    """Dotted Python names, which a reader will look for in the code."""
    dotted = re.compile(r"(?:[a-z_][a-z_0-9]*\.)+\w+")
    return {
        code for code in codes(text) if dotted.fullmatch(code) and not code.endswith((".py", ".md"))
    }


def resolve(name: str) -> object:
    """Find the object of a full name, or of one relative to surehold.theory."""
    found: object = resolve_name(name if name.startswith("surehold.") else THEORY + name)
    return found


def is_there(name: str) -> bool:
    try:
        resolve(name)
    except (ImportError, AttributeError):
        return False
    return True


def public_names() -> dict[str, object]:
    """Every function and class that a module of the theory defines and does not hide."""
    found: dict[str, object] = {}
    for module in _modules(surehold.theory):
        for name, thing in vars(module).items():
            defined = inspect.isfunction(inspect.unwrap(thing)) or inspect.isclass(thing)
            if defined and thing.__module__ == module.__name__ and not name.startswith("_"):
                found[f"{module.__name__}.{name}".removeprefix(THEORY)] = thing
    return found


def _modules(package: ModuleType) -> list[ModuleType]:
    walked = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [package, *(import_module(module.name) for module in walked)]


def uncited(text: str) -> set[str]:
    """Names whose docstring does not say what the map says it cites."""
    table = named(text)
    return {name for name in table if name in PUBLIC and not _is_cited(name, table)}


def _is_cited(name: str, table: dict[str, Named]) -> bool:
    cited_as = table[name].cited_as
    if cited_as == NOTHING:
        return not name.startswith(THEOREMS_LIVE_IN) or name in COMPUTES_NO_THEOREM
    thing = PUBLIC[name]
    said = inspect.getdoc(thing) or ""
    if name.startswith("certificates."):  # one file a bound: the file may say it for all in it
        said += inspect.getdoc(inspect.getmodule(thing)) or ""
    if cited_as.startswith("`"):  # by way of another function of the same module
        other = cited_as.strip("`")
        path = f"{name.rpartition('.')[0]}.{other}"
        return other in said and path in table and path != name and _is_cited(path, table)
    return cited_as in " ".join(said.split())


def missing_rows(text: str) -> set[str]:
    return set(PUBLIC) - set(named(text))


def dangling_names(text: str) -> set[str]:
    return {name for name in names_in(text) if not is_there(name)}


def dangling_files(text: str) -> set[str]:
    files = {code for code in codes(text) if code.endswith(".py") and "/" in code}
    return {file for file in files if not _test_file(file).is_file()}


def _test_file(file: str) -> Path:
    return ROOT / "tests" / file.removeprefix("tests/")


def idle_tests(text: str) -> set[tuple[str, str]]:
    """Test files that the map gives for a name and that never mention it."""
    return {
        (name, file)
        for name, row in named(text).items()
        for file in codes(row.tests)
        if name in PUBLIC and _test_file(file).is_file() and not _mentions(_test_file(file), name)
    }


def _mentions(file: Path, name: str) -> bool:
    words = [re.escape(name.rpartition(".")[2])]
    thing = PUBLIC[name]
    if inspect.isclass(thing) and issubclass(thing, Certificate):
        words += [re.escape(thing.name)] if hasattr(thing, "name") else []
    pattern = "|".join(rf"(?<!\w){word}(?!\w)" for word in words)
    # Whatever the case: the class Lopsided is what a method of the same name returns.
    return re.search(pattern, file.read_text(encoding="utf-8"), re.IGNORECASE) is not None


PUBLIC = public_names()


def test_every_public_name_has_a_row():
    assert missing_rows(MAP) == set()


def test_every_name_on_the_page_exists():
    assert dangling_names(MAP) == set()
    assert set(named(MAP)) <= set(PUBLIC)


def test_every_test_file_on_the_page_exists_and_tests_it():
    assert dangling_files(MAP) == set()
    assert idle_tests(MAP) == set()


def test_every_function_that_computes_a_theorem_cites_it():
    assert uncited(MAP) == set()
    assert set(PUBLIC) >= COMPUTES_NO_THEOREM


@pytest.mark.parametrize("result", PAPER.split("|"))
def test_every_result_of_the_paper_has_one_row_that_says_what_becomes_of_it(result):
    found = [row for row in rows(MAP, "The paper") if re.match(rf"{re.escape(result)}\b", row[0])]
    assert len(found) == 1
    [_, software, _, _] = found[0]
    assert names_in(software) or "not software yet" in software or "No function" in software


def test_every_result_that_a_function_computes_is_in_the_tables_above():
    tables = ("The paper", "The sharp bound", "The surprise guard")
    above = [cells for table in tables for cells in rows(MAP, table)]
    mapped = {name for cells in above for name in names_in(cells[1])}
    cited = {name for name, row in named(MAP).items() if row.cited_as != NOTHING}
    by_the_way = {
        "transfer.Constants",
        "gaussian.profile_epsilon",
        "gaussian.profile_mu",
        "gaussian.tradeoff",
    }
    assert cited - mapped <= by_the_way


def test_every_figure_on_the_page_can_be_drawn():
    figures = {figure for row in rows(MAP, "The paper") for figure in re.findall(r"fig\d", row[3])}
    assert figures == {"fig2", "fig3", "fig4", "fig5"}
    for figure in figures:
        assert get_figure(figure, points=2).settings
    with pytest.raises(InvalidInput):
        get_figure("fig1")


def _values():
    certificates = [codes(cell)[0] for cell in _head("Values reproduced")[2:]]
    found = []
    for where, b, *pairs in rows(MAP, "Values reproduced"):
        if len(pairs) != len(certificates):  # the next table of the section
            break
        sizes = [_number(size) for size in re.findall(r"[\d,]+", where)]
        setting = Batches(sizes[0], sizes[-1], b=int(b))
        for name, pair in zip(certificates, pairs, strict=True):
            found.append(pytest.param(name, setting, *pair.split(" / "), id=f"{name}-{where}-{b}"))
    return found


def _head(heading: str) -> list[str]:
    table = MAP.split(f"## {heading}\n", 1)[1]
    first = next(line for line in table.splitlines() if line.startswith("|"))
    return [cell.strip() for cell in first.strip("|").split("|")]


def _number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.parametrize(("name", "setting", "expected", "given"), _values())
def test_the_code_still_gives_the_values_on_the_page(name, setting, expected, given):
    found = get(name).queries(setting, 0.1, 0.05)
    assert found == pytest.approx(_number(given), rel=1e-3)
    if expected != "–":
        assert found == pytest.approx(_number(expected), rel=1e-3)


class TestThatTheChecksCanFail:
    """The same checks on a page that somebody let go stale."""

    def test_row_taken_out(self):
        line = next(line for line in MAP.splitlines() if line.startswith("| `transfer.tilt` |"))
        assert missing_rows(MAP.replace(line + "\n", "")) >= {"transfer.tilt"}

    def test_function_renamed(self):
        stale = MAP.replace("transfer.statistical_transfer", "transfer.statistical_transfers")
        assert dangling_names(stale) >= {"transfer.statistical_transfers"}

    def test_test_file_moved(self):
        stale = MAP.replace("statistical/test_stability", "theory/test_stability")
        assert dangling_files(stale) >= {"theory/test_stability_brute_force.py"}

    def test_test_file_that_tests_something_else(self):
        row = named(MAP)["search.smallest_float"]
        file = "statistical/test_stability_brute_force.py"
        stale = "## Every public name\n\n| a | b | c | d |\n|---|---|---|---|\n"
        stale += f"| {row.name} | {row.result} | {row.cited_as} | `{file}` |\n"
        assert idle_tests(stale) == {("search.smallest_float", file)}

    @pytest.mark.parametrize(
        ("right", "wrong", "name"),
        [
            ("Theorem 3.4 | Theorem 3.4 |", "Theorem 3.4 | Theorem 3.7 |", "statistical_transfer"),
            ("Theorem 3.4 | Theorem 3.4 |", "Theorem 3.4 | — |", "statistical_transfer"),
            ("proof | `best_constants` |", "proof | `failure_term` |", "failure_term"),
            ("proof | `best_constants` |", "proof | `kappa` |", "failure_term"),
        ],
    )
    def test_citation_that_is_not_in_the_docstring(self, right, wrong, name):
        assert right in MAP
        assert f"transfer.{name}" not in uncited(MAP)
        assert f"transfer.{name}" in uncited(MAP.replace(right, wrong))
