"""A real browser, a real service, and a watch over every page: no error, no other host."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    expect,
    sync_playwright,
)

import surehold as sh
from support.runtime import made
from support.service import served
from surehold.planning import Plan

PATIENT = 60_000  # ms: on a busy machine things take their time, and nothing waits in vain
expect.set_options(timeout=PATIENT)
NAMES = ("chromium", "chromium-browser", "google-chrome")
QUERIES = (
    "age > 65",
    "mean(bmi, 0, 50)",
    "city = 'Oslo' and age < 30",
    "histogram(bins(age, 0 to 100 by 10))",
    "rate(age > 50, city = 'Oslo')",
    "gate(age > 1, at_least, 0.5)",
    "gate(age > 1, at_most, 0.5)",
)


def chromium_of(playwright: Playwright) -> str:
    """Where a browser is, Playwright's own if need be; without one these tests say so."""
    named = os.environ.get("SUREHOLD_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, NAMES)), None)
    found = found or playwright.chromium.executable_path
    if not Path(found).exists():
        pytest.fail(
            "tests of the page need a browser, and there is no chromium, chromium-browser or "
            "google-chrome on the path: install one (Debian: apt install chromium), or say where "
            "it is in SUREHOLD_CHROMIUM"
        )
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each file: while it is there its event loop runs, and nobody else's can."""
    with sync_playwright() as playwright:
        found = chromium_of(playwright)
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@dataclass(frozen=True)
class Server:
    """A running service; what it is asked here comes from another client than the page."""

    url: str
    token: str | None = None

    def get(self, path: str) -> Any:
        return self._send(Request(self.url + path))

    def post(self, path: str, body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        return self._send(Request(self.url + path, json.dumps(body).encode(), headers))

    def _send(self, request: Request) -> Any:
        if self.token is not None:
            request.add_header("Authorization", f"Bearer {self.token}")
        with urlopen(request, timeout=120) as response:
            return json.load(response)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Serve a new dataset: so many records, and these questions asked beforehand."""
    running = []

    def start(
        count: int = 2000,
        queries: tuple[str, ...] = (),
        plan: Plan | None = None,
        prepare: Callable[[sh.Dataset], None] | None = None,
        token: str | None = None,
        guard: str = "noise",
    ) -> Server:
        path = tmp_path / f"clinic{len(running)}"
        with made(path, plan, count=count, guard=guard) as dataset:
            session = dataset.session("growth-team")
            for query in queries:
                session.ask(query)
            if prepare is not None:
                prepare(dataset)
        context = served(path)
        running.append(context)
        return Server(context.__enter__(), token)

    yield start
    for context in reversed(running):
        context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A dataset with answers of many kinds, for tests that only look."""
    path = tmp_path_factory.mktemp("pages") / "clinic"
    with made(path, count=1000) as dataset:
        session = dataset.session("growth-team")
        for query in QUERIES[:2]:
            session.ask(query)
        dataset.append([{"age": 99, "bmi": 20.0, "city": "Oslo"}] * 10)
        for query in QUERIES:
            session.ask(query)
        dataset.session("mira").ask(sh.select(["age > 3", "age > 50"], price=4))
    with served(path) as url:
        yield Server(url)


@pytest.fixture(scope="module")
def evals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same with the surprise guard, and outcomes of every kind."""
    path = tmp_path_factory.mktemp("pages") / "evals"
    with made(path, count=1000, guard="surprise") as dataset:
        session = dataset.session("growth-team")
        session.register(["age > 30"])
        session.ask("age > 65")
        session.ask("bmi > 20", expect=0.6, within=0.02)
        dataset.append([{"age": 99, "bmi": 20.0, "city": "Oslo"}] * 10)
        for query in QUERIES:
            session.ask(query)
        mira = dataset.session("mira")
        mira.ask("mean(bmi, 0, 40)", expect=5, within=1)
        mira.ask("difference(age > 5, age > 6)", expect="no", within=0.05)
        mira.ask("difference(age > 5, age > 60)")
        mira.ask("rate(age > 5, age > 500)")
        mira.ask(sh.select(["age > 3", "age > 50"]))
    with served(path) as url:
        yield Server(url)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open a page in a fresh profile; when the test is over nothing may have gone wrong on it.

    With ``go=False`` the page is blank still, so that routes can be laid first.
    """
    contexts: list[BrowserContext] = []
    troubles: list[str] = []

    def opened(
        url: str, *, width: int = 1280, theme: str = "light", go: bool = True, **options: Any
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, **options
        )
        context.set_default_timeout(PATIENT)
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(
            "addEventListener('securitypolicyviolation',"
            " (event) => console.error(`CSP ${event.violatedDirective} ${event.blockedURI}`))"
        )
        page.on("console", lambda message: troubles.extend(_trouble(message)))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        home = urlsplit(url).netloc
        page.on("request", lambda request: troubles.extend(_elsewhere(request.url, home)))
        if go:
            page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def until() -> Callable[[Page, str], None]:
    """Wait until an expression is true on a page.

    Playwright's own ``wait_for_function`` evaluates text within the page when it has to look twice,
    which the page's policy forbids; asked from here it does not.
    """

    def wait(page: Page, expression: str) -> None:
        end = time.monotonic() + PATIENT / 1000
        while not page.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            page.wait_for_timeout(50)

    return wait


def _trouble(message: ConsoleMessage) -> list[str]:
    """Warnings and errors, but for refusals of the service, which a browser logs by itself."""
    if message.type not in ("error", "warning"):
        return []
    url = message.location["url"]
    is_refused = "/v1/" in url or url.endswith("/nowhere")  # where there is no page
    if message.text.startswith("Failed to load resource") and is_refused:
        return []
    return [f"{message.type}: {message.text}"]


def _elsewhere(url: str, home: str) -> list[str]:
    parts = urlsplit(url)
    return [] if parts.scheme in ("data", "blob") or parts.netloc == home else [f"asked {url}"]
