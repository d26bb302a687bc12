"""The overview: numbers equal to its JSON twin, live, and right when there is nothing yet."""

import pytest
from playwright.sync_api import expect

import surehold as sh
from support.runtime import records


def _shown(page, name):
    return page.locator(f'[data-name="{name}"]').inner_text()


def test_numbers_are_those_of_the_json_twin(clinic, open_page):
    page = open_page(clinic.url)
    page.get_by_role("heading", name="Answers so far").wait_for()
    twin = page.locator('link[rel="alternate"]').get_attribute("href")
    assert twin == "/v1/status"
    status, outlook = clinic.get(twin), clinic.get("/v1/outlook")
    assert _shown(page, "answers") == f"{status['answers']:,}"
    assert _shown(page, "n") == f"{status['n']:,}"
    spent = 100 * status["budget"]["spent"] / status["budget"]["total"]
    assert spent <= float(_shown(page, "spent").rstrip("%")) < spent + 0.1 + 1e-9
    left = 100 - spent
    assert left - 0.1 - 1e-9 < float(_shown(page, "left").rstrip("%")) <= left
    assert _shown(page, "buys-now") == f"{outlook['now']['answers']:,}"
    assert _shown(page, "buys-evenly") == f"{outlook['evenly']['answers']:,}"
    expect(page.locator(".buys").first).to_contain_text(
        f"up to {outlook['evenly']['answers']:,} as records"
    )
    assert _shown(page, "buys-at-the-end") == f"{outlook['at_end']['answers']:,}"
    expect(page.locator("main")).to_contain_text("With probability 90%, every answer")
    expect(page.locator("main")).to_contain_text("other ratio within the interval shown with it")


def test_every_chart_has_a_label_and_a_table(clinic, open_page):
    page = open_page(clinic.url)
    growth, budget = (
        page.get_by_role("img", name="Data growth").first,
        page.locator(".charts figure").nth(1),
    )
    growth.wait_for()
    figures = page.locator(".charts figure")
    assert figures.count() == 2
    points = clinic.get("/v1/growth")["growth"]
    figures.first.get_by_text("As a table").click()
    assert figures.first.locator("tbody tr").count() == len(points)
    assert f"{points[-1]['n']:,}" in figures.first.locator("tbody tr").last.inner_text()
    rounds = clinic.get("/v1/rounds")["rounds"]
    budget.get_by_text("As a table").click()
    assert [row.split()[0] for row in budget.locator("tbody tr").all_inner_texts()] == [
        f"{given['round']:,}" for given in rounds
    ]


HOSTILE = "<img src=x onerror=alert(1)> & 'quotes'"
DASHBOARD = sh.Dashboard.of(
    [
        {"name": "older", "question": "age > 50", "unit": "%", "gate": ">= 10 %"},
        {"name": HOSTILE, "question": "mean(bmi, 0, 50)", "unit": "kg/m²", "gate": "<= 1"},
    ]
)


@pytest.mark.parametrize("guard", ["noise", "surprise"])
def test_the_dashboard(serve, open_page, guard):
    """Every question on an axis of its own, by its name, in its unit, with its gate."""

    def watch(dataset):
        session = dataset.session("ann")
        session.register(DASHBOARD)
        session.watch()
        dataset.append(records(1500, 1800))
        session.watch()

    server = serve(count=1500, prepare=watch, guard=guard)
    page = open_page(server.url)
    figures = page.locator(".multiples figure")
    expect(figures).to_have_count(2)
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    for figure, history in zip(
        figures.all(), server.get("/v1/histories")["histories"], strict=True
    ):
        expect(figure.locator("h3")).to_have_text(history["title"])
        expect(figure.locator("figcaption")).to_contain_text(history["display"]["values"][-1])
        expect(figure.locator("figcaption")).to_contain_text(history["points"][-1]["verdict"])
        expect(figure.locator("svg")).to_contain_text(history["display"]["gate"])
        figure.get_by_text("As a table").click()
        rows = figure.locator("tbody tr").all_inner_texts()
        assert [row.split()[0] for row in rows] == ["1,500", "1,800"]
    named = page.get_by_role("link", name=HOSTILE)  # its words, and no element
    expect(named).to_have_count(2)
    named.first.click()
    expect(page.locator(".detail .title")).to_have_text(HOSTILE)
    page.get_by_label("Query contains").fill("older")
    expect(page.locator("ol.answers li")).to_have_count(2)


def test_without_names_the_questions_asked_most_often(clinic, open_page):
    page = open_page(clinic.url)
    expect(page.get_by_role("heading", name="Questions asked most often")).to_be_visible()
    histories = clinic.get("/v1/histories")["histories"]
    expect(page.locator(".multiples figure")).to_have_count(len(histories))
    assert len(histories) >= 3


def test_what_others_ask_and_append_appears_by_itself(serve, open_page):
    server = serve(queries=("age > 65",))
    page = open_page(server.url)
    expect(page.locator('[data-name="answers"]')).to_have_text("1")
    expect(page.locator("#connection")).to_have_text("live")
    server.post("/v1/ask", {"query": "age > 20"})
    expect(page.locator('[data-name="answers"]')).to_have_text("2")
    expect(page.locator("ol.answers li")).to_have_count(2)
    assert "age > 20" in page.locator("ol.answers li").first.inner_text()


def test_no_records_yet(serve, open_page):
    page = open_page(serve(count=0).url)
    expect(page.locator(".notice")).to_contain_text("No records yet.")
    expect(page.get_by_text("No answers yet.")).to_be_visible()


def test_not_ready(serve, open_page):
    page = open_page(serve(count=50).url)
    expect(page.locator(".notice")).to_contain_text("Not ready.")
    expect(page.locator(".notice")).to_contain_text("200")


def test_exhausted(serve, open_page):
    def spend(dataset):
        session, number = dataset.session(), 0
        try:
            while True:
                session.ask(f"age > {number}")
                number += 1
        except sh.errors.BudgetExhausted:
            pass

    page = open_page(serve(count=200, prepare=spend).url)
    expect(page.locator(".notice")).to_contain_text("Budget exhausted")
    assert _shown(page, "buys-now") == "0"


def test_the_theme_is_remembered(clinic, open_page):
    page = open_page(clinic.url, theme="light")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Switch to dark colours").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")
    assert open_page(clinic.url, theme="dark").locator("html").get_attribute("data-theme") == "dark"
