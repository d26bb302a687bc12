"""Tokens: a box when one is needed, never in the address, and what each role is shown."""

import pytest
from playwright.sync_api import expect

from surehold.server.tokens import TokenBook


@pytest.fixture
def guarded(serve):
    """A service with a token, of the role that is said."""

    def start(role, limit=None):
        tokens = []

        def prepare(dataset):
            book = TokenBook(dataset.path)
            tokens.append(book.create("mira", role, seconds=3600, limit=limit)[1])

        server = serve(prepare=prepare)
        return type(server)(server.url, tokens[0])

    return start


def test_without_a_token_there_is_a_box_for_it(guarded, open_page):
    server = guarded("analyst")
    page = open_page(f"{server.url}/transcript")
    box = page.get_by_label("Token")
    expect(box).to_be_focused()
    box.fill("hf_000000000000_" + "x" * 43)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("Not authenticated: the token is unknown")
    page.get_by_label("Token").fill(server.token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Transcript")).to_be_visible()
    expect(page.locator("#connection")).to_have_text("live")
    expect(page.locator("#who")).to_contain_text("Signed in as mira (analyst")
    page.reload()
    expect(page.get_by_role("heading", name="Transcript")).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0


def test_a_token_in_the_address_is_taken_and_removed(guarded, open_page):
    server = guarded("analyst")
    page = open_page(f"{server.url}/ask?q=age%20%3E%203#token={server.token}")
    expect(page.locator("form.asking button[type=submit]")).to_have_text("Ask for 1 answer")
    assert server.token not in page.url
    assert server.token not in page.evaluate("JSON.stringify(history.state)")
    page.locator("form.asking button[type=submit]").click()
    expect(page.locator(".detail .answer-line")).to_contain_text("±")
    [answer] = server.get("/v1/transcript")["answers"]
    assert answer["analyst"] == "mira"


def test_the_json_twin_opens_with_the_token(guarded, open_page):
    server = guarded("viewer")
    page = open_page(f"{server.url}/#token={server.token}")
    page.get_by_role("link", name="Developers").click()
    page.get_by_role("link", name="/v1/status").click()
    expect(page.locator("dialog pre")).to_contain_text('"certificate"')
    page.get_by_role("button", name="Close").click()
    expect(page.locator("dialog")).to_be_hidden()


def test_a_viewer_quotes_but_has_no_button(guarded, open_page):
    server = guarded("viewer")
    page = open_page(f"{server.url}/ask?q=age%20%3E%203#token={server.token}")
    expect(page.locator('[data-name="cost"]')).to_contain_text("the price of 1 fraction")
    assert page.locator("form.asking button[type=submit]").count() == 0
    expect(page.locator("form.asking")).to_contain_text("You are a viewer.")


def test_a_custodian_asks_like_an_analyst(guarded, open_page):
    server = guarded("custodian")
    page = open_page(f"{server.url}/ask?q=age%20%3E%203#token={server.token}")
    expect(page.locator("form.asking button[type=submit]")).to_have_text("Ask for 1 answer")


def test_a_limit_of_ones_own_is_shown(guarded, open_page):
    server = guarded("analyst", limit=0.25)
    page = open_page(f"{server.url}/#token={server.token}")
    left, answered = (page.locator(f'[data-name="limit-{name}"]') for name in ("left", "answered"))
    expect(left).to_have_text("100%")
    expect(answered).to_have_text("0")
    server.post("/v1/ask", {"query": "mean(bmi, 0, 50)"})
    limit = server.get("/v1/me")["limit"]
    expect(answered).to_have_text("1")
    expect(left).to_have_text(limit["display"]["remaining"])
    share = float(left.inner_text().rstrip("%")) / 100
    assert 0 <= limit["remaining"] / limit["total"] - share < 0.001 + 1e-9


def test_a_token_that_is_revoked_leads_back_to_the_box(guarded, open_page, tmp_path):
    server = guarded("analyst")
    page = open_page(f"{server.url}/#token={server.token}")
    expect(page.locator("#connection")).to_have_text("live")
    book = TokenBook(tmp_path / "clinic0")
    book.revoke(book.tokens[0].id)
    page.get_by_role("link", name="Transcript", exact=True).click()
    expect(page.get_by_label("Token")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("revoked")
