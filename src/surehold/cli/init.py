"""`surehold init`: from a file to a dataset, with a few questions in plain words."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surehold.checks import check_beta
from surehold.cli import console
from surehold.cli.create import parse_columns
from surehold.cli.types import AS_JSON, COUNT, DATASET, DIALECT, FILE, HELP, combine
from surehold.errors import InvalidInput

if TYPE_CHECKING:
    from surehold.data.survey import Survey
    from surehold.planning import Forecast

_GUARDS = ("surprise", "noise")
_FLAGS = {
    "id": "--id COLUMN or --no-id",
    "questions": "--questions K",
    "beta": "--beta B",
    "n": "--n N",
    "guard": "--guard GUARD",
}


class _Beta(click.ParamType[str]):
    """A probability, kept as it was written, because a dataset keeps it exactly."""

    name = "probability"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        try:
            check_beta(float(str(value)), "write 0.05 for 5%")
        except InvalidInput as error:
            self.fail(str(error), param, ctx)
        except ValueError:
            self.fail(f"{value!r} is not a number; write 0.05 for 5%.", param, ctx)
        return str(value)


@click.command(context_settings=HELP)
@click.argument("file", type=FILE)
@click.argument("dataset", type=DATASET, required=False)
@click.option("--questions", type=COUNT, metavar="K", help="About how many questions you will ask.")
@click.option(
    "--beta",
    type=_Beta(),
    metavar="B",
    help="The probability that any interval misses; with 0.05 all hold with probability 95%.",
)
@click.option(
    "--n",
    type=COUNT,
    metavar="N",
    help="How many records there will be in the end. Not needed with --guard surprise.",
)
@click.option(
    "--guard", type=click.Choice(_GUARDS), metavar="GUARD", help="surprise or noise, for good."
)
@click.option("--id", "id", metavar="COLUMN", help="The column that identifies a record.")
@click.option("--no-id", is_flag=True, help="No column identifies a record.")
@click.option(
    "--column",
    "columns",
    metavar="NAME:TYPE",
    multiple=True,
    help="The type of a column, if the file suggests the wrong one. Repeat for several.",
)
@combine(*DIALECT)
@click.option(
    "--header", is_flag=True, help="For CSV: the first line has the names, whatever it looks like."
)
@AS_JSON
def init(
    file: Path,
    dataset: Path | None,
    columns: tuple[str, ...],
    delimiter: str | None,
    decimal: str | None,
    header: bool,
    as_json: bool,
    no_id: bool,
    **given: Any,
) -> None:
    """Look at a file, ask a few questions, create a dataset and append the file to it.

    \b
    surehold init evals.csv
    surehold init evals.csv --questions 20 --beta 0.05 --guard surprise
    surehold init januar.csv clinic --questions 100 --beta 0.05 --n 200000 --guard noise --no-id

    It finds out what separates the fields, the decimal mark, the types and a column of ids, and
    shows how wide answers would be under either guard. Whatever you give as an option is not
    asked; without a terminal nothing is asked, and a missing option is an error. The dataset is
    named after the file unless you name it.
    """
    from surehold import session
    from surehold.data.file_formats import FileFormat
    from surehold.data.survey import survey
    from surehold.session.dataset import check_vacant

    if no_id and given["id"] is not None:
        raise InvalidInput("--no-id", "used without --id", given["id"])
    folder = dataset or Path(_name_of(file))
    check_vacant(folder.absolute())
    written = FileFormat.of(None, delimiter, decimal)
    found = survey(file, written, parse_columns(columns), has_header=header)
    if not as_json:
        console.show_survey(found)
    needed = _needed(found, given, no_id)
    if needed and not console.is_terminal():
        raise click.UsageError(f"There is no terminal to ask at: give {_join(needed)}.")
    forecast = _ask(found, given, needed, as_json)
    guard: dict[str, Any] = {"beta": given["beta"], "claims": given["questions"]}
    if given["guard"] == "noise":
        guard = {"plan": forecast.plan()}
    with session.create(folder, **guard, columns=found.columns, id=given["id"]) as made:
        dialect: dict[str, Any] = {"delimiter": found.delimiter, "decimal": found.decimal}
        with console.counting("records") as progress:
            appended = made.append(file, progress=progress, **dialect)
        if as_json:
            parts = {"survey": found, "forecast": forecast, "status": made.status()}
            console.show_json({name: part.to_dict() for name, part in parts.items()})
            return
    console.show_text(f"{folder}: created with the {given['guard']} guard; {appended}")
    console.show_next(_next_commands(folder, found))


def _needed(found: Survey, given: dict[str, Any], no_id: bool) -> list[str]:
    """Return the names of the questions that no option has answered, in order."""
    names = [name for name in _FLAGS if given[name] is None]
    if no_id or not found.ids:
        names = [name for name in names if name != "id"]
    if given["guard"] == "surprise":
        names = [name for name in names if name != "n"]
    return names


def _ask(found: Survey, given: dict[str, Any], needed: list[str], as_json: bool) -> Forecast:
    """Ask what is needed, and put the answers where options are; show the widths on the way."""
    from surehold import planning

    prompts: dict[str, tuple[str, Any, Any]] = {
        "questions": ("About how many different questions will you ask?", COUNT, None),
        "beta": (
            "With what probability may any of their intervals miss? (0.05: all hold with 95%)",
            _Beta(),
            None,
        ),
        "n": ("How many records will there be in the end?", COUNT, found.records),
    }
    if "id" in needed and console.confirm(f"Does {found.ids[0]!r} identify a record?"):
        given["id"] = found.ids[0]
    for name in needed:
        if name in prompts:
            given[name] = console.ask(*prompts[name])
    forecast = planning.forecast(
        beta=float(given["beta"]),
        questions=given["questions"],
        n0=found.records,
        n=given["n"] or found.records,
    )
    if not as_json:
        console.show_forecast(forecast, next_steps=False)
    if "guard" in needed:
        kind = click.Choice(_GUARDS)
        given["guard"] = console.ask("Which guard? It is fixed for good.", kind, forecast.guard)
    return forecast


def _next_commands(folder: Path, found: Survey) -> list[str]:
    """Return a first question and, if a file needs options, how to append the next one."""
    from surehold.queries.expressions import Column
    from surehold.queries.normal_form import canonical  # loads numpy

    asked = [name for name in found.columns if name not in found.ids] or [*found.columns]
    numbers = [name for name in asked if found.columns[name] in ("int", "float")]
    query = canonical(Column(found.target or (numbers or asked)[0], position=0))
    query += "" if found.target else " > 0" if numbers else " is not null"
    options = []
    if found.delimiter in (";", "|") or (found.delimiter == "\t" and ".tsv" not in found.file):
        options += ["--delimiter", found.delimiter.replace("\t", "tab")]
    if found.decimal == ",":
        options += ["--decimal", ","]
    commands = [["ask", str(folder), query]]
    commands += [["append", str(folder), "FILE", *options]] if options else []
    return [shlex.join(["surehold", *command]) for command in commands]


def _name_of(file: Path) -> str:
    """Return a file's name without suffixes: evals for evals.csv.gz."""
    name = file.name.lstrip(".").partition(".")[0]
    if not name:
        raise InvalidInput("DATASET", "given, as the file has no name to take", str(file))
    return name


def _join(needed: list[str]) -> str:
    flags = [_FLAGS[name] for name in needed]
    return " and ".join([", ".join(flags[:-1]), flags[-1]] if len(flags) > 1 else flags)
