"""The walk of one question, docs/explanation/one-ask.md, is the path that is really called.

A row of a table there is a hop: a call from one room of the package into another. Here the same
question is put by the command, over HTTP and to a tool, and the hops are recorded. When functions
move, the test says which row is wrong, and what was recorded.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import surehold as sh
from agents.hosts import over_http
from support.call_path import Recorder, recorder
from support.documents import ROOT
from support.runtime import made
from support.service import PATIENT, running, running_tools, send
from surehold.cli import main
from surehold.server.settings import Settings

PAGE = (ROOT / "docs" / "explanation" / "one-ask.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "surehold"
SESSION = "session.session.Session.ask"


def hops(text: str, heading: str, is_served: bool) -> list[str]:
    """The first column of the table below a heading, without the rows of the other surfaces."""
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w.]+)`(?: \((\w+)\))? \|", section, flags=re.MULTILINE)
    assert {where for _, where in rows} <= {"", "local", "served"}
    return [hop for hop, where in rows if where != ("local" if is_served else "served")]


def walk(text: str, surface: str) -> list[str]:
    """What the page says of a surface, from end to end."""
    is_served = surface != "The command"
    found = hops(text, surface, is_served)
    at = found.index(SESSION) + 1
    return [*found[:at], *hops(text, "The session", is_served), *found[at:]]


def module_of(hop: str) -> str:
    """The longest beginning of a hop that is a module, or a package."""
    parts = hop.split(".")
    for count in range(len(parts), 0, -1):
        place = SOURCE.joinpath(*parts[:count])
        if place.with_suffix(".py").is_file() or place.is_dir():
            return ".".join(parts[:count])
    raise LookupError(f"{hop} is in no module")


def mistakes(walked: list[str], recorded: list[str]) -> list[str]:
    """The first hop that was not made in this order, and modules that the page passes over."""
    rest = iter(recorded)
    found = [f"{hop} is not called, or not here" for hop in walked if hop not in rest][:1]
    named = {module_of(hop) for hop in walked}
    unnamed = {module_of(hop): hop for hop in recorded if module_of(hop) not in named}
    return found + [f"{module} is passed over: {hop}" for module, hop in unnamed.items()]


def ask_twice(seen: Recorder, ask: Callable[[str], None], last: str) -> None:
    """Only the second one counts, when nothing has to be imported or read for the first time.

    A service is not done yet when its caller has the answer.
    """
    for query in ("age > 20", "age > 50"):
        seen.hops.clear()
        with seen.recording():
            ask(query)
            until = time.monotonic() + PATIENT
            while last not in seen.hops and time.monotonic() < until:
                time.sleep(0.005)


def by_command(path: Path, last: str) -> list[str]:
    def ask(query: str) -> None:
        with pytest.raises(SystemExit) as ended:
            main(["ask", str(path), query])
        assert ended.value.code == 0

    with recorder() as seen:
        ask_twice(seen, ask, last)
    return seen.hops


def by_http(path: Path, last: str) -> list[str]:
    def ask(query: str) -> None:
        assert send(run.url, "POST", "/v1/ask", {"query": query}).status == 200

    with sh.open(path) as dataset, recorder() as seen, running(dataset, Settings()) as run:
        ask_twice(seen, ask, last)
    return seen.hops


def by_tool(path: Path, last: str) -> list[str]:
    with (
        sh.open(path) as dataset,
        recorder() as seen,
        running_tools(dataset, Settings()) as run,
        over_http(f"{run.url}/mcp") as host,
    ):
        ask_twice(seen, lambda query: host.told("ask", query=query), last)
    return seen.hops


@pytest.mark.parametrize("surface", ["The command", "HTTP", "MCP"])
def test_every_hop_on_the_page_is_a_function(surface):
    for hop in walk(PAGE, surface):
        place = SOURCE.joinpath(*module_of(hop).split("."))
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        assert f"def {hop.rpartition('.')[2]}(" in file.read_text(encoding="utf-8"), hop


@pytest.mark.parametrize(
    ("surface", "record"), [("The command", by_command), ("HTTP", by_http), ("MCP", by_tool)]
)
def test_the_page_is_the_path(surface, record, tmp_path):
    made(tmp_path / "clinic", count=1000).close()
    walked = walk(PAGE, surface)
    recorded = record(tmp_path / "clinic", walked[-1])
    found = mistakes(walked, recorded)
    assert not found, "\n".join([*found, "", "recorded:", *dict.fromkeys(recorded)])


def test_the_page_is_the_path_under_the_surprise_guard(tmp_path):
    with sh.create(tmp_path / "evals", beta=0.05, columns={"age": "int"}) as dataset:
        dataset.append({"age": i % 90} for i in range(1000))
    shown = "cli.console.show_answers"
    recorded = by_command(tmp_path / "evals", shown)
    inside = recorded[recorded.index(SESSION) + 1 : recorded.index(shown)]
    walked = hops(PAGE, "The session, under the surprise guard", is_served=False)
    found = mistakes(walked, inside)
    assert not found, "\n".join([*found, "", "recorded:", *dict.fromkeys(inside)])


def test_that_the_check_can_fail():
    walked = ["session.session.Session.ask", "ledger.ledger.Ledger.refresh"]
    assert mistakes(walked, walked) == []
    assert mistakes(walked, walked[::-1]) == [f"{walked[1]} is not called, or not here"]
    extra = "data.segments.read_segments"
    assert mistakes(walked, [*walked, extra]) == [f"data.segments is passed over: {extra}"]
