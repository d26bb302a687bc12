"""States of a dataset and of a caller, each provoked: what the page says, and how soon."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

import surehold as sh
from surehold.server.tokens import TokenBook

STATIC = Path(sh.__file__).parent / "server" / "pages" / "static"
SOON = 1.0  # second of the page's own work until the first content


@pytest.fixture
def signed_in(serve, open_page):
    """The page of a caller with a token of this role."""

    def start(role, path="", limit=None, **options):
        tokens = []

        def prepare(dataset):
            book = TokenBook(dataset.path, guard=dataset.guard)
            tokens.append(book.create("mira", role, seconds=3600, limit=limit)[1])

        server = serve(prepare=prepare, **options)
        server = type(server)(server.url, tokens[0])
        return server, open_page(f"{server.url}/{path}#token={server.token}")

    return start


def test_the_plan_is_complete(serve, open_page):
    page = open_page(serve(count=2500).url)
    expect(page.locator(".notice")).to_contain_text("Plan complete:")
    expect(page.locator(".notice")).to_contain_text("ends at 2,000 records")


@pytest.mark.parametrize("guard", ["noise", "surprise"])
def test_ones_own_limit_is_reached(signed_in, guard):
    limit = {"noise": 1e-9, "surprise": 1e-9}[guard]
    _, page = signed_in("analyst", limit=limit, guard=guard)
    expect(page.locator(".notice")).to_contain_text("Your limit is reached.")
    page.goto(page.url.split("#")[0] + "ask?q=age%20%3E%203")
    expect(page.locator("#quote .notice")).to_contain_text("This would be refused")


def test_a_dataset_that_was_closed(serve, open_page):
    def close(dataset):
        dataset.session("ann").ask("age > 3")
        sh.succeed(
            dataset.path, dataset.path.parent / "next", reason="test", columns={"age": "float"}
        )

    page = open_page(serve(count=500, guard="surprise", prepare=close).url)
    expect(page.locator(".notice")).to_contain_text("Closed.")
    expect(page.locator("ol.answers li")).to_have_count(1)


def test_an_appender_sees_what_they_may_and_no_error(signed_in):
    _, page = signed_in("appender")
    expect(page.locator(".notice")).to_contain_text("You are an appender.")
    expect(page.locator("header nav a:visible")).to_have_text(["Home"])
    expect(page.locator("main")).not_to_contain_text("Refused")


@pytest.mark.parametrize("role", ["viewer", "analyst", "custodian"])
def test_each_role_has_the_views_of_its_jobs(signed_in, role):
    _, page = signed_in(role)
    views = [
        "Home",
        "Ask",
        "Transcript",
        *(["Plan", "Lab", "Tokens"] if role == "custodian" else []),
    ]
    expect(page.locator("header nav a:visible")).to_have_text(views)
    expect(page.get_by_role("link", name="Ask a question")).to_have_count(int(role != "viewer"))


def test_content_takes_less_than_a_second_and_outlines_come_before(clinic, open_page):
    """Of the processor, whatever else the machine does; the outline is in the first response."""
    for path, content in (("/", ".story b"), ("/ask", ".built select"), ("/transcript", "ol li")):
        page = open_page(clinic.url, go=False)
        browser = page.context.new_cdp_session(page)
        browser.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.goto(clinic.url + path, wait_until="commit")
        page.locator(content).first.wait_for()
        found = browser.send("Performance.getMetrics")["metrics"]
        [seconds] = [one["value"] for one in found if one["name"] == "TaskDuration"]
        assert 0.0 < seconds < SOON, path
    kept = []
    page = open_page(clinic.url, go=False)
    page.route("**/v1/me", lambda route: kept.append(route))
    with page.expect_request("**/v1/me"):
        page.goto(clinic.url, wait_until="commit")
    expect(page.locator(".skeleton").first).to_be_visible()
    kept.pop().continue_()
    page.locator(".story b").first.wait_for()


def test_a_view_that_takes_long_says_so(clinic, open_page):
    page = open_page(clinic.url)
    page.locator(".story b").first.wait_for()
    kept = []
    page.route("**/v1/transcript?*", lambda route: kept.append(route))
    page.get_by_role("link", name="Transcript", exact=True).click()
    expect(page.locator("main > .skeleton")).to_be_visible()
    kept.pop().continue_()
    expect(page.locator("ol.answers li").first).to_be_visible()


def test_the_shell_loads_all_its_modules_at_once(clinic, open_page):
    """A module that is not named there costs another round trip."""
    page = open_page(clinic.url)
    page.locator(".charts svg").nth(1).wait_for()
    preloaded = page.locator('link[rel="modulepreload"]')
    links = preloaded.evaluate_all("(all) => all.map(({ href }) => href)")
    names = {urlsplit(link).path.rpartition("/")[2] for link in links}
    found, new = set(), {"main.js"}
    while new:
        found |= new
        text = "".join((STATIC / name).read_text() for name in new)
        new = set(re.findall(r'from "\./(\w+\.js)"', text)) - found
    assert names == found - {"main.js"}
