"""Custodians create, list and revoke tokens on the page; people sign in with accounts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from support.accessibility import check_axe, check_headings
from support.provider import ANN, CLIENT, SECRET, provided
from support.runtime import made
from support.service import QUICK, hosting, running, send
from surehold.server.host import Host
from surehold.server.oidc import SECRET as VARIABLE
from surehold.server.oidc import Oidc
from surehold.server.tokens import TokenBook


@pytest.fixture(scope="module", params=["noise", "surprise"])
def custody(request, tmp_path_factory):
    """A service, and the token of its custodian."""
    path = tmp_path_factory.mktemp("custody") / "clinic"
    with made(path, count=1000, guard=request.param) as dataset, running(dataset) as run:
        tokens = [run.token("custodian", "the-custodian-of-the-data@example.org")]
        run.token("viewer", "board")
        run.token("analyst", "mira", limit=0.25 if request.param == "noise" else 40.0)
        run.service.book.revoke(run.token("appender", "intake")[3:15])
        run.service.book.create("ann@example.org", "analyst", seconds=60.0, account="u-1")
        yield run, tokens[0]


def lines(page):
    return page.locator("ul.tokens:visible > li")


def test_a_custodian_creates_and_revokes(custody, open_page):
    run, boss = custody
    page = open_page(f"{run.url}/tokens#token={boss}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    before = len(run.service.book.tokens)
    expect(page.get_by_role("link", name="Tokens")).to_have_attribute("aria-current", "page")
    page.get_by_text("Create a token", exact=True).click()
    page.get_by_label("Analyst").fill("bob")
    page.get_by_label("Role").select_option("viewer")
    limit = page.get_by_label("Limit")
    expect(limit).to_be_disabled()
    page.get_by_label("Role").select_option("analyst")
    limit.fill("12.5")
    page.get_by_label("Valid for").select_option("30 days")
    page.get_by_role("button", name="Create", exact=True).click()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_focused()
    text = page.evaluate("navigator.clipboard.readText()")
    me = send(run.url, "GET", "/v1/session", token=text).json
    wanted = 0.125 if run.dataset.guard == "noise" else 12.5
    assert (me["analyst"], me["role"], me["token"]["limit"]) == ("bob", "analyst", wanted)
    expect(lines(page).first).to_contain_text("bob")
    assert len(run.service.book.tokens) == before + 1
    page.get_by_role("button", name="Revoke the token of bob").click()
    expect(page.get_by_role("button", name="Revoke it")).to_be_focused()
    page.get_by_role("button", name="Keep it").click()
    assert send(run.url, "GET", "/v1/session", token=text).status == 200
    page.get_by_role("button", name="Revoke the token of bob").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(page.get_by_role("status").filter(has_text="revoked")).to_be_visible()
    assert send(run.url, "GET", "/v1/session", token=text).status == 401
    page.reload()
    expect(lines(page).first).to_be_visible()
    assert text not in page.content()
    page.get_by_text("expired or revoked").click()
    expect(lines(page).filter(has_text="bob")).to_contain_text("revoked")


def test_what_is_refused_is_said_and_kept(custody, open_page):
    run, boss = custody
    page = open_page(f"{run.url}/tokens#token={boss}")
    page.get_by_text("Create a token", exact=True).click()
    page.get_by_label("Analyst").fill("a" * 200)
    page.get_by_label("Limit").fill("0")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.locator("main .notice.trouble")).to_contain_text("limit must be")
    assert page.get_by_label("Analyst").input_value() == "a" * 200


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_for_everybody(custody, open_page, until, theme, width):
    run, boss = custody
    page = open_page(f"{run.url}/tokens#token={boss}", theme=theme, width=width)
    expect(lines(page).first).to_be_visible()
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    page.get_by_role("button", name="Revoke the token of board").click()
    check_axe("tokens", page)
    check_headings("tokens", page)
    until(page, "document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("role", ["viewer", "analyst"])
def test_others_have_no_such_view(custody, open_page, role):
    run, _ = custody
    page = open_page(f"{run.url}/#token={run.token(role, role)}")
    expect(page.locator("#who")).to_contain_text(f"({role}")
    expect(page.locator('header nav a[href="/tokens"]')).to_be_hidden()
    page.goto(f"{run.url}/tokens")
    expect(page.get_by_role("heading", name=run.dataset.path.name, exact=True)).to_be_visible()
    assert lines(page).count() == 0  # the home of the dataset; the service refuses the list as well


# --------------------------------------------------------------------- tabs, datasets, accounts


def test_signing_in_and_out_counts_for_all_tabs(custody, open_page):
    run, boss = custody
    page = open_page(f"{run.url}/#token={boss}")
    expect(page.locator("#connection")).to_have_text("live")
    assert page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]") == [
        "",
        0,
        0,
    ]
    other = page.context.new_page()
    other.goto(f"{run.url}/transcript")
    expect(other.get_by_role("heading", name="Transcript")).to_be_visible()
    other.get_by_role("button", name="Sign out").click()
    expect(other.get_by_label("Token")).to_be_visible()
    assert page.context.cookies() == []
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.get_by_label("Token")).to_be_visible()


def test_a_server_with_several_datasets(open_page, tmp_path, until):
    root = tmp_path / "datasets"
    root.mkdir()
    for name in ("clinic", "shop"):
        made(root / name, count=300).close()
    book = TokenBook(root, guard=None)
    boss = book.create("boss", "custodian", seconds=3600.0)[1]
    with hosting(Host(settings=replace(QUICK, base_path="/eval"), root=root)) as url:
        page = open_page(f"{url}/#token={boss}", width=390)
        page.get_by_role("link", name="Tokens").click()
        expect(page.get_by_role("heading", name="Tokens", exact=True)).to_be_visible()
        page.get_by_text("Create a token", exact=True).click()
        page.get_by_label("Analyst").fill("ann")
        page.get_by_label("shop").check()
        page.get_by_role("button", name="Create", exact=True).click()
        expect(lines(page).first).to_contain_text("ann")
        assert book.tokens[-1].datasets == ("shop",)
        check_axe("tokens of several", page)
        until(page, "document.documentElement.scrollWidth <= innerWidth")
        page.goto(f"{url}/d/clinic/tokens")  # with the same cookie
        expect(page.get_by_role("heading", name="Tokens", exact=True)).to_be_visible()
        expect(page.locator("main")).to_contain_text("at the root of the server")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        own = TokenBook(root / "shop").create("bob", "viewer", seconds=60.0)[1]
        page.goto(f"{url}/#token={own}")
        page.get_by_role("link", name="shop").click()
        expect(page.locator("#who")).to_contain_text("Signed in as bob")
        page.goto(f"{url}/d/clinic/")  # for which that token is not
        expect(page.get_by_label("Token")).to_be_visible()


def test_people_sign_in_with_accounts(browser, tmp_path, monkeypatch):
    """In a context of its own: the page of the provider is another host's."""
    monkeypatch.setenv(VARIABLE, SECRET)
    rules = [{"claim": "groups", "values": ["science"], "role": "analyst"}]
    with provided() as provider, made(tmp_path / "clinic", count=300) as dataset:
        given = {"issuer": provider.url, "client_id": CLIENT, "allow": rules, "label": "Example"}
        settings = replace(QUICK, oidc=Oidc.model_validate(given))
        with running(dataset, settings) as run:
            context = browser.new_context(viewport={"width": 390, "height": 900})
            page = context.new_page()
            page.goto(f"{run.url}/transcript?kind=mean")
            expect(page.get_by_label("Token")).to_be_visible()
            check_axe("sign in", page)
            provider.person = {**ANN, "groups": []}
            page.get_by_role("link", name="Sign in with Example").click()
            expect(page.get_by_role("alert")).to_contain_text("this account has no access")
            assert page.url == f"{run.url}/"  # without the code
            provider.person = ANN
            page.goto(f"{run.url}/transcript?kind=mean")
            page.get_by_role("link", name="Sign in with Example").click()
            expect(page.get_by_role("heading", name="Transcript")).to_be_visible()
            assert page.url == f"{run.url}/transcript?kind=mean"
            expect(page.locator("#who")).to_contain_text("Signed in as ann@example.org (analyst")
            assert page.evaluate("document.cookie") == ""
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_role("link", name="Sign in with Example")).to_be_visible()
            assert [dataset.path.name, context.cookies()] == ["clinic", []]
            context.close()
