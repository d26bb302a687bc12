"""The golden scenario of the surprise guard, through a real session, to the last digit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import surehold as sh
from support.golden_records import COLUMNS, golden_records
from theory.surprise.golden import GOLDEN

STEPS: list[dict[str, Any]] = GOLDEN["scenario"]
ASKED: dict[int, tuple[str, dict[str, Any]]] = {
    1: ("a", {}),
    2: ("b", {"expect": "0.8", "within": "0.01", "doubt": "0.05"}),
    3: ("c", {"expect": "0.6", "within": "0.01", "doubt": "0.1"}),
    5: ("gate(a, at_least, 0.8)", {"expect": "pass", "doubt": "0.1"}),
    6: ("gate(e, at_least, 0.5)", {}),
    7: ("rate(c, not b)", {}),
    8: ("select(highest, 25, a, b, c, e)", {}),
    9: ("a", {"within": "0.001"}),
    10: ("a", {"within": "0.005"}),
    11: ("a", {}),
    12: ("d", {}),
    13: ("e", {"expect": "0.5", "within": "0.01"}),
    14: ("rate(a, a <> b)", {}),
    15: ("difference(a, b)", {}),
    16: ("gate(d, at_least, 0.7)", {"expect": "pass", "doubt": "0.5"}),
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, Any]]:
    path = tmp_path_factory.mktemp("golden") / "golden"
    with sh.create(path, beta="1/20", columns=COLUMNS) as ds:
        s = ds.session("golden")
        results = _play(
            lambda first, last: ds.append(golden_records(first, last)),
            lambda query, options: s.ask(query, **options).to_dict(),
            lambda query: s.register([query])[0].to_dict(),
        )
    return path, results


@pytest.fixture
def commanded(run: Any, tmp_path: Path) -> dict[int, Any]:
    """The same from the command line, whose text and JSON every user has."""
    path = str(tmp_path / "golden")
    columns = [f"--column={name}:{kind}" for name, kind in COLUMNS.items()]
    run("create", path, "--beta", "0.05", *columns)

    def append(first: int, last: int) -> None:
        rows = tmp_path / "rows.ndjson"
        lines = map(json.dumps, golden_records(first, last))
        rows.write_text("\n".join(lines), encoding="utf-8")
        run("append", path, str(rows))

    def ask(query: str, options: dict[str, Any]) -> Any:
        given = [f"--{name}={value}" for name, value in options.items()]
        return json.loads(run("ask", path, query, *given, "--json")[1])

    def register(query: str) -> Any:
        [found] = json.loads(run("register", path, query, "--json")[1])["registered"]
        return found

    return _play(append, ask, register)


def _play(append: Any, ask: Any, register: Any) -> dict[int, Any]:
    append(1, 2000)
    results, size = {}, 2000
    for step in STEPS:
        if step["round"] == 3000 and size == 2000:
            append(2001, 3000)
            size = 3000
        number = step["step"]
        results[number] = register("d") if number == 4 else ask(*ASKED[number])
    return results


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step['step']}-{step['kind']}")
def test_every_step(step: dict[str, Any], played: tuple[Path, dict[int, Any]]) -> None:
    _check(step, played[1][step["step"]])


def test_the_command_gives_the_same(commanded: dict[int, Any]) -> None:
    for step in STEPS:
        _check(step, commanded[step["step"]])


def _check(step: dict[str, Any], found: dict[str, Any]) -> None:
    assert found["claim"] == step["c"]
    if step["kind"] == "register":
        assert found["level"] == pytest.approx(float(step["l"]), rel=1e-15)
        return
    assert found["round"] == step["round"]
    assert found["exact"]["level"] == step["l"]
    if step["step"] != 10:  # it is the recorded answer, with what that had cost
        assert found["exact"]["surprise"] == step["price_units"]
    assert found["exact"]["spent"] == step["spent_after_units"]
    assert found["spent"] == pytest.approx(float(step["spent_after_bits"]), rel=1e-15)
    if "shown" in step:
        assert [f"{found['low']:.9f}", f"{found['high']:.9f}"] == step["shown"]
    if "mean_cell" in step:
        assert found["cell"] == [_number(end) for end in step["mean_cell"]]
    if "records_at_least" in step:
        assert found["records_at_least"] == step["records_at_least"]
    if "verdict" in step:
        assert found["verdict"] == step["verdict"]
    if "intersection" in step:
        ends = [float(end) for end in step["intersection"]]
        assert found["combined"] == pytest.approx(ends, abs=1.1e-9)
    if "within_of_best" in step:
        assert (found["name"], found["index"]) == ("fraction(a)", 0)
        exact = float(step["within_of_best"])
        assert exact <= found["width"] <= exact + 1.1e-9
    if "told" in step:
        assert [found["low"], found["high"]] == [_number(end) for end in step["told"]]


def test_it_verifies_and_reads_back(played: tuple[Path, dict[int, Any]]) -> None:
    path, results = played
    with sh.open(path) as ds:
        verified = ds.verify()
        spent = ds.status().spent
        recorded = {answer.entry: answer.to_dict() for answer in ds.transcript}
    assert (verified.answers, verified.recomputed) == (len(ASKED) - 1, len(ASKED) - 1)
    assert spent == pytest.approx(float(STEPS[-1]["spent_after_bits"]))
    for number, result in results.items():
        if number != 4:
            assert recorded[result["entry"]] == {**result, "recorded": True}


def _number(text: str) -> float:
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)
