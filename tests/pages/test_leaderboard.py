"""The public page of a leaderboard: for everybody, without a token, in both themes and widths."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

import surehold as sh
from support.service import served
from surehold.server.tokens import TokenBook

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
N = 500


def run(wrong: int) -> list[dict[str, object]]:
    return [{"item": i, "answer": (i % 3 == 0) ^ (i < wrong)} for i in range(N)]


@pytest.fixture(scope="module")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A public board with a hostile name on it; the dataset has tokens."""
    path = tmp_path_factory.mktemp("boards") / "secret-folder"
    with sh.create(path, beta=0.05, columns={"item": "int", "label": "bool"}, id="item") as dataset:
        dataset.append([{"item": i, "label": i % 3 == 0} for i in range(N)])
        dataset.open_leaderboard("Every third", target="label", step="0.02", public=True, daily=50)
        session = dataset.session("analyst-ann")
        session.submit(run(200), "first")
        session.submit(run(20), "<img src=x onerror=alert(1)>")
        session.submit(run(15), "a tie")
        session.submit(run(0), "a name without a blank in it: " + "w" * 70)
    TokenBook(path).create("analyst-ann", "submitter", seconds=3600.0)
    with served(path) as url:
        yield url


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_for_everybody(boards, open_page, until, theme):
    page = open_page(f"{boards}/leaderboard", theme=theme)
    expect(page.locator("h1")).to_have_text("Every third")
    until(page, "document.querySelectorAll('.chart:empty').length === 0")
    rows = page.get_by_role("region", name="Ranks").locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("better than <img src=x onerror=alert(1)>, by 0.04 or more")
    expect(rows.nth(1)).to_contain_text("certainly better than first")
    expect(rows.last).to_contain_text("the first submission")
    expect(page.get_by_role("region", name="Not better")).to_contain_text("a tie")
    assert "secret-folder" not in page.content()
    assert "analyst-ann" not in page.content()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate(AXE)
        found = page.evaluate("axe.run()")["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    page.get_by_role("link", name="Dataset").click()
    expect(page.locator("h1")).to_have_text("Sign in")


def test_where_there_is_none(open_page, evals):
    page = open_page(f"{evals.url}/leaderboard")
    expect(page.locator("main")).to_contain_text("this dataset has no leaderboard")
