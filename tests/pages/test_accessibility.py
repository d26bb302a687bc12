"""For everybody: axe finds nothing, on any view, in both themes; nothing scrolls sideways."""

import pytest

from support.accessibility import check_axe, check_fits, check_headings

VIEWS = {
    "overview": "/",
    "transcript": "/transcript",
    "details": "/transcript?entry=3",
    "table": "/transcript?contains=histogram&entry=7",
    "ask": "/ask?q=age%20%3E%203",
    "refused": "/ask?q=age%20%3E%20%3E",
    "built": "/ask",
    "answer": "/answer?entry=4",
    "developers": "/developers",
    "missing": "/nowhere",
    "explore": "/explore?n0=500000&n=1500000&queries=1000&beta=0.05&batches=10",
}


def _settled(page, until):
    page.locator("h1").wait_for()
    until(
        page,
        "document.querySelectorAll('.chart:empty').length === 0"
        " && document.querySelector('#quote, .comparison figure, ol.answers, .detail dl, .twins,"
        " .missing') !== null"
        " && document.querySelector('.built, #quote > .muted')?.matches('#quote > *') !== true"
        " && document.querySelector('.skeleton') === null",
    )
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")


SURPRISE = {
    **{name: path for name, path in VIEWS.items() if name not in ("explore", "table")},
    "expected": "/ask?q=age%20%3E%203&expect=0.9&within=0.01",
    "details": "/transcript?entry=6",
    "answer": "/answer?entry=6",
    "table": "/transcript?contains=histogram&entry=21",
}


@pytest.fixture(params=[(one, theme) for one in ("clinic", "evals") for theme in ("light", "dark")])
def views(request, open_page, until):
    """Every view in one theme, everything on it unfolded."""
    dataset, theme = request.param
    clinic, paths = request.getfixturevalue(dataset), VIEWS if dataset == "clinic" else SURPRISE
    page = open_page(clinic.url, theme=theme, go=False)

    def visited():
        for name, path in paths.items():
            page.set_viewport_size({"width": 1280, "height": 900})
            page.goto(clinic.url + path)
            _settled(page, until)
            yield name, page

    return visited


def test_every_view_is_for_everybody(views, until):
    for name, page in views():
        check_axe(name, page)
        check_headings(name, page)
        check_fits(name, page)
        for width in (768, 390, 360):
            page.set_viewport_size({"width": width, "height": 900})
            until(page, "document.documentElement.scrollWidth <= innerWidth")
            check_fits(name, page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_that_only_charts_use_stand_out_too(clinic, open_page, theme):
    """axe does not look into pictures: text there needs 4.5 to 1, shapes 3 to 1."""
    page = open_page(clinic.url, theme=theme)
    ratio = """([front, back]) => {
        const style = getComputedStyle(document.documentElement);
        const light = (name) => {
            const hex = style.getPropertyValue(name).trim();
            const parts = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
            const straight = (x) => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
            const [r, g, b] = parts.map(straight);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
        return (high + 0.05) / (low + 0.05);
    }"""
    for back in ("--ground", "--raised"):
        for text in ("--text", "--muted", "--holds-text", "--trouble-text"):
            assert page.evaluate(ratio, [text, back]) >= 4.5, (text, back)
        for shape in ("--holds", "--trouble", "--muted"):
            assert page.evaluate(ratio, [shape, back]) >= 3.0, (shape, back)


def test_the_tabulator_reaches_everything_and_the_first_stop_skips(clinic, open_page, until):
    page = open_page(f"{clinic.url}/ask?q=age%20%3E%203")
    _settled(page, until)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to main content"
    marked = "document.activeElement.dataset.reached = ''"
    stops = page.locator("a[href]:visible, button:enabled:visible, textarea, summary").count()
    for _ in range(stops + 4):
        page.evaluate(marked)
        page.keyboard.press("Tab")
    missed = page.evaluate(
        "[...document.querySelectorAll('a[href], button:enabled, textarea, summary')]"
        ".filter((one) => one.checkVisibility() && !('reached' in one.dataset))"
        ".map((one) => one.textContent)"
    )
    assert missed == []


def test_quotes_and_answers_are_spoken(clinic, open_page):
    page = open_page(f"{clinic.url}/ask?q=age%20%3E%203")
    assert page.locator("#quote").get_attribute("role") == "status"
    assert page.locator(".asking .detail").get_attribute("aria-live") == "polite"
    assert page.locator("#connection").get_attribute("role") == "status"


def test_reduced_motion_is_respected(clinic, open_page):
    page = open_page(clinic.url, reduced_motion="reduce")
    page.locator(".meter-spent").wait_for(state="attached")
    moving = (
        "[...document.querySelectorAll('*')].filter((one) => "
        "{ const style = getComputedStyle(one); return style.transitionDuration !== '0s'"
        " || style.animationName !== 'none'; }).length"
    )
    assert page.evaluate(moving) == 0
