"""`surehold lab`: attacks on ordinary practice, on Surehold, and on a plan of one's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surehold.cli import console
from surehold.cli.types import COUNT, HELP, NUMBER, InOrder, make_folder
from surehold.errors import InvalidInput

if TYPE_CHECKING:
    from surehold.lab import Report
    from surehold.planning import Plan

BROKEN = 6
"""Exit code of a check under which a plan's coverage is too low for sure; as of a failed gate."""


@click.group(context_settings=HELP, cls=InOrder)
def lab() -> None:
    """Attack ordinary practice and Surehold, and see whose answers hold."""


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that every contest has."""
    options = [
        click.option("--seed", type=COUNT, default=1, show_default=True, help="Of the contest."),
        click.option(
            "--jobs", type=COUNT, default=1, show_default=True, help="Processes that play."
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            help="Folder for report.json, report.md and pictures; made if it is not there.",
        ),
        click.option(
            "--details", is_flag=True, help="A table for each attack, not only a summary."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


_ATTACK = click.option(
    "--attack",
    "attacks",
    metavar="NAME",
    multiple=True,
    default=("all",),
    help="Which attack, or all (the default). Repeat it for several.",
)


@lab.command("list", context_settings=HELP)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_all(as_json: bool) -> None:
    """The attackers and defenders there are, and where they come from."""
    from surehold.lab import rendering

    if as_json:
        console.show_json(rendering.list_known())
    else:
        console.show_text(rendering.render_known())


@lab.command(context_settings=HELP)
@_ATTACK
@click.option(
    "--defender",
    "defenders",
    metavar="NAME",
    multiple=True,
    default=("all",),
    help="Who answers, or all (the default). Repeat it for several.",
)
@click.option("--n0", type=COUNT, required=True, help="Records when the first query is asked.")
@click.option("--n", type=COUNT, help="Records at the end; n0 if it is left out.")
@click.option(
    "--queries", type=COUNT, default=2_000, show_default=True, help="Queries of an analysis."
)
@click.option(
    "--alpha", type=NUMBER, default=0.1, show_default=True, help="Width that Surehold plans for."
)
@click.option(
    "--beta", type=NUMBER, default=0.05, show_default=True, help="Probability of any miss allowed."
)
@click.option("--repeats", type=COUNT, default=40, show_default=True, help="Analyses of each pair.")
@click.option(
    "--data",
    metavar="NAME",
    help="Real records, not made-up ones: flights, digits, breast-cancer, or a file of yours.",
)
@click.option("--target", metavar="CONDITION", help="What is to be predicted in --data.")
@click.option(
    "--order",
    type=click.Choice(["resampled", "shuffled", "arrival"]),
    default="resampled",
    show_default=True,
    help="How records of --data arrive; only resampled ones are independent draws.",
)
@_shared
def run(
    attacks: tuple[str, ...],
    defenders: tuple[str, ...],
    n0: int,
    n: int | None,
    queries: int,
    alpha: float,
    beta: float,
    repeats: int,
    data: str | None,
    target: str | None,
    order: str,
    seed: int,
    jobs: int,
    **told: Any,
) -> None:
    """Every attack on every defender, often enough to see who is right.

    \b
    surehold lab run --attack sign --n0 100000 --queries 2001
    surehold lab run --attack all --defender all --n0 20000 --n 60000 --repeats 200 --jobs 2
    surehold lab run --attack flooding --defender surehold-sharp --n0 5000 --n 20000 --alpha 0.2
    surehold lab run --data visits.csv --target "stayed > 30" --n0 20000 --n 60000

    Records are drawn from a population that is known, so it is known which answers are wrong. An
    attack breaks a defender if a coverage of 1 - beta can be ruled out.
    """
    from surehold import lab as library

    given: dict[str, Any] = {}
    n = n0 if n is None else n
    library.Setting(n0=n0, n=n, queries=queries, alpha=alpha, beta=beta)  # before data is read
    if data is not None:
        from surehold.lab.real_data import population

        given["population"] = population(
            data, target=target, features=queries, order=order, seed=seed
        )
        given["data"] = f"of {data}, {order}"
    elif target is not None:
        raise InvalidInput("--target", "used together with --data", target)

    def play(progress: Callable[[int, int], None]) -> Report:
        return library.run(
            attacks,
            defenders,
            n0=n0,
            n=n,
            queries=queries,
            alpha=alpha,
            beta=beta,
            repeats=repeats,
            seed=seed,
            jobs=jobs,
            progress=progress,
            **given,
        )

    _told(play, **told)


@lab.command(context_settings=HELP)
@click.argument("plan_or_dataset", type=click.Path(path_type=Path, exists=True))
@_ATTACK
@click.option("--queries", type=COUNT, help="Queries of an analysis; by default up to 10,000.")
@click.option(
    "--repeats", type=COUNT, default=20, show_default=True, help="Analyses of each attack."
)
@_shared
def check(
    plan_or_dataset: Path,
    attacks: tuple[str, ...],
    queries: int | None,
    repeats: int,
    seed: int,
    jobs: int,
    **told: Any,
) -> None:
    """Simulate your own plan under attack: a file of `surehold plan --json`, or a dataset.

    \b
    surehold lab check plan.json
    surehold lab check clinic --attack flooding --attack stale --repeats 40

    Records are made up; those of a dataset are neither read nor charged. Exit code 6 means that
    the coverage promised can be ruled out, which a valid plan never gives but by a rare accident.
    """
    from surehold import lab as library

    plan = _plan(plan_or_dataset)

    def play(progress: Callable[[int, int], None]) -> Report:
        return library.check(
            plan,
            attacks,
            queries=queries,
            repeats=repeats,
            seed=seed,
            jobs=jobs,
            progress=progress,
        )

    report = _told(play, of="surehold", **told)
    if report.broken("surehold"):
        sys.exit(BROKEN)


def _plan(path: Path) -> Plan:
    from surehold import session
    from surehold.planning.certified import check_certified
    from surehold.session.dataset import plan_of

    if path.is_dir():
        with session.open(path) as opened:
            return opened.plan
    plan = plan_of(path)
    check_certified(plan)
    return plan


def _told(
    play: Callable[[Callable[[int, int], None]], Report],
    of: str | None = None,
    *,
    out: Path | None,
    details: bool,
    as_json: bool,
) -> Report:
    """Play, with progress, and say what came of it."""
    from surehold.lab import rendering
    from surehold.plots.style import require_matplotlib

    if out is not None:
        require_matplotlib()
        make_folder(out)
    with console.playing() as progress:
        report = play(progress)
    if as_json:
        console.show_json(report.to_dict())
    else:
        console.show_text(rendering.render(report, details, of))
    if out is not None:
        console.show_saved(_saved(report, out), aside=as_json)
    return report


def _saved(report: Report, out: Path) -> list[Path]:
    from surehold.lab import rendering
    from surehold.plots.lab import draw_claims, draw_coverage

    texts = {"report.json": report.to_json() + "\n", "report.md": rendering.render_page(report)}
    paths = []
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
        paths.append(out / name)
    draw_coverage(report, out / "coverage.png")
    paths.append(out / "coverage.png")
    for attack in report.attacks:
        paths.append(out / f"claims-{attack}.png")
        draw_claims(report, attack, paths[-1])
    return paths
