"""When the service is away: said, tried again, and all there when it is back."""

from playwright.sync_api import expect


def test_a_lost_connection_is_shown_and_comes_back(serve, open_page):
    server = serve(queries=("age > 1",))
    page = open_page(server.url)
    state = page.locator("#connection")
    expect(state).to_have_text("live")
    page.context.set_offline(True)
    expect(state).to_contain_text("offline, reconnecting")
    server.post("/v1/ask", {"query": "age > 2"})
    expect(page.locator('[data-name="answers"]')).to_have_text("1")
    page.context.set_offline(False)
    expect(state).to_have_text("live")
    expect(page.locator('[data-name="answers"]')).to_have_text("2")


def test_what_failed_meanwhile_mends_itself(clinic, open_page):
    for path, gate, healed in (
        ("/transcript", "**/v1/transcript*", "ol.answers li"),
        ("/explore", "**/v1/compare*", ".comparison svg"),
        ("/ask?q=age%20%3E%203", "**/v1/quote", "#quote dl"),
    ):
        page = open_page(clinic.url, go=False)
        page.route(gate, lambda route: route.abort())
        page.goto(clinic.url + path)
        expect(page.locator(".notice")).to_contain_text("cannot reach the service")
        expect(page.locator("#connection")).to_have_text("live")
        page.context.set_offline(True)
        expect(page.locator("#connection")).to_have_text("offline, reconnecting")
        page.unroute(gate)
        page.context.set_offline(False)
        page.locator(healed).first.wait_for()
        expect(page.locator(".notice")).to_have_count(0)


def test_a_page_without_its_service_says_so_and_starts_when_it_is_there(clinic, open_page):
    page = open_page(clinic.url, go=False)
    page.route("**/v1/**", lambda route: route.abort())
    page.goto(clinic.url)
    expect(page.locator(".notice")).to_contain_text("cannot reach the service")
    page.unroute("**/v1/**")
    expect(page.get_by_role("heading", name="Answers so far")).to_be_visible()


def test_a_slow_service_is_waited_for_and_errors_in_between_are_shown(clinic, open_page):
    page = open_page(clinic.url, go=False)
    page.route("**/v1/outlook", lambda route: route.fulfill(status=500, body="oh"))
    page.goto(clinic.url)
    expect(page.locator(".notice")).to_contain_text("the service responded with status 500")
    page.unroute("**/v1/outlook")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Answers so far")).to_be_visible()
