"""The page of a dataset with the surprise guard: bits in place of a budget, and expectations."""

from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect


def _button(page):
    return page.locator("form.asking button[type=submit]")


def _shown(page, name):
    return page.locator(f'[data-name="{name}"]').inner_text()


def test_the_overview_has_bits_and_no_budget(evals, open_page):
    page = open_page(evals.url)
    page.get_by_role("heading", name="What you can still ask").wait_for()
    status = evals.get("/v1/status")
    assert _shown(page, "answers") == f"{status['answers']:,}"
    assert _shown(page, "n") == f"{status['n']:,}"
    assert _shown(page, "spent") == status["display"]["spent"]
    assert _shown(page, "width") == status["display"]["width"]
    assert _shown(page, "claims") == f"{status['claims']:,}"
    for one in status["by_analyst"]:
        row = page.locator(".buys > div", has_text=one["analyst"])
        expect(row).to_contain_text(one["display"]["spent"])
    expect(page.locator("main")).to_contain_text("With probability 90%, every interval")
    text = page.locator("body").inner_text().lower()
    assert "budget" not in text
    assert "undefined" not in text
    bits = page.locator(".charts figure").nth(1)
    bits.get_by_text("As a table").click()
    entries = [row.split("\t")[0] for row in bits.locator("tbody tr").all_inner_texts()]
    assert entries == [f"{one['entry']:,}" for one in evals.get("/v1/transcript")["answers"]]


def test_plans_are_not_explored(evals, open_page):
    page = open_page(f"{evals.url}/explore")
    expect(page.get_by_role("heading", name="What you can still ask")).to_be_visible()
    expect(page.get_by_role("link", name="Plan")).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 390])
def test_every_detail_is_shown(evals, open_page, width):
    page = open_page(evals.url, width=width)
    for result in evals.get("/v1/transcript?limit=100")["answers"]:
        page.goto(f"{evals.url}/transcript?entry={result['entry']}")
        detail = page.locator(".detail")
        expect(detail).to_contain_text(result["display"]["value"])
        expect(detail).to_contain_text(result["display"]["surprise"])
        expect(detail).not_to_contain_text("undefined")
        about = "these records only" if result["claim"] is None else "with probability 90%"
        expect(detail).to_contain_text(about)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_cost_is_shown_before_and_paid_once(serve, open_page):
    server = serve(count=1000, guard="surprise")
    page, other = open_page(f"{server.url}/ask?q="), open_page(server.url)
    expect(_button(page)).to_be_disabled()
    page.get_by_label("Query").fill("age > 65")
    plain = server.post("/v1/quote", {"query": "age > 65"})["display"]
    expect(_button(page)).to_have_text(f"Ask for {plain['most']}")
    for label, value in (("I expect", "0.34"), ("Give or take", "0.02")):
        page.get_by_label(label).fill(value)
    page.get_by_label("How sure are you?").fill("4")
    expect(page.locator("#doubt-help")).to_contain_text("5 % doubt")
    asked = {"query": "age > 65", "expect": "0.34", "within": "0.02", "doubt": "0.05"}
    quote = server.post("/v1/quote", asked)["display"]
    expect(_button(page)).to_have_text(
        f"Ask for {quote['least']} if as expected, at most {quote['most']}"
    )
    expect(page.locator('[data-name="cost"]')).to_have_text(quote["least"])
    expect(page.locator('[data-name="most"]')).to_have_text(quote["most"])
    right, wrong = page.locator("#doubt-help b").all_inner_texts()
    assert (right, wrong) == (quote["least"], quote["most"])
    found = parse_qs(urlsplit(page.url).query)
    assert (found["expect"], found["within"], found["doubt"]) == (["0.34"], ["0.02"], ["0.05"])
    assert server.get("/v1/status")["spent"] == 0
    _button(page).click()
    expect(page.locator(".detail .answer-line")).to_contain_text("0.3")
    [answer] = server.get("/v1/transcript")["answers"]
    assert (answer["expected"], answer["key"][:5]) == (True, "page-")
    expect(_button(page)).to_have_text("Show the recorded answer (free)")
    expect(other.locator('[data-name="spent"]')).to_have_text(answer["display"]["spent"])


def test_an_expectation_that_can_not_be_meant_is_refused(serve, open_page):
    server = serve(count=1000, guard="surprise")
    page = open_page(f"{server.url}/ask?q=age%20%3E%2065&expect=perhaps")
    expect(page.locator("#quote")).to_contain_text("expect must be a number, or one of")
    expect(_button(page)).to_be_disabled()


def test_nothing_yet(serve, open_page):
    page = open_page(serve(count=0, guard="surprise").url)
    expect(page.locator("main")).to_contain_text("No records yet.")
    expect(page.locator("main")).to_contain_text("Nothing can be asked before")
