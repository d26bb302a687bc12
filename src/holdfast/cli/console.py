"""The only module that writes to the screen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from holdfast.numerals import budget, count, percent, width

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from holdfast.planning import Entry, Plan

_BAR = 20
_HEADINGS = {
    "queries": "how many queries (more is better)",
    "width": "how wide (narrower is better)",
    "records": "how many records (fewer is better)",
}


def show_json(values: Mapping[str, Any]) -> None:
    """One JSON object, strictly valid."""
    click.echo(json.dumps(values, allow_nan=False, ensure_ascii=False, indent=2))


def show_saved(paths: Sequence[object]) -> None:
    """Say which files were written."""
    for path in paths:
        click.echo(f"wrote {path}")


def show_plan(plan: Plan) -> None:
    """A plan in a dozen lines."""
    _show(f"[bold]Plan[/bold] · certificate [bold]{plan.certificate}[/bold] ({plan.theorem})")
    grid = _grid()
    grid.add_row("Data", _data_line(plan))
    grid.add_row("Queries", _queries_line(plan))
    grid.add_row(
        "Every answer", f"± {width(plan.width)}, all together with probability {percent(plan.beta)}"
    )
    grid.add_row("Made up of", " + ".join(f"{v:.4g} {name}" for name, v in plan.terms.items()))
    if plan.sigma is not None:
        limit = "" if plan.budget is None else f", budget {budget(plan.budget)} (mu² per record)"
        grid.add_row("Noise", f"sigma {plan.sigma:.6g}{limit}")
    for label, lines in (("It holds if", plan.assumptions), ("Consider", plan.advice)):
        for i, line in enumerate(lines):
            grid.add_row(label if i == 0 else "", f"- {line}")
    _show(grid)


def show_comparison(entries: Sequence[Entry]) -> None:
    """All certificates side by side, with a bar each; on a narrow screen only what matters."""
    from rich import box
    from rich.bar import Bar
    from rich.table import Table

    solved_for, columns = entries[0].solved_for, _console().width
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("certificate", no_wrap=True)
    table.add_column(solved_for, justify="right", no_wrap=True)
    if columns >= _BAR + 34:
        table.add_column("", no_wrap=True)
    if columns >= _BAR + 52:
        table.add_column("what it is", overflow="fold")
    largest = max((entry.result for entry in entries), default=1.0)
    for entry in entries:
        shown = f"± {width(entry.result)}" if solved_for == "width" else count(int(entry.result))
        bar = Bar(largest, 0.0, entry.result, width=_BAR)
        what = entry.summary + ("" if entry.is_prompt else "; answers may come late")
        useful = (entry.certificate, shown, bar, what)
        cells = useful if entry.is_useful else (entry.certificate, "—", "", entry.reason)
        table.add_row(*cells[: len(table.columns)], style=None if entry.is_useful else "dim")
    _show(f"Every certificate on the same question: {_HEADINGS[solved_for]}")
    _show(table)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error; the value is called once for each step done."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=total)
        yield lambda: bars.advance(task)


def _show(renderable: object) -> None:
    """Print without the blanks that pad every line to the width of the screen."""
    console = _console()
    with console.capture() as captured:
        console.print(renderable)
    click.echo("\n".join(line.rstrip() for line in captured.get().rstrip().splitlines()))


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, emoji=False)


def _grid() -> Any:
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _data_line(plan: Plan) -> str:
    if plan.n0 == plan.n:
        return f"{count(plan.n)} records, not growing"
    if plan.batches == 1:
        return f"{count(plan.n)} records; everything is asked once they are all there"
    return f"grows from {count(plan.n0)} to {count(plan.n)} records"


def _queries_line(plan: Plan) -> str:
    if plan.paces is not None and plan.n0 < plan.n:
        return (
            f"{count(plan.paces.evenly)} if asked evenly as the data grows, "
            f"{count(plan.paces.at_n0)} if all at n0; never more than {count(plan.paces.at_n)}, "
            "and that only at n"
        )
    if plan.batches is None:
        return f"up to {count(plan.queries)}"
    if plan.batches == 1:
        return count(plan.queries)
    if plan.queries < plan.batches:
        number, batches = count(plan.queries), count(plan.batches)
        return f"{number}, one in each of the first {number} of {batches} batches"
    return f"{count(plan.queries)} in {count(plan.batches)} batches, evenly from n0 to n"
