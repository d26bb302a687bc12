"""Quote and ask: the cost before the button, refusals as they are, one charge a submission."""

from urllib.parse import parse_qs

from playwright.sync_api import expect

LONG = "city in ({})".format(
    ", ".join(f"'a town with a rather long name, number {n}'" for n in range(100))
)


def _button(page):
    return page.locator("form.asking button[type=submit]")


def test_the_cost_is_shown_before_and_nothing_is_charged_for_it(serve, open_page):
    server = serve()
    page = open_page(f"{server.url}/ask?q=")
    expect(_button(page)).to_be_disabled()
    page.get_by_label("Query").fill("histogram(bins(age, 0 to 100 by 10))")
    expect(_button(page)).to_have_text("Ask for 2 answers")
    expect(page.locator('[data-name="cost"]')).to_contain_text("the price of 2 fractions")
    quote = server.post("/v1/quote", {"query": "histogram(bins(age, 0 to 100 by 10))"})
    left, after = quote["answers_left"], quote["answers_left_after"]
    assert after < left - quote["price"]  # every cell counts
    expect(page.locator("#quote")).to_contain_text(f"{left:,} → {after:,} answers")
    assert server.get("/v1/status")["budget"]["spent"] == 0


def test_asking_spends_once_and_everything_follows(serve, open_page):
    server = serve()
    page, other = open_page(f"{server.url}/ask?q=age%20%3E%2065"), open_page(server.url)
    expect(other.locator('[data-name="answers"]')).to_have_text("0")
    _button(page).click()
    expect(page.locator(".detail .answer-line")).to_contain_text("±")
    [answer] = server.get("/v1/transcript")["answers"]
    assert answer["key"].startswith("page-")
    expect(page.locator("#answer-title")).to_have_text(f"Answer {answer['entry']}")
    expect(_button(page)).to_have_text("Show the recorded answer (free)")
    expect(other.locator('[data-name="answers"]')).to_have_text("1")
    assert server.get("/v1/status")["budget"]["spent"] == answer["charge"]
    _button(page).click()
    expect(page.locator(".detail")).to_contain_text("Recorded.")
    assert len(server.get("/v1/transcript")["answers"]) == 1


def test_a_submission_that_is_lost_is_tried_again_with_its_key(serve, open_page):
    """The answer is given, the way back fails: nobody is charged twice."""
    server = serve()
    page = open_page(f"{server.url}/ask?q=age%20%3E%2065")
    expect(_button(page)).to_have_text("Ask for 1 answer")
    keys = []

    def swallow(route):
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/ask", swallow)
    _button(page).click()
    expect(_button(page)).to_contain_text("Try again")
    expect(page.locator(".detail")).to_contain_text("Offline:")
    _button(page).click()
    expect(page.locator(".detail .answer-line")).to_contain_text("±")
    assert len(keys) == 2
    assert keys[0] == keys[1]
    assert len(server.get("/v1/transcript")["answers"]) == 1


def test_an_invalid_query_shows_where(clinic, open_page):
    page = open_page(f"{clinic.url}/ask?q=")
    page.get_by_label("Query").fill("city = 'Ørsta' and age > > 3")
    expect(page.locator("#quote")).to_contain_text("expected a value")
    expect(page.locator(".pointed mark")).to_have_text(">")
    expect(_button(page)).to_be_disabled()
    page.get_by_role("button", name="Go to character 26").click()
    selected = page.get_by_label("Query").evaluate("(e) => [e.selectionStart, e.selectionEnd]")
    assert selected == [25, 26]


def test_a_refusal_is_shown_as_it_is(serve, open_page):
    server = serve(count=200, queries=("age > 1", "age > 2"))
    quote = server.post("/v1/quote", {"query": "age > 3"})
    assert not quote["allowed"]
    page = open_page(f"{server.url}/ask?q=age%20%3E%203")
    expect(page.locator("#quote")).to_contain_text(quote["reason"])
    expect(_button(page)).to_be_disabled()


def test_a_refusal_of_the_ask_itself_is_shown_as_it_is(serve, open_page):
    """Quoted while there was room; somebody else was quicker."""
    server = serve(count=200, queries=("age > 1",))
    page = open_page(f"{server.url}/ask?q=age%20%3E%203")
    expect(_button(page)).to_have_text("Ask for 1 answer")
    page.route("**/v1/events", lambda route: route.abort())
    page.route("**/v1/quote", lambda route: route.abort())
    server.post("/v1/ask", {"query": "age > 2"})
    page.evaluate("document.querySelector('form.asking button[type=submit]').disabled = false")
    _button(page).click()
    expect(page.locator(".asking .detail")).to_contain_text("the budget is exhausted at round 200")
    assert len(server.get("/v1/transcript")["answers"]) == 2


def test_the_quote_follows_what_others_ask(serve, open_page):
    server = serve()
    page = open_page(f"{server.url}/ask?q=age%20%3E%203")
    left = server.post("/v1/quote", {"query": "age > 3"})["answers_left"]
    expect(page.locator("#quote")).to_contain_text(f"{left:,} →")
    server.post("/v1/ask", {"query": "age > 4"})
    expect(page.locator("#quote")).to_contain_text(f"{left - 1:,} →")


def test_the_query_and_the_round_are_in_the_address(clinic, open_page):
    page = open_page(f"{clinic.url}/ask?q=age%20%3E%203&round=500")
    expect(page.get_by_label("Query")).to_have_value("age > 3")
    expect(page.get_by_label("Round")).to_have_value("500")
    expect(page.locator("#quote")).to_contain_text("n = 500")
    page.get_by_label("Query").fill("bmi < 30")
    assert parse_qs(page.evaluate("location.search.slice(1)")) == {
        "q": ["bmi < 30"],
        "round": ["500"],
    }


def test_columns_and_examples_of_this_dataset_can_be_put_in(clinic, open_page):
    page = open_page(f"{clinic.url}/ask?q=")
    page.get_by_role("button", name="age int").click()
    expect(page.get_by_label("Query")).to_have_value("age")
    examples = page.locator(".help .chip:has(code)")
    assert examples.count() >= 2
    for example in examples.all():
        example.click()
        expect(_button(page)).to_be_enabled()


def test_a_query_of_thousands_of_characters_scrolls_nothing_sideways(serve, open_page, until):
    assert len(LONG) > 4000
    server = serve(queries=(LONG,))
    page = open_page(server.url, go=False)
    for path in ("/", "/transcript?entry=4", f"/ask?q={LONG}"):
        page.goto(server.url + path)
        page.locator("ol.answers li, #quote dl").first.wait_for()
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 900})
            until(page, "document.documentElement.scrollWidth <= innerWidth")


def test_a_number_is_no_page(clinic, open_page):
    """Text of a query is text, whatever it looks like."""
    page = open_page(f"{clinic.url}/ask?q=")
    page.get_by_label("Query").fill("city = '<img src=x onerror=alert(1)>' and")
    expect(page.locator(".pointed")).to_contain_text("<img src=x")
    assert page.locator("main img").count() == 0
