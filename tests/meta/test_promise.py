"""The promise names every assumption and every way to void it that other pages name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from surehold import plan
from surehold.ledger.surprise_policy import ASSUMPTIONS

DOCS = Path(__file__).parents[2] / "docs"
PROMISE = (DOCS / "explanation" / "promise.md").read_text(encoding="utf-8")
REFERENCE = DOCS / "reference"
PARTS = ("**What happens.**", "**Noticed?**", "**What to do.**")

# The bullets of two other pages, by how they begin, and what the promise has to say about each.
TREATED = {
    "Records that are not independent draws": (
        "The population drifts",
        "Records that depend on each other",
        "Arrivals that depend on values",
    ),
    "An analyst who sees the records": (
        "Looking at the records",
        "Two ledgers over the same records",
    ),
    "Choosing `n0`": ("A plan chosen after looking",),
    "More answers than the plan covers": ("More than the plan covers",),
    "Noise that is not Gaussian": (
        "Weak or repeated randomness",
        "A statistic that was declared wrongly",
    ),
    "the analyst sees records": ("Looking at the records",),
    "the same records are appended twice": (
        "The same records twice",
        "Two ledgers over the same records",
        "Copies and restored backups",
    ),
    "what is appended, or when": ("Arrivals that depend on answers",),
    "someone reads the process's memory": ("Memory, and code in the same process",),
}


def ways(page: str) -> dict[str, str]:
    """Heading and text of every way to void the promise."""
    listed = page.split("\n## Every way to void it\n")[1].split("\n## ")[0]
    sections = listed.split("\n### ")[1:]
    return {heading: text for heading, _, text in (one.partition("\n") for one in sections)}


def anchor(heading: str) -> str:
    """As the site makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def lacking(text: str) -> list[str]:
    """What a way does not say, of what happens, whether it is noticed, and what to do."""
    return [part for part in PARTS if part not in text]


def unlisted(page: str) -> list[str]:
    """Ways that the table at the beginning does not lead to."""
    return [way for way in ways(page) if f"| [{way}](#{anchor(way)}) |" not in page]


def bullets(page: str, start: str) -> list[str]:
    """The list that follows a line, up to the paragraph after it."""
    after = page.split(start, 1)[1].split("\n- ", 1)[1]
    return re.split(r"\n- ", after.split("\n\n", 1)[0])


def untreated(bullet: str, headings: dict[str, str]) -> list[str]:
    """What the promise does not have of a bullet elsewhere."""
    found = [names for begins, names in TREATED.items() if bullet.startswith(begins)]
    if len(found) != 1:
        return [f"nobody says where it is treated: {bullet[:60]}"]
    return [name for name in found[0] if name not in headings]


WAYS = ways(PROMISE)
ELSEWHERE = [
    *bullets((REFERENCE / "plan.md").read_text(encoding="utf-8"), "## What voids the guarantee\n"),
    *bullets((REFERENCE / "runtime.md").read_text(encoding="utf-8"), "and at run time if\n"),
]


@pytest.mark.parametrize("batches", [None, 4])
def test_every_assumption_of_a_plan_is_on_the_page(batches):
    made = plan(n0=2_000, n=20_000, alpha=0.2, beta=0.05, batches=batches)
    assert [sentence for sentence in made.assumptions if sentence not in PROMISE] == []


def test_every_assumption_of_the_surprise_guard_is_on_the_page():
    assert [sentence for sentence in ASSUMPTIONS if sentence not in PROMISE] == []


@pytest.mark.parametrize("way", WAYS)
def test_every_way_says_what_happens_whether_it_is_noticed_and_what_to_do(way):
    assert lacking(WAYS[way]) == []


def test_the_table_leads_to_every_way():
    assert unlisted(PROMISE) == []


@pytest.mark.parametrize("bullet", ELSEWHERE)
def test_every_way_that_another_page_names_is_treated(bullet):
    assert untreated(bullet, WAYS) == []


def test_nothing_is_said_of_bullets_that_are_gone():
    assert [key for key in TREATED if not any(one.startswith(key) for one in ELSEWHERE)] == []


class TestThatTheChecksCanFail:
    """The same checks on doctored pages."""

    def test_part(self):
        assert lacking("**What happens.** It fails.\n\n**Noticed?** No.") == ["**What to do.**"]

    def test_table(self):
        doctored = PROMISE.replace("| [An edited ledger](#an-edited-ledger)", "| An edited ledger")
        assert unlisted(doctored) == ["An edited ledger"]

    def test_way(self):
        without = {way: text for way, text in WAYS.items() if way != "A plan chosen after looking"}
        [choosing] = [one for one in ELSEWHERE if one.startswith("Choosing")]
        assert untreated(choosing, without) == ["A plan chosen after looking"]

    def test_new_bullet(self):
        assert untreated("Something that nobody thought of.", WAYS) != []
