"""The `holdfast` command. It translates between words and the library; it computes nothing."""

from __future__ import annotations

import sys

import click

from holdfast import __version__
from holdfast.cli.plan import plan
from holdfast.cli.reproduce import reproduce
from holdfast.cli.types import HELP
from holdfast.errors import HoldfastError, InvalidInput, NotApplicable

__all__ = ["exit_code", "holdfast", "main"]


@click.group(context_settings=HELP)
@click.version_option(__version__, prog_name="holdfast")
def holdfast() -> None:
    """Answers that stay valid however often growing data is asked."""


holdfast.add_command(plan)
holdfast.add_command(reproduce)


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
    return 2 if isinstance(error, InvalidInput | NotApplicable) else 1


def _complain(message: str) -> None:
    click.echo(f"holdfast: {' '.join(message.split())}", err=True)
