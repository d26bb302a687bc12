"""Draws the pictures of the README, of "Why reuse breaks statistics" and of "Which guard?".

    python docs/machinery/pictures.py [FOLDER]

It takes a quarter of an hour, nearly all of it for the contest of every attack with every defender.
Everything is seeded, so the pictures are always the same.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
from page_picture import draw_page

import surehold as sh
from surehold import lab
from surehold.plots.analysis import draw_analysis
from surehold.plots.comparison import draw_comparison
from surehold.plots.lab import draw_claims, draw_coverage
from surehold.plots.style import headline, new_figure, save, subtitle, tidy
from surehold.theory.surprise.claims.mixtures import concentration
from surehold.theory.surprise.forecasts import forecast_interval
from surehold.theory.surprise.levels import claim_level, question_levels
from surehold.theory.surprise.menus.cells import half_cell
from surehold.theory.surprise.shares import Shares

IMAGES = Path(__file__).parents[1] / "images"
BLUE, VERMILLION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"

PRACTICE = {
    "raw": "the score itself",
    "plain": "± 1.96 standard errors",
    "bonferroni": "Bonferroni over all questions",
    "sequence": "confidence sequence, Bonferroni",
    "wide": "the score ± 15 points",
    "splitting": "fresh records for every answer",
    "surehold-sharp": "Surehold, ± 15 points",
}


def draw_point(path: Path, records: int = 100_000, features: int = 30_000) -> None:
    """The README's picture: coins that seem to predict a coin, and which methods notice."""
    queries = features + 1
    report = lab.run(
        "sign", PRACTICE, n0=records, n=records, alpha=0.15, queries=queries, repeats=12, jobs=2
    )
    draw_claims(
        report,
        "sign",
        path,
        title=f"Do {features:,} coin flips predict another? The usual intervals say they do.",
        labels=PRACTICE,
        unit=0.01,
        axis="claimed accuracy of the coins' vote, in percentage points above the true 50 %",
    )


def draw_overfit(path: Path, records: int = 20_000, repeats: int = 5, most: int = 4_096) -> None:
    """The error of the last answer, by the number of answers it builds on."""
    counts = [2**j for j in range(3, most.bit_length())]
    errors: dict[str, list[float]] = {"bonferroni": [], "surehold-sharp": []}
    widths: dict[str, list[float]] = {"bonferroni": [], "surehold-sharp": []}
    for count in counts:
        for name in errors:
            row = _last(name, records, count + 1, repeats)
            errors[name].append(row[0])
            widths[name].append(row[1])
    figure = new_figure(8.0, 4.2)
    axes = figure.add_subplot()
    axes.plot(
        counts, errors["bonferroni"], color=VERMILLION, marker="x", label="error, raw answers"
    )
    axes.plot(
        counts, widths["bonferroni"], color=VERMILLION, linestyle="--", label="width, Bonferroni"
    )
    axes.plot(
        counts, errors["surehold-sharp"], color=BLUE, marker="o", label="error, Surehold's answers"
    )
    axes.plot(counts, widths["surehold-sharp"], color=BLUE, linestyle="--", label="width, Surehold")
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [f"{count:,}" for count in counts])
    axes.set_ylim(0.0, None)
    axes.set_xlabel("earlier answers that the last question builds on", fontsize=10)
    axes.set_ylabel("error of the last answer", fontsize=10)
    headline(figure, "The more answers a question builds on, the more wrong its own answer is")
    subtitle(axes, f"a vote of coin flips, {records:,} records, mean of {repeats} analyses")
    axes.legend(frameon=False, fontsize=10, loc="upper left")
    tidy(axes)
    save(figure, [path])


def _last(name: str, records: int, queries: int, repeats: int) -> tuple[float, float]:
    """Mean error and width of the last answer; Surehold plans for exactly this many queries."""
    defender: str | lab.Defender = name
    if name == "surehold-sharp":
        defender = lab.Planned(sh.plan(n0=records, n=records, queries=queries, beta=0.05))
    report = lab.run("sign", [defender], n0=records, n=records, queries=queries, repeats=repeats)
    last = np.array(report.rows[0].last)
    return float(np.abs(last[:, 0] - last[:, 3]).mean()), report.rows[0].widest


def draw_looks(path: Path, repeats: int = 400, looks: int = 60) -> None:
    """How often an interval has been wrong at least once, by the number of looks."""
    setting = lab.Setting(n0=500, n=30_000, queries=looks, alpha=0.1, beta=0.05)
    stops = setting.stops(looks)
    wrong = {"plain": np.zeros(looks), "sequence": np.zeros(looks)}
    question = lab.Agreements(np.zeros(1, dtype=np.intp))
    # A single question: beta is not divided.
    alone = replace(setting, queries=2)
    for name in wrong:
        [defender] = [one for one in lab.DEFENDERS if one.name == name]
        for seed in range(repeats):
            random = np.random.default_rng(seed)
            view = lab.View(lab.Coins(8).draw(setting.n, random), setting.n)
            guard = defender.guard(alone, random)
            missed = [_misses(guard.answer(question, view, stop)) for stop in stops]
            wrong[name] += np.maximum.accumulate(missed) / repeats
    figure = new_figure(8.0, 3.8)
    axes = figure.add_subplot()
    seen = range(1, looks + 1)
    axes.plot(seen, 100 * wrong["plain"], color=VERMILLION, label="± 1.96 standard errors")
    axes.plot(
        seen, 100 * wrong["sequence"], color=GREEN, linestyle="-.", label="confidence sequence"
    )
    axes.axhline(5.0, color=GREY, linewidth=1.0, linestyle=":")
    axes.text(looks, 5.6, "promised: 5 %", ha="right", fontsize=10, color=GREY)
    axes.set_xlabel(
        "looks at one number while the data grows from 500 to 30,000 records", fontsize=10
    )
    axes.set_ylabel("wrong at least once, %", fontsize=10)
    axes.set_ylim(0.0, None)
    axes.set_xlim(0, looks)
    headline(figure, "The more often you look, the more likely an interval has been wrong")
    axes.legend(frameon=False, fontsize=10, loc="upper left")
    tidy(axes)
    save(figure, [path])


