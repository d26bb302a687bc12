"""Tokens: what is kept of them, who they let in, and the commands that make and end them."""

from __future__ import annotations

import hmac
import json
import os
import re
import stat
import subprocess
import sys
from datetime import datetime

import pytest
from click.testing import CliRunner

import surehold as sh
from support.runtime import made
from surehold.cli import exit_code, surehold
from surehold.server import tokens
from surehold.server.tokens import FILE, ROLES, Token, TokenBook

NOW = 1_800_000_000.0
TEXT = re.compile("hf_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", re.ASCII)


@pytest.fixture
def now():
    return [NOW]


@pytest.fixture
def book(tmp_path, now):
    return TokenBook(tmp_path, lambda: now[0])


def run(*arguments: object) -> tuple[int, str, str]:
    """The command in this process: exit code, output, errors."""
    result = CliRunner().invoke(surehold, [str(argument) for argument in arguments])
    if isinstance(result.exception, sh.SureholdError):
        return exit_code(result.exception), result.stdout, str(result.exception)
    return result.exit_code, result.stdout, result.stderr


# ---------------------------------------------------------------------------------- the book


def test_a_token_proves_who_it_was_made_for(book):
    for role in ROLES:
        token, text = book.create("ann", role, seconds=60.0)
        assert TEXT.fullmatch(text)
        assert text[3:15] == token.id
        assert book.find(text) == token
        assert (token.analyst, token.role, token.limit) == ("ann", role, None)
        assert datetime.fromisoformat(token.expires).timestamp() == NOW + 60.0
    assert len({token.id for token in book.tokens}) == len(ROLES)


def test_only_hashes_are_on_the_disk(tmp_path):
    with made(tmp_path / "clinic", count=10) as dataset:
        made_tokens = [TokenBook(dataset.path).create("ann", "analyst", seconds=None)]
        made_tokens += [TokenBook(dataset.path).create("bob", "viewer", seconds=5.0)]
        TokenBook(dataset.path).revoke(made_tokens[0][0].id)
    found = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for token, text in made_tokens:
        assert token.id.encode() in found
        for start in range(16, len(text) - 12, 4):  # nor any part of a secret
            assert text[start : start + 12].encode() not in found
        assert text not in repr(token) + str(token) + str(token.to_dict())


def test_nobody_else_may_read_or_write_the_book(book, tmp_path):
    book.create("ann", "viewer", seconds=None)
    book.create("bob", "viewer", seconds=None)
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {FILE, "tokens.lock"}


