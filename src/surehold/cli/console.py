"""The only module that prints."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import click

from surehold.cli import plan_lines
from surehold.formatting import bits, budget, count, duration, percent, several, width

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

    from surehold.client import RemoteSession
    from surehold.data.survey import Survey
    from surehold.display import Shown
    from surehold.planning import ComparisonRow, Forecast, Plan
    from surehold.session import (
        Leaderboard,
        Registered,
        Result,
        Session,
        Status,
        SurpriseStatus,
        Watched,
    )

_BAR = 20
_FEW = 8  # columns and submissions listed
_SOME = 10  # steps done before the time left is estimated,
_LONG = 20.0  # or seconds passed
_VERDICT_STYLES = {"pass": "green", "fail": "bold red", "undecided": "yellow"}
_HEADINGS = {
    "queries": "number of queries (more is better)",
    "width": "half-width (narrower is better)",
    "records": "records needed (fewer is better)",
}


def show_json(values: Mapping[str, Any]) -> None:
    """Print one JSON object, strictly valid."""
    click.echo(json.dumps(values, allow_nan=False, ensure_ascii=False, indent=2))


def show_text(text: str) -> None:
    """Print text as it is."""
    click.echo(text)


def show_saved(paths: Sequence[object], aside: bool = False) -> None:
    """Say which files were written; ``aside`` uses standard error, next to JSON."""
    for path in paths:
        click.echo(f"wrote {path}", err=aside)


def show_plan(plan: Plan) -> None:
    """Print a plan."""
    _show(f"[bold]Plan[/bold] · certificate [bold]{plan.certificate}[/bold] ({plan.theorem})")
    grid = _grid()
    grid.add_row("Data", plan_lines.data(plan))
    grid.add_row("Queries", plan_lines.queries(plan))
    if plan.batches is not None and plan.batches > 1:
        grid.add_row("Rounds", plan_lines.rounds(plan))
    grid.add_row(
        "Any fraction",
        f"{plan_lines.width(plan)}; all hold together with probability {percent(plan.beta)}",
    )
    grid.add_row("Made up of", " + ".join(f"{v:.4g} {name}" for name, v in plan.terms.items()))
    if plan.sigma is not None:
        limit = "" if plan.budget is None else f", budget {budget(plan.budget)} (mu² per record)"
        grid.add_row("Noise", f"sigma {plan.sigma:.6g}{limit}")
    for label, lines in (("It holds if", plan.assumptions), ("Consider", plan.advice)):
        for i, line in enumerate(lines):
            grid.add_row(label if i == 0 else "", f"- {line}")
    _show(grid)


def show_forecast(forecast: Forecast, next_steps: bool = True) -> None:
    """Print the widths under both guards, the recommended guard and the next commands."""
    from rich import box
    from rich.table import Table

    asked = several(forecast.questions, "question")
    series = f"{asked}, at most {several(forecast.surprises, 'surprise')}"
    holds = f"all answers hold with probability {percent(forecast.beta)}"
    _show(f"[bold]Forecast[/bold] · {series}; {holds}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("records", "mean", "noise", "surprise: first", "last", "if nobody guesses"):
        table.add_column(name, justify="right")
    for row in forecast.widths:
        table.add_row(count(row.records), f"{row.mean:g}", *row.display.values())
    _show(table)
    grid = _grid()
    grid.add_row("Take", f"the [bold]{forecast.guard} guard[/bold]. {forecast.reason}")
    for i, line in enumerate(forecast.assumptions):
        grid.add_row("It assumes" if i == 0 else "", f"- {line}")
    _show(grid)
    if next_steps:
        show_next(forecast.commands)


def show_next(commands: Iterable[str]) -> None:
    """Print commands to run, never wrapped, so that they can be copied."""
    click.echo("Run next")
    for command in commands:
        click.echo(f"  {command}")


def show_survey(survey: Survey) -> None:
    """Print what a file holds."""
    from surehold.data.file_formats import DELIMITERS

    _show(f"[bold]{_escaped(str(survey))}[/bold]")
    grid = _grid()
    grid.add_row("Columns", _columns_line(survey.columns))
    if survey.delimiter is not None:
        mark = "commas" if survey.decimal == "," else "points"
        separated = f"separated by {DELIMITERS[survey.delimiter]}"
        grid.add_row("Written", f"{separated}, with decimal {mark}")
    if survey.ids:
        grid.add_row("Id", _escaped(survey.ids[0]))
    for i, remark in enumerate(survey.remarks):
        grid.add_row("" if i else "Note", _escaped(remark))
    _show(grid)


def is_terminal() -> bool:
    """Check whether someone can be asked."""
    return sys.stdin.isatty()


def ask(question: str, kind: click.ParamType[Any], default: Any = None) -> Any:
    """Ask on standard error until the answer is valid."""
    return click.prompt(question, type=kind, default=default, err=True, prompt_suffix=" ")


def confirm(question: str) -> bool:
    """Ask a question whose usual answer is yes."""
    return click.confirm(question, default=True, err=True)


def show_comparison(entries: Sequence[ComparisonRow]) -> None:
    """Print all certificates side by side, with a bar each where the screen is wide enough."""
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
    _show(f"Compared by {_HEADINGS[solved_for]}")
    _show(table)


def show_result(result: Shown, as_json: bool) -> None:
    """Print a result in one line, or as JSON."""
    if as_json:
        show_json(result.to_dict())
    else:
        click.echo(str(result))


def note(text: str) -> None:
    """Print a line on standard error."""
    click.echo(text, err=True)


def show_registered(claims: Sequence[Registered], as_json: bool) -> None:
    """Print what was registered, a line each."""
    if as_json:
        show_json({"registered": [claim.to_dict() for claim in claims]})
        return
    for claim in claims:
        click.echo(str(claim))


def show_leaderboard(board: Leaderboard, as_json: bool) -> None:
    """Print a leaderboard: those with a rank as a table, then the others."""
    if as_json:
        show_json(board.to_dict())
        return
    from rich import box
    from rich.table import Table

    better = "lower" if board.lower_is_better else "higher"
    click.echo(
        f"{board.title} · {board.metric} of {board.target} ({better} is better), "
        f"{several(board.round, 'record')}, steps of {board.step:g}"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="")
    for name in ("rank", "name", board.metric, "interval", "over the one before"):
        table.add_column(name, overflow="fold")
    for one in board.ranked:
        texts = one.display
        gain = "" if one.gain is None else f"{one.gain:g} or more"
        gain += ", certainly better" if one.certified else ""
        table.add_row(texts["rank"], one.name, texts["value"], texts["interval"], gain)
    if board.submissions:
        _show(table)
    others = [one for one in reversed(board.submissions) if not one.is_best]
    for one in others[:_FEW]:
        click.echo(str(one))
    if others[_FEW:]:
        click.echo(f"not better before that: {several(len(others) - _FEW, 'submission')}")
    click.echo(f"all intervals and ranks hold together with probability {percent(board.beta)}")


def show_watched(watched: Watched, session: Session | RemoteSession, as_json: bool) -> None:
    """Print a dashboard as a table, then what it cost and what is left."""
    if as_json:
        show_json(watched.to_dict())
        return
    from rich import box
    from rich.table import Table

    from surehold.session.dashboards import spent_on
    from surehold.session.quotes import describe_left

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("question", overflow="fold")
    for name in ("value", "interval"):
        table.add_column(name, justify="right", overflow="fold")
    if watched.verdict is not None:
        table.add_column("gate", overflow="fold")
        table.add_column("verdict", no_wrap=True)
    for one in watched.questions:
        texts = one.display
        verdict = "" if one.verdict is None else one.verdict
        styled = f"[{_VERDICT_STYLES[verdict]}]{verdict}[/]" if verdict else ""
        cells = (one.name, texts["value"], texts.get("interval", ""), texts.get("gate", ""))
        table.add_row(*[*map(_escaped, cells), styled][: len(table.columns)])
    _show(table)
    click.echo(f"n = {count(watched.round)} · {spent_on(watched)}")
    left = describe_left(session, watched.questions[-1].result)
    if left is not None:
        click.echo(left)


def show_status(status: Status | SurpriseStatus, as_json: bool, own: str | None = None) -> None:
    """Print where a dataset stands, and what is left within the caller's ``own`` limit."""
    if as_json:
        show_json(status.to_dict())
        return
    _show(f"[bold]{_escaped(status.name)}[/bold] · dataset {status.dataset[:12]}")
    grid = _grid()
    if status.guard == "surprise":
        _add_surprise_rows(grid, cast("SurpriseStatus", status))
    else:
        _add_noise_rows(grid, cast("Status", status))
    if own is not None:
        grid.add_row("Your limit", own)
    grid.add_row("Ledger", f"{several(status.entries, 'entry')}, head {status.head[:12]}")
    _show(grid)