def _misses(replies: lab.Replies) -> bool:
    return not bool(replies.lows[0] <= 0.5 <= replies.highs[0])


def draw_certificates(path: Path) -> None:
    """What each certificate gives for the same plan."""
    question = {"n0": 500_000, "n": 1_500_000, "alpha": 0.1, "beta": 0.05, "batches": 4}
    draw_comparison(sh.compare(**question), sh.plan(**question), path)


def draw_guards(path: Path, most: int = 1_000) -> None:
    """How wide answers are under either guard, by the number of questions and of records."""
    counts = [k for k in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000) if k <= most]
    figure = new_figure(9.0, 4.4)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, records in zip(panels, (1_000, 2_000, 10_000), strict=True):
        found = [sh.forecast(beta=0.05, questions=k, surprises=k // 20, n0=records) for k in counts]
        rows = [row for one in found for row in one.widths if row.mean == 0.85]
        axes.plot(counts, [row.noise or 0.5 for row in rows], color=VERMILLION, marker="o")
        axes.plot(counts, [row.plain for row in rows], color=BLUE, marker="s", linestyle=":")
        axes.plot(counts, [row.last for row in rows], color=BLUE, marker="s")
        registered = [_registered(records, k) for k in counts]
        axes.plot(counts, registered, color=GREEN, marker="^", linestyle="-.")
        axes.set_xscale("log")
        axes.set_xticks([1, 10, 100, 1_000], ["1", "10", "100", "1,000"])
        axes.minorticks_off()
        axes.set_xlim(0.9, 1.1 * most)
        axes.set_ylim(0.0, 0.4)
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
        axes.set_xlabel("questions", fontsize=10)
        subtitle(axes, f"{records:,} records")
        tidy(axes)
    for line, label in zip(panels[0].lines, _GUARDS, strict=True):
        line.set_label(label)
    panels[0].set_ylabel("half-width of the last answer", fontsize=10)
    headline(figure, "If you can guess, or register first, the surprise guard is much narrower")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=10)
    for axes in panels:
        for line in axes.lines:
            line.set_markersize(4.5)
    save(figure, [path])


_GUARDS = (
    "noise guard",
    "surprise guard, nobody guesses",
    "surprise guard, 19 of 20 guesses are right",
    "surprise guard, all registered first",
)


def _registered(records: int, questions: int, mean: Fraction = Fraction(17, 20)) -> float:
    """The half-width of each of some questions that are registered before the first answer."""
    share, _ = Shares().declare(Fraction(1), questions)
    level = question_levels(claim_level(Fraction(1, 20), share, 0), "always").other
    assert level is not None
    kappa, within = concentration(records, level), half_cell(records, level, always=True)
    found = forecast_interval(mean, records, level, within=within, kappa=kappa)
    return float(found.half_width)


def draw_dashboard(path: Path, weeks: int = 12) -> None:
    """The dashboard of the how-to guide, after some weeks."""
    random = np.random.default_rng(7)
    questions = [
        ("conversion", "bought", "%", ">= 5 %"),
        ("conversion in Norway", "rate(bought, country = 'NO')", "%", None),
        ("basket", "mean(basket, 0, 200)", "€", None),
        ("response time", "mean(ms, 0, 1000)", "ms", "<= 220"),
    ]
    names = ("name", "question", "unit", "gate")
    named = sh.Dashboard.of([dict(zip(names, one, strict=True)) for one in questions])
    with tempfile.TemporaryDirectory() as folder:
        exports = [_visits(8_000, random) for _ in range(weeks)]
        with sh.create(Path(folder) / "shop", beta=0.05, like=exports[0]) as shop:
            session = shop.session()
            for export in exports:
                shop.append(export)
                session.register(named)
                session.watch()
            found = shop.histories(), shop.transcript.last(200), (), shop.status()
            draw_analysis(*found, path)


def _visits(count: int, random: np.random.Generator) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "country": random.choice(["NO", "SE"], count),
            "bought": random.random(count) < 0.061,
            "basket": random.gamma(4.0, 9.0, count).round(2),
            "ms": random.normal(180, 40, count).clip(20, 900).round(),
        }
    )


def draw_contest(path: Path, queries: int = 1_000, repeats: int = 20) -> None:
    """Every attack on every defender."""
    report = lab.run(n0=2_000, n=6_000, queries=queries, repeats=repeats, jobs=2)
    draw_coverage(report, path)


def main(folder: Path) -> None:
    draw_certificates(folder / "certificates.png")
    draw_guards(folder / "guards.png")
    draw_dashboard(folder / "dashboard.png")
    draw_page(folder / "page.png")
    draw_point(folder / "the-point.png")
    draw_overfit(folder / "overfit.png")
    draw_looks(folder / "looks.png")
    draw_contest(folder / "coverage.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
