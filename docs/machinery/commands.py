"""Generate the reference page of the command from its help: `python docs/machinery/commands.py`.

A test compares the page with this output, so run it (or `make pages`) when a command changes.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from surehold import errors
from surehold.cli import exit_code, surehold
from surehold.cli.decide import GATE_CODES
from surehold.cli.lab import BROKEN

PAGE = Path(__file__).parents[1] / "reference" / "cli.md"

_HEAD = """\
# The command

*This page is generated from the command's help. To change it, edit the help and run `make pages`.*

`surehold COMMAND --help` prints the same text, `surehold --version` the version. Write whole
numbers as `1500000`, `1_500_000`, `1,500,000` or `1.5e6`. With `--json` a command prints one JSON
object and nothing else ([plans](plan.md#the-json-object), [others](runtime.md#the-json-objects)).
An error is one line on standard error.
"""

_MEANINGS = {
    0: "success; for a gate: pass",
    1: "the target is out of reach, or something failed: disk, process, network, missing package",
    2: "invalid argument, query or record; nothing was changed",
    3: "the charge does not fit the budget; nothing was charged",
    4: "the ledger, the data and the plan do not match",
    5: "not ready: too few records, or a round outside the plan",
    6: "for a gate: fail; for `surehold lab check`: the promised coverage can be ruled out",
    7: "for a gate: undecided",
    8: "not authenticated, or permission denied by the service",
    130: "interrupted",
}
_ARGUMENTS = {
    "amount": "a share of the budget, such as 0.25, or a number of bits",
    "analyst": "the name of an analyst",
    "old": "the folder of the dataset that is replaced",
    "new": "the folder of its successor, to be created",
    "candidates": "two or more [queries](queries.md) to choose from",
    "dataset": "the dataset's folder or, if there is a `--token-file` option, a service's address",
    "datasets": "folders of datasets; one, or several with `/d/NAME` in their addresses",
    "file": "a file of records: CSV, TSV, NDJSON (also `.gz` or `.zst`), Parquet or Arrow",
    "predictions": "a table of predictions (CSV, Parquet, JSON lines or Arrow)",
    "scored": "a table of predictions (CSV, Parquet, JSON lines or Arrow), or an ONNX file",
    "id": "the ID of a token, from `surehold token list`",
    "plan_or_dataset": "a plan written by `surehold plan --json`, or a dataset's folder",
    "queries": "one or more [queries](queries.md)",
    "query": "a [query](queries.md)",
    "target": "the folder of the copy, to be created",
    "source": "a file of records; `-` or nothing means standard input",
}
_DOCUMENT = re.compile(r"docs/reference/([\w-]+\.md)")


def page() -> str:
    """Return the whole page."""
    below = list(_below(surehold, "surehold"))
    listed = [
        f"| [`{path}`](#{path.replace(' ', '-')}) | {_escaped(command.get_short_help_str(200))} |"
        for path, command in below
        if not isinstance(command, click.Group)
    ]
    parts = [_HEAD, "| command | does |\n|---|---|\n" + "\n".join(listed) + "\n", _exit_codes()]
    parts += [_section(path, command) for path, command in below]
    return "\n".join(parts)


def _below(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """All commands of a group, each with the words that call it."""
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from _below(command, f"{path} {name}")


def _exit_codes() -> str:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    kinds = [kind for kind in kinds if issubclass(kind, errors.SureholdError)]
    named: dict[int, list[str]] = {code: [] for code in _MEANINGS}
    for kind in kinds:
        if kind is not errors.SureholdError:
            link = f"[`{kind.__name__}`](errors.md#{kind.__name__.lower()})"
            named[exit_code(kind.__new__(kind))].append(link)
    rows = [f"| {code} | {text} | {', '.join(named[code])} |" for code, text in _MEANINGS.items()]
    return "## Exit codes\n\n| code | means | error |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _section(path: str, command: click.Command) -> str:
    parent = click.Context(surehold, info_name=path.rpartition(" ")[0])
    context = click.Context(command, parent, command.name, **command.context_settings)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    parts = [f"## {path}\n", f"```text\n{usage}\n```\n", _help(command)]
    if not isinstance(command, click.Group):
        parts += [_arguments(command), _options(command, context), _codes(command)]
    return "\n".join(part for part in parts if part)


def _help(command: click.Command) -> str:
    """Paragraphs, and the examples of the help in a fence."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    parts = []
    for paragraph in paragraphs:
        if paragraph.startswith("\b\n"):
            parts.append(f"```text\n{paragraph[2:]}\n```\n")
        else:
            parts.append(_DOCUMENT.sub(r"[\1](\1)", " ".join(paragraph.split())) + "\n")
    return "\n".join(parts)


def _arguments(command: click.Command) -> str:
    rows = []
    for argument in command.params:
        if isinstance(argument, click.Argument):
            name = argument.metavar or str(argument.name).upper()
            rows.append(f"| `{name}` | {_meaning(argument)} |")
    return "| argument | |\n|---|---|\n" + "\n".join(rows) + "\n" if rows else ""


def _meaning(argument: click.Argument) -> str:
    if isinstance(argument.type, click.Choice):
        return f"one of {', '.join(f'`{choice}`' for choice in argument.type.choices)}"
    if argument.name not in _ARGUMENTS:
        raise LookupError(f"say in _ARGUMENTS what the argument {argument.name!r} is")
    return _ARGUMENTS[argument.name]


def _options(command: click.Command, context: click.Context) -> str:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            names, meaning = record
            rows.append(f"| `{_escaped(names)}` | {_escaped(' '.join(meaning.split()))} |")
    return "| option | |\n|---|---|\n" + "\n".join(rows) + "\n"


def _codes(command: click.Command) -> str:
    """Which exit codes a command can have, by what it works on."""
    names = {parameter.name for parameter in command.params}
    codes = {0, 1, 2, 130}
    if names & {"dataset", "plan_or_dataset"}:
        codes.add(4)
    if "held" in names:
        codes.add(5)
    if "key" in names:  # it charges
        codes.add(3)
    if "token_file" in names:  # it may be a service's
        codes.add(8)
    if "at_least" in names:  # a gate
        codes |= set(GATE_CODES.values())
    if "plan_or_dataset" in names:
        codes.add(BROKEN)
    shown = ", ".join(map(str, sorted(codes)))
    return f"[Exit codes](#exit-codes): {shown}.\n"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print("wrote", PAGE)
