"""Every snippet of README and docs/ is executed, and what a page shows is what comes out.

The Python of pages without commands is run by pytest itself (``--doctest-glob=*.md``); here it is
seen to that there is no Python that nobody runs, and all commands are run: those of a page in
order, in one folder. Where they tell one story its Python is run between them (see conftest.py).
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from support.documents import (
    PAGES,
    ROOT,
    TOLD_TWICE,
    Call,
    Fence,
    Reader,
    agrees,
    clinic,
    fences,
    may_end_with,
    prepare,
    tells_one_story,
)

READ = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
ALLOWED = {"python", "console", "text", *READ}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def objections(text: str) -> list[str]:
    """What is wrong with the fences of a page, before anything is run."""
    found = []
    examples = sum(fence.code.count(">>> ") for fence in fences(text) if fence.language == "python")
    if text.count(">>> ") != examples:
        found.append("an example outside a fence of Python, which nobody runs")
    for fence in fences(text):
        if fence.language not in ALLOWED:
            found.append(f"line {fence.line}: a fence of {fence.language or 'no language'}")
        elif fence.language == "python" and ">>> " not in fence.code:
            found.append(f"line {fence.line}: Python that is no example for doctest")
        elif fence.language == "python" and "+SKIP" in fence.code:
            found.append(f"line {fence.line}: an example that is skipped")
        elif fence.language == "console" and not fence.calls:
            found.append(f"line {fence.line}: a console without a command")
        elif fence.language in READ:
            try:
                READ[fence.language](fence.code)
            except ValueError as error:
                found.append(f"line {fence.line}: {fence.language} that can't be read: {error}")
            except yaml.YAMLError as error:
                found.append(f"line {fence.line}: yaml that can't be read: {error}")
    return found


def follow(page: str, parts: list[Fence], reader: Reader) -> list[str]:
    """Run the fences of a page; returns what did not come out as the page says."""
    wrong = []
    for fence in parts:
        if fence.language == "python" and page not in TOLD_TWICE:  # there pytest runs it
            failures = reader.execute(fence.code, page, fence.line)
            wrong += [failures] if failures else []
        for call in fence.calls:
            if call.is_run:
                wrong += disagreements(call, reader)
    return wrong


def disagreements(call: Call, reader: Reader) -> list[str]:
    output = reader.run(call.command)
    place = f"line {call.line}: {call.command}\n"
    if not may_end_with(reader.code, call):
        return [f"{place}ended with {reader.code}:\n{output}"]
    if call.output and not agrees(output, call.output):
        return [f"{place}the page shows\n{call.output}\nbut it is\n{output}"]
    return []


@pytest.fixture
def reader(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.delenv("SUREHOLD_TOKEN", raising=False)
    before = dict(os.environ)
    reader = Reader(tmp_path, capsys.readouterr)
    yield reader
    reader.close()
    for name in set(os.environ) - set(before):
        del os.environ[name]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_fences_can_be_checked(page):
    assert objections(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if any(f.calls for f in fences(page.read_text(encoding="utf-8")))],
    ids=name_of,
)
def test_commands_do_what_the_page_says(page, reader):
    parts = fences(page.read_text(encoding="utf-8"))
    commands = [call.command for fence in parts for call in fence.calls]
    prepare(name_of(page), commands, reader.folder)
    wrong = follow(name_of(page), parts, reader)
    assert not wrong, "\n\n".join(wrong)


def test_each_page_is_run_by_one_of_the_two():
    ours = {name_of(page) for page in PAGES if tells_one_story(page)}
    assert "docs/how-to/agents.md" in ours
    assert not ours & {"README.md", "docs/reference/queries.md", "docs/explanation/promise.md"}


class TestThatTheChecksCanFail:
    """The same checks on doctored pages."""

    def test_example_outside_a_fence(self):
        assert len(objections("Text.\n\n>>> 1\n1\n")) == 1

    @pytest.mark.parametrize(
        ("fence", "objection"),
        [
            ("python\nimport surehold\n", "Python that is no example"),
            ("python\n>>> 1  # doctest: +SKIP\n", "skipped"),
            ("bash\nsurehold --help\n", "a fence of bash"),
            ("\nsurehold --help\n", "a fence of no language"),
            ("console\nsurehold --help\n", "without a command"),
            ('json\n{"a": 1,}\n', "json that can't be read"),
            ("yaml\na: [1\n", "yaml that can't be read"),
            ("toml\na = \n", "toml that can't be read"),
        ],
    )
    def test_fence(self, fence, objection):
        [found] = objections(f"Text.\n\n```{fence}```\n")
        assert objection in found

    def test_fence_in_a_list(self):
        [found] = objections("- A point:\n\n  ```bash\n  ls\n  ```\n")
        assert "line 4: a fence of bash" in found

    def run(self, text, reader, page="page.md"):
        return follow(page, fences(text), reader)

    def test_output(self, reader):
        shown = "```console\n$ echo one\ntwo\n```\n"
        [wrong] = self.run(shown, reader)
        assert "line 2: echo one" in wrong
        assert self.run(shown.replace("two", "one"), reader) == []

    def test_command_in_a_fence_of_text(self, reader):
        assert len(self.run("```text\n$ echo one\ntwo\n```\n", reader)) == 1

    def test_command_that_fails(self, reader):
        [wrong] = self.run("```console\n$ surehold status nowhere\n```\n", reader)
        assert "ended with 2" in wrong
        [wrong] = self.run("```console\n$ false\n```\n", reader)
        assert "ended with 1" in wrong

    def test_error_that_is_shown(self, reader):
        text = "```console\n$ surehold status nowhere\nsurehold: the dataset must ...\n```\n"
        assert self.run(text, reader) == []
        assert len(self.run(text.replace("must", "need not"), reader)) == 1

    def test_exit_code(self, reader):
        text = "```console\n$ surehold status nowhere\nsurehold: ...\n$ echo $?\n2\n```\n"
        assert self.run(text, reader) == []
        assert len(self.run(text.replace("\n2\n", "\n0\n"), reader)) == 1

    def test_what_is_served_and_exported(self, reader):
        clinic(reader.folder / "clinic")
        text = (
            "```console\n$ surehold serve clinic\nserving at http://127.0.0.1:8750 (...\n"
            "$ export SUREHOLD_TOKEN=$(surehold token create clinic --analyst ann)\n...\n"
            '$ surehold ask http://127.0.0.1:8750 smoker --json\n..."analyst": "ann"...\n```\n'
        )
        assert self.run(text, reader) == []
        [wrong] = self.run(text.replace("smoker", "smokes"), reader)[-1:]
        assert "ended with 2" in wrong

    def test_python_of_a_story(self, reader):
        text = (
            "```python\n>>> from pathlib import Path\n>>> Path('a.txt').write_text('b')\n1\n\n```\n"
            "```console\n$ cat a.txt\nb\n```\n```python\n>>> Path('a.txt').exists()\nFalse\n\n```\n"
        )
        [wrong] = self.run(text, reader)
        assert "Expected:\n    False\nGot:\n    True" in wrong
        assert self.run(text, reader, page="README.md") == []  # where pytest runs it by itself

    def test_verdicts(self):
        gate = "surehold gate clinic smoker --at-most 0.3"
        assert may_end_with(7, Call(gate, "", 1))
        assert may_end_with(7, Call(gate, "undecided: at most 0.3 wanted, ...\n", 1))
        assert not may_end_with(7, Call(gate, "pass: at most 0.3 wanted, ...\n", 1))
        assert not may_end_with(3, Call(gate, "", 1))
        assert not may_end_with(6, Call("surehold ask clinic smoker", "", 1))

    @pytest.mark.parametrize(
        ("shown", "output"),
        [
            ("0.13 ± 0.10  [0.03, 0.23]  n = 20", "0.14 ± 0.11  [0.03, 0.23]  n = 20"),
            ("0.13 ± 0.10  [0.03, 0.23]  n = 20", "0.13 ± 0.10  [0.03, 0.23]  n = 21"),
            ("125 answers left", "126 answers left"),
            ("Ledger  3 entries, head 0123456789ab", "Ledger  4 entries, head 0123456789ab"),
            ("pass: 0.4 wanted, 0.1  [0.0, 0.2]", "fail: 0.4 wanted, 0.1  [0.0, 0.2]"),
            ("one", "one\ntwo"),
            ("one\n...\nfour", "one\ntwo\nfive"),
        ],
    )
    def test_agreement(self, shown, output):
        assert agrees(shown, shown)
        assert not agrees(output, shown)

    @pytest.mark.parametrize(
        ("shown", "output"),
        [
            ("0.13 ± 0.10  [0.03, 0.23]  n = 20", "0.2 ± 0.10  [0.1, 0.3]  n = 20"),
            ("NO  -1.5  [-2, 1,250]", "NO  1,000.5  [-2.5, 0]"),
            ("head 0123456789ab", "head ba9876543210"),
            ("at 2026-11-16T06:00:00.123+00:00", "at 2027-01-01T00:00:00.000+00:00"),
            ("one\n...\nfour", "one\ntwo\nthree\nfour"),
            ("...\none\n...", "one"),
            ("dataset ... of 3", "dataset a b of 3"),
        ],
    )
    def test_what_chance_decides(self, shown, output):
        assert agrees(output, shown)
