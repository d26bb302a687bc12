"""language.md names all that the language has."""

from pathlib import Path

import pytest

from surehold.queries import lexer, parser
from surehold.queries.calls import BUILDERS
from surehold.queries.expressions import LARGEST

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "language.md").read_text(
    encoding="utf-8"
)
SHORT = PAGE.split("## In short", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("function", BUILDERS)
def test_every_function_is_in_the_table(function):
    assert f"`{function}" in SHORT


@pytest.mark.parametrize("word", sorted(lexer.WORDS))
def test_every_word_is_in_the_table(word):
    assert word in SHORT.split("### ", 1)[0]


def test_limits_are_as_documented():
    for limit in (lexer.LONGEST_QUERY, lexer.LONGEST_TEXT, parser.LARGEST_SIZE):
        assert f"{limit:,} " in SHORT
    assert f"{parser.LARGEST_DEPTH} levels" in SHORT
    assert f"up to {LARGEST:.0e}".replace("e+", "e") in SHORT
