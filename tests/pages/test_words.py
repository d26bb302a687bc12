"""What the page shows as text is what the service sends: it rounds nothing by itself."""

import re
from pathlib import Path

import pytest

import surehold

STATIC = Path(surehold.__file__).parent / "server" / "pages" / "static"


KINDS = {
    "clinic": {"answer", "table", "estimate", "verdict", "choice"},
    "evals": {"number", "decision", "ladder", "selection", "shares"},
}


@pytest.mark.parametrize("dataset", KINDS)
def test_every_kind_of_result_is_shown_as_the_service_writes_it(request, dataset, open_page):
    clinic = request.getfixturevalue(dataset)
    page = open_page(f"{clinic.url}/transcript")
    page.locator("ol.answers li").first.wait_for()
    results = clinic.get("/v1/transcript?limit=100")["answers"]
    assert {one["kind"] for one in results} == KINDS[dataset]
    for result in results:
        shown = page.locator(f'li[data-entry="{result["entry"]}"] .value').inner_text()
        texts = result["display"]
        parts = [texts["value"], texts.get("width"), texts.get("interval")]
        assert re.sub("^[▲✕■] ", "", shown) == " ".join(filter(None, parts))


@pytest.mark.parametrize("dataset", KINDS)
def test_the_details_of_a_table_have_the_texts_of_its_cells(request, dataset, open_page):
    clinic = request.getfixturevalue(dataset)
    results = clinic.get("/v1/transcript?limit=100")["answers"]
    [table] = [one for one in results if "cells" in one]
    page = open_page(f"{clinic.url}/transcript?entry={table['entry']}")
    detail = page.locator(".detail")
    detail.get_by_text("As a table").click()
    assert [row.split("\t") for row in detail.locator("tbody tr").all_inner_texts()] == [
        [cell["label"], *text.split("  ")]
        for cell, text in zip(table["cells"], table["display"]["cells"], strict=True)
    ]


# Scripts may round pixels, and what the user chooses with a slider. Every other text comes from the
# service.
ROUNDING = re.compile(r"toFixed|toPrecision|toExponential|Math\.(round|ceil|floor|trunc|log10)")
PIXELS_AND_SLIDERS = re.compile(
    r"ticks: Math\.max\(2, Math\.floor\(wide / \d+\)\)"
    r"|const room = Math\.floor\(entry\.contentRect\.width\)"
    r"|const fits = Math\.floor\(\(left - 16\) / 7\)"
    r"|const at = Math\.round\(picture\.scale\(\"x\"\)\.invert\("
    r"|const rounded = Number\(value\.toPrecision\(field\.whole "
    r"|return field\.whole \? Math\.max\(Math\.round\(rounded\), 1\)"
    r"|return Math\.round\(\(STEPS \* Math\.log\(value / field\.low\)\)"
)


def rounding_in(script):
    return [
        line for line in script.splitlines() if ROUNDING.search(PIXELS_AND_SLIDERS.sub("", line))
    ]


def test_no_script_rounds_a_result():
    scripts = {path.name: path.read_text(encoding="utf-8") for path in STATIC.glob("*.js")}
    assert {"charts.js", "explore.js", "parts.js", "transcript.js"} <= scripts.keys()
    assert {name: found for name, text in scripts.items() if (found := rounding_in(text))} == {}


def test_the_scan_can_fail():
    assert rounding_in("text: `± ${answer.width.toFixed(3)}`") != []
    assert rounding_in("ticks: Math.max(2, Math.floor(wide / 90)), text: Math.round(share)") != []
