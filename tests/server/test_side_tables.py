"""What a service says of tables, names and shares does not depend on the records, to the byte.

Nor does what it says once another dataset took over.
"""

from __future__ import annotations

import json

import pytest

import surehold as sh
from support.runtime import GUARDS, guarded
from support.service import running, send
from surehold.session.dataset import Dataset

CSV = {"Content-Type": "text/csv"}
KNOWN = "item,answer\n" + "".join(f"q{i},cat\n" for i in range(500))
TABLES = {
    "known": KNOWN,
    "of two": KNOWN.replace("q499,cat", "q499,dog"),
    "ids twice": KNOWN + "q1,cat\n",
    "without the id": KNOWN.replace("item", "other"),
    "an id that is missing": KNOWN + ",cat\n",
    "no rows": "item,answer\n",
    "ragged": KNOWN + "q9\n",
    "nothing": "",
}
ASKED = (
    {"query": '"run-0".answer = label'},
    {"query": "p.answer = label", "tables": {"p": "run-0"}},
    {"query": "p.answer = label", "tables": {"p": "gone"}},
    {"query": "p.gone = label", "tables": {"p": "run-0"}},
    {"query": "p.answer > 3", "tables": {"p": "run-0"}},
    {"query": {"metric": "accuracy", "table": "run-0", "target": "label"}},
    {"query": {"metric": "accuracy", "table": "run-0", "target": "gone"}},
    {"query": "p.answer = label", "tables": {"p": "/etc/passwd"}},
)


NAMED = [
    {"name": "right", "question": '"run-0".answer = label'},
    {"name": "cats", "question": "label = 'cat'", "unit": "%"},
]
OTHERS = (
    ("POST", "/v1/register", {"questions": NAMED}),
    ("POST", "/v1/register", {"questions": [{**NAMED[0], "question": "label = 'dog'"}]}),
    ("POST", "/v1/register", {"questions": [{"name": "gone", "question": "gone.x = 1"}]}),
    ("GET", "/v1/dashboard", None),
    ("POST", "/v1/quote", {"query": "right"}),
    ("POST", "/v1/reserve", {"analyst": "ann", "amount": "0.25"}),
    ("POST", "/v1/reserve", {"analyst": "bob", "amount": "100"}),
    ("POST", "/v1/watch", {"questions": ["nothing"]}),
    ("POST", "/v1/ask", {"query": "label = 'cat'", "round": 5000}),
    ("POST", "/v1/tables?name=late", [{"item": "q1", "answer": "cat"}]),
    ("POST", "/v1/append", [{"item": "new", "label": 7}]),
)


def told(path, guard, some):
    """Every response to the same requests."""
    columns = {"item": "str", "label": "str"}
    sh.create(path, columns=columns, id="item", **guarded(guard, limit=60)).close()
    with Dataset(path) as dataset, running(dataset) as run:
        dataset.append(some)
        for i, table in enumerate(TABLES.values()):
            got = send(run.url, "POST", f"/v1/tables?name=run-{i}", table.encode(), headers=CSV)
            yield got.status, got.content
        for body in ASKED:
            got = send(run.url, "POST", "/v1/quote", body)
            yield got.status, got.content
        yield send(run.url, "GET", "/v1/tables").content
        yield from said(run, *OTHERS)
        if guard == "surprise":
            new = path.with_name("next")
            sh.succeed(path, new, erase=[some[0]["item"]], reason="on request")
            yield from said(run, *OTHERS, *(("POST", "/v1/ask", body) for body in ASKED[:3]))
        assert dataset.status().answers == 0


def said(run, *requests):
    for method, path, body in requests:
        got = send(run.url, method, path, body)
        yield got.status, got.content


@pytest.mark.parametrize("guard", GUARDS)
def test_two_datasets_that_share_no_id_say_the_same(tmp_path, guard):
    some = [{"item": f"q{i}", "label": "cat"} for i in range(1000)]
    others = [{"item": f"x{i}", "label": "dog"} for i in range(1000)]
    first, second = (
        list(told(tmp_path / name / "evals", guard, listed))
        for name, listed in (("one", some), ("two", others))
    )
    assert first == second
    statuses = [one[0] for one in first[: len(TABLES)]]
    assert statuses == [200, 200, *[422] * (len(TABLES) - 2)]
    assert str(tmp_path) not in json.dumps([repr(one) for one in first])
