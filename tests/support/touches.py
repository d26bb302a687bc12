"""Watches a dataset's records: whoever touches them must have a charge on the disk by then."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.runtime import sql
from surehold.data.calibration import MadeUp
from surehold.data.engines.polars_engine import PolarsEngine
from surehold.data.record_store import RecordStore
from surehold.ledger.surprise_draft import asking_of_entry
from surehold.queries import form_of

# The custodian compares ids, which appends load in a thread of their own, and verifies.
CUSTODY = ("append", "check_ids", "load_frame", "text")
READS = ("sums", "cell_sums", "pair_statistic", "frame")


class Touches:
    """Counts the evaluations of each question's sources, by round, from :meth:`install` on.

    The charge is looked for on the disk, over a connection of its own, as another process would.
    ``during`` is done once, in the middle of the next evaluation. ``uncharged`` are those that
    nobody had paid for, wherever the error that this raised went.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()
        self.uncharged: list[tuple[str, int]] = []
        self.during: Callable[[], Any] | None = None
        self._inside = threading.local()

    def install(self, patch: pytest.MonkeyPatch) -> None:
        exact, gradients = RecordStore.exact, RecordStore.gradients

        def watched(data: RecordStore, sources: Any, round: int, progress: Any = None) -> Any:
            self._note(data, {source.canonical for source in sources}, round)
            return self._within(exact, data, sources, round, progress)

        def watched_fit(data: RecordStore, form: Any, round: int) -> Any:
            self._note(data, {form.canonical}, round)
            return self._within(gradients, data, form, round)

        patch.setattr(RecordStore, "exact", watched)
        patch.setattr(RecordStore, "gradients", watched_fit)
        for name in CUSTODY:
            patch.setattr(RecordStore, name, self._allowed(getattr(RecordStore, name)))
        for name in READS:
            patch.setattr(PolarsEngine, name, self._guarded(getattr(PolarsEngine, name)))

    def _allowed(self, work: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: self._within(work, *args)

    def _within(self, work: Callable[..., Any], *args: Any) -> Any:
        depth = getattr(self._inside, "depth", 0)
        self._inside.depth = depth + 1
        try:
            return work(*args)
        finally:
            self._inside.depth = depth

    def _guarded(self, read: Callable[..., Any]) -> Callable[..., Any]:
        """No way to the records but through an evaluation that was looked at."""

        def guarded(engine: PolarsEngine, *args: Any) -> Any:
            if not isinstance(engine, MadeUp) and not getattr(self._inside, "depth", 0):
                self.uncharged.append((read.__name__, -1))
                raise AssertionError("records were read outside of an evaluation")
            return read(engine, *args)

        return guarded

    def _note(self, data: RecordStore, canonicals: set[str], round: int) -> None:
        covered = self.covered(data, round)
        self.counts.update((canonical, round) for canonical in canonicals)
        if not canonicals <= covered:
            self.uncharged += [(canonical, round) for canonical in canonicals - covered]
            raise AssertionError("records are touched before a charge for that is on the disk")
        during, self.during = self.during, None
        if during is not None:
            during()

    def covered(self, data: RecordStore, round: int) -> set[str]:
        """What was charged at a round: queries, and the sources that they need."""
        ledger = data._ledger
        if ledger.rules.guard == "surprise":
            entries = [e.read() for e in ledger.store.entries() if e.kind in ("charge", "answer")]
            asked = [e for e in entries if e["round"] == round]
            forms: list[Any] = [asking_of_entry(ledger.schema, body) for body in asked]
        else:
            forms = [form_of(text, ledger.schema) for text in charged(ledger.folder, round)]
        sources = {source.canonical for form in forms for source in form.sources}
        return sources | {form.canonical for form in forms}


def charged(path: Path, round: int) -> set[str]:
    """The queries that were charged at a round, as another process reads it from the disk."""
    query = (
        "SELECT json_extract(body, '$.canonical') FROM entries "
        f"WHERE kind IN ('charge', 'answer') AND json_extract(body, '$.round') = {round}"
    )
    return {row[0] for row in sql(path, query)}
