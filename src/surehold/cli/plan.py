"""`surehold plan`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surehold.cli import console
from surehold.cli.types import AS_JSON, COUNT, FILE, HELP, NUMBER, check_picture
from surehold.errors import InvalidInput, Unreachable
from surehold.planning.plans import CERTIFICATE_NAMES, COVERS, Plan

if TYPE_CHECKING:
    from surehold.planning import ComparisonRow, Forecast

_NAMES = ", ".join(CERTIFICATE_NAMES)


@click.command(context_settings=HELP)
@click.option("--n0", type=COUNT, help="Number of records when the first query is asked.")
@click.option("--n", type=COUNT, help="Number of records at the end.")
@click.option("--static", type=COUNT, metavar="N", help="Short for --n0 N --n N --batches 1.")
@click.option("--growth", type=NUMBER, help="n / n0, when solving for the number of records.")
@click.option("--alpha", type=NUMBER, help="Largest half-width an answer may have.")
@click.option(
    "--queries",
    type=COUNT,
    help="Number of queries; without --batches a cap, reached only if all are asked at n.",
)
@click.option("--beta", type=NUMBER, required=True, help="Probability that any interval misses.")
@click.option(
    "--questions",
    type=COUNT,
    help="Instead of a plan, forecast this many questions under both guards and recommend one.",
)
@click.option(
    "--surprises",
    type=COUNT,
    help="How many of the questions are guessed wrong, at most.  [default: a tenth]",
)
@click.option("--batches", type=COUNT, help="Ask in this many batches, evenly spaced from n0 to n.")
@click.option("--certificate", metavar="NAME", help=f"One of {_NAMES}.  [default: the tightest]")
@click.option(
    "--covers",
    type=click.Choice(COVERS),
    default=COVERS[0],
    help="The queries that the paper's certificates must cover; sharp covers all.",
)
@click.option(
    "--rare",
    type=NUMBER,
    metavar="P",
    help="Make intervals narrowest for events of about this probability, instead of equally wide.",
)
@click.option("--compare", is_flag=True, help="Compare all certificates and the surprise guard.")
@AS_JSON
@click.option(
    "--plot",
    type=FILE,
    metavar="FILE",
    help="Draw the comparison as PNG or SVG.",
)
def plan(
    static: int | None,
    questions: int | None,
    surprises: int | None,
    certificate: str | None,
    rare: float | None,
    compare: bool,
    as_json: bool,
    plot: Path | None,
    **question: Any,
) -> None:
    """Plan an analysis: give two of width, queries and records, get the third.

    \b
    surehold plan --n0 500000 --n 1500000 --alpha 0.1 --beta 0.05
        how many queries may be asked
    surehold plan --n0 500000 --n 1500000 --queries 100000 --beta 0.05
        how wide their intervals are
    surehold plan --queries 100000 --alpha 0.1 --growth 3 --beta 0.05
        how many records are needed
    surehold plan --static 2000 --questions 200 --surprises 10 --beta 0.05
        which guard to take: widths under both, and the next command

    Without --batches the analyst may ask at any time. Exit code 2 means an invalid argument, 1
    that the target is out of reach.
    """
    question = _expand(static, question)
    if questions is not None or surprises is not None:
        options = {"certificate": certificate, "rare": rare, "plot": plot}
        _check_forecast(questions, surprises, {**question, **options})
        _forecast(question, questions, surprises, compare, as_json)
        return
    if plot is not None:
        from surehold.plots.style import require_matplotlib

        check_picture(plot)
        require_matplotlib()

    from surehold import planning

    entries = planning.compare(**question) if compare or plot is not None else ()
    try:
        solved = planning.plan(**question, certificate=certificate, rare=rare)
    except Unreachable:
        if compare and not as_json and any(entry.is_useful for entry in entries):
            console.show_comparison(entries)
        raise
    if plot is not None:
        from surehold.plots.comparison import draw_comparison

        draw_comparison(entries, solved, plot)
    _show(solved, entries if compare else (), as_json)
    if plot is not None and not as_json:
        console.show_saved([plot])


def _expand(static: int | None, question: dict[str, Any]) -> dict[str, Any]:
    """Replace --static by what it stands for."""
    if static is None:
        return question
    if any(question[name] is not None for name in ("n0", "n", "batches")):
        required = "used without --n0, --n and --batches, which it replaces"
        raise InvalidInput("--static", required, static)
    return {**question, "n0": static, "n": static, "batches": 1}


def _check_forecast(questions: int | None, surprises: int | None, options: dict[str, Any]) -> None:
    """Refuse a forecast with options that only a plan has."""
    if questions is None:
        raise InvalidInput("--surprises", "used with --questions", surprises)
    names = ["alpha", "queries", "growth", "certificate", "rare", "plot"]
    if options["n0"] != options["n"]:
        names.append("batches")  # elsewhere --static has set it
    given = [f"--{name}" for name in names if options[name] is not None]
    if options["covers"] != COVERS[0]:
        given.append("--covers")
    if given:
        required = "used with records, --beta and --surprises only"
        raise InvalidInput("--questions", required, f"used with {', '.join(given)}")
    if options["n0"] is None:
        raise InvalidInput("--questions", "used with --static, or with --n0 and --n", questions)


def _forecast(
    question: dict[str, Any],
    questions: int | None,
    surprises: int | None,
    compare: bool,
    as_json: bool,
) -> None:
    from surehold import planning

    assert questions is not None
    sizes = {name: question[name] for name in ("beta", "n0", "n")}
    found = planning.forecast(**sizes, questions=questions, surprises=surprises)
    question |= {"queries": questions, "n": found.n}
    entries = planning.compare(**question, surprises=surprises) if compare else ()
    _show(found, entries, as_json)


def _show(found: Plan | Forecast, entries: Sequence[ComparisonRow], as_json: bool) -> None:
    if as_json:
        extra = {"comparison": [entry.to_dict() for entry in entries]} if entries else {}
        console.show_json({**found.to_dict(), **extra})
        return
    if isinstance(found, Plan):
        console.show_plan(found)
    else:
        console.show_forecast(found)
    if entries:
        console.show_comparison(entries)
