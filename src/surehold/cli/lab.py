"""`surehold lab`: attack ordinary practice, Surehold, and your own plan."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surehold.cli import console
from surehold.cli.types import AS_JSON, COUNT, FOLDER, HELP, NUMBER, InOrder, combine, make_folder
from surehold.errors import InvalidInput

if TYPE_CHECKING:
    from surehold.lab import Report
    from surehold.planning import Plan

BROKEN = 6
"""Exit code of a check that rules out the promised coverage; the same as a failed gate's."""


@click.group(context_settings=HELP, cls=InOrder)
def lab() -> None:
    """Attack ordinary practice and Surehold, and see whose answers hold up."""


_SHARED = combine(
    click.option("--seed", type=COUNT, default=1, help="Random seed."),
    click.option("--jobs", type=COUNT, default=1, help="Number of processes."),
    click.option(
        "--out",
        type=FOLDER,
        help="Folder for report.json, report.md and pictures; created if needed.",
    ),
    click.option(
        "--details", is_flag=True, help="Print a table for each attack, not only a summary."
    ),
    AS_JSON,
)
"""The options that every contest has."""
_ATTACK = click.option(
    "--attack",
    "attacks",
    metavar="NAME",
    multiple=True,
    default=("all",),
    help="An attack, or all. Repeat for several.",
)


@lab.command("list", context_settings=HELP)
@AS_JSON
def list_all(as_json: bool) -> None:
    """List the attackers and defenders, and where they come from."""
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
    help="A way of answering, or all. Repeat for several.",
)
@click.option(
    "--n0", type=COUNT, required=True, help="Number of records when the first query is asked."
)
@click.option("--n", type=COUNT, help="Number of records at the end.  [default: n0]")
@click.option("--queries", type=COUNT, default=2_000, help="Queries per analysis.")
@click.option("--alpha", type=NUMBER, default=0.1, help="Half-width Surehold plans for.")
@click.option("--beta", type=NUMBER, default=0.05, help="Allowed probability of any miss.")
@click.option("--repeats", type=COUNT, default=40, help="Analyses per pair.")
@click.option(
    "--data",
    metavar="NAME",
    help="Use real records instead of synthetic ones: flights, digits, breast-cancer or a file.",
)
@click.option("--target", metavar="CONDITION", help="The condition to predict in --data.")
@click.option(
    "--order",
    type=click.Choice(["resampled", "shuffled", "arrival"]),
    default="resampled",
    help="How the records of --data arrive; only resampled ones are independent draws.",
)
@_SHARED
def run(
    attacks: tuple[str, ...],
    defenders: tuple[str, ...],
    n: int | None,
    data: str | None,
    target: str | None,
    order: str,
    out: Path | None,
    details: bool,
    as_json: bool,
    **setting: Any,
) -> None:
    """Run attacks against defenders, repeatedly, and count whose intervals hold.

    \b
    surehold lab run --attack sign --n0 100000 --queries 2001
    surehold lab run --attack all --defender all --n0 20000 --n 60000 --repeats 200 --jobs 2
    surehold lab run --attack flooding --defender surehold-sharp --n0 5000 --n 20000 --alpha 0.2
    surehold lab run --data visits.csv --target "stayed > 30" --n0 20000 --n 60000

    Records are drawn from a known population, so it is known which answers are wrong. An attack
    breaks a defender if a coverage of 1 - beta can be ruled out.
    """
    from surehold import lab as library

    setting["n"] = setting["n0"] if n is None else n
    sizes = ("n0", "n", "queries", "alpha", "beta")
    library.Setting(**{name: setting[name] for name in sizes})  # checked before data is read
    if data is not None:
        from surehold.lab.real_data import population

        features, seed = setting["queries"], setting["seed"]
        setting["population"] = population(
            data, target=target, features=features, order=order, seed=seed
        )
        setting["data"] = f"of {data}, {order}"
    elif target is not None:
        raise InvalidInput("--target", "used with --data", target)
    play = partial(library.run, attacks, defenders, **setting)
    _play_and_show(play, out=out, details=details, as_json=as_json)


@lab.command(context_settings=HELP)
@click.argument("plan_or_dataset", type=click.Path(path_type=Path, exists=True))
@_ATTACK
@click.option(
    "--queries", type=COUNT, help="Queries per analysis.  [default: as planned, up to 10,000]"
)
@click.option("--repeats", type=COUNT, default=20, help="Analyses per attack.")
@_SHARED
def check(
    plan_or_dataset: Path,
    attacks: tuple[str, ...],
    out: Path | None,
    details: bool,
    as_json: bool,
    **setting: Any,
) -> None:
    """Simulate attacks on your own plan, from `surehold plan --json` or a dataset.

    \b
    surehold lab check plan.json
    surehold lab check clinic --attack flooding --attack stale --repeats 40

    The records are synthetic; a dataset's own records are neither read nor charged. Exit code 6
    means that the promised coverage can be ruled out; a valid plan gives it only by rare accident.
    """
    from surehold import lab as library

    play = partial(library.check, _read_plan(plan_or_dataset), attacks, **setting)
    report = _play_and_show(play, "surehold", out=out, details=details, as_json=as_json)
    if report.broken("surehold"):
        sys.exit(BROKEN)


def _read_plan(path: Path) -> Plan:
    from surehold import session
    from surehold.planning.certified import check_certified
    from surehold.session.dataset import plan_of

    if path.is_dir():
        with session.open(path) as opened:
            return opened.plan
    plan = plan_of(path)
    check_certified(plan)
    return plan


def _play_and_show(
    play: Callable[..., Report],
    of: str | None = None,
    *,
    out: Path | None,
    details: bool,
    as_json: bool,
) -> Report:
    """Run a contest with a progress bar, then show and save its report."""
    from surehold.lab import rendering
    from surehold.plots.style import require_matplotlib

    if out is not None:
        require_matplotlib()
        make_folder(out)
    with console.playing() as progress:
        report = play(progress=progress)
    if as_json:
        console.show_json(report.to_dict())
    else:
        console.show_text(rendering.render(report, details, of))
    if out is not None:
        console.show_saved(_write_report(report, out), aside=as_json)
    return report


def _write_report(report: Report, out: Path) -> list[Path]:
    from surehold.lab import rendering
    from surehold.plots.lab import draw_claims, draw_coverage

    texts = {"report.json": report.to_json() + "\n", "report.md": rendering.render_page(report)}
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
    draw_coverage(report, out / "coverage.png")
    pictures = {f"claims-{attack}.png": attack for attack in report.attacks}
    for name, attack in pictures.items():
        draw_claims(report, attack, out / name)
    return [out / name for name in (*texts, "coverage.png", *pictures)]
