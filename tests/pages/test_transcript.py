"""The transcript: intervals, details by mouse and keyboard, pages, filters, all in the address."""

from urllib.parse import parse_qs, parse_qsl, urlsplit

from playwright.sync_api import expect


def _said(page):
    """What the address bar says now; the address that Playwright keeps comes later."""
    query = page.evaluate("location.search.slice(1)")
    return {name: value[0] for name, value in parse_qs(query).items()}


def test_the_list_is_the_json_twin_newest_first(clinic, open_page):
    page = open_page(f"{clinic.url}/transcript")
    page.locator("ol.answers li").first.wait_for()
    twin = page.locator('link[rel="alternate"]').get_attribute("href")
    answers = clinic.get(twin)["answers"]
    entries = [int(row.get_attribute("data-entry")) for row in page.locator("ol.answers li").all()]
    assert entries == [answer["entry"] for answer in answers] == sorted(entries, reverse=True)


def test_an_answer_is_chosen_by_mouse_and_by_keyboard_and_linked_to(clinic, open_page):
    page = open_page(f"{clinic.url}/transcript")
    links = page.locator("ol.answers a.asked")
    links.nth(1).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    heading = page.locator("#answer-title")
    chosen = links.nth(2).get_attribute("data-entry")
    expect(heading).to_have_text(f"Answer {chosen}")
    expect(heading).to_be_focused()
    assert _said(page) == {"entry": chosen}
    expect(links.nth(2)).to_have_attribute("aria-current", "true")
    again = open_page(page.evaluate("location.href"))
    expect(again.locator("#answer-title")).to_have_text(f"Answer {chosen}")
    page.go_back()
    expect(heading).to_be_hidden()


def test_details_are_those_of_the_entry(clinic, open_page):
    mean = next(
        answer
        for answer in clinic.get("/v1/transcript")["answers"]
        if answer["query"].startswith("mean")
    )
    page = open_page(f"{clinic.url}/transcript?entry={mean['entry']}")
    detail = page.locator(".detail")
    expect(detail).to_contain_text("mean(bmi, 0, 50)")
    expect(detail).to_contain_text(f"{mean['round']:,} records")
    expect(detail).to_contain_text("with probability 90%")
    expect(detail).to_contain_text(mean["certificate"])
    detail.get_by_role("link", name="Everything about this answer").click()
    expect(page.locator("h1")).to_have_text("mean(bmi, 0, 50)")
    expect(page.locator(".detail")).to_contain_text(mean["certificate"])
    twin = page.locator('link[rel="alternate"]').get_attribute("href")
    assert clinic.get(twin) == mean


def test_what_follows_links_to_what_it_follows_from(clinic, open_page):
    rate = next(
        answer
        for answer in clinic.get("/v1/transcript")["answers"]
        if answer["query"].startswith("rate")
    )
    page = open_page(f"{clinic.url}/transcript?entry={rate['entry']}")
    page.get_by_role("link", name=f"answer {rate['parts'][0]}", exact=True).click()
    expect(page.locator("#answer-title")).to_have_text(f"Answer {rate['parts'][0]}")


def test_its_question_over_time_leads_to_the_other_answers(clinic, open_page):
    """Asked at 1,000 records and at 1,010; what was asked once has no picture."""
    answers = clinic.get("/v1/transcript")["answers"]
    first, second = (a["entry"] for a in answers if a["query"] == "fraction(age > 65)")
    page = open_page(f"{clinic.url}/transcript?entry={first}")
    chart = page.get_by_role("img", name="2 answers over the number of records")
    box = chart.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 20, box["y"] + 80)
    expect(page.locator("#answer-title")).to_have_text(f"Answer {second}")
    once = next(a for a in answers if a["query"].startswith("fraction(city"))
    page = open_page(f"{clinic.url}/transcript?entry={once['entry']}")
    expect(page.locator("#answer-title")).to_have_text(f"Answer {once['entry']}")
    expect(page.locator(".detail figure")).to_have_count(0)


def test_an_entry_that_is_not_there(clinic, open_page):
    page = open_page(f"{clinic.url}/transcript?entry=1")
    expect(page.locator(".detail")).to_contain_text("There is no such answer.")


def test_filters_are_in_the_address_and_come_back(clinic, open_page):
    page = open_page(f"{clinic.url}/transcript")
    page.get_by_label("Query contains").fill("bmi")
    rows = page.locator("ol.answers li")
    expect(rows).to_have_count(2)
    assert _said(page) == {"contains": "bmi"}
    page.get_by_label("Round", exact=True).fill("1000")
    expect(rows).to_have_count(1)
    again = open_page(page.evaluate("location.href"))
    expect(again.locator("ol.answers li")).to_have_count(1)
    expect(again.get_by_label("Query contains")).to_have_value("bmi")
    mira = open_page(f"{clinic.url}/transcript?analyst=mira")
    expect(mira.locator("ol.answers li")).to_have_count(1)
    page.get_by_label("Analyst").fill("nobody")
    expect(page.get_by_text("No matching answers.")).to_be_visible()


def test_pages_hold_each_answer_once(serve, open_page):
    asked = tuple(f"age > {number / 2}" for number in range(120))
    server = serve(queries=asked)
    page = open_page(f"{server.url}/transcript")
    rows, seen = page.locator("ol.answers li"), []
    for count in (50, 50, 20):
        expect(rows).to_have_count(count)
        seen += [row.get_attribute("data-entry") for row in rows.all()]
        older = page.get_by_role("link", name="Older")
        if count == 50:
            older.click()
            expect(rows.first).not_to_have_attribute("data-entry", seen[-50])
    expect(older).to_have_count(0)
    assert len(set(seen)) == 120
    page.get_by_role("link", name="Newer").click()
    expect(rows).to_have_count(50)
    assert [row.get_attribute("data-entry") for row in rows.all()] == seen[50:100]
    page.get_by_role("link", name="Newest").click()
    expect(rows.first).to_have_attribute("data-entry", seen[0])


def test_ten_thousand_answers_take_no_more_room_than_fifty(clinic, open_page):
    """Made of one answer; the service's pages are another test's matter."""
    [answer] = clinic.get("/v1/transcript?limit=1")["answers"]

    def page_of(route):
        wanted = dict(parse_qsl(urlsplit(route.request.url).query))
        above = int(wanted.get("before", 10_001))
        entries = range(above - 1, above - 1 - int(wanted["limit"]), -1)
        answers = [{**answer, "entry": entry} for entry in entries]
        route.fulfill(json={"answers": answers, "next": entries[-1], "total": 10_000})

    page = open_page(clinic.url, go=False)
    page.route("**/v1/transcript?*", page_of)
    page.goto(f"{clinic.url}/transcript")
    browser = page.context.new_cdp_session(page)
    browser.send("Performance.enable")

    def room():
        browser.send("HeapProfiler.collectGarbage")
        found = browser.send("Performance.getMetrics")["metrics"]
        named = {one["name"]: one["value"] for one in found}
        return named["JSHeapUsedSize"], named["Nodes"]

    def turn(pages, first):
        for turned in range(pages):
            shown = page.locator("ol.answers a.asked").first
            expect(shown).to_have_attribute("data-entry", str(first - 50 * turned))
            page.get_by_role("link", name="Older").click()

    turn(10, 10_000)
    heap, nodes = room()
    turn(40, 9_500)
    after, nodes_after = room()
    assert page.locator("ol.answers li").count() == 50
    assert nodes_after < 1.2 * nodes
    assert after < heap + 2e6
