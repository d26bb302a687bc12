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
    from holdfast.planning.problem import Unknown

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
    console = _console()
    console.print(
        f"[bold]Plan[/bold] · certificate [bold]{plan.certificate}[/bold] ({plan.theorem})"
    )
    grid = _grid()
    grid.add_row("Data", _data_line(plan))
    grid.add_row("Queries", _queries_line(plan))
    if plan.paces is not None and plan.n0 < plan.n:
        paces = plan.paces
        grid.add_row(
            "",
            f"{count(paces.at_n0)} fit if all are asked at n0, {count(paces.evenly)} evenly as the "
            f"data grows, {count(paces.at_n)} all at n",
        )
    grid.add_row(
        "Every answer", f"± {width(plan.width)}, all together with probability {percent(plan.beta)}"
    )
    grid.add_row("Made up of", " + ".join(f"{width(v)} {name}" for name, v in plan.terms.items()))
    if plan.sigma is not None:
        limit = "" if plan.budget is None else f", budget {budget(plan.budget)} (mu² per record)"
        grid.add_row("Noise", f"sigma {plan.sigma:.6g}{limit}")
    for label, lines in (("It holds if", plan.assumptions), ("Consider", plan.advice)):
        for i, line in enumerate(lines):
            grid.add_row(label if i == 0 else "", line)
    console.print(grid)


def show_comparison(entries: Sequence[Entry], solved_for: Unknown) -> None:
    """All certificates side by side, with a bar each."""
    from rich import box
    from rich.bar import Bar
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.title = f"Every certificate on the same question: {_HEADINGS[solved_for]}"
    table.add_column("certificate", no_wrap=True)
    table.add_column(solved_for, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("what it is", overflow="fold")
    largest = max((entry.result(solved_for) for entry in entries), default=1.0)
    for entry in entries:
        if not entry.is_useful:
            table.add_row(entry.certificate, "—", "", entry.reason, style="dim")
            continue
        result = entry.result(solved_for)
        shown = f"± {width(result)}" if solved_for == "width" else count(int(result))
        late = "" if entry.is_prompt else "; answers may come late"
        bar = Bar(largest, 0.0, result, width=_BAR)
        table.add_row(entry.certificate, shown, bar, f"{entry.summary}{late}")
    _console().print(table)


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
    if plan.batches is None:
        return f"up to {count(plan.queries)}, asked whenever the analyst likes"
    if plan.batches == 1:
        return count(plan.queries)
    if plan.queries < plan.batches:
        return f"{count(plan.queries)}, one in each of the first of {count(plan.batches)} batches"
    return f"{count(plan.queries)} in {count(plan.batches)} batches, evenly from n0 to n"
