"""The lab plays the real surprise guard: the same cells, intervals and prices, to the digit."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import surehold as sh
from surehold.lab.surprise_book import SurpriseBook

COLUMNS = {f"c{i}": "bool" for i in range(6)}


def _records(rng: random.Random, count: int) -> list[dict[str, bool]]:
    return [
        {name: rng.random() < 0.15 * (i + 1) for i, name in enumerate(COLUMNS)}
        for _ in range(count)
    ]


def test_a_random_analysis_is_the_same_in_both(tmp_path: Path) -> None:
    rng = random.Random(7)
    book, records = SurpriseBook(Fraction(1, 20)), _records(rng, 400)
    with sh.create(tmp_path / "evals", beta="0.05", columns=COLUMNS) as ds:
        ds.append(records)
        session = ds.session()
        for step in range(100):
            if step % 20 == 19:
                more = _records(rng, 150)
                ds.append(more)
                records += more
            name, t = (
                rng.choice(list(COLUMNS)),
                rng.choice([len(records), 400, rng.randrange(200, 400)]),
            )
            expect = rng.choice([None, Fraction(rng.randrange(101), 100)])
            within = rng.choice([None, Fraction(1, 50), Fraction(1, 200)])
            doubt = rng.choice([None, Fraction(1, 10)])
            count = sum(record[name] for record in records[:t])
            before = book.spent
            answer = session.at(t).ask(name, expect=expect, within=within, doubt=doubt)
            if answer.recorded:
                continue
            found = book.ask(
                name, count, t, expect=expect, within=within, doubt=doubt, records=len(records)
            )
            assert (answer.low, answer.high) == (
                float(found.interval.low),
                float(found.interval.high),
            )
            assert answer.cell == (float(found.cell.low), float(found.cell.high))
            assert answer.exact["surprise"] == str(found.price)
            assert answer.exact["spent"] == str(before + found.price)
        assert ds.verify().recomputed > 30
