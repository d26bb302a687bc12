"""Expectations that no answer could meet."""

import pytest

import surehold as sh
from surehold.errors import InvalidInput


@pytest.mark.parametrize("text", ["f1(a, b)", "rate(a, b)", "auc(x, a)", "rate(a, x > 9)"])
@pytest.mark.parametrize("expect", ["1.5", "pass"])
def test_an_impossible_expectation_is_refused_before_anything_is_charged(tmp_path, text, expect):
    """Whatever the records hold, and the question can still be asked."""
    columns = {"a": "bool", "b": "bool", "x": "float"}
    with sh.create(tmp_path / "data", beta=0.05, columns=columns) as dataset:
        dataset.append({"a": i % 2 == 0, "b": i % 3 == 0, "x": i % 5} for i in range(100))
        session, before = dataset.session(), dataset.status().head
        for refused in (session.ask, session.quote):
            with pytest.raises(InvalidInput, match="from 0 to 1, what the query can give"):
                refused(text, expect=expect)
        assert dataset.status().head == before
        assert session.ask(text).round == 100
