"""Draws the pictures of the page, in README and docs: a real service in a real browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
from playwright.sync_api import Page, sync_playwright

from surehold.data.segments import FOLDER
from surehold.data.sources import sampled_schema
from surehold.ledger.ledger import Ledger
from surehold.ledger.surprise_policy import SurprisePolicy
from surehold.queries import Dashboard
from surehold.server.tokens import TokenBook
from surehold.session.dataset import Dataset

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_WEEK = 7 * 86_400
_NAMED = Dashboard.of(
    [
        {"name": "accuracy", "question": "correct", "unit": "%", "gate": ">= 80 %"},
        {"name": "accuracy in maths", "question": "rate(correct, task = 'math')", "unit": "%"},
        {"name": "time", "question": "mean(seconds, 0, 20)", "unit": "s", "gate": "<= 4"},
    ]
)
_ASKED: tuple[tuple[str, dict[str, object]], ...] = (
    ("gate(correct, at_least, 0.8)", {"expect": "pass"}),
    ("seconds < 5", {"expect": 0.84, "within": 0.02}),
    ("correct and seconds < 5", {"expect": 0.72, "within": 0.02}),
    ("task = 'code'", {"expect": 0.3, "within": 0.02}),
    ("difference(correct, old_correct)", {"expect": "no", "within": 0.02}),
)


class _Calendar:
    """A clock that a story sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        self.now += 60.0
        return self.now


def _evaluations(count: int, random: np.random.Generator) -> pl.DataFrame:
    task = random.choice(["math", "code", "text"], count, p=[0.3, 0.3, 0.4])
    chance = np.select([task == "math", task == "code"], [0.78, 0.86], 0.93)
    correct = random.random(count) < chance
    old = np.where(random.random(count) < 0.1, random.random(count) < 0.5, correct)
    seconds = random.gamma(2.0, 1.5, count).round(2)
    return pl.DataFrame({"task": task, "correct": correct, "old_correct": old, "seconds": seconds})


def _story(path: Path, weeks: int) -> float:
    """An evaluation set that grows week by week, and two who ask as it does; when it ends."""
    random, calendar = np.random.default_rng(1), _Calendar()
    # As surehold.create does it, but in the story's time.
    (path / FOLDER).mkdir(parents=True)
    rules, schema = SurprisePolicy.of("0.05"), sampled_schema(_evaluations(1_000, random))
    Ledger.create(path, "evals", rules, schema, calendar)
    with Dataset(path, clock=calendar) as dataset:
        for week in range(weeks):
            dataset.append(
                _evaluations(2_000 if week == 0 else int(random.integers(300, 900)), random)
            )
            dataset.session("ann").register(_NAMED)
            dataset.session("ann").watch()
            calendar.now += random.integers(1, 2 * 86_400)
            query, options = _ASKED[week % len(_ASKED)]
            dataset.session("loop-7").ask(query, **options)
            calendar.now = calendar.now // _WEEK * _WEEK + _WEEK + 4.5 * 86_400
    return calendar.now


@contextmanager
def _served(path: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "surehold", "serve", str(path), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[2]
        process.terminate()


def draw_page(path: Path, weeks: int = 12, repeats: int = 20) -> None:
    """The first view of a dataset that has been asked for some weeks; beside it Ask and Lab."""
    found = os.environ.get("SUREHOLD_CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        dataset = Path(folder) / "evals"
        end = _story(dataset, weeks)
        book = TokenBook(dataset, guard="surprise")
        token = book.create("cara", "custodian", seconds=3600.0)[1]
        with _served(dataset) as url:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            page = browser.new_page(
                viewport={"width": 1120, "height": 960}, device_scale_factor=1.25, locale="en-GB"
            )
            page.clock.set_fixed_time(datetime.fromtimestamp(end, UTC))
            page.goto(url)
            page.get_by_label("Token").fill(token)
            page.get_by_role("button", name="Sign in").click()
            page.locator(".charts svg").nth(1).wait_for()
            _shoot(page, path)
            _build(page)
            _shoot(page, path.with_stem(f"{path.stem}-ask"), full_page=True)
            _attack(page, repeats)
            _shoot(page, path.with_stem(f"{path.stem}-lab"))
            browser.close()


def _build(page: Page) -> None:
    """A gate in the form, with its quote."""
    page.get_by_role("link", name="Ask a question").click()
    page.get_by_label("Column").select_option("correct")
    page.get_by_label("Compare with").select_option("a limit: is it at least …")
    page.get_by_label("Limit").fill("0.85")
    page.get_by_label("I expect").fill("pass")
    page.get_by_label("How sure are you?").fill("3")
    page.locator('#quote [data-name="most"]').wait_for()


def _attack(page: Page, repeats: int) -> None:
    """A contest that is over, in the dark theme."""
    page.get_by_role("button", name="Switch to dark colours").click()
    page.get_by_role("link", name="Lab").click()
    page.get_by_label("Repeats").fill(str(repeats))
    page.get_by_role("button", name="Attack", exact=True).click()
    page.locator("figure svg").wait_for(timeout=120_000)


def _shoot(page: Page, path: Path, full_page: bool = False) -> None:
    page.mouse.move(0, 0)
    page.wait_for_timeout(800)  # fonts and the last chart
    page.screenshot(path=path, full_page=full_page)
