"""The `surehold` command: it translates between text and the library, and computes nothing."""

from __future__ import annotations

import sys

import click

from surehold import __version__, errors
from surehold.cli.ask import ask, quote, register
from surehold.cli.create import append, create
from surehold.cli.decide import gate, score, select
from surehold.cli.init import init
from surehold.cli.lab import lab
from surehold.cli.leaderboard import leaderboard
from surehold.cli.look import backup, plot, status, transcript, verify
from surehold.cli.mcp import mcp
from surehold.cli.plan import plan
from surehold.cli.reproduce import reproduce
from surehold.cli.reserve import reserve
from surehold.cli.serve import serve, token
from surehold.cli.succeed import succeed
from surehold.cli.types import HELP, InOrder
from surehold.cli.watch import watch
from surehold.errors import SureholdError

__all__ = ["exit_code", "main", "surehold"]


_EXIT_CODES: dict[type[SureholdError], int] = {
    errors.InvalidInput: 2,
    errors.InvalidQuery: 2,
    errors.BadRecord: 2,
    errors.NotApplicable: 2,
    errors.WrongGuard: 2,
    errors.BudgetExhausted: 3,
    errors.LedgerCorrupt: 4,
    errors.NotReady: 5,
    errors.AccessDenied: 8,  # 6 and 7 are a gate's
    errors.RequestRefused: 2,
}


@click.group(context_settings=HELP, cls=InOrder)
@click.version_option(__version__, prog_name="surehold")
def surehold() -> None:
    """Ask growing data as often as you like; the confidence intervals stay valid."""


for _command in (
    init,
    plan,
    create,
    append,
    register,
    quote,
    ask,
    watch,
    gate,
    select,
    score,
    leaderboard,
    status,
    transcript,
    verify,
    backup,
    plot,
    reserve,
    succeed,
    serve,
    token,
    mcp,
    lab,
    reproduce,
):
    surehold.add_command(_command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command. An error becomes one line on standard error and an exit code."""
    try:
        code = surehold.main(args=arguments, prog_name="surehold", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 2
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "surehold"
        _print_error(f"{error.format_message()} See '{where} --help'.")
        code = error.exit_code
    except click.ClickException as error:
        _print_error(error.format_message())
        code = error.exit_code
    except click.Abort:
        _print_error("interrupted")
        code = 130
    except SureholdError as error:
        _print_error(str(error))
        code = exit_code(error)
    except OSError as error:  # a full disk, or a reader that went away
        _print_error(f"could not write: {error.strerror}")
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: SureholdError) -> int:
    """Return the exit code of an error: 1 unless its class has one of its own."""
    return next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), 1)


def _print_error(message: str) -> None:
    click.echo(f"surehold: {' '.join(message.split())}", err=True)
