"""`surehold plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from surehold.cli import console
from surehold.cli.types import AS_JSON, COUNT, HELP, NUMBER, check_picture
from surehold.errors import InvalidInput, Unreachable
from surehold.planning.plans import CERTIFICATE_NAMES, COVERS

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
@click.option("--compare", is_flag=True, help="Compare all certificates.")
@AS_JSON
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the comparison as PNG or SVG.",
)
def plan(
    static: int | None,
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

    Without --batches the analyst may ask at any time. Exit code 2 means an invalid argument, 1
    that the target is out of reach.
    """
    if static is not None:
        if any(question[name] is not None for name in ("n0", "n", "batches")):
            required = "used without --n0, --n and --batches, which it replaces"
            raise InvalidInput("--static", required, static)
        question |= {"n0": static, "n": static, "batches": 1}
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
    if as_json:
        extra = {"comparison": [entry.to_dict() for entry in entries]} if compare else {}
        console.show_json({**solved.to_dict(), **extra})
        return
    console.show_plan(solved)
    if compare:
        console.show_comparison(entries)
    if plot is not None:
        console.show_saved([plot])
