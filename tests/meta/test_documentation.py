"""plan.md names everything a user meets, its console examples are true, and links lead."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest

from surehold import (
    Answer,
    Appended,
    Budget,
    ComparisonRow,
    Paces,
    Plan,
    Quote,
    Round,
    Status,
    Verification,
    errors,
    plan,
)
from surehold.cli import exit_code, main, surehold

ROOT = Path(__file__).parents[2]
PLAN = ROOT / "docs" / "reference" / "plan.md"
# Two pages of reference: what is planned, and what runs; and one of the lab.
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in (PLAN, PLAN.with_name("runtime.md")))
LAB = PLAN.with_name("lab.md").read_text(encoding="utf-8")
HTTP = PLAN.with_name("http.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]

ERRORS = [
    error
    for _, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, errors.SureholdError)
]


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, each with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands(below, f"{path} {name}")


def options(command: click.Command, path: str) -> list[str]:
    """Every spelling of every option, --help among them."""
    context = click.Context(command, info_name=path, **command.context_settings)
    found = [option for option in command.get_params(context) if isinstance(option, click.Option)]
    return [name for option in found for name in (*option.opts, *option.secondary_opts)]


COMMANDS = dict(commands(surehold, "surehold"))
OPTIONS = [(path, name) for path, command in COMMANDS.items() for name in options(command, path)]


def page_of(path: str) -> str:
    """Where a command is described."""
    if path.startswith(("surehold serve", "surehold token", "surehold mcp")):
        return HTTP
    return LAB if path.startswith("surehold lab") else TEXT


def names_option(text: str, option: str) -> bool:
    """By itself or with a metavar; standing in the explanation of another does not count."""
    return re.search(rf"`{re.escape(option)}( [A-Z]+)?`", text) is not None


def names(text: str, word: str) -> bool:
    return f"`{word}`" in text


def section(text: str, heading: str) -> str:
    """All sections of that heading, one after the other."""
    return "\n".join(part.split("\n## ", 1)[0] for part in text.split(f"## {heading}\n")[1:])


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links of a page that lead to no file."""
    targets = re.findall(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)", text)
    local = [target for target in targets if not re.match(r"[a-z]+:|#", target)]
    return [target for target in local if not (page.parent / target.split("#")[0]).exists()]


def examples(text: str) -> list[tuple[str, str]]:
    """The calls in console fences and what stands below each."""
    fences = re.findall(r"^```console\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    calls = [call for fence in fences for call in re.split(r"^\$ ", fence, flags=re.MULTILINE)[1:]]
    return [(line, output) for line, _, output in (call.partition("\n") for call in calls)]


def without_trailing_blanks(text: str) -> str:
    """Tables are padded on the right; in a page the padding is only dirt."""
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_is_named(path):
    assert re.search(rf"`{path}\b", page_of(path))


@pytest.mark.parametrize(("path", "option"), OPTIONS)
def test_every_option_is_named(path, option):
    assert names_option(section(page_of(path), "The command"), option), f"{path} {option}"


@pytest.mark.parametrize("field", ["format", *(field.name for field in fields(Plan))])
def test_every_field_of_a_plan_is_explained(field):
    assert names(section(TEXT, "The JSON object"), field)


@pytest.mark.parametrize("cls", [Answer, Appended, Budget, Quote, Round, Status, Verification])
def test_every_field_of_a_result_is_named(cls):
    described = section(TEXT, "The JSON objects")
    assert [field.name for field in fields(cls) if not names(described, field.name)] == []


@pytest.mark.parametrize("cls", [ComparisonRow, Paces])
def test_every_field_inside_a_plan_is_named(cls):
    described = section(TEXT, "The JSON object")
    assert [field.name for field in fields(cls) if not names(described, field.name)] == []


def test_nothing_else_is_in_the_object():
    described = set(re.findall(r"`(\w+)`", section(TEXT, "The JSON object")))
    written = plan(n0=1_000, n=1_000, alpha=0.2, beta=0.05).to_dict()
    assert set(written) <= described


@pytest.mark.parametrize("error", ERRORS)
def test_every_exception_is_named_with_its_exit_code(error):
    assert names(TEXT, error.__name__)
    if error is not errors.SureholdError:
        [row] = [line for line in TEXT.splitlines() if f"| `{error.__name__}`" in line]
        assert row.startswith(f"| {exit_code(error.__new__(error))} |")


def test_every_attribute_of_an_exception_is_named():
    for error in ERRORS:
        given = [] if error is errors.SureholdError else inspect.signature(error).parameters
        assert [name for name in given if not names(TEXT, name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_lead_to_files(page):
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(("command", "output"), examples(TEXT))
def test_console_examples_are_true(command, output, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    program, *arguments = shlex.split(command)
    assert program == "surehold"
    with pytest.raises(SystemExit):
        main(arguments)
    shown = capsys.readouterr()
    assert without_trailing_blanks(shown.out + shown.err) == without_trailing_blanks(output)


def test_there_are_examples():
    assert len(examples(TEXT)) >= 2


class TestThatTheChecksCanFail:
    """The same checks on doctored pages."""

    def test_option(self):
        assert not names_option(TEXT.replace("--growth", "--growths"), "--growth")
        assert not names_option(TEXT.replace("`--n0`, `--n`", "`--n0`"), "--n")
        assert not names_option("--alpha without backticks", "--alpha")

    def test_field(self):
        assert not names(TEXT.replace("`max_queries`", "`most_queries`"), "max_queries")

    def test_link(self):
        page = "[a](theorem-map.md) [b](nowhere.md#x) [c](https://example.org/no.md) [d](#here)"
        assert broken_links(PLAN, page) == ["nowhere.md#x"]

    def test_example(self):
        assert examples("```console\n$ surehold a\none\ntwo\n$ surehold b\n```\n") == [
            ("surehold a", "one\ntwo\n"),
            ("surehold b", ""),
        ]
