"""`surehold status`, `transcript`, `verify` and `plot`: read-only commands."""

from __future__ import annotations

from pathlib import Path

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, dataset_on
from surehold.cli.types import AS_JSON, COUNT, FILE, HELP, PLACE, check_picture
from surehold.errors import InvalidInput

_NOT_DRAWN = {
    "noise": "tables, rates, gates, choices and fits",
    "surprise": "tables, verdicts, choices and what no record counts for",
}


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@TOKEN_FILE
@AS_JSON
def status(dataset: Place, as_json: bool) -> None:
    """Show the number of records and answers, and the budget left."""
    with dataset_on(dataset) as opened:
        console.show_status(opened.status(), as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option("--analyst", help="Only answers to this analyst.")
@click.option("--last", type=COUNT, metavar="K", help="Only the last K answers.")
@TOKEN_FILE
@AS_JSON
def transcript(dataset: Place, analyst: str | None, last: int | None, as_json: bool) -> None:
    """List all answers, in order."""
    with dataset_on(dataset) as opened:
        answers = opened.transcript_of(analyst)
        console.show_transcript(answers if last is None else answers.last(last), as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option(
    "--repair-witness",
    "head",
    metavar="HEAD",
    help="Rebuild a missing or damaged witness, provided the ledger has this head, as an earlier "
    "`surehold status` printed it; `unknown` if nobody noted it.",
)
@TOKEN_FILE
@AS_JSON
def verify(dataset: Place, head: str | None, as_json: bool) -> None:
    """Replay the whole ledger: hashes, charges, widths, and every byte of the records.

    Exit code 4 means that something was changed; the message names the first wrong entry.
    """
    if head is not None:
        _repair_witness(dataset, None if head == "unknown" else head, as_json)
        return
    with dataset_on(dataset) as opened:
        with console.counting("entries") as progress:
            verified = opened.verify(progress)
        console.show_result(verified, as_json)


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option(
    "--out",
    type=FILE,
    required=True,
    metavar="FILE",
    help="Where to save the picture (PNG or SVG).",
)
@click.option("--last", type=COUNT, default=100, metavar="K", help="Draw the last K answers.")
@TOKEN_FILE
@click.option("--json", "as_json", is_flag=True, help="Print the answers drawn as one JSON object.")
def plot(dataset: Place, out: Path, last: int, as_json: bool) -> None:
    """Draw the answers with their intervals, and the budget or the bits spent."""
    from surehold.plots.analysis import draw_analysis, drawn_of

    check_picture(out)
    with dataset_on(dataset) as opened:
        results = opened.transcript.last(last)
        answers = drawn_of(results)
        guard = opened.guard
        rounds = opened.rounds if guard == "noise" else ()
        draw_analysis(results, rounds, opened.status(), out)
    if as_json:
        console.show_transcript(answers, as_json)
    else:
        console.show_saved([out])
        if len(answers) < len(results):
            drawn = f"{len(answers):,} of the last {len(results):,} results"
            console.note(f"drew {drawn}; {_NOT_DRAWN[guard]} are left out")


def _repair_witness(dataset: Place, head: str | None, as_json: bool) -> None:
    if isinstance(dataset, str):
        required = "used on the machine that holds the dataset"
        raise InvalidInput("--repair-witness", required, dataset)
    from surehold.session.dataset import repair_witness

    with console.counting("entries") as progress:
        verified = repair_witness(dataset, head, progress)
    console.show_result(verified, as_json)
    note = f"rebuilt the witness: the ledger ends at entry {verified.entries:,}"
    if head is None:
        note += (
            "; it is not known whether it once went further. If this is an older copy, it shows a "
            "budget that was already spent: do not use it"
        )
    console.note(note)