def _add_surprise_rows(grid: Any, status: SurpriseStatus) -> None:
    waiting = "" if status.advice is None else f"; {status.advice}"
    grid.add_row("Records", f"{count(status.n)}{waiting}")
    grid.add_row("Columns", _columns_line(status.columns))
    confidence = status.display["confidence"]
    promise = f"surprise: all intervals hold together with probability {confidence}"
    grid.add_row("Guard", promise)
    expected = f"{count(status.claims_expected)} expected, no limit"
    grid.add_row("Claims", f"{count(status.claims)} registered ({expected})")
    limit = "" if status.limit is None else f" of {bits(status.limit)}"
    answers = several(status.answers, "answer")
    grid.add_row("Spent", f"{status.display['spent']}{limit}, in {answers}")
    _add_analysts(grid, status)
    if status.width is not None:
        width = status.display["width"]
        grid.add_row("Next claim", f"{width} at most, if it is asked now")


def _add_analysts(grid: Any, status: Status | SurpriseStatus) -> None:
    """Say what each has spent, and what is reserved, unless there is but one and no reservation."""
    listed = status.by_analyst
    if len(listed) > 1 or any(one.reserved for one in listed):
        for one in listed:
            grid.add_row("", _escaped(str(one)))


def _add_noise_rows(grid: Any, status: Status) -> None:
    grid.add_row("Records", _records_line(status))
    grid.add_row("Columns", _columns_line(status.columns))
    promise = f"± {width(status.width)}, other numbers in proportion to their range; all hold "
    holds = f"together with probability {percent(status.beta)} ({status.certificate})"
    grid.add_row("Every fraction", f"at most {promise}{holds}")
    grid.add_row("Answers", _answers_line(status))
    grid.add_row("Budget", str(status.budget))
    _add_analysts(grid, status)


