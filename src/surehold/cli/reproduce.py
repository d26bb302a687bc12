"""`surehold reproduce`."""

from __future__ import annotations

from pathlib import Path

import click

from surehold.cli import console
from surehold.cli.types import COUNT, FOLDER, HELP, make_folder

_FIGURES = ("fig2", "fig3", "fig4", "fig5")


@click.command(context_settings=HELP)
@click.argument("figure", type=click.Choice([*_FIGURES, "all"]))
@click.option(
    "--out",
    type=FOLDER,
    required=True,
    help="Folder for the PNG, SVG and CSV files; created if needed.",
)
@click.option(
    "--points", type=COUNT, default=10, help="Points on each curve; fig5 has up to twice as many."
)
def reproduce(figure: str, out: Path, points: int) -> None:
    """Reproduce the paper's result figures, with a curve for the sharp bound.

    \b
    fig2  queries against n, n/n0 = 3
    fig3  queries against n, n0 = 500,000
    fig4  width against n, 10,000 queries, n/n0 = 3
    fig5  queries against the number of batches, 500,000 to 1,500,000
    """
    from surehold.planning.figures import get_figure
    from surehold.plots.paper import draw_figure, write_csv
    from surehold.plots.style import require_matplotlib

    require_matplotlib()
    make_folder(out)
    for name in _FIGURES if figure == "all" else (figure,):
        wanted = get_figure(name, points)
        with console.progress(wanted.title, total=wanted.size) as advance:
            rows = wanted.rows(advance)
        paths = [out / f"{name}{suffix}" for suffix in (".png", ".svg", ".csv")]
        draw_figure(wanted, rows, paths[:2])
        write_csv(rows, paths[2])
        console.show_saved(paths)
