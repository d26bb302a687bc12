"""Several datasets behind a sub-path: the list, and every job within one of them."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from support.runtime import made
from support.service import QUICK, hosting
from surehold.server.host import Host
from surehold.server.tokens import TokenBook


@pytest.fixture
def house(tmp_path) -> Iterator[tuple[str, str]]:
    """A server below /eval; its address, and an analyst's token for two of three datasets."""
    root = tmp_path / "datasets"
    root.mkdir()
    for name, guard in (("clinic", "noise"), ("secret", "noise"), ("shop", "surprise")):
        made(root / name, count=2000, guard=guard).close()
    book = TokenBook(root, guard=None)
    token = book.create("ann", "analyst", seconds=3600.0, datasets=("clinic", "shop"))[1]
    with hosting(Host(settings=replace(QUICK, base_path="/eval"), root=root)) as url:
        yield url, token


def test_from_the_list_to_an_answer_and_back(house, open_page):
    url, token = house
    page = open_page(f"{url}/#token={token}")
    expect(page.get_by_role("row")).to_have_count(3)  # with the heading; none of the third dataset
    assert "secret" not in page.content()
    page.get_by_role("link", name="shop").click()
    expect(page.get_by_role("heading", name="shop")).to_be_visible()
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_role("button", name="Write it").click()
    page.get_by_label("Query").fill("age > 65")
    page.wait_for_url(f"{url}/d/shop/ask?q=*")
    button = page.locator("form.asking button[type=submit]")
    expect(button).to_be_enabled()
    button.click()
    expect(page.locator(".detail .answer-line")).to_be_visible()
    page.get_by_role("link", name="Everything about this answer").click()
    expect(page).to_have_url(f"{url}/d/shop/answer?entry=5")
    expect(page.locator("h1")).to_have_text("age > 65")
    page.reload()
    expect(page.locator("h1")).to_have_text("age > 65")
    page.get_by_role("link", name="← Transcript").click()
    expect(page.locator("ol.answers li")).to_have_count(1)
    with page.expect_download() as got:
        page.get_by_role("button", name="CSV").click()
    assert got.value.path().read_text().count("\n") == 2
    page.get_by_role("link", name="Developers").click()
    expect(page.locator("main")).to_contain_text(f"surehold ask {url}/d/shop")
    page.goto(f"{url}/d/clinic/explore")
    expect(page.locator("h1")).to_have_text("Plan")
    expect(page.locator(".comparison figure").first).to_be_visible()
    assert page.url.startswith(f"{url}/d/clinic/explore")
