"""Signing in at an OpenID provider: who gets which session, and everything that must not work."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from click.testing import CliRunner

from support.provider import ANN, CLIENT, SECRET, Provider, new_key, provided
from support.runtime import made
from support.service import QUICK, Got, Log, Running, check_refusal, hosting, running, send
from surehold.cli import surehold
from surehold.errors import InvalidInput
from surehold.server import oidc
from surehold.server.attempt import Attempt
from surehold.server.cookie import PAGE
from surehold.server.host import Host
from surehold.server.oidc import Oidc
from surehold.server.tokens import FILE, TokenBook

OWN = {PAGE: "1"}
SCIENCE = {"claim": "groups", "values": ["science"], "role": "analyst", "limit": 0.25}
RULES = [
    {"claim": "email", "values": ["boss@example.org"], "role": "custodian"},
    SCIENCE,
    {"claim": "email", "values": ["*@example.org"], "role": "viewer"},
]


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with provided() as found:
        yield found


@pytest.fixture(autouse=True)
def honest(provider, monkeypatch):
    """Whatever a test before did to it."""
    monkeypatch.setenv(oidc.SECRET, SECRET)
    kept = {"person": dict(ANN), "forge": None, "thin": False, "ways": ["client_secret_basic"]}
    vars(provider).update(kept)


def settings_for(provider: Provider, **changes: Any) -> Oidc:
    given = {"issuer": provider.url, "client_id": CLIENT, "allow": RULES, **changes}
    return Oidc.model_validate(given)


@pytest.fixture(scope="module")
def door(provider, tmp_path_factory) -> Iterator[Running]:
    """A service with that provider, and no tokens."""
    patch = pytest.MonkeyPatch()
    patch.setenv(oidc.SECRET, SECRET)
    path = tmp_path_factory.mktemp("oidc") / "clinic"
    settings = replace(QUICK, oidc=settings_for(provider))
    with made(path, count=300) as dataset, running(dataset, settings) as run:
        patch.undo()
        yield run


@dataclass
class Browser:
    """The cookies of a browser that goes where it is sent; ``seen`` is all that it was sent."""

    url: str
    cookies: dict[str, str] = field(default_factory=dict)
    seen: list[Got] = field(default_factory=list)

    def get(self, path: str, method: str = "GET", **headers: str) -> Got:
        sent = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items()), **headers}
        got = send(self.url, method, path, headers=sent)
        for name, morsel in [one for text in got.cookies for one in SimpleCookie(text).items()]:
            self.cookies[name] = morsel.value
            if morsel["max-age"] == "0":
                del self.cookies[name]
        self.seen.append(got)
        return got

    def leave(self, then: str = "") -> str:
        """To the provider, and as far as the address that leads back."""
        got = self.get("/v1/oidc/start" + (f"?{urlencode({'then': then})}" if then else ""))
        assert got.status == 303, got.content
        place = urlsplit(got.headers["location"])
        back = send(f"{place.scheme}://{place.netloc}", "GET", f"{place.path}?{place.query}")
        assert back.status == 302, back.content
        return back.headers["location"]

    def come_back(self, address: str, **changes: str | None) -> Got:
        """Follow that address, with changes of its parameters."""
        given = dict(parse_qsl(urlsplit(address).query)) | changes
        kept = {name: value for name, value in given.items() if value is not None}
        return self.get(f"/v1/oidc/callback?{urlencode(kept)}")

    def sign_in(self, then: str = "") -> Got:
        return self.come_back(self.leave(then))

    @property
    def session(self) -> dict[str, Any]:
        got = self.get("/v1/session")
        assert got.status == 200, got.content
        return dict(got.json["token"])


# ------------------------------------------------------------------------------------ it works


def test_a_person_signs_in_and_asks_under_their_name(door, provider):
    ann = Browser(door.url)
    assert ann.get("/v1/me").status == 401  # though there are no tokens
    back = ann.sign_in("/ask?q=age%20%3E%203")
    assert (back.status, back.headers["location"]) == (303, "/ask?q=age%20%3E%203")
    assert list(ann.cookies) == [f"surehold-{urlsplit(door.url).port}"]
    token = ann.session
    assert (token["analyst"], token["role"], token["limit"]) == ("ann@example.org", "analyst", 0.25)
    assert token["account"] == "u-1"
    body, headers = {"query": "age > 65"}, {**OWN, "Cookie": _joined(ann.cookies)}
    got = send(door.url, "POST", "/v1/ask", body, headers=headers)
    assert (got.status, got.json["analyst"]) == (200, "ann@example.org")
    limit = send(door.url, "GET", "/v1/me", headers=headers).json["limit"]
    assert 0 < limit["spent"] < limit["total"]
    assert (
        send(door.url, "POST", "/v1/ask", body, headers={"Cookie": _joined(ann.cookies)}).status
        == 403
    )


def test_the_provider_sees_what_the_flow_needs_and_the_browser_no_secret(door, provider):
    ann = Browser(door.url)
    ann.sign_in()
    asked = dict(parse_qsl(urlsplit(ann.seen[0].headers["location"]).query))
    assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
    attempt = Attempt.read(SimpleCookie(ann.seen[0].headers["set-cookie"]).popitem()[1].value)
    told = json.dumps(asked)
    for kept in (attempt.secret, attempt.part("verifier"), SECRET):
        assert kept not in told
    for got in ann.seen:
        assert SECRET not in got.content.decode() + str(got.headers)
    [morsel] = SimpleCookie(ann.seen[0].headers["set-cookie"]).values()
    assert (morsel["httponly"], morsel["samesite"], morsel["path"]) == (True, "lax", "/v1/oidc")
    again = dict(parse_qsl(urlsplit(Browser(door.url).leave()).query))
    assert again["state"] != asked["state"]


@pytest.mark.parametrize(
    ("person", "role"),
    [
        ({"email": "boss@example.org", "groups": ["science"]}, "custodian"),  # the first rule
        ({"groups": "science"}, "analyst"),
        ({"groups": []}, "viewer"),
        ({"groups": None, "email": "x@example.org"}, "viewer"),
    ],
)
@pytest.mark.parametrize("thin", [False, True])
def test_the_first_rule_that_fits_gives_the_role(door, provider, person, role, thin):
    provider.person, provider.thin = {**ANN, **person}, thin
    browser = Browser(door.url)
    assert browser.sign_in().status == 303
    assert browser.session["role"] == role


@pytest.mark.parametrize("ways", [["client_secret_post"], ["client_secret_basic"]])
def test_the_secret_goes_to_the_provider_as_it_wants_it(provider, door, ways, tmp_path):
    provider.ways = ways
    with made(tmp_path / "clinic", count=10) as dataset:
        settings = replace(QUICK, oidc=settings_for(provider))
        with running(dataset, settings) as run:
            assert Browser(run.url).sign_in().status == 303


def test_a_session_lasts_as_the_id_token_or_the_settings_say(door, provider, tmp_path):
    def left(token: dict[str, Any]) -> float:
        return datetime.fromisoformat(token["expires"]).timestamp() - time.time()

    def brief(claims: dict[str, Any]) -> str:
        return provider.sign({**claims, "exp": int(time.time()) + 300})

    def long(claims: dict[str, Any]) -> str:
        return provider.sign({**claims, "exp": int(time.time()) + 10**6})

    for forge, seconds in ((None, 3600), (brief, 300), (long, 12 * 3600)):
        provider.forge = forge
        browser = Browser(door.url)
        browser.sign_in()
        assert left(browser.session) == pytest.approx(seconds, abs=60)
    provider.forge = brief
    with made(tmp_path / "clinic", count=10) as dataset:
        settings = replace(QUICK, oidc=settings_for(provider, hours=2))
        with running(dataset, settings) as run:
            browser = Browser(run.url)
            browser.sign_in()
            assert left(browser.session) == pytest.approx(7200, abs=60)


def test_a_custodian_revokes_a_session_and_signing_out_ends_it(door, provider):
    ann, boss = Browser(door.url), Browser(door.url)
    ann.sign_in()
    provider.person = {**ANN, "sub": "u-2", "email": "boss@example.org"}
    boss.sign_in()
    number = ann.session["id"]
    listed = boss.get("/v1/tokens").json["tokens"]
    assert [one["state"] for one in listed if one["id"] == number] == ["valid"]
    assert boss.get(f"/v1/tokens/{number}", "DELETE", **OWN).status == 200
    assert "revoked" in check_refusal(ann.get("/v1/status"), 401)["message"]
    own, kept = boss.session["id"], dict(boss.cookies)
    assert boss.get("/v1/session", "DELETE", **OWN).status == 200
    assert not boss.cookies
    boss.cookies = kept  # as if the cookie had been copied
    check_refusal(boss.get("/v1/status"), 401)
    assert not door.service.book.is_good(own)


def test_sessions_outlive_a_restart_and_then_leave_the_list(provider, tmp_path):
    now = [time.time()]
    settings, browser = replace(QUICK, oidc=settings_for(provider)), Browser("")
    with made(tmp_path / "clinic", count=10) as dataset:
        book = TokenBook(dataset.path, lambda: now[0])
        kept, _ = book.create("job", "viewer", seconds=1.0)
        for _ in range(2):
            with running(dataset, settings, TokenBook(dataset.path, lambda: now[0])) as run:
                port = urlsplit(run.url).port
                browser.url = run.url
                if not browser.cookies:
                    browser.sign_in()
                browser.cookies = {f"surehold-{port}": next(iter(browser.cookies.values()))}
                assert browser.session["analyst"] == "ann@example.org"
        assert [one.analyst for one in book.tokens] == ["job", "ann@example.org"]
        now[0] += 40 * 86_400.0
        book.create("late", "viewer", seconds=1.0)
        assert [one.analyst for one in book.tokens] == ["job", "late"]
        assert kept in book.tokens


def test_one_session_covers_the_datasets_of_its_rule_below_a_path(provider, tmp_path):
    root = tmp_path / "datasets"
    root.mkdir()
    for name in ("clinic", "shop"):
        made(root / name, count=300).close()
    rules = [{"claim": "sub", "values": ["*"], "role": "viewer", "datasets": ["shop"]}]
    found = settings_for(provider, allow=rules, analyst="sub")
    with hosting(Host(settings=replace(QUICK, base_path="/eval", oidc=found), root=root)) as url:
        browser = Browser(url)
        check_refusal(browser.get("/d/shop/v1/me"), 401)
        check_refusal(browser.get("/v1/oidc/start?then=/d/shop/"), 422)  # not below the path
        page = browser.get("/d/shop/", Accept="text/html").content.decode()
        assert 'data-provider="/eval/v1/oidc/start"' in page
        back = browser.sign_in("/eval/d/shop/ask")
        assert back.headers["location"] == "/eval/d/shop/ask"
        assert browser.get("/d/shop/v1/me").json["analyst"] == "u-1"
        check_refusal(browser.get("/d/clinic/v1/me"), 404)
        assert [one["name"] for one in browser.get("/v1/datasets").json["datasets"]] == ["shop"]


# ------------------------------------------------------------------------------------ attacks


def check_denied(browser: Browser, got: Got, *statuses: int) -> str:
    """No session, one shape, and nothing of what was sent or known."""
    error = check_refusal(got, *(statuses or (401,)))
    assert not [name for name in browser.cookies if not name.endswith("attempt")]
    text = got.content.decode()
    for secret in (SECRET, "eyJ", "ann@", "u-1", "hf_"):
        assert secret not in text
    return str(error["message"])


def test_only_the_browser_that_began_can_finish_and_only_once(door, provider):
    ann, eve = Browser(door.url), Browser(door.url)
    address = ann.leave()
    check_denied(eve, eve.come_back(address))  # no attempt of its own
    eve.leave()
    check_denied(eve, eve.come_back(address))  # the state of another attempt
    for state in (None, "", "x", "A" * 43):
        mallory = Browser(door.url, dict(ann.cookies))
        check_denied(mallory, mallory.come_back(address, state=state))
    attempt = dict(ann.cookies)
    assert ann.come_back(address).status == 303
    check_denied(eve, Browser(door.url).come_back(address))
    eve = Browser(door.url, attempt)  # with a copy of the cookie: the provider knows the code
    assert "does not accept the code" in check_denied(eve, eve.come_back(address))


def test_a_code_that_another_browser_got_is_useless(door, provider):
    """Injected into an own attempt, it lacks the verifier and the nonce that it was asked with."""
    stolen = dict(parse_qsl(urlsplit(Browser(door.url).leave()).query))["code"]
    eve = Browser(door.url)
    assert "does not accept the code" in check_denied(eve, eve.come_back(eve.leave(), code=stolen))
    provider.codes.clear()
    check_denied(eve, eve.come_back(eve.leave(), code="unknown"))
    check_denied(eve, eve.come_back(eve.leave(), code=None))
    check_denied(eve, eve.come_back(eve.leave(), code=None, error="access_denied"))
    check_denied(eve, eve.come_back(eve.leave(), iss="https://other.example"))
    for secret in ("", "x"):  # a cookie that somebody else wrote
        eve.cookies = {f"surehold-{urlsplit(door.url).port}-attempt": f"{secret}.%2F"}
        check_denied(
            eve, eve.get(f"/v1/oidc/callback?code=x&state={Attempt('', '/').part('state')}")
        )


def _none(claims: dict[str, Any]) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts]
    return b".".join([*coded, b""]).decode()


def _hmac(provider: Provider, claims: dict[str, Any]) -> str:
    """Signed with the public key, for who takes it for a shared secret."""
    head, body, _ = _none(claims).split(".")
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"k1"}').rstrip(b"=").decode()
    digest = hmac.digest(
        provider.key.as_pem(private=False), f"{head}.{body}".encode(), hashlib.sha256
    )
    return f"{head}.{body}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


# What an ID token is instead, and what is said of it.
LIES: dict[tuple[str, str], Any] = {
    ("another nonce", "nonce"): lambda p, c: p.sign({**c, "nonce": "x"}),
    ("no nonce", "nonce"): lambda p, c: p.sign({k: v for k, v in c.items() if k != "nonce"}),
    ("another audience", "InvalidAudience"): lambda p, c: p.sign({**c, "aud": "other"}),
    ("no audience", "MissingRequired"): lambda p, c: p.sign(
        {k: v for k, v in c.items() if k != "aud"}
    ),
    ("several audiences", "another client"): lambda p, c: p.sign({**c, "aud": [CLIENT, "other"]}),
    ("another party", "another client"): lambda p, c: p.sign({**c, "azp": "other"}),
    ("another issuer", "InvalidIssuer"): lambda p, c: p.sign({**c, "iss": "https://evil.example"}),
    ("expired", "ExpiredSignature"): lambda p, c: p.sign({**c, "exp": int(time.time()) - 120}),
    ("no end", "MissingRequired"): lambda p, c: p.sign({k: v for k, v in c.items() if k != "exp"}),
    ("of the future", "ImmatureSignature"): lambda p, c: p.sign(
        {**c, "iat": int(time.time()) + 3600}
    ),
    ("no subject", "MissingRequired"): lambda p, c: p.sign(
        {k: v for k, v in c.items() if k != "sub"}
    ),
    ("another key", "InvalidSignature"): lambda p, c: p.sign(c, new_key("k1")),
    ("an unknown key", "InvalidKey"): lambda p, c: p.sign(c, new_key("k2")),
    ("alg none", "InvalidAlgorithm"): lambda p, c: _none(c),
    ("the public key as a secret", "InvalidAlgorithm"): _hmac,
    ("no signature", "InvalidSignature"): lambda p, c: p.sign(c).rpartition(".")[0] + ".",
    ("other claims", "InvalidSignature"): lambda p, c: ".".join(
        [
            p.sign(c).split(".")[0],
            _none({**c, "groups": ["x"]}).split(".")[1],
            p.sign(c).split(".")[2],
        ]
    ),
    ("no token", "Decode"): lambda p, c: "",
    ("no JWT", "Decode"): lambda p, c: "a.b.c",
}


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie[0])
def test_an_id_token_that_is_not_right_signs_nobody_in(door, provider, log: Log, lie):
    provider.forge = lambda claims: LIES[lie](provider, claims)
    before = (door.dataset.path / FILE).read_bytes()
    eve = Browser(door.url)
    message = check_denied(eve, eve.sign_in())
    assert message.endswith("; sign in again")
    assert lie[1] in message
    assert (door.dataset.path / FILE).read_bytes() == before
    [line] = [one for one in log() if one["event"] == "sign-in refused"]
    assert line["reason"] in message
    assert "eyJ" not in json.dumps(log())


@pytest.mark.parametrize(
    ("person", "about"),
    [
        ({"groups": ["other"], "email": "ann@elsewhere.example"}, "no access"),
        ({"groups": ["science2", 7, None]}, "no access"),
        ({"email_verified": False, "groups": []}, "no access"),
        ({"email_verified": "true", "groups": []}, "no access"),
        ({"email_verified": False}, "no claim email"),  # in the group, but whose name is it?
        ({"email": "a\nb"}, "no claim email"),
        ({"email": ["ann@x.org"]}, "no claim email"),
    ],
)
def test_people_whom_no_rule_names_have_no_access(door, provider, person, about):
    provider.person = {**ANN, "email": "x@other.example", **person}
    eve = Browser(door.url)
    assert about in check_denied(eve, eve.sign_in(), 403)


def test_an_address_from_userinfo_counts_as_verified_only_with_it(door, provider):
    """Not one of the ID token's, with what is said about another."""
    provider.person = {**ANN, "groups": [], "email": "mine@example.org"}
    provider.forge = lambda claims: provider.sign(
        {**{k: v for k, v in claims.items() if k != "email_verified"}, "email": "boss@example.org"}
    )
    browser = Browser(door.url)
    assert browser.sign_in().status == 303
    assert (browser.session["analyst"], browser.session["role"]) == ("mine@example.org", "viewer")


