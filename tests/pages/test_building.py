"""Asking without the language: the builder, completion, and an answer that replaces the quote."""

import json
import re

import polars as pl
import pytest
from playwright.sync_api import expect

import surehold as sh
from support.accessibility import check_fits
from support.service import served
from support.small_models import ONE
from surehold.queries.calls import BUILDERS
from surehold.queries.query_text import READERS
from surehold.server.tokens import TokenBook


def _button(page):
    return page.locator("form.asking button[type=submit]")


def _preview(page):
    return page.locator(".preview code")


@pytest.mark.parametrize(
    ("guard", "theme", "width"),
    [("surprise", "light", 1280), ("surprise", "dark", 390), ("noise", "light", 390)],
)
def test_a_newcomer_asks_a_gate_and_exports_it(serve, open_page, guard, theme, width):
    """Without a word of the language, and without the docs: docs/how-to/use-the-page.md."""
    tokens = []

    def invite(dataset):
        book = TokenBook(dataset.path, guard=dataset.guard)
        tokens.append(book.create("nina", "analyst", seconds=3600)[1])

    page = open_page(serve(guard=guard, prepare=invite).url, theme=theme, width=width)
    page.get_by_label("Token").fill(tokens[0])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Ask a question").click()
    page.get_by_label("Column").select_option("age")
    page.get_by_label("Comparison").select_option("is more than")
    page.get_by_label("Value").fill("40")
    page.get_by_label("Compare with").select_option("a limit: is it at least …")
    page.get_by_label("Limit").fill("0.2")
    expect(_preview(page)).to_have_text("gate(age > 40, at_least, 0.2)")
    expect(_button(page)).to_be_enabled()
    check_fits("ask", page)
    _button(page).click()
    expect(page.locator(".asking .detail .answer-line")).to_contain_text("pass")
    expect(page.locator("#quote")).to_be_hidden()
    page.get_by_role("link", name="Transcript").click()
    for kind, read in (("CSV", lambda path: pl.read_csv(path).to_dicts()), ("JSON", _answers)):
        with page.expect_download() as got:
            page.get_by_role("button", name=kind, exact=True).click()
        answer = read(got.value.path())[0]
        assert answer["round"] == 2000
        assert "gate" in answer["query"]


def _answers(path):
    return json.loads(path.read_text())["answers"]


def test_groups_are_compared(clinic, open_page):
    page = open_page(f"{clinic.url}/ask")
    page.get_by_label("I want to know").select_option("the average of a number")
    page.get_by_label("Number").select_option("bmi")
    page.get_by_label("To", exact=True).fill("50")
    expect(_preview(page)).to_have_text("mean(bmi, 0, 50)")
    page.get_by_label("Among").select_option("only records where …")
    page.get_by_label("Column").select_option("city")
    page.get_by_label("Value").fill("St. John's")
    expect(_preview(page)).to_have_text("rate(bmi, city = 'St. John''s', 0, 50)")
    page.get_by_label("Compare with").select_option("another group")
    page.get_by_label("Column").nth(1).select_option("age")
    page.get_by_label("Value").nth(1).fill("30")
    expect(_preview(page)).to_have_text(
        "difference(rate(bmi, city = 'St. John''s', 0, 50), rate(bmi, age = 30, 0, 50))"
    )
    expect(_button(page)).to_be_enabled()
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_label("Query")).to_have_value(re.compile("^difference"))
    page.get_by_role("link", name="Home").click()
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.get_by_label("Query")).to_be_visible()  # how one likes to ask is remembered


def test_predictions_and_models_are_uploaded_scored_compared_and_chosen(tmp_path, open_page):
    """The service writes a metric down as a question, and the form asks that by names."""
    rows = [{"who": i, "label": i % 3 == 0, "age": i, "bmi": 1.0} for i in range(600)]
    columns = {"who": "int", "label": "bool", "age": "int", "bmi": "float"}
    with sh.create(tmp_path / "evals", beta=0.05, columns=columns, id="who") as dataset:
        dataset.append(rows)
        dataset.session().keep_table(_predictions(rows, 7), "run-1")
    with served(tmp_path / "evals") as url:
        page = open_page(f"{url}/ask")
        asked = page.get_by_label("I want to know")
        lines = ["who,label", *(f"{one['who']},{one['label']}" for one in _predictions(rows, 20))]
        _upload(page, "run-2.csv", "\n".join(lines).lower().encode())
        expect(page.get_by_text("Uploaded as run-2.")).to_be_visible()
        expect(asked).to_have_value("score")
        page.get_by_label("Predictions or model").select_option("run-2")
        page.get_by_label("True value").select_option("label")
        page.get_by_label("Compare with").select_option("a limit: is it at least …")
        page.get_by_label("Limit").fill("0.8")
        expect(_preview(page)).to_have_text(re.compile(r"^gate\(.*run-2.*, at_least, 0\.8\)$"))
        _button(page).click()
        expect(page.locator(".asking .detail .answer-line")).to_contain_text("pass")
        asked.select_option("how much better new predictions are than old ones")
        page.get_by_label("Compare with").select_option("nothing")
        page.get_by_label("New predictions").select_option("run-2")
        page.get_by_label("Old predictions").select_option("run-1")
        expect(_preview(page)).to_have_text(
            'difference("run-2".label = label, "run-1".label = label)'
        )
        _button(page).click()
        expect(page.locator(".asking .detail .answer-line")).to_contain_text("0.")
        asked.select_option("which predictions are best")
        expect(_preview(page)).to_have_text(re.compile(r"^select\(highest, 16, .*run-1.*run-2"))
        _button(page).click()
        expect(page.locator(".asking .detail .answer-line")).to_contain_text("run-2")
        _upload(page, "net.onnx", ONE)
        page.get_by_label("Predictions or model").select_option("model net")
        expect(_preview(page)).to_have_text(
            re.compile(r"^accuracy\('onnx:\w+', label in \(false, true\), age, bmi\)$")
        )
        expect(_button(page)).to_be_enabled()
        _upload(page, "notes.txt", b"no predictions")
        expect(page.locator(".upload .notice")).to_contain_text("Unknown format.")


