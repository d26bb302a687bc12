"""`surehold status`, `transcript`, `verify` and `plot`: where a dataset stands."""

from __future__ import annotations

from pathlib import Path

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, dataset_on
from surehold.cli.types import COUNT, HELP, PLACE, check_picture
from surehold.errors import InvalidInput


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@TOKEN_FILE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(dataset: Place, as_json: bool) -> None:
    """How many records and answers there are, and what is left of the budget."""
    with dataset_on(dataset) as opened:
        console.show_status(opened.status(), as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option("--analyst", help="Only the answers that this analyst asked for.")
@click.option("--last", type=COUNT, metavar="K", help="Only the last K answers.")
@TOKEN_FILE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def transcript(dataset: Place, analyst: str | None, last: int | None, as_json: bool) -> None:
    """All answers that were given, in order."""
    with dataset_on(dataset) as opened:
        answers = opened.transcript_of(analyst)
        console.show_transcript(answers if last is None else answers.last(last), as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option(
    "--repair-witness",
    "head",
    metavar="HEAD",
    help="Make a witness anew that is missing or damaged, if the ledger has this head, which "
    "`surehold status` printed before: unknown if nobody noted one.",
)
@TOKEN_FILE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(dataset: Place, head: str | None, as_json: bool) -> None:
    """Replay the whole ledger: hashes, charges, widths, and every byte of the records.

    Exit code 4 means that something is not as it was written, and the message names the first entry
    that is wrong.
    """
    if head is not None:
        _repair(dataset, None if head == "unknown" else head, as_json)
        return
    with dataset_on(dataset) as opened:
        with console.counting("entries") as progress:
            verified = opened.verify(progress)
        console.show_result(verified, as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="The picture, PNG or SVG.",
)
@click.option(
    "--last", type=COUNT, default=100, show_default=True, metavar="K", help="The last K answers."
)
@TOKEN_FILE
@click.option("--json", "as_json", is_flag=True, help="Print what is drawn as one JSON object.")
def plot(dataset: Place, out: Path, last: int, as_json: bool) -> None:
    """Draw the answers with their intervals, and how the budget went."""
    from surehold import session
    from surehold.plots.analysis import draw_analysis

    check_picture(out)
    with dataset_on(dataset) as opened:
        told = opened.transcript.last(last)
        answers = [answer for answer in told if isinstance(answer, session.Answer)]
        draw_analysis(answers, opened.rounds, opened.status(), out)
    if as_json:
        console.show_transcript(answers, as_json)
    else:
        console.show_saved([out])
        if len(answers) < len(told):
            drawn = f"{len(answers):,} of the last {len(told):,} results"
            console.note(f"drawn: {drawn}; tables, rates, gates, choices and fits are not")


def _repair(dataset: Place, head: str | None, as_json: bool) -> None:
    if isinstance(dataset, str):
        required = "left out, as it is done on the machine that has the folder"
        raise InvalidInput("--repair-witness", required, dataset)
    from surehold.session.dataset import repair_witness

    with console.counting("entries") as progress:
        verified = repair_witness(dataset, head, progress)
    console.show_result(verified, as_json)
    note = f"the witness is made anew: the ledger had come to entry {verified.entries:,}"
    if head is None:
        note += (
            "; whether it had come further once, nothing here can tell. If this is an older copy, "
            "its records have a budget again that was spent: retire it"
        )
    console.note(note)
