"""`surehold reserve`: what a custodian keeps for one analyst."""

from __future__ import annotations

import click

from surehold.cli import console
from surehold.cli.place import TOKEN_FILE, Place, dataset_on
from surehold.cli.types import AS_JSON, HELP, NUMBER, PLACE
from surehold.errors import InvalidInput


@click.command(context_settings=HELP)
@click.argument("dataset", type=PLACE)
@click.argument("analyst")
@click.argument("amount", type=NUMBER, required=False)
@click.option("--release", is_flag=True, help="Reserve nothing for this analyst any longer.")
@TOKEN_FILE
@AS_JSON
def reserve(
    dataset: Place, analyst: str, amount: float | None, release: bool, as_json: bool
) -> None:
    """Reserve a part of the budget that no other analyst can spend.

    \b
    surehold reserve clinic ann 0.25
    surehold reserve clinic ann --release

    AMOUNT is a share of the whole budget (0.25 is a quarter) or, under the surprise guard, a number
    of bits of the dataset's limit. It is what the analyst can count on in all: what they have spent
    is a part of it, and a new amount replaces the one before. To limit what an analyst may spend,
    give their token a --limit.
    """
    if release == (amount is not None):
        raise InvalidInput("AMOUNT", "given, or else --release", amount)
    with dataset_on(dataset) as opened:
        kept = opened.reserve(analyst, 0 if amount is None else amount)
        console.show_result(kept, as_json)
