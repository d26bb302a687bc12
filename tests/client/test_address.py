"""Addresses, tokens and proxies: what is meant, what is refused, and what is never shown."""

from __future__ import annotations

import os

import pytest

import surehold as sh
from client.scripted import raw, reply, reset, scripted
from surehold.client.address import check_token, check_url, proxy_for

SECRET = "hf_s3cr3t"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://127.0.0.1:8750", "http://127.0.0.1:8750"),
        ("https://Host.example/", "https://host.example"),
        (" https://host/team/surehold/ ", "https://host/team/surehold"),
        ("HTTP://[::1]:80", "http://[::1]:80"),
    ],
)
def test_an_address(given, meant):
    assert check_url(given) == meant


@pytest.mark.parametrize(
    "given",
    ["", "clinic", "ftp://host", "http://", "host:8750", "http://host?a=1", "http://h#x", 3, None],
)
def test_no_address(given):
    with pytest.raises(sh.InvalidInput, match="url must be the address of a service"):
        sh.connect(given)


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(sh.InvalidInput) as caught:
        sh.connect(f"https://ann:{SECRET}@host")
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(vars(caught.value))


@pytest.mark.parametrize("given", ["", "  ", f"{SECRET} x", f"{SECRET}\r\nX: y", "ü", 3, b"x"])
def test_a_token_that_is_none_is_refused_and_not_repeated(given):
    with pytest.raises(sh.InvalidInput, match="token must be one word") as caught:
        sh.connect("http://127.0.0.1:1", given)
    assert SECRET not in repr((str(caught.value), vars(caught.value)))


def test_the_token_is_given_or_that_of_the_environment(monkeypatch):
    assert check_token(None) is None
    monkeypatch.setenv("SUREHOLD_TOKEN", f"{SECRET}\n")
    assert check_token(None) == SECRET
    assert check_token("other") == "other"
    monkeypatch.setenv("SUREHOLD_TOKEN", "")
    assert check_token(None) is None


def test_the_token_is_sent_and_never_shown(local, waits):
    acts = [reply(200, local["status"].to_dict()), *[reset] * 4]
    with scripted(*acts) as service, sh.connect(service.url, SECRET) as session:
        session.status()
        with pytest.raises(sh.ServiceFailed) as caught:
            session.status()
        shown = repr((session, session._connection, session.transcript._connection))
    assert {one.headers["authorization"] for one in service.got} == {f"Bearer {SECRET}"}
    assert SECRET not in shown + repr((str(caught.value), vars(caught.value)))


def test_without_a_token_there_is_no_header():
    with scripted() as service, sh.connect(service.url):
        pass
    assert "authorization" not in service.got[0].headers


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1.0}, "timeout"),
        ({"timeout": "1"}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"retries": -1}, "retries"),
        ({"retries": 1.5}, "retries"),
        ({"retries": True}, "retries"),
    ],
)
def test_options_are_checked(options, name):
    with pytest.raises(sh.InvalidInput, match=f"{name} must be"):
        sh.connect("http://127.0.0.1:1", **options)


# --------------------------------------------------------------------------------- proxies


def test_the_usual_variables_name_a_proxy(monkeypatch):
    assert proxy_for("https://host.example") is None
    monkeypatch.setenv("https_proxy", "http://proxy:3128")
    monkeypatch.setenv("http_proxy", "plain:80")
    monkeypatch.setenv("no_proxy", "inside.example,.corp")
    assert proxy_for("https://host.example") == "http://proxy:3128"
    assert proxy_for("http://host.example:8750") == "http://plain:80"
    for near in ("https://inside.example", "https://a.corp", "http://localhost:1"):
        assert proxy_for(near) is None
    for here in ("http://127.0.0.1:8750", "http://[::1]:8750"):
        assert proxy_for(here) is None


def test_a_proxy_is_used(monkeypatch, local, waits):
    with scripted(reply(200, local["status"].to_dict())) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        proxy.by = lambda got: (
            reply(200, {"analyst": "ann"})
            if got.path.endswith("/v1/me")
            else reply(200, local["status"].to_dict())
        )
        with sh.connect("http://far.example:8750") as session:
            assert session.status() == local["status"]
    assert [one.path for one in proxy.got] == [
        "http://far.example:8750/v1/me",
        "http://far.example:8750/v1/status",
    ]


def test_a_proxy_that_refuses_is_a_failed_service(monkeypatch, waits):
    with scripted() as proxy:
        proxy.by = lambda got: raw(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        monkeypatch.setenv("https_proxy", proxy.url)
        with pytest.raises(sh.ServiceFailed, match="no connection"):
            sh.connect("https://far.example", retries=1)


def test_a_forked_process_has_connections_of_its_own(monkeypatch):
    with scripted() as service, sh.connect(service.url) as session:
        mine = session._connection._pool()
        assert session._connection._pool() is mine
        monkeypatch.setattr(os, "getpid", lambda: -1)
        assert session._connection._pool() is not mine
