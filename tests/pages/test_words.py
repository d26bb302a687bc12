"""The page writes numbers and results exactly as the library does."""

import random

from surehold import formatting
from surehold.session.results import shown_interval


def _numbers(seed, count):
    chance = random.Random(seed)
    plain = [0.1, 0.5, 1.0, 0.25, 0.3, 1e-7, 123456.789, 0.0999999, 0.95, 1e-12]
    return plain + [10.0 ** chance.uniform(-9, 6) for _ in range(count)]


def _on_page(page, call, given):
    """What a function of the page's own modules gives for each of these arguments."""
    return page.evaluate(
        """async ([module, name, given]) => {
            const found = (await import(module))[name];
            return given.map((one) => found(...one));
        }""",
        [*call, given],
    )


def test_numbers_are_written_as_the_library_writes_them(clinic, open_page):
    page = open_page(clinic.url)
    numbers = _numbers(1, 1500)
    signed = [0.0, -0.0, *(number * side for number in numbers for side in (1, -1))]
    places = [number % 7 for number in range(len(signed))]
    ends = [[x, d, up] for x, d in zip(signed, places, strict=True) for up in (True, False)]
    module = "/static/formatting.js"
    assert _on_page(page, (module, "fixed"), ends) == [
        formatting.fixed(float(x), d, up=up) for x, d, up in ends
    ]
    assert _on_page(page, (module, "width"), [[x] for x in numbers]) == [
        formatting.width(float(x)) for x in numbers
    ]
    betas = [0.05, 0.1, 0.001, 1e-6, 0.5, 0.0123, 0.3]
    assert _on_page(page, (module, "percent"), [[x] for x in betas]) == [
        formatting.percent(beta) for beta in betas
    ]
    counts = [0, 7, 999, 1000, 1059740, 10**15]
    assert _on_page(page, (module, "count"), [[x] for x in counts]) == [
        formatting.count(number) for number in counts
    ]
    nouns = [[1, "answer"], [2, "entry"], [20000, "record"]]
    assert _on_page(page, (module, "several"), nouns) == [formatting.several(*one) for one in nouns]


def test_shares_are_rounded_to_the_safe_side(clinic, open_page):
    page = open_page(clinic.url)
    module = "/static/formatting.js"
    left = [[0.99999, 1], [1, 1], [0, 1], [0.0001, 1], [0.3, 1]]
    assert _on_page(page, (module, "shareLeft"), left) == [
        "99.9%",
        "100%",
        "0%",
        "below 0.1%",
        "30%",
    ]
    spent = [[0.00001, 1], [1, 1], [0, 1], [0.30001, 1], [0.3, 1]]
    assert _on_page(page, (module, "shareSpent"), spent) == ["0.001%", "100%", "0%", "30.1%", "30%"]


def test_every_kind_of_result_says_its_value_and_its_interval(clinic, open_page):
    page = open_page(clinic.url)
    results = clinic.get("/v1/transcript?limit=100")["answers"]
    kinds = _on_page(page, ("/static/rendering.js", "kindOf"), [[one] for one in results])
    assert {"answer", "table", "estimate", "verdict", "choice"} == set(kinds)
    lines = _on_page(page, ("/static/rendering.js", "line"), [[one] for one in results])
    for result, kind, line in zip(results, kinds, lines, strict=True):
        if kind == "answer":
            digits = len(line.split()[0].partition(".")[2])
            width = formatting.fixed(result["width"], digits, up=True)
            ends = shown_interval(tuple(result["interval"]), digits)
            assert line == f"{formatting.plain(result['value'], digits)} ± {width} {ends}"
        if kind == "verdict":
            assert line.startswith(f"{result['verdict']}: ")
        if kind == "table":
            assert line.startswith(f"{len(result['cells'])} cells")
