"""What the page shows as text is what the service sends: it rounds nothing by itself."""

import re
from pathlib import Path

import surehold

STATIC = Path(surehold.__file__).parent / "server" / "pages" / "static"


def test_every_kind_of_result_is_shown_as_the_service_writes_it(clinic, open_page):
    page = open_page(f"{clinic.url}/transcript")
    page.locator("ol.answers li").first.wait_for()
    results = clinic.get("/v1/transcript?limit=100")["answers"]
    assert {one["kind"] for one in results} == {"answer", "table", "estimate", "verdict", "choice"}
    for result in results:
        shown = page.locator(f'li[data-entry="{result["entry"]}"] .value').inner_text()
        texts = result["display"]
        parts = [texts["value"], texts.get("width"), texts.get("interval")]
        assert re.sub("^[▲✕■] ", "", shown) == " ".join(filter(None, parts))


def test_the_details_of_a_table_have_the_texts_of_its_cells(clinic, open_page):
    results = clinic.get("/v1/transcript?limit=100")["answers"]
    [table] = [one for one in results if one["kind"] == "table"]
    page = open_page(f"{clinic.url}/transcript?entry={table['entry']}")
    detail = page.locator(".detail")
    detail.get_by_text("As a table").click()
    assert [row.split("\t") for row in detail.locator("tbody tr").all_inner_texts()] == [
        [cell["label"], *text.split("  ")]
        for cell, text in zip(table["cells"], table["display"]["cells"], strict=True)
    ]


def test_no_script_rounds_a_result():
    """Sliders round what the user chooses; every other text comes from the service."""
    rounding = re.compile(r"toFixed|toPrecision|toExponential|Math\.(round|ceil|floor|log10)")
    found = {
        path.name: rounding.findall(path.read_text(encoding="utf-8"))
        for path in STATIC.glob("*.js")
    }
    drawing = {"explore.js", "charts.js", "transcript.js", "parts.js"}
    assert {name for name, calls in found.items() if calls} <= drawing
