"""What axe and a look at the headings find on a page of the service."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Page

AXE = Path(__file__).parents[1] / "pages" / "vendor" / "axe.min.js"


def check_axe(name: str, page: Page) -> None:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run()")
    found_by_rule = [
        (rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found["violations"]
    ]
    assert found_by_rule == [], name
    assert len(found["passes"]) > 15, name


def check_headings(name: str, page: Page) -> None:
    headings = "[...document.querySelectorAll('main :is(h1,h2,h3,h4)')]"
    levels = page.evaluate(
        f"{headings}.filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1, name
    assert levels.count(1) == 1, name
    assert all(after <= before + 1 for before, after in pairwise(levels)), (name, levels)
    assert page.locator("html").get_attribute("lang") == "en"