def test_hashes_are_compared_in_constant_time_whoever_asks(book, monkeypatch):
    """The same work for a token that is right, wrong, unknown, expired or none at all."""
    token, text = book.create("ann", "viewer", seconds=None)
    compared: list[tuple[int, int]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((len(one), len(other)))
        return hmac_compare(one, other)

    hmac_compare = hmac.compare_digest
    monkeypatch.setattr(tokens.hmac, "compare_digest", compare)
    assert book.find(text) == token
    for bad in (
        f"hf_{token.id}_{'A' * 43}",
        f"hf_{'0' * 12}_{text[16:]}",
        "",
        "hf_",
        text + "=",
        text[:-1],
        f"HF{text[2:]}",
        f" {text}",
        text.replace("_", "-", 1),
    ):
        with pytest.raises(sh.AccessDenied) as caught:
            book.find(bad)
        assert caught.value.status == 401
    assert compared == [(64, 64)] * 10


def test_the_empty_secret_opens_nothing(book, tmp_path):
    """Its hash is what an unknown token is compared with."""
    book.create("ann", "viewer", seconds=None)
    for text in ("hf_" + "0" * 12 + "_", "hf__", "hf_" + "0" * 12):
        with pytest.raises(sh.AccessDenied):
            book.find(text)


def test_it_ends_with_its_time_or_when_it_is_revoked(book, now):
    brief, brief_text = book.create("ann", "analyst", seconds=10.0)
    lasting, text = book.create("ann", "analyst", seconds=None)
    now[0] += 9.999
    assert (book.find(brief_text), book.state(brief)) == (brief, "valid")
    now[0] += 0.001
    assert book.state(brief) == "expired"
    with pytest.raises(sh.AccessDenied, match="has expired"):
        book.find(brief_text)
    now[0] += 1e9
    assert book.find(text) == lasting
    revoked = book.revoke(lasting.id)
    assert book.state(revoked) == "revoked"
    with pytest.raises(sh.AccessDenied, match="was revoked"):
        book.find(text)
    assert book.revoke(lasting.id) == revoked  # and the time stays the first one
    assert [token.id for token in book.tokens] == [brief.id, lasting.id]


def test_one_account_has_few_sessions_and_the_newest_stay(book):
    def start(account):
        return book.create("ann", "viewer", seconds=60.0, account=account)

    other, job = start("u-2")[0], book.create("ann", "viewer", seconds=60.0)[0]
    made = [start("u-1") for _ in range(25)]
    assert [token.id for token in book.tokens] == [
        *(other.id, job.id),
        *(token.id for token, _ in made[5:]),
    ]
    with pytest.raises(sh.AccessDenied, match="unknown"):
        book.find(made[4][1])
    assert book.find(made[5][1]) == made[5][0]


def test_another_book_on_the_same_file_knows_at_once(book, tmp_path, now):
    other = TokenBook(tmp_path, lambda: now[0])
    assert other.is_open
    token, text = book.create("ann", "viewer", seconds=None)
    assert not other.is_open
    assert other.find(text) == token
    other.revoke(token.id)
    with pytest.raises(sh.AccessDenied):
        book.find(text)
    assert not book.is_open


@pytest.mark.parametrize(
    ("analyst", "role", "options"),
    [
        ("", "analyst", {}),
        ("a\nb", "analyst", {}),
        ("a" * 201, "analyst", {}),
        ("\ud800", "analyst", {}),
        ("ann", "king", {}),
        ("ann", "analyst", {"limit": 0.0}),
        ("ann", "analyst", {"limit": 1.5}),
        ("ann", "analyst", {"limit": float("nan")}),
        ("ann", "viewer", {"limit": 0.5}),
        ("ann", "analyst", {"seconds": 0.0}),
        ("ann", "analyst", {"seconds": -1.0}),
        ("ann", "analyst", {"seconds": float("nan")}),
        ("ann", "analyst", {"seconds": 1e300}),
    ],
)
def test_tokens_that_can_not_be_meant(book, tmp_path, analyst, role, options):
    with pytest.raises(sh.InvalidInput):
        book.create(analyst, role, **{"seconds": 60.0, **options})
    assert book.is_open
    assert not (tmp_path / FILE).exists()


def _lines(**changes: object) -> bytes:
    line = {
        "id": "0" * 12,
        "analyst": "ann",
        "role": "custodian",
        "limit": None,
        "created": "2026-01-01T00:00:00+00:00",
        "expires": None,
        "revoked": None,
        "hash": "0" * 64,
    }
    return json.dumps({"format": 1, "tokens": [{**line, **changes}]}).encode()


def test_the_line_that_the_next_test_damages_is_good(tmp_path):
    (tmp_path / FILE).write_bytes(_lines())
    [token] = TokenBook(tmp_path).tokens
    assert isinstance(token, Token)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b'{"format": 1}',
        b'{"format": 2, "tokens": []}',
        b'{"format": 1, "tokens": {}}'.replace(b"{}", b"7"),
        b'{"format": 1, "tokens": [7]}',
        b"\xff",
        b"[" * 100_000,
        _lines(hash=None),
        _lines(hash="0" * 63),
        _lines(role="king"),
        _lines(limit=7),
        _lines(limit="all"),
        _lines(expires="tomorrow"),
        _lines(expires="2026-01-01T00:00:00"),
        _lines(revoked=7),
        _lines(more=1),
        _lines()[:-5],
    ],
)
def test_a_damaged_book_is_not_open_and_is_not_written_over(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    book = TokenBook(tmp_path)
    attempts = {
        "is_open": lambda: book.is_open,
        "find": lambda: book.find(f"hf_{'0' * 12}_{'A' * 43}"),
        "create": lambda: book.create("ann", "viewer", seconds=None),
        "revoke": lambda: book.revoke("0" * 12),
    }
    for attempt in attempts.values():
        with pytest.raises(sh.StorageFailed, match="all access is denied"):
            attempt()
    assert (tmp_path / FILE).read_bytes() == content


def test_a_disk_that_is_full_leaves_the_book_as_it_was(book, tmp_path, monkeypatch):
    token, text = book.create("ann", "viewer", seconds=None)
    before = (tmp_path / FILE).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(sh.StorageFailed, match="nothing was changed"):
        book.create("bob", "viewer", seconds=None)
    with pytest.raises(sh.StorageFailed, match="nothing was changed"):
        book.revoke(token.id)
    assert (tmp_path / FILE).read_bytes() == before
    assert book.find(text) == token
    assert {path.name for path in tmp_path.iterdir()} == {FILE, "tokens.lock"}


CREATE = """
import sys
from pathlib import Path
from surehold.server.tokens import TokenBook
for i in range(20):
    print(TokenBook(Path(sys.argv[1])).create(f"{sys.argv[2]}{i}", "viewer", seconds=None)[1])
"""


def test_processes_that_create_at_once_lose_nothing(tmp_path):
    command = [sys.executable, "-c", CREATE, str(tmp_path)]
    started = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in "abc"
    ]
    texts = [text for process in started for text in process.communicate()[0].split()]
    book = TokenBook(tmp_path)
    assert sorted(book.find(text).analyst for text in texts) == sorted(
        f"{name}{i}" for name in "abc" for i in range(20)
    )
    assert len(book.tokens) == 60


# ------------------------------------------------------------------------------- the commands


