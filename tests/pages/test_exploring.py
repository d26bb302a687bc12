"""The explorer: sliders by keyboard, certificates as the library compares them, deep links."""

from urllib.parse import parse_qs

from playwright.sync_api import expect

import surehold as sh
from surehold import formatting


def _said(page):
    """What the address bar says now; the address that Playwright keeps comes later."""
    query = page.evaluate("location.search.slice(1)")
    return {name: value[0] for name, value in parse_qs(query).items()}


def test_it_starts_from_the_plan_of_the_dataset(clinic, open_page):
    page = open_page(f"{clinic.url}/explore")
    plan = clinic.get("/v1/plan")
    expect(page.get_by_label("n0, exactly")).to_have_value(str(plan["n0"]))
    expect(page.get_by_label("the last query, n, exactly")).to_have_value(str(plan["n"]))
    best = sh.compare(n0=plan["n0"], n=plan["n"], alpha=plan["alpha"], beta=plan["beta"])[0]
    spoken = page.locator(".spoken")
    expect(spoken).to_contain_text(f"at most {best.queries:,} all at n")
    now, evenly = plan["paces"]["at_n0"], plan["paces"]["evenly"]
    expect(spoken).to_contain_text(f"{now:,} queries all at n0, {evenly:,} spread evenly")


def test_a_slider_moved_by_keyboard_redraws(clinic, open_page):
    page = open_page(f"{clinic.url}/explore?n0=50000&n=100000&alpha=0.1&beta=0.05")
    spoken = page.locator(".spoken")
    first = sh.compare(n0=50_000, n=100_000, alpha=0.1, beta=0.05)[0]
    expect(spoken).to_contain_text(f"at most {first.queries:,} all")
    before = page.locator(".comparison svg").get_attribute("aria-label")
    page.get_by_role("slider", name="alpha").focus()
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    alpha = float(page.get_by_label("alpha, exactly").input_value())
    assert alpha > 0.1
    entries = sh.compare(n0=50_000, n=100_000, alpha=alpha, beta=0.05)
    expect(spoken).to_contain_text(f"at most {entries[0].queries:,} all")
    label = page.locator(".comparison svg").get_attribute("aria-label")
    assert label != before
    for entry in entries:
        if entry.is_useful:
            assert f"{entry.certificate} {entry.queries:,}" in label
    assert float(_said(page)["alpha"]) == alpha


def test_a_deep_link_restores_everything(clinic, open_page):
    said = {"n0": "500000", "n": "1500000", "queries": "100000", "beta": "0.01", "batches": "100"}
    link = "&".join(f"{name}={value}" for name, value in said.items())
    page = open_page(f"{clinic.url}/explore?{link}")
    best = sh.compare(n0=500_000, n=1_500_000, queries=100_000, beta=0.01, batches=100)[0]
    shown = page.locator(".spoken")
    expect(shown).to_contain_text("100,000 queries")
    expect(shown).to_contain_text("except with probability 0.01")
    assert best.width is not None
    expect(shown).to_contain_text(f"± {formatting.width(best.width)}")
    expect(page.locator(".comparison")).to_contain_text("As a table")
    assert page.locator('link[rel="alternate"]').get_attribute("href") == f"/v1/compare?{link}"
    page.get_by_text("As a table").click()
    assert page.locator(".comparison tbody tr").count() == 8


def test_those_that_say_nothing_say_why(clinic, open_page):
    page = open_page(f"{clinic.url}/explore?n0=1000&n=3000&alpha=0.3&beta=0.05")
    expect(page.locator(".silent")).to_contain_text("it needs a schedule that is fixed in advance")
    page.get_by_label("in batches fixed in advance").check()
    expect(page.get_by_role("slider", name="batches")).to_be_visible()
    assert _said(page)["batches"] == "10"


def test_n0_never_exceeds_n(clinic, open_page, until):
    page = open_page(f"{clinic.url}/explore?n0=1000&n=3000&alpha=0.3&beta=0.05")
    page.get_by_label("n0, exactly").fill("5000")
    until(page, "new URLSearchParams(location.search).get('n') === '5000'")
    assert _said(page)["n0"] == "5000"
    expect(page.locator(".notice")).to_have_count(0)