@pytest.mark.parametrize(
    "then",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "/\t/evil.example",
        "\\\\evil.example",
        "/a\r\nSet-Cookie: x=y",
        "javascript:alert(1)",
        "ask",
        "/é",
        "/ ",
    ],
)
def test_it_leads_to_no_other_server(door, provider, then):
    eve = Browser(door.url)
    check_refusal(eve.get(f"/v1/oidc/start?{urlencode({'then': then})}"), 422)
    assert not eve.cookies
    eve.leave()
    [name] = eve.cookies
    attempt = Attempt(eve.cookies[name].partition(".")[0], then)
    state = attempt.part("state")
    eve.cookies[name] = str(attempt)  # a cookie that was changed afterwards
    check_denied(eve, eve.get(f"/v1/oidc/callback?code=x&state={state}"))


def test_a_browser_sees_a_page_that_says_why(door, provider):
    provider.person = {**ANN, "groups": [], "email": "<b>x@other.example"}
    eve = Browser(door.url)
    address = urlsplit(eve.leave())
    got = eve.get(f"{address.path}?{address.query}", Accept="text/html")
    assert (got.status, got.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert 'data-refused="permission denied: this account has no access' in got.content.decode()


def test_a_provider_that_fails_is_named_and_tokens_go_on(provider, tmp_path):
    closed = Oidc.model_validate(
        {"issuer": "http://127.0.0.1:9", "client_id": CLIENT, "allow": RULES}
    )
    other = settings_for(provider, issuer=f"{provider.url}/")  # which it does not call itself
    for number, found in enumerate((closed, other)):
        with (
            made(tmp_path / f"clinic{number}", count=10) as dataset,
            running(dataset, replace(QUICK, oidc=found)) as run,
        ):
            error = check_refusal(Browser(run.url).get("/v1/oidc/start"), 503)
            assert "sign-in provider" in error["message"]
            assert send(run.url, "GET", "/v1/me", token=run.token()).status == 200
    with made(tmp_path / "none", count=10) as dataset, running(dataset) as run:
        for path in ("start", "callback"):
            check_refusal(send(run.url, "GET", f"/v1/oidc/{path}"), 404)


# ------------------------------------------------------------------------------------ the settings

GOOD = """
issuer = "https://login.example.org"
client_id = "surehold"

[[allow]]
claim = "groups"
values = ["science"]
role = "analyst"
"""


@pytest.mark.parametrize(
    ("change", "about"),
    [
        (
            ("https://login.example.org", "http://login.example.org"),
            "issuer must be an address that begins with https",
        ),
        (("client_id", "client"), "client_id must be given"),
        (("analyst", "king"), "role"),
        (('["science"]', "[]"), "values"),
        (("[[allow]]", "hours = 13\n[[allow]]"), "hours"),
        (("[[allow]]", 'client_secret = "x"\n[[allow]]'), "no such field"),
        (("[[allow]]", 'client_secret_file = "nowhere"\n[[allow]]'), "client_secret_file"),
        (("issuer", "issuer ="), "TOML"),
        (("role", "limit = 7\nrole"), "limit"),
        (("role", 'datasets = ["x"]\nrole'), "datasets"),
    ],
)
def test_settings_that_cannot_be_meant_keep_the_service_from_starting(tmp_path, change, about):
    path = tmp_path / "oidc.toml"
    path.write_text(GOOD)
    assert oidc.read(path).admit({"groups": ["science"], "email": "a@b.c", "email_verified": True})
    path.write_text(GOOD.replace(*change))
    made(tmp_path / "clinic").close()
    result = CliRunner().invoke(surehold, ["serve", str(tmp_path / "clinic"), "--oidc", str(path)])
    assert isinstance(result.exception, InvalidInput)
    assert about in str(result.exception)
    assert not (tmp_path / "clinic" / FILE).exists()


def test_several_folders_have_no_place_for_sessions(tmp_path, provider):
    folders: list[Path] = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        made(folder).close()
    with pytest.raises(InvalidInput, match="--root"):
        Host(folders, replace(QUICK, oidc=settings_for(provider)))


def _joined(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())
