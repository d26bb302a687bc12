"""The lab: a custodian attacks the guard of the dataset, and sees whether it held."""

import pytest
from playwright.sync_api import expect

from support.accessibility import check_axe, check_fits
from surehold.server.tokens import TokenBook


@pytest.mark.parametrize(
    ("guard", "theme", "width"), [("noise", "light", 390), ("surprise", "dark", 1280)]
)
def test_a_guard_is_attacked_and_the_contest_cancelled(serve, open_page, guard, theme, width):
    tokens = []

    def prepare(dataset):
        book = TokenBook(dataset.path, guard=dataset.guard)
        tokens.append(book.create("cara", "custodian", seconds=3600)[1])

    server = serve(count=1000, guard=guard, prepare=prepare)
    page = open_page(f"{server.url}/#token={tokens[0]}", width=width, theme=theme)
    page.get_by_role("link", name="Lab").click()
    attack = page.get_by_role("button", name="Attack")
    page.get_by_role("button", name="None").click()
    attack.click()
    expect(page.locator(".notice")).to_contain_text("No attackers.")
    for name in ("sign", "flooding"):
        page.get_by_label(name, exact=False).first.check()
    page.get_by_label("Repeats").fill("100")
    page.get_by_label("Queries").fill("2000")
    attack.click()
    expect(page.get_by_label("Progress")).to_be_visible()
    expect(attack).to_be_disabled()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".notice")).to_contain_text("Cancelled.")
    page.get_by_label("Repeats").fill("2")
    page.get_by_label("Queries").fill("40")
    attack.click()
    expect(page.locator(".notice")).to_contain_text("Held.")
    result = page.locator("figure")
    expect(result.get_by_role("img")).to_be_visible()
    result.get_by_text("As a table").click()
    expect(result.locator("tbody tr")).to_have_count(4)
    expect(result.locator("tbody")).to_contain_text("2 of 2")
    check_axe("lab", page)
    check_fits("lab", page)
    page.reload()
    expect(page.locator(".notice")).to_contain_text("Held.")
    page.get_by_label("Repeats").fill("101")
    attack.click()
    expect(page.locator(".notice.trouble")).to_contain_text("repeats must be")
