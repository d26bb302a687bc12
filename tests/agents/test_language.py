"""The page on the language: all of it can be asked, and it says what things cost."""

from __future__ import annotations

import re

import pytest

from support.runtime import adaptive_plan
from surehold.agents import rendering
from surehold.agents.language import LANGUAGE
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
    assert len(LINES) == 17
    assert len(ASIDES) == 2


@pytest.mark.parametrize(("query", "meaning"), [*LINES, *((one, "") for one in ASIDES)])
def test_every_example_can_be_asked_at_the_price_it_says(session, query, meaning):
    quote = session.quote(query)
    said = re.search(r"price (\d+)|(\d+) answers", meaning)
    if said:
        assert quote.price == int(said[1] or said[2])
    elif not query.startswith("fit("):
        assert quote.price == 1


def test_every_kind_of_result_has_a_schema():
    assert set(RESULTS.values()) == set(Result.__subclasses__())
    schema = TOOLS["ask"].output_schema()
    named = {one["$ref"].rpartition("/")[2] for one in schema["anyOf"]}
    assert named == {kind.__name__ for kind in RESULTS.values()}
    for kind, cls in RESULTS.items():
        assert schema["$defs"][cls.__name__]["properties"]["kind"]["const"] == kind


def test_a_new_kind_would_be_noticed():
    with pytest.raises(NotImplementedError):
        rendering._meaning(Result.__new__(Result))
