"""The `holdfast` command. It translates between words and the library; it computes nothing."""

from __future__ import annotations

import sys

import click

from holdfast import __version__
from holdfast.cli.ask import ask, quote
from holdfast.cli.create import append, create
from holdfast.cli.decide import gate, score, select
from holdfast.cli.lab import lab
from holdfast.cli.look import plot, status, transcript, verify
from holdfast.cli.mcp import mcp
from holdfast.cli.plan import plan
from holdfast.cli.reproduce import reproduce
from holdfast.cli.serve import serve, token
from holdfast.cli.types import HELP, InOrder
from holdfast.errors import (
    AccessDenied,
    BadRecord,
    BudgetExhausted,
    HoldfastError,
    InvalidInput,
    InvalidQuery,
    LedgerCorrupt,
    NotApplicable,
    NotReady,
    RequestRefused,
)

__all__ = ["exit_code", "holdfast", "main"]


_EXIT_CODES: dict[type[HoldfastError], int] = {
    InvalidInput: 2,
    InvalidQuery: 2,
    BadRecord: 2,
    NotApplicable: 2,
    BudgetExhausted: 3,
    LedgerCorrupt: 4,
    NotReady: 5,
    AccessDenied: 8,  # 6 and 7 are a gate's
    RequestRefused: 2,
}


@click.group(context_settings=HELP, cls=InOrder)
@click.version_option(__version__, prog_name="holdfast")
def holdfast() -> None:
    """Answers that stay valid however often growing data is asked."""


for _command in (
    plan,
    create,
    append,
    quote,
    ask,
    gate,
    select,
    score,
    status,
    transcript,
    verify,
    plot,
    serve,
    token,
    mcp,
    lab,
    reproduce,
):
    holdfast.add_command(_command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command; errors are one line on standard error and an exit code."""
    try:
        code = holdfast.main(args=arguments, prog_name="holdfast", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 2
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "holdfast"
        _complain(f"{error.format_message()} See '{where} --help'.")
        code = error.exit_code
    except click.ClickException as error:
        _complain(error.format_message())
        code = error.exit_code
    except click.Abort:
        _complain("interrupted")
        code = 130
    except HoldfastError as error:
        _complain(str(error))
        code = exit_code(error)
    except OSError as error:  # a full disk, or a reader that went away
        _complain(f"could not write: {error.strerror}")
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def exit_code(error: HoldfastError) -> int:
    """2 for what the caller can mend by asking differently, 1 for what is out of reach."""
    return next((code for kind, code in _EXIT_CODES.items() if isinstance(error, kind)), 1)


def _complain(message: str) -> None:
    click.echo(f"holdfast: {' '.join(message.split())}", err=True)
