"""What a custodian learns: what an append did, and what a verification found."""

from __future__ import annotations

from dataclasses import dataclass

from surehold.display import Shown
from surehold.formatting import several
from surehold.ledger.ledger import Ledger


@dataclass(frozen=True, repr=False)
class Appended(Shown):
    """What an append did: how many records it added, and how many there are now.

    ``known`` is the number of records that it passed over, as their ids were there already; None
    if the dataset has no ids. ``note`` is a remark for the custodian, if there is one: without ids,
    an append of which a large part seems to be there already is added, but remarked on.
    """

    count: int
    n: int
    known: int | None = None
    note: str | None = None

    def __str__(self) -> str:
        new = "new " if self.known else ""
        note = "" if self.note is None else f"\nnote: {self.note}"
        passed = f" and passed over {self.known:,} known by their ids" if self.known else ""
        return f"appended {several(self.count, f'{new}record')}{passed}; there are {self.n:,}{note}"


@dataclass(frozen=True, repr=False)
class Verification(Shown):
    """Everything was replayed and found right.

    ``spent`` is in mu^2 of the record that is exposed most or, under the surprise guard, in bits.
    ``recomputed`` counts the answers that were computed again from the records, which noise does
    not allow, nor a model that is not kept. ``succession`` says what a successor took over from
    this dataset, or this one from another, and what that leaves to be checked.
    """

    name: str
    entries: int
    records: int
    answers: int
    segments: int
    spent: float
    recomputed: int
    head: str
    strays: tuple[str, ...]
    succession: str | None

    def __str__(self) -> str:
        stray = ""
        if self.recomputed:
            stray = f"; {several(self.recomputed, 'outcome')} computed again from the records"
        if self.strays:
            stray += f"; passed over: {several(len(self.strays), 'file')} that no entry names"
        if self.succession is not None:
            stray += f". {self.succession}"
        return (
            f"{self.name}: {several(self.entries, 'entry')}, "
            f"{several(self.records, 'record')} in {several(self.segments, 'segment')}, "
            f"{several(self.answers, 'answer')}: all as it was written{stray}"
        )


def describe_succession(ledger: Ledger) -> str | None:
    """Say what a verification of a successor, or of its predecessor, has to know."""
    parts = []
    past, later = ledger.predecessor, ledger.successor
    if past is not None:
        parts.append(
            f"It took over from {past['name']}, whose head was {past['head'][:12]}, with "
            f"{int(past['records']) - int(past['erased']):,} of {past['records']:,} records, and "
            "with all that was spent there"
        )
    if later is not None:
        parts.append(f"It was closed for good when {later['successor']} took over")
        if later["erased"]:
            parts.append(
                f"{several(later['erased'], 'record')} erased: its files were removed, so entries, "
                "charges and intervals were checked, but not against records"
            )
    return ". ".join(parts) or None