@pytest.fixture
def clinic(tmp_path):
    made(tmp_path / "clinic").close()
    return tmp_path / "clinic"


def test_create_shows_the_token_once_and_alone(clinic):
    """On standard output there is nothing else, so that it can go where it belongs."""
    code, out, err = run("token", "create", clinic, "--analyst", "ann", "--limit", "0.25")
    assert (code, out.count("\n")) == (0, 1)
    text = out.strip()
    assert TEXT.fullmatch(text)
    assert text not in err
    assert "analyst 'ann', up to 0.25 of the budget, until 2" in err
    assert "not be shown again" in err
    code, out, err = run("token", "list", clinic)
    assert (code, out.count("\n")) == (0, 1)
    assert text[16:] not in out + err
    assert out.startswith(text[3:15])
    assert out.rstrip().endswith("valid")
    code, out, _ = run("token", "revoke", clinic, text[3:15])
    assert (code, out.startswith("revoked ")) == (0, True)
    assert run("token", "list", clinic)[1].rstrip().endswith("revoked")
    with pytest.raises(sh.AccessDenied):
        TokenBook(clinic).find(text)


def test_json_has_the_same(clinic):
    options = ("--analyst", "ward", "--role", "custodian", "--expires", "never", "--json")
    created = json.loads(run("token", "create", clinic, *options)[1])
    text = created.pop("token")
    found = TokenBook(clinic).find(text)
    assert created == found.to_dict()
    assert (found.role, found.expires) == ("custodian", None)
    listed = json.loads(run("token", "list", clinic, "--json")[1])
    assert listed == {"tokens": [{**created, "state": "valid"}]}
    revoked = json.loads(run("token", "revoke", clinic, found.id, "--json")[1])
    assert revoked == {**created, "revoked": revoked["revoked"]}
    assert revoked["revoked"] is not None


@pytest.mark.parametrize(
    ("expires", "seconds"),
    [("30s", 30), ("5m", 300), ("12h", 43_200), ("30d", 2_592_000), ("8w", 4_838_400)],
)
def test_durations(clinic, expires, seconds):
    shown = run("token", "create", clinic, "--analyst", "ann", "--expires", expires, "--json")[1]
    made_then = json.loads(shown)
    times = [datetime.fromisoformat(made_then[name]).timestamp() for name in ("created", "expires")]
    assert times[1] - times[0] == pytest.approx(seconds, abs=0.01)


def test_by_default_a_token_ends(clinic):
    shown = json.loads(run("token", "create", clinic, "--analyst", "ann", "--json")[1])
    assert (shown["role"], shown["limit"], shown["expires"] is None) == ("analyst", None, False)


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--analyst", ""),
        ("--analyst", "ann", "--role", "king"),
        ("--analyst", "ann", "--expires", "0d"),
        ("--analyst", "ann", "--expires", "30"),
        ("--analyst", "ann", "--expires", "-5d"),
        ("--analyst", "ann", "--expires", "3 months"),
        ("--analyst", "ann", "--expires", "999999w"),
        ("--analyst", "ann", "--expires", "٣d"),
        ("--analyst", "ann", "--limit", "0"),
        ("--analyst", "ann", "--limit", "25%"),
        ("--analyst", "ann", "--limit", "2"),
        ("--analyst", "ann", "--limit", "nan"),
        ("--analyst", "ann", "--role", "viewer", "--limit", "0.5"),
    ],
)
def test_what_create_refuses(clinic, options):
    code, out, err = run("token", "create", clinic, *options)
    assert (code, out) == (2, "")
    assert err
    assert not (clinic / FILE).exists()


def test_other_refusals(clinic, tmp_path):
    assert run("token", "list", clinic)[2].startswith("no tokens: a service is open to anyone")
    code, _, message = run("token", "revoke", clinic, "nothing")
    assert (code, "surehold token list" in message) == (2, True)
    for arguments in (("list",), ("revoke", "x"), ("create", "--analyst", "ann")):
        verb, *rest = arguments
        assert run("token", verb, tmp_path / "nowhere", *rest)[0] == 2
        assert run("token", verb, "http://127.0.0.1:8750", *rest)[0] == 2
    (clinic / FILE).write_text("{")
    code, out, message = run("token", "list", clinic)
    assert (code, out, "tokens.json" in message) == (1, "", True)


def test_a_token_goes_into_a_file_that_only_its_owner_reads(tmp_path, clinic):
    path = tmp_path / "ann.token"
    command = ["token", "create", clinic, "--analyst", "ann", "--out", path]
    code, out, _ = run(*command)
    text = path.read_text().strip()
    assert (code, text in out) == (0, False)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert TokenBook(clinic).find(text).analyst == "ann"
    count = len(TokenBook(clinic).tokens)
    code, _, told = run(*command)  # the file is there: no token is made that nobody has
    assert code == 2
    assert "--out must be a new file" in told
    assert len(TokenBook(clinic).tokens) == count