def _columns_line(columns: Mapping[str, str]) -> str:
    listed = [f"{name} {kind}" for name, kind in columns.items()]
    more = f", ... ({count(len(listed))} in all)" if len(listed) > 2 * _FEW else ""
    return _escaped(", ".join(listed[: 2 * _FEW]) + more)


def show_answers(
    answers: Sequence[Result], session: Session | RemoteSession, *, explain: bool, as_json: bool
) -> None:
    """Print one line per answer and the budget left; or everything about each."""
    if as_json:
        shown = [answer.to_dict() for answer in answers]
        show_json(shown[0] if len(shown) == 1 else {"answers": shown})
        return
    for answer in answers:
        click.echo(answer.explain() if explain else f"{answer}{_label(answer, answers)}")
    if not explain:
        from surehold.session.quotes import describe_left

        left = describe_left(session, answers[-1])
        if left is not None:
            click.echo(left)


def show_transcript(answers: Iterable[Result], as_json: bool, canonical: bool = False) -> None:
    """Print all answers, one per line, while they are read; named questions by their names."""
    if not as_json:
        for answer in answers:
            query = _one_line(answer.query if canonical else answer.label)
            click.echo(f"{answer.entry:>6}  {answer.analyst}  {answer.brief}  {query}")
        return
    separator = ""
    click.echo('{"answers": [', nl=False)
    for answer in answers:
        text = json.dumps(answer.to_dict(), allow_nan=False, ensure_ascii=False)
        click.echo(f"{separator}\n{text}", nl=False)
        separator = ","
    click.echo("\n]}")


def show_lines(lines: Iterable[str]) -> None:
    """Print lines that are written out already, as they come."""
    for line in lines:
        click.echo(line, nl=False)


def _one_line(text: str) -> str:
    """Escape line breaks: a query is someone else's text, and could forge lines of output."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None] | None]:
    """Count on standard error during a long operation, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    counter = TextColumn("{task.completed:,.0f} " + what)
    with _bars(SpinnerColumn(), counter, TimeElapsedColumn()) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done: bars.update(task, completed=done)


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar on standard error; call the value after each step."""
    with _bars() as bars:
        task = bars.add_task(label, total=total)
        yield lambda: bars.advance(task)


@contextmanager
def playing() -> Iterator[Callable[[int, int], None]]:
    """Show the progress of a contest on standard error, with the time left.

    Without a terminal it prints a line after 5 seconds, 20, 80 and so on.
    """
    if sys.stderr.isatty():
        with _bars() as bars:
            task = bars.add_task("playing", total=None)
            yield lambda done, total: bars.update(task, completed=done, total=total)
        return
    began, next_line = time.monotonic(), 5.0

    def announce(done: int, total: int) -> None:
        nonlocal next_line
        passed = time.monotonic() - began
        enough = done >= _SOME or passed > _LONG
        if passed > next_line and enough and done < total:
            next_line *= 4.0
            left = duration(passed / done * (total - done))
            click.echo(f"{done:,} of {total:,} repeats played, about {left} left", err=True)

    yield announce


def _bars(*columns: ProgressColumn) -> Progress:
    """Return bars on standard error with these columns, or those of rich."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    left = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*(columns or left), console=Console(stderr=True), transient=True)


def _show(renderable: object) -> None:
    """Print without the blanks that pad every line to the screen's width."""
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


def _records_line(status: Status) -> str:
    planned = f"planned from {count(status.first_round)} to {count(status.last_round)}"
    waiting = "" if status.ready else f"; {status.advice}"
    if status.ready and status.next_round is not None:
        waiting = f"; next round at {count(status.next_round)}"
    return f"{count(status.n)}, {planned}{waiting}"


def _answers_line(status: Status) -> str:
    given = f"{count(status.answers)} given, counting each cell of a table"
    at = status.round or (
        status.first_round if status.n < status.first_round else status.last_round
    )
    return f"{given}; {count(status.answers_left)} left at n = {count(at)}"


def _label(answer: Result, answers: Sequence[Result]) -> str:
    """Name the query if there are several, and say if the answer was free."""
    label = f"  {answer.label}" if len(answers) > 1 else ""
    return label + ("  (recorded: free)" if answer.recorded else "")


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
