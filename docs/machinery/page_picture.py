"""Draws the README's picture of the page: a real service in a real browser."""

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
from playwright.sync_api import sync_playwright

import surehold as sh
from surehold.data.segments import FOLDER
from surehold.data.sources import sampled_schema
from surehold.lab.seeded_noise import SeededNoise
from surehold.ledger.ledger import Ledger
from surehold.session.dataset import Dataset

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_WEEK = 7 * 86_400
_ASKED = (
    "age > 65",
    "smoker",
    "mean(bmi, 10, 60)",
    "ill and smoker",
    "rate(ill, age > 60)",
    "gate(ill, at_most, 0.6)",
    "histogram(bins(age, 18, 40, 65, 95))",
    "(age > 60) = ill",
    "city = 'Oslo' and ill",
)


class _Calendar:
    """A clock that a story sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        self.now += 60.0
        return self.now


def _patients(count: int, random: np.random.Generator) -> pl.DataFrame:
    age, bmi = random.integers(18, 95, count), random.normal(27, 5, count)
    return pl.DataFrame(
        {
            "age": age,
            "bmi": bmi.round(1),
            "smoker": random.random(count) < 0.2,
            "city": random.choice(["Oslo", "Bergen", "Tromsø"], count),
            "ill": random.random(count) < 1 / (1 + np.exp(8 - 0.1 * age - 0.07 * bmi)),
        }
    )


def _story(path: Path, weeks: int) -> float:
    """A dataset that grows week by week, and two analysts who ask as it does; when it ends."""
    random, calendar = np.random.default_rng(1), _Calendar()
    plan = sh.plan(n0=20_000, n=200_000, alpha=0.06, beta=0.05)
    # As surehold.create does it, but in the story's time.
    (path / FOLDER).mkdir(parents=True)
    Ledger.create(path, "clinic", plan, sampled_schema(_patients(10, random)), calendar)
    with Dataset(path, SeededNoise(1), calendar) as dataset:
        for week in range(weeks):
            dataset.append(
                _patients(20_000 if week == 0 else int(random.integers(3e3, 1e4)), random)
            )
            for i in range(3):
                calendar.now += random.integers(1, 2 * 86_400)
                analyst = ("ann", "ben")[(week + i) % 2]
                dataset.session(analyst).ask(_ASKED[(3 * week + i) % len(_ASKED)])
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


def draw_page(path: Path, weeks: int = 12) -> None:
    """The first view of a dataset that has been asked for some weeks."""
    browser = os.environ.get("SUREHOLD_CHROMIUM") or next(
        filter(None, map(shutil.which, _BROWSERS))
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        end = _story(Path(folder) / "clinic", weeks)
        with _served(Path(folder) / "clinic") as url:
            launched = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = launched.new_page(
                viewport={"width": 1120, "height": 700}, device_scale_factor=1.5, locale="en-GB"
            )
            page.clock.set_fixed_time(datetime.fromtimestamp(end, UTC))
            page.goto(url)
            page.locator("main svg").nth(1).wait_for()
            page.wait_for_timeout(800)  # fonts and the last chart
            page.screenshot(path=path, full_page=True)
            launched.close()
