"""`surehold status`, `transcript`, `verify`, `backup` and `plot`: read-only commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, dataset_on
from surehold.cli.types import AS_JSON, COUNT, DATASET, FILE, HELP, PLACE, check_picture
from surehold.errors import InvalidInput

_BITS = 200  # results whose bits are drawn


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@TOKEN_FILE
@AS_JSON
def status(dataset: Place, as_json: bool) -> None:
    """Show the number of records and answers, and the budget left."""
    from surehold.session.quotes import describe_own  # loads numpy

    with dataset_on(dataset) as opened:
        found = opened.status()
        console.show_status(found, as_json, describe_own(opened, found))


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option("--analyst", help="Only answers to this analyst.")
@click.option("--last", type=COUNT, metavar="K", help="Only the last K answers.")
@click.option(
    "--canonical", is_flag=True, help="Show queries in canonical form, even if they have names."
)
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV, one line for each number.")
@TOKEN_FILE
@AS_JSON
def transcript(
    dataset: Place,
    analyst: str | None,
    last: int | None,
    canonical: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """List all answers, in order; registered questions are listed by their names."""
    with dataset_on(dataset) as opened:
        answers = opened.transcript_of(analyst)
        shown = answers if last is None else answers.last(last)
        if as_csv:
            from surehold.session.transcript_csv import csv_lines  # loads numpy

            console.show_lines(csv_lines(shown))
        else:
            console.show_transcript(shown, as_json, canonical)


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
@click.argument("dataset", type=DATASET)
@click.argument("target", type=DATASET)
@AS_JSON
def backup(dataset: Path, target: Path, as_json: bool) -> None:
    """Copy a dataset, which may be in use, and verify the copy.

    \b
    surehold backup clinic backups/clinic-monday
    surehold verify backups/clinic-monday --repair-witness HEAD

    The copy has no witness, so nobody can ask it by mistake. The second command restores it: HEAD
    is the newest head that anyone noted of the dataset, and if the copy is older, it refuses.
    """
    from surehold.session.backup import backup as copy

    with console.counting("entries") as progress:
        verified = copy(dataset, target, progress)
    console.show_result(verified, as_json)
    console.note(
        f"the copy ends at entry {verified.entries:,}, head {verified.head[:12]}; nobody can ask "
        "it until its witness is rebuilt"
    )


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.option(
    "--out",
    type=FILE,
    required=True,
    metavar="FILE",
    help="Where to save the picture (PNG or SVG).",
)
@click.option(
    "--question",
    metavar="NAME",
    help="Draw this question alone, by its name or its text.  "
    "[default: all named questions, or those asked most often]",
)
@click.option(
    "--by",
    type=click.Choice(["records", "date"]),
    default="records",
    help="Draw over the number of records, or over the time of the answers.",
)
@click.option("--most", type=COUNT, default=12, metavar="K", help="Draw at most K questions.")
@TOKEN_FILE
@click.option("--json", "as_json", is_flag=True, help="Print what is drawn as one JSON object.")
def plot(
    dataset: Place, out: Path, question: str | None, by: Any, most: int, as_json: bool
) -> None:
    """Draw questions over time, each with its interval and gate, and what was spent.

    \b
    surehold plot shop --out shop.png
    surehold plot shop --question conversion --out conversion.png
    """
    from surehold.plots.analysis import draw_analysis, draw_question

    check_picture(out)
    with dataset_on(dataset) as opened:
        status = opened.status()
        if question is not None:
            histories = [opened.history(question)]
            draw_question(histories[0], status, out, by)
        else:
            histories = [*opened.histories(most)]
            rounds = opened.rounds if opened.guard == "noise" else ()
            draw_analysis(histories, opened.transcript.last(_BITS), rounds, status, out, by)
    if as_json:
        console.show_json({"histories": [one.to_dict() for one in histories]})
    else:
        console.show_saved([out])


def _repair_witness(dataset: Place, head: str | None, as_json: bool) -> None:
    if isinstance(dataset, str):
        required = "used on the machine that holds the dataset"
        raise InvalidInput("--repair-witness", required, dataset)
    from surehold.session.backup import repair_witness

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