def _predictions(rows, wrong):
    return [{"who": one["who"], "label": one["label"] ^ (one["who"] % wrong == 1)} for one in rows]


def _upload(page, name, content):
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    page.get_by_label("Upload predictions or a model").set_input_files([file])


def test_tables_and_selections_are_built(clinic, open_page):
    page = open_page(f"{clinic.url}/ask")
    asked = page.get_by_label("I want to know")
    asked.focus()
    asked.select_option("how records are spread over the values of a column")
    expect(asked).to_be_focused()
    page.get_by_label("Grouped by").select_option("age")
    page.get_by_label("Steps of").fill("25")
    expect(_preview(page)).to_have_text("histogram(bins(age, 0 to 100 by 25))")
    asked.select_option("the average of a number in each group")
    page.get_by_label("Number").select_option("bmi")
    page.get_by_label("Grouped by").select_option("city")
    page.get_by_label("Values, separated").fill("Oslo, St. John's")
    expect(_preview(page)).to_have_text("means(bmi, 0, 100, city in ('Oslo', 'St. John''s'))")
    asked.select_option("which of several conditions is met most often")
    page.get_by_role("button", name="Another candidate").click()
    for i, (column, value) in enumerate((("age", "20"), ("bmi", "30"), ("age", "50"))):
        page.get_by_label("Column").nth(i).select_option(column)
        page.get_by_label("Comparison").nth(i).select_option("is at least")
        page.get_by_label("Value").nth(i).fill(value)
    page.get_by_label("Price").fill("4")
    expect(_preview(page)).to_have_text("select(highest, 4, age >= 20, bmi >= 30, age >= 50)")
    expect(_button(page)).to_have_text("Ask for 4 answers")


def test_words_are_completed_by_keyboard(clinic, open_page):
    page = open_page(f"{clinic.url}/ask?q=")
    query = page.get_by_label("Query")
    query.press_sequentially("ag")
    expect(page.get_by_role("option")).to_have_count(1)
    query.press("ArrowDown")
    expect(page.get_by_role("option", selected=True)).to_contain_text("age")
    query.press("Enter")
    expect(query).to_have_value("age")
    expect(page.get_by_role("listbox")).to_be_hidden()
    query.press_sequentially(" > 3 and lo")
    query.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    query.fill("hist")
    page.get_by_role("option").first.click()
    expect(query).to_have_value("histogram(")


def test_an_old_answer_does_not_stay_under_a_new_question(serve, open_page):
    server = serve()
    page = open_page(f"{server.url}/ask?q=age%20%3E%2065")
    _button(page).click()
    expect(page.locator(".detail .answer-line")).to_contain_text("±")
    page.get_by_role("textbox", name="Query").fill("age > 66")
    expect(page.locator(".detail .answer-line")).to_have_count(0)
    expect(page.locator("#quote")).to_be_visible()


def test_every_function_that_is_completed_is_one_of_the_language(clinic, open_page):
    page = open_page(f"{clinic.url}/ask?q=")
    names = page.evaluate("import('/static/language.js').then((it) => Object.keys(it.FUNCTIONS))")
    assert set(names) <= READERS.keys() | BUILDERS.keys()
    plain = {"fraction", "mean", "rate", "difference", "gate", "histogram", "means", "select"}
    assert plain <= set(names)


def test_every_example_can_be_asked(clinic, evals, open_page):
    for dataset in (clinic, evals):
        page = open_page(f"{dataset.url}/ask?q=")
        page.locator(".help .chip:has(code)").nth(1).wait_for()
        for text in page.locator(".help .chip:has(code)").all_inner_texts():
            assert dataset.post("/v1/quote", {"query": text})["round"] == 1010


def test_an_address_that_leads_nowhere_is_a_page(clinic, open_page):
    page = open_page(clinic.url, go=False)
    response = page.goto(f"{clinic.url}/nowhere")
    assert response.status == 404
    expect(page.locator("h1")).to_have_text("There is no such page")
    page.get_by_role("main").get_by_role("link", name="Ask").click()
    expect(page.locator("h1")).to_have_text("Ask")
