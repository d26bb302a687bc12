"""The page on the language: all of it can be asked, and it says what things cost."""

from __future__ import annotations

import re

import pytest

from support.runtime import adaptive_plan
from surehold.agents import rendering
from surehold.agents.language import LANGUAGE, language_of
from surehold.agents.tools import TOOLS
from surehold.session import RESULTS, Result, create

COLUMNS = {
    "age": "int",
    "bmi": "float",
    "city": "str",
    "spend": "float",
    **dict.fromkeys(("treated", "cured", "smoker", "ill"), "bool"),
}
LINES = re.findall(r"^    (\S.*?) +-- (.+)$", LANGUAGE, flags=re.MULTILINE)
ASIDES = re.findall(r"^(?:Score|Compare) .*?: (.+)$", LANGUAGE, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    path = tmp_path_factory.mktemp("language") / "clinic"
    with create(path, plan=adaptive_plan(), columns=COLUMNS) as dataset:
        yield dataset.session()


def test_it_has_examples_of_everything():
    assert len(LINES) == 18
    assert len(ASIDES) == 2


@pytest.mark.parametrize(("query", "meaning"), [*LINES, *((one, "") for one in ASIDES)])
def test_every_example_can_be_asked_at_the_price_it_says(session, query, meaning):
    quote = session.quote(query)
    said = re.search(r"price (\d+)|(\d+) answers", meaning)
    if said:
        assert quote.price == int(said[1] or said[2])
    elif not query.startswith("fit("):
        assert quote.price == 1


def test_every_example_for_the_surprise_guard_can_be_asked_there(tmp_path):
    page = language_of("surprise")
    lines = re.findall(r"^    (\S.*?) +-- (.+)$", page, flags=re.MULTILINE)
    assert [query for query, _ in lines] == [q for q, _ in LINES if not q.startswith("fit(")]
    assert not re.search(r"price \d|\d answers|\bfit\b", page)
    with create(tmp_path / "clinic", beta=0.1, columns=COLUMNS) as dataset:
        session = dataset.session()
        for query in (*(query for query, _ in lines), *ASIDES):
            assert session.quote(query).most > 0.0


def test_every_kind_of_result_has_a_schema():
    found = {}
    for guard, tools in TOOLS.items():
        schema = tools["ask"].output_schema(guard)
        for name in {one["$ref"].rpartition("/")[2] for one in schema["anyOf"]}:
            found[schema["$defs"][name]["properties"]["kind"]["const"]] = name
    assert found == {kind: cls.__name__ for kind, cls in RESULTS.items()}


def test_a_new_kind_would_be_noticed():
    with pytest.raises(NotImplementedError):
        rendering._meaning(Result.__new__(Result))
