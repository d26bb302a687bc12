"""An OpenID provider, at which people sign in: the authorization-code flow with PKCE (RFC 7636).

ID tokens are checked as OpenID Connect Core 1.0, section 3.1.3.7, says.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import jwt
import urllib3

from surehold.errors import RequestRefused
from surehold.server.attempt import Attempt, deny
from surehold.server.oidc import Oidc, is_safe, verified

_ALGORITHMS = tuple(f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512))
_REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
_CLOCKS_DIFFER = 60.0  # seconds
_SECONDS, _MOST_BYTES = 10.0, 1 << 20


class Provider:
    """The provider at the issuer of the settings; what it publishes is read when it is needed."""

    def __init__(self, settings: Oidc) -> None:
        self.settings = settings
        self._secret = settings.secret
        self._http = urllib3.PoolManager(timeout=_SECONDS, retries=False)
        self._found: Mapping[str, Any] | None = None

    def address(self, attempt: Attempt, callback: str) -> str:
        """Return where a browser signs in."""
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": callback,
            "scope": self.settings.scopes,
            "state": attempt.part("state"),
            "nonce": attempt.part("nonce"),
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        url = self._published("authorization_endpoint")
        return f"{url}{'&' if '?' in url else '?'}{urlencode(asked)}"

    def claims(self, code: str, attempt: Attempt, callback: str) -> Mapping[str, Any]:
        """Exchange a code for the claims of the person who signed in, once they are proven."""
        given = self._exchange(code, attempt, callback)
        claims = self._verify(given.get("id_token"))
        attempt.check("nonce", claims.get("nonce"))
        wanted = {self.settings.analyst, *(rule.claim for rule in self.settings.allow)}
        if all(verified(claims, one) is not None for one in wanted):
            return claims
        more = self._ask_more(claims, given.get("access_token"))
        # Of two addresses, the one that goes with what is said about it.
        email = claims if "email_verified" in claims else more
        both = {name: email.get(name) for name in ("email", "email_verified")}
        return {**more, **claims, **both}

    def _exchange(self, code: str, attempt: Attempt, callback: str) -> Mapping[str, Any]:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": callback,
            "code_verifier": attempt.part("verifier"),
        }
        headers = {}
        ways = self._discovered().get("token_endpoint_auth_methods_supported")
        if self._secret is not None and (not ways or "client_secret_basic" in ways):
            pair = f"{quote(self.settings.client_id, safe='')}:{quote(self._secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            fields["client_id"] = self.settings.client_id
            fields |= {} if self._secret is None else {"client_secret": self._secret}
        status, given = self._send("POST", self._published("token_endpoint"), headers, fields)
        if status != 200:
            deny("the provider does not accept the code of this attempt")
        return given

    def _verify(self, token: object) -> Mapping[str, Any]:
        """Check the signature, issuer, audience and times of an ID token."""
        try:
            text = token if isinstance(token, str) else ""
            header = jwt.get_unverified_header(text)
            if header.get("alg") not in _ALGORITHMS:
                raise jwt.InvalidAlgorithmError
            claims: dict[str, Any] = jwt.decode(
                text,
                jwt.PyJWK(self._key(header.get("kid")), header["alg"]),
                algorithms=_ALGORITHMS,
                audience=self.settings.client_id,
                issuer=self.settings.issuer,
                leeway=_CLOCKS_DIFFER,
                options={"require": _REQUIRED},
            )
        except jwt.PyJWTError as error:
            deny(f"the provider's ID token is not valid ({type(error).__name__})")
        is_shared = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if (is_shared or "azp" in claims) and claims.get("azp") != self.settings.client_id:
            deny("the provider's ID token is for another client")
        return claims

    def _key(self, number: object) -> dict[str, Any]:
        """Return the key of that ID; keys change at any time, and people rarely sign in."""
        _, found = self._send("GET", self._published("jwks_uri"))
        keys = found.get("keys")
        listed = [one for one in keys if isinstance(one, dict)] if isinstance(keys, list) else []
        signing = [one for one in listed if one.get("use", "sig") == "sig"]
        fitting = [one for one in signing if number in (None, one.get("kid"))]
        if len(fitting) != 1:
            raise jwt.InvalidKeyError
        return fitting[0]

    def _ask_more(self, claims: Mapping[str, Any], token: object) -> Mapping[str, Any]:
        """Return what the provider says about the person besides the ID token, if it does."""
        if "userinfo_endpoint" not in self._discovered() or not isinstance(token, str):
            return {}
        headers = {"Authorization": f"Bearer {token}"}
        status, found = self._send("GET", self._published("userinfo_endpoint"), headers)
        return found if status == 200 and found.get("sub") == claims["sub"] else {}

    def _discovered(self) -> Mapping[str, Any]:
        if self._found is None:
            place = f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration"
            status, found = self._send("GET", place)
            if status != 200 or found.get("issuer") != self.settings.issuer:
                raise _unreachable("it does not describe the issuer that --oidc names")
            self._found = found
        return self._found

    def _published(self, name: str) -> str:
        url = self._discovered().get(name)
        if not isinstance(url, str) or not is_safe(url):
            raise _unreachable(f"it publishes no safe {name}")
        return url

    def _send(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, fields: Any = None
    ) -> tuple[int, Mapping[str, Any]]:
        """Return the status, and the JSON object that comes with it."""
        sent = {"Accept": "application/json", **(headers or {})}
        body = None if fields is None else urlencode(fields)
        if body is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        try:
            with self._http.request(
                method, url, body, headers=sent, preload_content=False, redirect=False
            ) as got:
                found = json.loads(got.read(_MOST_BYTES))
        except (urllib3.exceptions.HTTPError, OSError, ValueError, RecursionError):
            raise _unreachable("it did not respond as a provider does") from None
        return got.status, found if isinstance(found, dict) else {}


def _unreachable(reason: str) -> RequestRefused:
    hint = "try again later, or sign in with a token"
    return RequestRefused(503, f"the sign-in provider failed: {reason}", hint, 5.0)
