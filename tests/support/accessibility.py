"""What holds for everybody on every view: axe finds nothing, and no text is clipped."""

from itertools import pairwise
from pathlib import Path

AXE = (Path(__file__).parents[1] / "pages" / "vendor" / "axe.min.js").read_text(encoding="utf-8")
CLIPPED = """() => {
    const style = (one) => getComputedStyle(one);
    const hides = (one) => ['hidden', 'clip'].includes(style(one).overflowX);
    const draw = document.createElement('canvas').getContext('2d');
    const wide = (one) => {
        draw.font = style(one).font;
        return draw.measureText(one.selectedOptions[0]?.text ?? '').width + 34 > one.clientWidth;
    };
    return [...document.querySelectorAll('main *, header *')].filter((one) => one.checkVisibility()
        && (one.tagName === 'SELECT' ? wide(one)
            : hides(one) && one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1
              && !one.closest('svg, input')))
        .map((one) => one.outerHTML.slice(0, 120));
}"""


def check_fits(name, page):
    """No text is clipped, in a list to choose from or where what overflows is hidden."""
    assert page.evaluate(CLIPPED) == [], name


def check_axe(name, page):
    page.evaluate(AXE)
    found = page.evaluate("axe.run()")
    found_by_rule = [
        (rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found["violations"]
    ]
    assert found_by_rule == [], name
    assert len(found["passes"]) > 15, name


def check_headings(name, page):
    headings = "[...document.querySelectorAll('main :is(h1,h2,h3,h4)')]"
    levels = page.evaluate(
        f"{headings}.filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1, name
    assert levels.count(1) == 1, name
    assert all(after <= before + 1 for before, after in pairwise(levels)), (name, levels)
    assert page.locator("html").get_attribute("lang") == "en"
