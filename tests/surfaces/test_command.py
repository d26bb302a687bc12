"""The command as a whole: help, version, and a place for every error."""

import inspect

import pytest

from surehold import __version__, errors
from surehold.cli import exit_code, main, surehold
from surehold.cli.plan import plan as plan_command
from surehold.plots import style
from surehold.theory.certificates import CERTIFICATES

EXAMPLES = {
    errors.SureholdError: errors.SureholdError("something"),
    errors.InvalidInput: errors.InvalidInput("beta", "a probability", 2),
    errors.NotApplicable: errors.NotApplicable("ours-n", "it needs a schedule"),
    errors.WrongGuard: errors.WrongGuard("a fit", "noise"),
    errors.Unreachable: errors.Unreachable("a width", "another is reachable", {"alpha": 0.1}),
    errors.NotCertified: errors.NotCertified("a bracket", {"low": 1}),
    errors.MissingExtra: errors.MissingExtra("drawing a picture", "plot"),
    errors.InvalidQuery: errors.InvalidQuery("there is no column 'x'", "x > 1", 0),
    errors.BudgetExhausted: errors.BudgetExhausted(0.1, 0.05, 500, 900, 400, "wait"),
    errors.NotReady: errors.NotReady("there are no records", "append some", {"records": 0}),
    errors.LedgerCorrupt: errors.LedgerCorrupt("the ledger", "its hash is wrong", 7),
    errors.BadRecord: errors.BadRecord(3, "age", "a whole number", "text"),
    errors.StorageFailed: errors.StorageFailed("writing", "the disk is full", "free some"),
    errors.EvaluationFailed: errors.EvaluationFailed(
        "there is not enough memory for a block of records"
    ),
    errors.AccessDenied: errors.AccessDenied("the token was revoked", "ask for another"),
    errors.RequestRefused: errors.RequestRefused(429, "too many requests", "wait", 1.0),
    errors.ServiceFailed: errors.ServiceFailed("asking", "nobody answers", "see to it"),
}
CODES = {
    errors.InvalidInput: 2,
    errors.NotApplicable: 2,
    errors.WrongGuard: 2,
    errors.InvalidQuery: 2,
    errors.BadRecord: 2,
    errors.BudgetExhausted: 3,
    errors.LedgerCorrupt: 4,
    errors.NotReady: 5,
    errors.AccessDenied: 8,
    errors.RequestRefused: 2,
}


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    captured = capsys.readouterr()
    return caught.value.code, captured.out, captured.err


def all_errors():
    return [
        cls
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if cls.__module__ == errors.__name__
    ]


@pytest.mark.parametrize("cls", all_errors())
def test_every_error_becomes_one_line_and_an_exit_code(cls, capsys, monkeypatch):
    error = EXAMPLES[cls]  # a new class must be given an example here

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(plan_command, "callback", fail)
    code, out, err = run(capsys, "plan", "--beta", "0.05")
    assert code == exit_code(error) == CODES.get(cls, 1)
    assert out == ""
    assert err == f"surehold: {error}\n"


def test_errors_share_one_base_and_carry_their_numbers():
    assert all(issubclass(cls, errors.SureholdError) for cls in all_errors())
    assert EXAMPLES[errors.InvalidInput].got == 2
    assert EXAMPLES[errors.Unreachable].numbers == {"alpha": 0.1}
    assert EXAMPLES[errors.NotCertified].numbers == {"low": 1}
    assert EXAMPLES[errors.MissingExtra].extra == "plot"
    assert EXAMPLES[errors.NotApplicable].certificate == "ours-n"


def test_help_names_every_command_and_certificate(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert all(name in out for name in surehold.commands)
    code, out, _ = run(capsys, "plan", "-h")
    assert code == 0
    assert all(name in " ".join(out.split()) for name in CERTIFICATES)


def test_version(capsys):
    assert run(capsys, "--version")[1] == f"surehold, version {__version__}\n"


def test_no_command_shows_the_help(capsys):
    code, out, err = run(capsys)
    assert code == 2
    assert "Usage: surehold" in out + err


def test_unknown_command_is_one_line(capsys):
    code, out, err = run(capsys, "plam")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


def test_pictures_without_the_extra_say_what_to_install(capsys, monkeypatch, tmp_path):
    def missing():
        raise errors.MissingExtra("drawing a picture", "plot")

    monkeypatch.setattr(style, "require_matplotlib", missing)
    path = str(tmp_path / "plan.png")
    code, _, err = run(
        capsys, "plan", "--static", "900", "--alpha", "0.3", "--beta", "0.05", "--plot", path
    )
    assert code == 1
    assert "pip install 'surehold[plot]'" in err


def test_every_certificate_has_its_colour():
    assert set(style.COLOURS) == {*CERTIFICATES, "surprise"}
    assert len(set(style.COLOURS.values())) == len(CERTIFICATES) + 1


def test_an_address_without_http_is_noticed(capsys):
    code, _, err = run(capsys, "status", "127.0.0.1:8750")
    assert code == 2
    assert "did you mean http://127.0.0.1:8750?" in err
